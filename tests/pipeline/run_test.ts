import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { mainText, toyProject, writeStage } from "../rig/project.ts";

const ALL = [
  "gather",
  "steps/ann/1",
  "steps/ann/2",
  "steps/bob/1",
  "steps/bob/2",
  "word/ann",
  "word/bob",
];

Deno.test("a first run executes every instance, a second none, and results are published", async () => {
  using project = toyProject();
  assertEquals(await project.executed(), ALL);
  assertStringIncludes(
    project.read("outputs/toy.smoke/report/page.txt"),
    '{"name":"ann","seed":"1"} Ann 40',
  );
  assertEquals(project.read("outputs/toy.smoke/parts/1ann.txt"), "a=a40\nsub/b=sub/b40");
  assertMatch(project.read("lock/toy.smoke.lock"), /^gather {2}key=[0-9a-f]{64} {2}page=exact:/m);
  const again = await project.run(["reproduce", "--json"]);
  assertEquals(again.events.filter((event) => event.event === "executed"), []);
  const summary = again.events.at(-1);
  assert(summary?.event === "summary");
  assertEquals({ ...summary, seconds: 0 }, {
    event: "summary",
    executed: 0,
    cached: 7,
    failed: 0,
    seconds: 0,
  });
});

Deno.test("an edit re-runs exactly what it can change", async () => {
  using project = toyProject();
  await project.executed();
  const table: [string, () => void, string[]][] = [
    ["a comment and a renamed local", () => {
      project.edit("lib/grow.ts", "/** One step. */", "/** One step of many. */");
      project.edit("lib/grow.ts", "const factor = 3", "const times = 3");
      project.edit("lib/grow.ts", "value * factor", "value * times");
    }, []],
    [
      "an unused neighbour",
      () => project.edit("lib/grow.ts", "return 1;", "return 2;"),
      [],
    ],
    ["a helper that only gather uses", () => {
      project.edit("lib/grow.ts", '"of "', '"out of "');
    }, ["gather"]],
    ["a title", () => {
      project.edit(
        "experiments/toy/experiment.yaml",
        "logs: steps.log }",
        "logs: steps.log }\n    params: { title: Everyone }",
      );
    }, ["gather"]],
    ["a value of one grid value", () => {
      project.edit("experiments/toy/experiment.yaml", "{ text: Bob }", "{ text: Robert }");
    }, ["gather", "steps/bob/1", "steps/bob/2", "word/bob"]],
    ["a param that changes no output: cut off", () => {
      project.edit(
        "experiments/toy/experiment.yaml",
        "{ text: Ann }",
        "{ text: Ann, style: loud }",
      );
    }, ["word/ann"]],
    ["another seed", () => {
      project.edit("experiments/toy/experiment.yaml", "seed: [1, 2]", "seed: [1, 2, 3]");
    }, ["gather", "steps/ann/3", "steps/bob/3"]],
    ["a seed less", () => {
      project.edit("experiments/toy/experiment.yaml", "seed: [1, 2, 3]", "seed: [2, 3]");
    }, ["gather"]],
    ["a helper that the steps use", () => {
      project.edit("lib/grow.ts", "+ 1;", "+ 2;");
    }, ["gather", "steps/ann/2", "steps/ann/3", "steps/bob/2", "steps/bob/3"]],
    ["the edit undone", () => project.edit("lib/grow.ts", "+ 2;", "+ 1;"), []],
  ];
  for (const [what, edit, expected] of table) {
    edit();
    const planned = await project.run(["plan", "--json"]);
    const possible = planned.events.flatMap((event) =>
      (event as unknown as { action?: string }).action === "run" ||
        (event as unknown as { action?: string }).action === "wait"
        ? [(event as unknown as { instance: string }).instance]
        : []
    );
    assertEquals(await project.executed(), expected, what);
    for (const name of expected) {
      assert(possible.includes(name), `${what}: ${name} was not planned`);
    }
  }
});

