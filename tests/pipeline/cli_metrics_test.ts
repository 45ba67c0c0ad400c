import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "@std/csv";
import { toyProject } from "../rig/project.ts";

// Three steps of n → 3n + 1 from the seed: 1 → 40, 2 → 67.
const CSV = `instance,stage,name,seed,value
steps/ann/1,steps,ann,1,40
steps/ann/2,steps,ann,2,67
steps/bob/1,steps,bob,1,40
steps/bob/2,steps,bob,2,67
`;

Deno.test("metrics lists the latest run, or the lock, with coordinates: a table, CSV or JSON", async () => {
  using project = toyProject();
  const early = await project.run(["metrics"]);
  assertEquals(early.code, 1);
  assertStringIncludes(early.stderr, "it has not been run here, and has no lock");
  await project.executed();
  const text = async (...args: string[]) => (await project.run(["metrics", ...args])).stdout;
  assertEquals(
    await text(),
    `toy.smoke, as it last ran here

steps
  name  seed  value
  ann      1     40
  ann      2     67
  bob      1     40
  bob      2     67
`,
  );
  assertEquals((await text("--format", "csv")).replaceAll("\r", ""), CSV);
  assertEquals(JSON.parse(await text("--format", "json", "--only", "steps/bob/2")), [
    {
      instance: "steps/bob/2",
      stage: "steps",
      at: { name: "bob", seed: 2 },
      metrics: { value: 67 },
    },
  ]);
  const { events } = await project.run(["metrics", "--json", "--only", "**/2"]);
  assertEquals(events.length, 2);
  Deno.removeSync(project.path("outputs"), { recursive: true });
  assertStringIncludes(await text(), "lock/toy.smoke.lock\n");
  assertEquals((await text("--format", "csv")).replaceAll("\r", ""), CSV);
  await project.executed("--set", "steps.rate=2");
  assertStringIncludes(await text("lock/toy.smoke.lock", "--only", "steps/ann/1"), "value  40");
  // Twice the seed: 2 → 67.
  assertStringIncludes(await text("toy.smoke", "--only", "steps/ann/1"), "value  67");
});

Deno.test("a name with a comma or a quote stays one cell of the CSV", async () => {
  using project = toyProject();
  project.edit("experiments/toy/experiment.yaml", "  seed: [1, 2]", `  seed: ['a,"b']`);
  project.edit("experiments/toy/experiment.yaml", "seed: $seed", "seed: 1");
  await project.executed();
  const { stdout } = await project.run(["metrics", "--format", "csv"]);
  assertEquals(parse(stdout)[1], ['steps/ann/a,"b', "steps", "ann", 'a,"b', "40"]);
});

Deno.test("metrics that do not fit 80 columns are left out of the table, and counted", async () => {
  using project = toyProject();
  project.edit(
    "stages/steps.run.ts",
    'context.metric("value", state.value);',
    'for (const n of "abcdef") context.metric("quite_a_long_name_" + n, 1);',
  );
  await project.executed();
  const lines = (await project.run(["metrics"])).stdout.split("\n");
  assert(lines.every((line) => line.length <= 80), lines.join("\n"));
  // Two labels of 6 columns and metrics of 21: 75 columns with three of six.
  assertEquals(lines.at(-2), "  and 3 more metrics; --format csv lists them");
});
