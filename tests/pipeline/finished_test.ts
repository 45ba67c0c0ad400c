import { assertEquals, assertStringIncludes } from "@std/assert";
import { toyProject, unwrapped, writeStage } from "../rig/project.ts";

const PAGE = "outputs/toy.smoke/report/page.txt", LOCK = "lock/toy.smoke.lock";
const FILE = "experiments/toy/experiment.yaml";

Deno.test("--finished gathers the results there are, runs nothing else, and says what is missing", async () => {
  using project = toyProject();
  await project.executed("--only", "steps/ann");
  const lock = project.read(LOCK);
  const ended = await project.run(["reproduce", "--only", "gather", "--finished", "--json"]);
  assertEquals(ended.code, 0, ended.stderr);
  const of = (kind: string) => ended.events.filter(({ event }) => event === kind);
  assertEquals(of("executed").map((event) => "instance" in event && event.instance), ["gather"]);
  const message = "not finished, and left out: 3 of 7 instances (word 1 of 2, steps 2 of 4)";
  assertEquals(of("note"), [{ event: "note", message }] as never);
  assertEquals(project.read(PAGE).split("\n"), [
    "All",
    '{"name":"ann","seed":"1"} Ann 40',
    '{"name":"ann","seed":"2"} Ann 67',
    "of 2",
  ]);
  assertEquals(project.read(LOCK), lock);
  assertEquals((await project.run(["audit"])).code, 0);
  // What is out of date counts as little as what is not there.
  project.edit(FILE, "grid:\n", "exclude: [{ name: ann, seed: 2 }]\ngrid:\n");
  project.edit(FILE, "ann: {", "ann: { steps: { rate: 2 },");
  const plan = unwrapped((await project.run(["plan", "--finished"])).stdout);
  assertStringIncludes(plan, "2 instances, 1 up to date, 1 to run");
  assertStringIncludes(plan, "left out: 4 of 6 instances (word 1 of 2, steps 3 of 3)");
  assertEquals(await project.executed("--finished"), ["gather"]);
  assertEquals(project.read(PAGE).split("\n"), ["All", "of 0"]);
});

Deno.test("--finished leaves out what times or computes on what is not whole, and what needs that", async () => {
  using project = toyProject();
  writeStage(project, {
    name: "time",
    declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const time = defineStage({
  name: "time",
  params,
  inputs: { states: { many: true } },
  outputs: { seconds: { kind: "file", exactness: "measured" } },
  alone: true,
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("seconds"), "1");
  return Promise.resolve();
}`,
  });
  project.edit("main.ts", "stages: {", 'stages: { time: () => import("./stages/time.ts"),');
  project.edit(
    FILE,
    "  gather:",
    "  time: { each: [name], inputs: { states: steps.state } }\n  gather:",
  );
  project.edit(
    FILE,
    "logs: steps.log }",
    "logs: [steps.log] }\n  sum: { stage: gather, inputs: { states: time.seconds } }",
  );
  project.edit(
    "stages/gather.ts",
    'publish: () => "report/page.txt"',
    'publish: ({ title }) => title + "/page.txt"',
  );
  project.edit(
    "stages/gather.ts",
    'publish: () => "parts"',
    'publish: ({ title }) => title + "/parts"',
  );
  project.edit(FILE, "sum: { stage: gather,", "sum: { stage: gather, params: { title: Sum },");
  await project.executed("--only", "time/ann", "--only", "steps/bob/1");
  assertEquals(await project.executed("--finished"), ["gather", "sum"]);
  assertEquals(project.read("outputs/toy.smoke/Sum/page.txt"), 'Sum\n{"name":"ann"} 1\nof 1');
});

Deno.test("--finished is refused beside --locked, since a lock is of all results", async () => {
  using project = toyProject();
  const ended = await project.run(["reproduce", "--finished", "--locked"]);
  assertEquals(ended.code, 2);
  assertStringIncludes(ended.stderr, "Cannot use --finished with --locked");
});