Deno.test("what a declaration says and no result shows re-runs nothing; what a result shows does", async () => {
  using project = toyProject();
  await project.executed();
  const steps = "stages/steps.ts", gather = "stages/gather.ts";
  const table: [string, () => void, string[]][] = [
    ["a param's description", () => {
      project.edit(steps, "rate: z.number()", 'rate: z.number().describe("Growth, per step")');
    }, []],
    ["a stricter schema", () => {
      project.edit(steps, "steps: z.int()", 'steps: z.int().min(1, "must be some")');
    }, []],
    ["what it may reach", () => {
      project.edit(
        gather,
        "  outputs: {",
        '  access: () => ({ hosts: ["example.org"] }),\n  outputs: {',
      );
    }, []],
    ["a param that never changes what is made", () => {
      project.edit(
        "experiments/toy/experiment.yaml",
        "{ seed: $seed }",
        "{ seed: $seed, delayMs: 1 }",
      );
    }, []],
    ["another default", () => {
      project.edit(gather, '.default("All")', '.default("Everyone")');
    }, ["gather"]],
    ["another exactness", () => {
      project.edit(
        gather,
        'parts: { kind: "folder", exactness: "exact"',
        'parts: { kind: "folder", exactness: "measured"',
      );
    }, ["gather"]],
    ["a stage that must be alone from now on", () => {
      project.edit(gather, "  outputs: {", "  alone: true,\n  outputs: {");
    }, ["gather"]],
    ["a param that changes what is made, as its declaration says now", () => {
      project.edit(steps, '  operational: ["delayMs"],\n', "");
    }, ["steps/ann/1", "steps/ann/2", "steps/bob/1", "steps/bob/2"]],
  ];
  for (const [what, edit, expected] of table) {
    edit();
    assertEquals(await project.executed(), expected, what);
  }
});

Deno.test("another path to publish at moves the copy and runs nothing", async () => {
  using project = toyProject();
  await project.executed();
  const page = project.read("outputs/toy.smoke/report/page.txt");
  project.edit("stages/gather.ts", '"report/page.txt"', '"report/all.txt"');
  assertEquals(await project.executed(), []);
  assertEquals(project.read("outputs/toy.smoke/report/all.txt"), page);
  assertEquals([...Deno.readDirSync(project.path("outputs/toy.smoke/report"))].length, 1);
  const trace = project.read("outputs/trace/index.html");
  assertStringIncludes(
    trace,
    '<a href="../toy.smoke/report/all.txt">outputs/toy.smoke/report/all.txt</a>',
  );
  assert(!trace.includes("report/page.txt"), "the trace page names the path of before");
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a failure stops only what depends on it, and the exit code says so", async () => {
  using project = toyProject();
  const ended = await project.run([
    "reproduce",
    "--json",
    "--set",
    "name.ann.steps.fail=true",
  ]);
  assertEquals(ended.code, 1);
  const of = (kind: string) =>
    ended.events.flatMap((event) =>
      event.event === kind && "instance" in event ? [event.instance] : []
    )
      .sort();
  assertEquals(of("executed"), ["steps/bob/1", "steps/bob/2", "word/ann", "word/bob"]);
  assertEquals(of("failed"), ["steps/ann/1", "steps/ann/2"]);
  assertEquals(of("skipped"), ["gather"]);
  const text = await project.run(["reproduce", "--set", "name.ann.steps.fail=true"]);
  assertStringIncludes(text.stdout, "Cannot grow: asked to fail");
  assert(!text.stdout.includes("    at "), "an expected failure shows no stack");
});

Deno.test("--only runs instances and what they need; --force runs what is up to date", async () => {
  using project = toyProject();
  assertEquals(await project.executed("--only", "steps/ann/1"), ["steps/ann/1", "word/ann"]);
  assertEquals(await project.executed("--only", "steps/*/2"), [
    "steps/ann/2",
    "steps/bob/2",
    "word/bob",
  ]);
  assertEquals(await project.executed(), ["gather", "steps/bob/1"]);
  assertEquals(await project.executed("--force", "word"), ["word/ann", "word/bob"]);
});

