import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { parse } from "@std/yaml";
import { aggregateIntensity } from "../../stages/aggregate_intensity.ts";
import type { JudgedClaim } from "../../stages/results/intensity/claim.ts";
import type { Results } from "../../stages/results/intensity/results.ts";
import { runStage } from "../rig/run_stage.ts";
import { checkTables } from "./results/check_tables.ts";
import { CHAIN, languageInputs, type MadeUpText, SHAKESPEARE } from "./results/made_up_language.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const yaml = (name: string) =>
  parse(Deno.readTextFileSync(
    new URL(`../../experiments/intensity/${name}.yaml`, import.meta.url),
  )) as Record<string, unknown>;
const published = { ...yaml("published"), characters: {} };
const claims = yaml("claims");

async function aggregated(texts: readonly MadeUpText[], params: unknown = { published, claims }) {
  const directory = temporaryFolder();
  const inputs = languageInputs(directory, texts);
  const { outputs, metrics } = await runStage(aggregateIntensity, params, { directory, inputs });
  const text = Deno.readTextFileSync(outputs.results!);
  const table = (name: string) => Deno.readTextFileSync(join(outputs.tables!, name));
  return { results: JSON.parse(text) as Results, table, text, outputs, metrics };
}

function claim(claims: readonly JudgedClaim[], id: string): JudgedClaim {
  return claims.find((each) => each.id === id)!;
}

Deno.test("losses are paired by seed with the baseline, with their t interval", async () => {
  const { results, metrics } = await aggregated([SHAKESPEARE]);
  const delta = results.deltas.find((each) => each.variant === "4")!;
  assertEquals(delta.pairs.map((pair) => Number(pair.delta.toFixed(4))), [0.007, 0.0065, 0.0075]);
  assertAlmostEquals(delta.mean, 0.007, 1e-12);
  // Half width 4.302653 · 0.0005 / √3: the 97.5 % quantile of t with two degrees of freedom.
  assertAlmostEquals(delta.interval![0], 0.005757931, 1e-9);
  assertAlmostEquals(delta.interval![1], 0.008242069, 1e-9);
  assertAlmostEquals(delta.published!, 0.0069, 1e-12);
  assertAlmostEquals(metrics["delta.tinyshakespeare.4"]!, 0.007, 1e-12);
  const bypassed = results.deltas.find((each) => each.variant === "4_bypass")!;
  assertEquals(bypassed.pairs.map((pair) => pair.delta), [0, 0, 0]);
});

Deno.test("every table is there as Markdown, LaTeX and CSV, whatever its cells hold", async () => {
  const odd = { ...SHAKESPEARE, title: "[*] 50 % {a}_b^c~d #1 & $x$ \\| <b>" };
  const { outputs } = await aggregated([odd, CHAIN]);
  assertEquals(checkTables(outputs["tables"]!), [
    ...["claims", "comparisons", "differences", "every_pair", "every_run", "findings"],
    ...["losses", "texts"],
  ]);
});

Deno.test("published losses stand beside corresponding text only, and a smaller model is named", async () => {
  const { results, table } = await aggregated([SHAKESPEARE, CHAIN]);
  for (const cell of results.conditions) {
    const printed = cell.dataset === "tinyshakespeare" && cell.variant !== "4_bypass";
    assertEquals(cell.published !== null, printed, `${cell.dataset}/${cell.variant}`);
  }
  const losses = table("losses.md");
  assert(losses.includes("| This run: full data, n = 3 | 1.4617 ± 0.0021 |"), losses);
  assert(losses.includes("|  | Paper, as printed | 1.4602 | 1.4671 | – |"), losses);
  assert(losses.includes("| Chain of order 1 | This run: synthetic data, n = 2 |"), losses);
  for (const smaller of [{ steps: 4998 }, { context: 64 }]) {
    const { table } = await aggregated([{ ...SHAKESPEARE, ...smaller }]);
    assert(table("losses.md").includes("full data, smaller model or shorter training"));
  }
});

Deno.test("a text shorter than the whole is a sample", async () => {
  const shorter = { ...published, characters: { tinyshakespeare: 1115394 } };
  const { results } = await aggregated([SHAKESPEARE], { published: shorter, claims });
  assertEquals(results.datasets[0]!.corpus!.source.kind, "sample");
});

