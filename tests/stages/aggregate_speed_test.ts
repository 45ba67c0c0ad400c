import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { join } from "node:path";
import { parse } from "@std/yaml";
import { aggregateIntensity } from "../../stages/aggregate_intensity.ts";
import { aggregateSpeed } from "../../stages/aggregate_speed.ts";
import type { JudgedClaim } from "../../stages/results/intensity/claim.ts";
import type { Speeds } from "../../stages/results/intensity/results.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { checkTables } from "./results/check_tables.ts";
import { CHAIN, languageInputs, type MadeUpText, SHAKESPEARE } from "./results/made_up_language.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const yaml = (name: string) =>
  parse(Deno.readTextFileSync(
    new URL(`../../experiments/intensity/${name}.yaml`, import.meta.url),
  )) as Record<string, unknown>;
const params = { published: { ...yaml("published"), characters: {} }, claims: yaml("claims") };

async function timed(texts: readonly MadeUpText[], { reversed = false } = {}) {
  const [directory, own] = [temporaryFolder(), temporaryFolder()];
  const inputs = languageInputs(directory, texts);
  const gathered = await runStage(aggregateIntensity, params, { directory, inputs });
  const { outputs } = await runStage(aggregateSpeed, params, {
    directory: own,
    inputs: {
      results: artifact(gathered.outputs.results!),
      speeds: reversed ? inputs.speeds.toReversed() : inputs.speeds,
    },
  });
  const text = Deno.readTextFileSync(outputs.speeds!);
  const table = (name: string) => Deno.readTextFileSync(join(outputs.tables!, name));
  return { speeds: JSON.parse(text) as Speeds, text, table, tables: outputs.tables! };
}

function claim(claims: readonly JudgedClaim[], id: string): JudgedClaim {
  return claims.find((each) => each.id === id)!;
}

Deno.test("every table is there as Markdown, LaTeX and CSV", async () => {
  const { tables } = await timed([SHAKESPEARE, CHAIN]);
  assertEquals(checkTables(tables), ["claims", "comparisons", "every_speed", "table1"]);
});

Deno.test("speeds are compared on the same text and seed", async () => {
  const { speeds, table } = await timed([SHAKESPEARE]);
  const [base, modulated] = speeds.variants;
  assertAlmostEquals(base!.plain!, 705, 1e-9);
  assertAlmostEquals(base!.cached!, 2115, 1e-9);
  // 490/700, 490/710 and 493/705 less 1: −30, −30.9859 and −30.0709 percent.
  assertAlmostEquals(modulated!.change!, -30.352279, 1e-6);
  assertEquals(claim(speeds.claims, "B3c").verdict, "equivalent");
  assertEquals(claim(speeds.claims, "B3b").verdict, "contradicted");
  assert(table("table1.md").includes("| −30.4 % |"));
});

Deno.test("speeds of a smaller model decide nothing and stand beside no printed one", async () => {
  const { speeds } = await timed([{ ...SHAKESPEARE, context: 64 }]);
  for (const { verdict } of speeds.claims) assertEquals(verdict, "not run");
  for (const { published } of speeds.variants) assertEquals(published, null);
  const whole = await timed([SHAKESPEARE]);
  assertEquals(whole.speeds.variants.map((each) => each.published), [726.3, 722.4, null]);
});

Deno.test("speeds on synthetic text are no evidence", async () => {
  const { speeds } = await timed([{ ...CHAIN, dataset: "tinyshakespeare" }]);
  for (const each of speeds.claims) assertEquals(each.verdict, "not run");
  assertEquals(speeds.variants.map((each) => each.published), [null, null]);
});

Deno.test("the order in which speeds arrive does not show", async () => {
  const texts = [SHAKESPEARE, CHAIN];
  assertEquals((await timed(texts, { reversed: true })).text, (await timed(texts)).text);
});
