import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { z } from "zod";
import { aggregateFusion as aggregate } from "../../../../stages/aggregate_fusion.ts";
import { type Claim, claimSchema } from "../../../../stages/results/claims/claim.ts";
import type { Results } from "../../../../stages/results/results.ts";
import { runStage } from "../../../rig/run_stage.ts";
import { AG, ARXIV, type MadeUp, madeUpInputs } from "../made_up.ts";
import { temporaryFolder } from "../../../rig/temporary.ts";

const file = new URL("../../../../experiments/fusion/claims.yaml", import.meta.url);
const claims = z.array(claimSchema).parse(parse(Deno.readTextFileSync(file)));

async function judged(
  grids: readonly MadeUp[],
  list: readonly Claim[] = claims,
  params: Record<string, unknown> = {},
) {
  const directory = temporaryFolder();
  const inputs = madeUpInputs(directory, grids);
  const { outputs } = await runStage(aggregate, { ...params, claims: list }, { directory, inputs });
  const results = JSON.parse(Deno.readTextFileSync(outputs["results"]!)) as Results;
  return new Map(results.claims.map((claim) => [claim.id, claim]));
}

Deno.test("every declared claim of the paper gets a verdict, also when nothing ran", async () => {
  const found = await judged([]);
  const onAccuracy = claims.filter((claim) => claim.metric === "accuracy");
  assertEquals([...found.keys()], onAccuracy.map((claim) => claim.id));
  for (const claim of found.values()) {
    assertEquals(claim.verdict, "not run");
    assertEquals(claim.holds, null);
    assert(claim.note !== "");
  }
});

Deno.test("claims are judged by the runs they name", async () => {
  const found = await judged([AG, ARXIV]);
  assertEquals(found.get("A1")!.verdict, "reproduced");
  assertEquals(found.get("A1")!.comparisons[0]!.data, "official");
  // IMDB was not run, so the joint claim stays open.
  assertEquals(found.get("A3")!.verdict, "not run");
  assertEquals(found.get("A3")!.note, "2 of 4 comparisons were not run.");
  assertEquals(found.get("A3")!.comparisons[0]!.verdict, "equivalent");
  assertEquals(found.get("A3")!.comparisons[0]!.data, "sample");
});

Deno.test("a smaller model has a verdict, but leaves open whether the claim holds", async () => {
  const size = { d_model: 128, max_length: 4096 };
  const large = { ...size, d_model: 256 };
  for (const [models, stands] of [[{}, true], [{ arxiv: size }, true], [{ arxiv: large }, null]]) {
    const found = await judged([AG, ARXIV], claims, { paper_models: models });
    assertEquals([found.get("A1")!.verdict, found.get("A1")!.holds], ["reproduced", stands]);
  }
});

Deno.test("Holm's correction runs over all tested comparisons and can overturn a verdict", async () => {
  const found = await judged([AG, ARXIV]);
  const all = [...found.values()].flatMap((claim) => claim.comparisons);
  const tested = all.filter((each) => each.p !== null);
  const least = tested.reduce((a, b) => a.p! <= b.p! ? a : b);
  assertEquals(least.holm, Math.min(1, least.p! * tested.length));
  // Five seeds give a sign test 1/32 at best: enough alone, not beside a second open question.
  const every = claims.filter((claim) => claim.id === "A2");
  assertEquals((await judged([ARXIV], every)).get("A2")!.verdict, "reproduced");
  const other = claimSchema.parse({
    id: "X",
    statement: "Concatenation beats addition on AG News",
    compare: [{ dataset: "ag_news", operator: "concat" }],
  });
  const both = await judged([AG, ARXIV], [...every, other]);
  const sign = both.get("A2")!.comparisons[0]!;
  assertEquals([sign.p, sign.holm, sign.verdict], [1 / 32, 2 / 32, "underpowered"]);
});

Deno.test("synthetic runs are no evidence for a claim about real data", async () => {
  const fake = { ...ARXIV, kind: "synthetic" as const };
  assertEquals((await judged([fake])).get("A1")!.verdict, "not run");
});

Deno.test("a difference of differences is taken seed by seed", async () => {
  const imdb = {
    ...AG,
    dataset: "imdb",
    kind: "official" as const,
    correct: {
      add: [6000, 6000, 6000, 6000, 6000],
      gate_scalar: [6038, 6076, 6114, 6152, 6190],
    },
  };
  const flat = {
    ...AG,
    correct: {
      add: [7000, 7000, 7000, 7000, 7000],
      gate_scalar: [7038, 7038, 7038, 7038, 7038],
    },
  };
  const grown = (await judged([flat, imdb])).get("A8")!.comparisons[0]!;
  // (38, 76, 114, 152, 190) − 38 documents of 7,600: 0, ½, 1, 1½ and 2 points.
  assertEquals(grown.n, 5);
  assert(Math.abs(grown.mean! - 0.01) < 1e-15);
  assertEquals([grown.positive, grown.negative], [4, 0]);
});
