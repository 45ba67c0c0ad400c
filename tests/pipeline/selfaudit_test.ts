import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { loadStages } from "../../pipeline/cli/wiring.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import { resolvePlatform } from "../../pipeline/key/platform.ts";
import { filesBelow } from "../../pipeline/selfaudit/alterations.ts";
import { auditConfiguration } from "../../pipeline/selfaudit/configuration.ts";
import { auditCode } from "../../pipeline/selfaudit/code.ts";
import type { Subject } from "../../pipeline/selfaudit/handed.ts";
import { auditIngredients } from "../../pipeline/selfaudit/ingredients.ts";
import { sitesOf } from "../../pipeline/selfaudit/source_edits.ts";
import type { Tally } from "../../pipeline/selfaudit/tally.ts";
import { projectAt } from "../rig/in_process.ts";
import { type TestProject, toyProject, unwrapped } from "../rig/project.ts";

const STAGES = ["word", "steps", "gather"];
const EXTENT = { seed: 0, times: 1000, progress() {} };

async function subjectOf(toy: TestProject): Promise<Subject> {
  return {
    ...{ root: toy.root, experiment: "toy", profile: "smoke", mirror: undefined },
    stages: await loadStages(projectAt(toy.root, { stages: STAGES, experiment: "toy" })),
    platform: await resolvePlatform("wasm"),
  };
}

function ofKind(tallies: readonly Tally[], kind: string): Tally {
  return tallies.find((tally) => tally.kind === kind)!;
}

Deno.test("selfaudit finds nothing missed in this engine, says so, and leaves the project alone", async () => {
  using toy = toyProject();
  await toy.executed();
  const before = new Map(
    filesBelow(toy.root).map((path) => [path, sha256(Deno.readFileSync(path))]),
  );
  const ended = await toy.run(["selfaudit", "--times", "8", "--page", toy.path("page.html")]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  assertStringIncludes(unwrapped(ended.stdout), "reactions missed (0 %), 0 of");
  const page = toy.read("page.html");
  assertStringIncludes(page, "<h1>The engine, audited by mutation</h1>");
  Deno.removeSync(toy.path("page.html"));
  const lines = (text: string) => text.split("\n").filter((line) => /^\S.* \d+ +\d+$/.test(line));
  const kinds = lines(ended.stdout).map((line) => line.split("  ")[0]!);
  assertEquals(kinds.length, 18, ended.stdout);
  for (const kind of kinds) assertStringIncludes(page, `<td>${kind}</td>`);
  // What opens a store to read may write its catalogue.
  const isCatalogue = (path: string) => path.includes("catalog.sqlite");
  const now = filesBelow(toy.root).filter((path) => !isCatalogue(path));
  assertEquals(now, [...before.keys()].filter((path) => !isCatalogue(path)));
  for (const path of now) assertEquals(sha256(Deno.readFileSync(path)), before.get(path), path);
});

Deno.test("without a store selfaudit says that no stored bytes were tried, in text, JSON and on the page", async () => {
  using toy = toyProject();
  const args = ["selfaudit", "--times", "1", "--page", toy.path("page.html")];
  const { code, stdout } = await toy.run(args);
  assertEquals(code, 0, stdout);
  const store = toy.path("outputs/store");
  const said = "not tried: stored bytes, ingredients in stored traces: no store at";
  assertStringIncludes(unwrapped(stdout), `${said} ${store}`);
  assertStringIncludes(toy.read("page.html"), "Not tried: stored bytes, ingredients in stored");
  const json = (await toy.run([...args, "--json"])).stdout.trim().split("\n").at(-1)!;
  assertEquals(JSON.parse(json).untried, "stored bytes, ingredients in stored traces");
});

Deno.test("selfaudit draws the same alterations for the same seed, and others for another", async () => {
  using toy = toyProject();
  const kinds = ["a value of the configuration"];
  const tried: string[][] = [];
  for (const seed of [1, 1, 2]) {
    const said: string[] = [];
    const progress = (what: string) => said.push(what);
    await auditConfiguration(await subjectOf(toy), { seed, times: 3, progress });
    tried.push(said.filter((what) => what.startsWith(kinds[0]!)));
  }
  assertEquals(tried[0]!.length, 3);
  assertEquals(tried[0], tried[1]);
  assert(tried[0]!.join() !== tried[2]!.join());
});

Deno.test("an engine whose keys lack a param is found out, by each instance that keeps its key", async () => {
  using toy = toyProject();
  const keyed: typeof keyOf = ({ "params.text": _, ...ingredients }) => keyOf(ingredients);
  const subject = { ...await subjectOf(toy), keyed };
  const values = ofKind(await auditConfiguration(subject, EXTENT), "a value of the configuration");
  assertEquals(values.missed.map((line) => line.split(": ").at(-1)).sort(), [
    "word/ann",
    "word/bob",
  ]);
  assertEquals(values.spurious, []);
  const ingredients = ofKind(await auditIngredients(subject, EXTENT), "an ingredient");
  assertEquals(
    ingredients.missed,
    ["params.text changed: word/bob", "params.text removed: word/bob"],
  );
});

Deno.test("an engine whose keys hold what no stage sees is found out, with the cause", async () => {
  using toy = toyProject();
  let count = 0;
  const keyed: typeof keyOf = (ingredients) => keyOf({ ...ingredients, count: String(count++) });
  const subject = { ...await subjectOf(toy), keyed };
  const comments = ofKind(
    await auditConfiguration(subject, EXTENT),
    "a comment in the configuration",
  );
  assertEquals(comments.missed, []);
  assertEquals(comments.spurious.length, comments.unexpected);
  assert(comments.unexpected > 0);
  assertStringIncludes(comments.spurious[0]!, "which is handed the same");
});

Deno.test("a function moves the stages that reach it, an unused one none, and both are tried", async () => {
  using toy = toyProject();
  const text = toy.read("lib/grow.ts");
  const sites = await sitesOf("lib/grow.ts", text);
  assertEquals(sites.map(({ text }) => /function (\w+)/.exec(text)?.[1]), [
    "grow",
    "sum",
    "unused",
  ]);
  const tallies = await auditCode({ root: toy.root, stages: STAGES }, EXTENT);
  const functions = ofKind(tallies, "a function");
  assertEquals([functions.missed, functions.spurious], [[], []]);
  // Of the three functions in lib/grow.ts, steps reaches one and gather another; both read the file.
  assert(functions.expected > 0 && functions.unexpected >= 4, JSON.stringify(functions));
  for (const { missed, spurious } of tallies) assertEquals([missed, spurious], [[], []]);
});