Deno.test("one seed leaves every claim on losses open", async () => {
  const one = Object.fromEntries(
    Object.entries(SHAKESPEARE.losses).map(([variant, losses]) => [variant, losses.slice(0, 1)]),
  );
  const { results } = await aggregated([
    { ...SHAKESPEARE, losses: one },
    { ...SHAKESPEARE, dataset: "text8", losses: one },
    { ...SHAKESPEARE, dataset: "enwik8", losses: one },
  ]);
  const b1 = claim(results.claims, "B1");
  assertEquals(b1.verdict, "underpowered");
  assertEquals(b1.holds, null);
  assertEquals(b1.comparisons.map((each) => each.n), [1, 1]);
});

Deno.test("a claim with a consistent effect at several seeds is reproduced, its opposite contradicted", async () => {
  const gutenberg = { ...SHAKESPEARE, dataset: "gutenberg", steps: 75000 };
  const { results } = await aggregated([SHAKESPEARE, gutenberg]);
  const b2 = claim(results.claims, "B2");
  assertEquals(b2.verdict, "reproduced");
  assertEquals(b2.holds, true);
  const shorter = await aggregated([SHAKESPEARE, { ...gutenberg, steps: 5000 }]);
  assertEquals(claim(shorter.results.claims, "B2").holds, null);
  const text8 = { ...SHAKESPEARE, dataset: "text8" };
  const enwik8 = { ...SHAKESPEARE, dataset: "enwik8" };
  const worse = await aggregated([text8, enwik8]);
  assertEquals(claim(worse.results.claims, "B1").verdict, "contradicted");
});

Deno.test("averages are taken by seed over the texts at hand, and say how many those are", async () => {
  const texts = ["text8", "enwik8"].map((dataset, i) => ({
    ...SHAKESPEARE,
    dataset,
    losses: { "2": [1 + i, 1.1 + i, 1.2 + i], "3": [1.1 + i, 1.2 - i / 10 + i, 1.2 + i] },
  }));
  const { results } = await aggregated(texts);
  const [first] = claim(results.claims, "B6").comparisons;
  // Seed by seed: (0.1 + 0.1) / 2, (0.1 + 0) / 2, 0.
  assertAlmostEquals(first!.mean!, 0.05, 1e-12);
  assertEquals(first!.n, 3);
  assert(first!.on.startsWith("2 of 4 texts"), first!.on);
  assertEquals(results.averages.datasets, ["enwik8", "text8"]);
  assertEquals(results.averages.variants.map((each) => each.published), [null, null]);
});

Deno.test("synthetic text is no evidence", async () => {
  const { results } = await aggregated([{ ...CHAIN, dataset: "tinyshakespeare" }]);
  for (const each of results.claims) assertEquals(each.verdict, "not run");
});

Deno.test("the order in which artifacts arrive does not show", async () => {
  const directory = temporaryFolder();
  const inputs = languageInputs(directory, [SHAKESPEARE, CHAIN]);
  const reversed = Object.fromEntries(
    Object.entries(inputs).map(([name, list]) => [name, list.toReversed()]),
  );
  const texts = [];
  for (const given of [inputs, reversed]) {
    const params = { published, claims };
    const { outputs } = await runStage(aggregateIntensity, params, { directory, inputs: given });
    texts.push(Deno.readTextFileSync(outputs.results!));
  }
  assertEquals(texts[0], texts[1]);
});

Deno.test("runs that were not made are listed", async () => {
  const gap = { ...SHAKESPEARE, losses: { "0": [1, 2], "4": [1, null] } };
  const { results } = await aggregated([gap]);
  assertEquals(results.missing, [{ dataset: "tinyshakespeare", variant: "4", seed: 1 }]);
});

Deno.test("two runs at one place are refused", async () => {
  await assertRejects(
    () => aggregated([SHAKESPEARE, SHAKESPEARE]),
    Error,
    "found two of tinyshakespeare/0/0",
  );
});

Deno.test("the paper's baseline average does not fit its losses", async () => {
  const { results } = await aggregated([]);
  // (0.9793 + 1.0048 + 1.4602 + 1.1892) / 4 = 1.158375; printed is 1.161.
  const [base, best] = results.findings;
  assertEquals([base!.printed, base!.computed, base!.agrees], ["1.161", "1.1584", false]);
  // (0.9784 + 1.0033 + 1.4671 + 1.1923) / 4 = 1.160275.
  assertEquals([best!.printed, best!.computed, best!.agrees], ["1.160", "1.1603", true]);
  const unfit = results.findings.filter((each) => !each.agrees).map((each) => each.what);
  assertEquals(unfit.length, 3);
  assert(unfit[2]!.startsWith("Run 4 beats run 1"));
});
