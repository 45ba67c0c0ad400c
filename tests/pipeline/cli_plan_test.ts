import { assertEquals, assertStringIncludes } from "@std/assert";
import { changes } from "../../pipeline/key/ingredients.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

const lines = async (project: TestProject, ...args: string[]) =>
  (await project.run(args)).stdout.trimEnd().split("\n");

Deno.test("plan has a line for each stage, the reason its instances share, and what they vary over", async () => {
  using project = toyProject();
  const first = await lines(project, "plan", "--jobs", "2");
  assertEquals(first, [
    "stage     run   wait  up to date  about",
    "word        2      -           -",
    "  name 2  first run",
    "steps       -      4           -",
    "  name 2 × seed 2  after word",
    "gather      -      1           -",
    "  after steps",
    "",
    first[8]!,
    ...first.slice(9),
  ]);
  assertStringIncludes(first.slice(8).join(" "), "7 instances, 0 up to date, 2 to run, 5 after");
  await project.executed();
  const nothing = await lines(project, "plan");
  assertEquals(nothing, ["toy, profile smoke, backend wasm: 7 instances, 7 up to date"]);
  const edited = await lines(project, "plan", "--set", "steps.rate=2");
  assertEquals(edited.slice(1, 5).map((line) => line.replace(/\s+[\d.]+ s$/, "")), [
    "word        -      -           2",
    "steps       4      -           -",
    "  name 2 × seed 2  params.rate: 1 → 2",
    "gather      -      1           -",
  ]);
});

Deno.test("plan --all lists every instance that is to run, as reproduce --dry-run --all does", async () => {
  using project = toyProject();
  const all = await lines(project, "plan", "--all", "--jobs", "1");
  assertEquals(all.slice(0, 4), [
    "run    word/ann",
    "       first run",
    "run    word/bob",
    "       first run",
  ]);
  assertEquals(all.filter((line) => line.startsWith("after")).length, 5);
  assertEquals(await lines(project, "reproduce", "--dry-run", "--all", "--jobs", "1"), all);
});

Deno.test("reasons that differ by instance are counted; an ingredient whose values differ is one reason", async () => {
  using project = toyProject();
  await project.executed();
  project.edit("experiments/toy/experiment.yaml", "text: Ann }", "text: Anne }");
  project.edit("experiments/toy/experiment.yaml", "bob: {", "bob: { steps: { rate: 3 },");
  await project.executed("--only", "word");
  const edited = await lines(project, "plan");
  const at = edited.findIndex((line) => line.startsWith("steps"));
  assertEquals(edited.slice(at + 1, at + 3), [
    // As sha256sum has "Ann" and "Anne".
    "  name 2 × seed 2  2: inputs.text: 17239b6e2501… → 9a4748364820…",
    "  2: params.rate: 1 → 3",
  ]);
  project.edit("experiments/toy/experiment.yaml", "text: Bob }", "text: Rob }");
  await project.executed("--only", "word");
  const both = await lines(project, "plan", "--set", "steps.rate=1");
  assertStringIncludes(both.join("\n"), "name 2 × seed 2  inputs.text differs");
});

Deno.test("of several changes the reason is what the user edited: params, then inputs, then code", async () => {
  const before = { bundler: "1", code: "a", deno: "1", "inputs.text": "t", "params.rate": "1" };
  const now = { bundler: "2", code: "b", deno: "2", "inputs.text": "u", "params.rate": "2" };
  assertEquals(changes(before, now).map(({ ingredient }) => ingredient), [
    "params.rate",
    "inputs.text",
    "code",
    "bundler",
    "deno",
  ]);
  using project = toyProject();
  await project.executed();
  project.edit("lib/grow.ts", "+ 1;", "+ 2;");
  const plan = (await project.run(["plan", "--all", "--set", "steps.rate=2"])).stdout;
  assertStringIncludes(plan, "params.rate: 1 → 2 (and 1 more)");
});

Deno.test("a plan of long names and long reasons fits 80 columns", async () => {
  using project = toyProject();
  const [before, now] = ["A b ".repeat(40), "C d ".repeat(40)];
  project.edit("experiments/toy/experiment.yaml", "text: Ann }", `text: "${before}" }`);
  await project.executed();
  project.edit("experiments/toy/experiment.yaml", before, now);
  project.edit(
    "experiments/toy/experiment.yaml",
    "  seed: [1, 2]",
    `  seed: [1, 2, ${"3".repeat(12)}]`,
  );
  for (const args of [["plan"], ["plan", "--all"], ["status"]]) {
    const wide = (await lines(project, ...args)).filter((line) => [...line].length > 80);
    assertEquals(wide, [], args.join(" "));
  }
});

Deno.test("plan prints what stages say of themselves, as lines or as a table, and as JSON", async () => {
  using project = toyProject();
  project.edit(
    "stages/gather.ts",
    "  inputs: {",
    `  preview: async ({ title }, { grid, inputs }) => {
    await Promise.resolve();
    return {
      title: title + " of seeds " + grid.seed,
      columns: ["claim", "chance"],
      rows: inputs.states[0].at.slice(0, 2).map(({ name, seed }) => [name + seed, "0." + seed]),
      notes: ["Of the others nothing is known."],
    };
  },
  inputs: {`,
  );
  project.edit(
    "stages/word.ts",
    "  inputs: {",
    '  preview: ({ text }) => text === "Ann" ? ["says " + text, "and nothing else"] : [],\n  inputs: {',
  );
  const said = [
    "word/ann:",
    "  says Ann",
    "  and nothing else",
    "",
    "gather: All of seeds 1,2",
    "  claim  chance",
    "  ann1      0.1",
    "  ann2      0.2",
    "  Of the others nothing is known.",
    "",
  ];
  const printed = await lines(project, "plan");
  assertEquals(printed.slice(8, 8 + said.length), said);
  assertStringIncludes(printed[8 + said.length]!, "toy, profile smoke");
  const { events } = await project.run(["plan", "--json", "--only", "steps"]);
  assertEquals(events.filter(({ event }) => event as string === "preview"), [
    { event: "preview", instance: "word/ann", preview: ["says Ann", "and nothing else"] },
  ] as never);
});