Deno.test("a dry run says what would run and runs nothing", async () => {
  using project = toyProject();
  const dry = await project.run(["reproduce", "--dry-run"]);
  assertStringIncludes(dry.stdout, "name 2  first run");
  assertStringIncludes(
    dry.stdout.replaceAll(/\s+/g, " "),
    "7 instances, 0 up to date, 2 to run, 5 after those",
  );
  assertEquals(await project.executed(), ALL);
});

Deno.test("why names the ingredient that changed, with its old and new value", async () => {
  using project = toyProject();
  await project.executed();
  const upToDate = await project.run(["why", "steps/ann/1"]);
  assertStringIncludes(upToDate.stdout, "steps/ann/1 is up to date");
  const changed = await project.run(["why", "steps/ann/1", "--set", "steps.rate=2"]);
  assertStringIncludes(changed.stdout, "params.rate\n      was 1\n      now 2");
  project.edit("lib/grow.ts", "+ 1;", "+ 2;");
  const code = await project.run(["why", "steps/ann/1"]);
  assertStringIncludes(code.stdout, "source changed: lib/grow.ts");
  const unknown = await project.run(["why", "steps/anm/1"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(
    unknown.stderr,
    'no such instance in toy.smoke; did you mean "steps/ann/1"?',
  );
});

Deno.test("--locked fails where a result differs from the lock and leaves it as it is", async () => {
  using project = toyProject();
  await project.executed();
  const lock = project.read("lock/toy.smoke.lock");
  assertEquals((await project.run(["reproduce", "--locked"])).code, 0);
  project.edit("lib/grow.ts", '"of "', '"out of "');
  const differs = await project.run(["reproduce", "--locked"]);
  assertEquals(differs.code, 1);
  assertMatch(differs.stdout, /1 result differs:\s+gather: output "page" must be [0-9a-f]{12}…/);
  assertEquals(project.read("lock/toy.smoke.lock"), lock);
});

Deno.test("gathered artifacts of two stages with equal coordinates both count, in a fixed order", async () => {
  using project = toyProject();
  project.edit(
    "experiments/toy/experiment.yaml",
    "  steps:\n    each",
    `  other: { stage: word, each: [name, seed], params: { text: Other } }
  steps:
    each`,
  );
  project.edit(
    "experiments/toy/experiment.yaml",
    "states: steps.state,",
    "states: [other.text, steps.state],",
  );
  await project.executed();
  const ran = await project.executed("--set", "other.text=Changed");
  // The others have the same params and no input, so the same key: made once, used four times.
  assertEquals(ran.map((name) => name.split("/")[0]), ["gather", "other"]);
  const page = project.read("outputs/toy.smoke/report/page.txt");
  assertEquals(
    await project.executed("--set", "other.text=Changed", "--set", "grid.seed=[2, 1]"),
    [],
  );
  await project.executed(
    "--set",
    "other.text=Changed",
    "--set",
    "grid.seed=[2, 1]",
    "--force",
    "gather",
  );
  assertEquals(project.read("outputs/toy.smoke/report/page.txt"), page);
});

Deno.test("--locked refuses a missing lock at once and notices lines that nothing produces", async () => {
  using project = toyProject();
  const missing = await project.run(["reproduce", "--locked"]);
  assertEquals(missing.code, 2);
  assertStringIncludes(
    missing.stderr,
    "Cannot check against lock/toy.smoke.lock: there is no such lock",
  );
  assertEquals(missing.stdout, "");
  await project.executed();
  project.edit("experiments/toy/experiment.yaml", "seed: [1, 2]", "seed: [1]");
  const fewer = await project.run(["reproduce", "--locked"]);
  assertEquals(fewer.code, 1);
  assertStringIncludes(
    fewer.stdout,
    "steps/ann/2 is in the lock, and the run has no such instance",
  );
  project.edit("experiments/toy/experiment.yaml", "seed: [1]", "seed: [1, 2]");
  project.edit(
    "stages/gather.ts",
    'parts: { kind: "folder", exactness: "exact"',
    'parts: { kind: "folder", exactness: "measured"',
  );
  const relabelled = await project.run(["reproduce", "--locked"]);
  assertEquals(relabelled.code, 1);
  assertStringIncludes(relabelled.stdout, 'output "parts" must be exact, found measured');
});

Deno.test("a scalar --set of a grid is a list of one", async () => {
  using project = toyProject();
  assertEquals(await project.executed("--set", "grid.seed=2", "--only", "steps"), [
    "steps/ann/2",
    "steps/bob/2",
    "word/ann",
    "word/bob",
  ]);
});

Deno.test("a closed pipe ends a command quietly", async () => {
  using project = toyProject();
  const { stderr } = await new Deno.Command("bash", {
    args: ["-c", `"${Deno.execPath()}" run -A --quiet main.ts plan --help | head -1`],
    cwd: project.root,
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
});

Deno.test("trace follows an instance, a key or a digest back to the first bytes", async () => {
  using project = toyProject();
  await project.executed();
  const byName = await project.run(["trace", "gather"]);
  assertEquals(byName.code, 0, byName.stderr);
  assertStringIncludes(byName.stdout, 'states[steps.state{"name":"ann","seed":"1"}] ← steps/ann/1');
  assertStringIncludes(byName.stdout, "text ← word/ann");
  assertStringIncludes(byName.stdout, 'param    text = "Bob"');
  const digest = /page {2}([0-9a-f]{12})…/.exec(byName.stdout)![1]!;
  assertEquals((await project.run(["trace", digest])).stdout, byName.stdout);
  const parts = await project.run(["trace", "gather", "--json"]);
  assertEquals(parts.events.length, 7);
  const unknown = await project.run(["trace", "f".repeat(64)]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(unknown.stderr, "this store has none of that name");
});

Deno.test("an instance that must be alone overlaps with no other and goes after those that need not", async () => {
  using project = toyProject();
  writeStage(project, {
    name: "time",
    declaration: `
const params = z.strictObject({ seed: z.int() });
export type Params = z.infer<typeof params>;
export const time = defineStage({
  name: "time",
  params,
  inputs: { text: {} },
  outputs: { seconds: { kind: "file", exactness: "measured" } },
  alone: true,
});`,
    run: `
export async function run(context: StageContext<Params>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  Deno.writeTextFileSync(context.output("seconds"), String(context.params.seed));
}`,
  });
  writeStage(project, {
    name: "count",
    declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const count = defineStage({
  name: "count",
  params,
  inputs: { seconds: { many: true } },
  outputs: { text: { kind: "file", exactness: "measured" } },
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("text"), String(context.inputs("seconds").length));
  return Promise.resolve();
}`,
  });
  project.write("main.ts", mainText(["word", "steps", "gather", "time", "count"]));
  project.edit(
    "experiments/toy/experiment.yaml",
    "  gather:",
    `  time:
    each: [name, seed]
    inputs: { text: word.text }
    params: { seed: $seed }
  count:
    inputs: { seconds: time.seconds }
  gather:`,
  );
  const ended = await project.run(["reproduce", "--json", "--profile", "slow", "--jobs", "3"]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  const open = new Set<string>(), finished: string[] = [];
  let most = 0;
  for (const event of ended.events) {
    if (event.event === "executed") {
      open.delete(event.instance);
      finished.push(event.instance);
    }
    if (event.event !== "started") continue;
    open.add(event.instance);
    most = Math.max(most, open.size);
    const alone = [...open].find((name) => name.startsWith("time/"));
    assert(alone === undefined || open.size === 1, `${alone} ran beside ${[...open]}`);
  }
  assert(most > 1, "other instances ran beside each other");
  // They needed the words alone, but waited for the steps, which were at work meanwhile.
  assertEquals(finished.slice(-5).map((name) => name.split("/")[0]), [
    ...Array(4).fill("time"),
    "count",
  ]);
  assertEquals(finished.length, 12);
});
