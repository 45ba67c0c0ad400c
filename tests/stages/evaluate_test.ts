import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { evaluate } from "../../stages/evaluate.ts";
import { train } from "../../stages/train.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";
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
  const [trained] = measuredRows(outputs.history!, "runs");
  const curve = measuredRows(outputs.history!, "curve");
  const run = await runStage(evaluate, params, {
    directory,
    inputs: { tokens, weights: artifact(outputs.weights!) },
  });
  const table = (name: string) => measuredRows(run.outputs.metrics!, name);
  const best = curve[Number(trained!.best_epoch) - 1]!;
  return { best, run: table("runs")[0]!, table, headline: run.metrics };
}

Deno.test("evaluating the validation split gives the best epoch's validation figures", async () => {
  const { best, run, table } = await evaluated("add", { split: "validation" });
  assertEquals(run.accuracy, best.validation_accuracy);
  assertEquals(run.loss_nats, best.validation_loss);
  assertEquals(table("gate"), []);
});

Deno.test("metrics add up, and a gate's values lie between 0 and 1", async () => {
  const { run, table, headline } = await evaluated("gate_scalar", {});
  assertEquals(run.documents, 60);
  const { d_model, heads, layers, d_ff, max_length } = run;
  assertEquals({ d_model, heads, layers, d_ff, max_length }, {
    d_model: 16,
    heads: 2,
    layers: 1,
    d_ff: 32,
    max_length: 12,
  });
  const sum = (key: string) =>
    table("classes").reduce((total, each) => total + Number(each[key]), 0);
  assertEquals(sum("class_documents"), 60);
  assertEquals(sum("class_correct"), run.correct);
  assertEquals(run.accuracy, Number(run.correct) / 60);
  assertEquals<unknown>(headline, { accuracy: run.accuracy, loss_nats: run.loss_nats });
  const majority = Math.max(...table("classes").map((each) => Number(each.class_documents)));
  assertEquals(run.majority_share, majority / 60);
  assertEquals(
    table("gate").map(({ position }) => position),
    Array.from({ length: 12 }, (_, i) => i),
  );
  assert(table("gate").every(({ value }) => Number(value) > 0 && Number(value) < 1));
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
