import { assertEquals, assertStringIncludes } from "@std/assert";
import { copyOfThisProject } from "./rig/this_project.ts";

const ROOT = new URL("../", import.meta.url);
const TUTORIAL = read("docs/new_paper.md");
const EXPERIMENTS = [
  ...filesOf("experiments/_template").map((text) => text.replaceAll("NAME", "decay")),
  ...filesOf("experiments/averaging"),
];
const YAML = blocksOf("yaml");
/** What the reader writes; all other blocks show what is there. */
const EDITS = YAML.filter((block) => !EXPERIMENTS.some((text) => holds(text, block)));

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

function filesOf(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].map(({ name }) => read(`${folder}/${name}`));
}

/** The tutorial's blocks in a language. */
function blocksOf(language: string): string[] {
  return [...TUTORIAL.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .flatMap(([, found, block]) => found === language ? [block!] : []);
}

/** Whether a text has these lines, one after the other, all of them indented alike. */
function holds(text: string, block: string): boolean {
  return [0, 2, 4, 6].some((width) =>
    `\n${text}`.includes(`\n${block.replaceAll(/^(?=.)/gm, " ".repeat(width))}`)
  );
}

Deno.test("the tutorial shows the experiments as they are, but for one block to write", () => {
  assertEquals(YAML.length > 8, true);
  assertEquals(EDITS.map((block) => block.split("\n").slice(0, 2)), [["axes:", "  dropout:"]]);
});

Deno.test("what the tutorial says of the template's length is so", () => {
  const lines = ["experiment.yaml", "report.md"]
    .map((name) => read(`experiments/_template/${name}`).trimEnd().split("\n").length);
  assertEquals(lines, [59, 8]);
  assertStringIncludes(TUTORIAL, "`experiment.yaml`, 59 lines, and\n`report.md`, eight");
});

Deno.test("following the tutorial's words gives experiments that plan", async () => {
  using project = copyOfThisProject("");
  const plan = async (name: string) => await project.run(["plan", "--experiment", name]);
  const messages = blocksOf("text").filter((text) => /^experiments\//.test(text));
  assertEquals(messages.length, 2);
  const [misspelt, unknown] = messages.map((text) => text.trim()) as [string, string];

  assertEquals((await project.run(["new", "decay"])).code, 0);
  const planned = await plan("decay");
  assertEquals([planned.code, planned.stderr], [0, ""]);
  assertStringIncludes(planned.stdout, "17 instances, 0 up to date");
  const chances = blocksOf("text").find((text) => text.includes("Claim  Seeds"))!;
  assertStringIncludes(planned.stdout, chances);
  const decay = "experiments/decay/experiment.yaml";
  const [claimed] = /at: \{ decay: wiht \}/.exec(TUTORIAL)!;
  project.write(decay, project.read(decay).replace("at: { decay: with }", claimed));
  assertStringIncludes((await plan("decay")).stderr, misspelt);

  assertEquals((await project.run(["new", "dropout"])).code, 0);
  const dropout = "experiments/dropout/experiment.yaml";
  project.write(dropout, project.read(dropout).replaceAll("decay", "dropout"));
  assertStringIncludes((await plan("dropout")).stderr, unknown);
  const text = project.read(dropout).replace(/^axes:\n(?: .*\n)+/m, EDITS[0]!);
  project.write(dropout, text.replace('with: "0.3"', 'with: "0.2"'));
  const after = await plan("dropout");
  assertEquals([after.code, after.stderr], [0, ""]);
  assertStringIncludes(after.stdout, "dropout 2 × seed 3");
});
