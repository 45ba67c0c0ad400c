import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { toyProject } from "../rig/project.ts";

Deno.test("graph draws stages with the number of their instances, in Mermaid and in DOT", async () => {
  using project = toyProject();
  const lines = async (...args: string[]) =>
    (await project.run(["graph", ...args])).stdout.trimEnd().split("\n");
  assertEquals(await lines(), [
    "flowchart LR",
    '  n0["word × 2"]',
    '  n1["steps × 4"]',
    '  n2["gather"]',
    "  n0 --> n1",
    "  n1 --> n2",
  ]);
  assertEquals(await lines("--format", "dot"), [
    "digraph {",
    "  rankdir=LR; node [shape=box];",
    '  "word" [label="word × 2"];',
    '  "steps" [label="steps × 4"];',
    '  "gather" [label="gather"];',
    '  "word" -> "steps";',
    '  "steps" -> "gather";',
    "}",
  ]);
  const all = await lines("--all", "--only", "steps/bob");
  assertEquals(all.filter((line) => line.includes("[")), [
    '  n0["word/bob"]',
    '  n1["steps/bob/1"]',
    '  n2["steps/bob/2"]',
  ]);
  assertEquals(all.filter((line) => line.includes("-->")).length, 2);
  const { events } = await project.run(["graph", "--json"]);
  assertEquals(events.at(-1) as unknown, {
    event: "node",
    name: "gather",
    label: "gather",
    from: ["steps"],
  });
  assert(![...Deno.readDirSync(project.root)].some(({ name }) => name === "outputs"));
});

Deno.test("what the two languages would read as theirs is escaped in labels", async () => {
  using project = toyProject();
  project.edit(
    "experiments/toy/experiment.yaml",
    "  seed: [1, 2]",
    `  seed: ['"]-->x;#lt;<b>\\\\', end]`,
  );
  project.edit("experiments/toy/experiment.yaml", "params: { seed: $seed }", "params: { seed: 1 }");
  const mermaid = (await project.run(["graph", "--all"])).stdout;
  // As mermaid.js.org documents: a code point between # and ; in a label.
  assertStringIncludes(
    mermaid,
    `["steps/ann/#34;#93;--#62;x#59;#35;lt#59;#60;b#62;#92;#92;"]`,
  );
  const dot = (await project.run(["graph", "--all", "--format", "dot"])).stdout;
  assertStringIncludes(dot, String.raw`[label="steps/ann/\"]-->x;#lt;<b>\\\\"]`);
});
