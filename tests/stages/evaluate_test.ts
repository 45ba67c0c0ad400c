import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { evaluate } from "../../stages/evaluate.ts";
import { train } from "../../stages/train.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { TOY_MODEL, writeToyCorpus } from "./toy_corpus.ts";
import { temporaryFolder } from "../rig/temporary.ts";

async function evaluated(fusion: string, params: Record<string, unknown>) {
  const directory = temporaryFolder();
  const corpus = join(directory, "corpus");
  writeToyCorpus(corpus, { validation: true });
  const tokens = artifact(corpus);
  const { outputs } = await runStage(train, {
    fusion,
    seed: 0,
    ...TOY_MODEL,
    epochs: 6,
    learning_rate: 5e-3,
  }, { directory, inputs: { tokens } });
  const history = JSON.parse(Deno.readTextFileSync(outputs.history!));
  const run = await runStage(evaluate, params, {
    directory,
    inputs: { tokens, weights: artifact(outputs.weights!) },
  });
  const metrics = JSON.parse(Deno.readTextFileSync(run.outputs.metrics!));
  return { history, metrics, headline: run.metrics };
}

Deno.test("evaluating the validation split gives the best epoch's validation figures", async () => {
  const { history, metrics } = await evaluated("add", { split: "validation" });
  const best = history.epochs[history.bestEpoch - 1];
  assertEquals(metrics.accuracy, best.validationAccuracy);
  assertEquals(metrics.lossNats, best.validationLoss);
  assertEquals(metrics.gate, undefined);
});

Deno.test("metrics add up, and a gate's values lie between 0 and 1", async () => {
  const { metrics, headline } = await evaluated("gate_scalar", {});
  assertEquals(metrics.documents, 60);
  const sum = (key: string) =>
    metrics.perClass.reduce((total: number, c: Record<string, number>) => total + c[key]!, 0);
  assertEquals(sum("documents"), 60);
  assertEquals(sum("correct"), metrics.correct);
  assertEquals(metrics.accuracy, metrics.correct / 60);
  assertEquals(headline.accuracy, metrics.accuracy);
  assert(metrics.majorityShare >= 1 / 3 && metrics.majorityShare < 1);
  assertEquals(metrics.gate.byPosition.length, 12);
  assert(metrics.gate.byPosition.every((g: number) => g > 0 && g < 1));
});

Deno.test("a split the corpus lacks is refused", async () => {
  const directory = temporaryFolder();
  const corpus = join(directory, "corpus");
  writeToyCorpus(corpus);
  const inputs = { tokens: artifact(corpus), weights: artifact(corpus) };
  await assertRejects(
    () => runStage(evaluate, { split: "validation" }, { directory, inputs }),
    Error,
    'must have documents in split "validation"',
  );
});
