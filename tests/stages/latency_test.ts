import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs";
import { readTokenFile, writeTokenFile } from "../../data/token_file.ts";
import type { Artifact } from "../../pipeline/stage.ts";
import { latency } from "../../stages/latency.ts";
import { latencySchema } from "../../stages/results/inputs.ts";
import { train } from "../../stages/train.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { TOY_MODEL, writeToyCorpus } from "./toy_corpus.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const MODEL = { ...TOY_MODEL, epochs: 1, seed: 3 };

async function trained(fusions: readonly string[]) {
  const directory = temporaryFolder();
  const corpus = join(directory, "corpus");
  writeToyCorpus(corpus);
  const tokens = artifact(corpus);
  const weights: Artifact[] = [];
  for (const fusion of fusions) {
    const own = join(directory, fusion);
    Deno.mkdirSync(own);
    const params = { ...MODEL, fusion };
    const { outputs } = await runStage(train, params, { directory: own, inputs: { tokens } });
    weights.push(artifact(outputs.weights!, { dataset: "toy", operator: fusion, seed: "3" }));
  }
  return {
    tokens,
    weights,
    async timed(params: Record<string, unknown>, inputs: Record<string, Artifact> = {}) {
      const run = await runStage(latency, params, {
        directory,
        inputs: { tokens, weights, ...inputs },
      });
      const text = Deno.readTextFileSync(run.outputs.latency!);
      return latencySchema.parse(JSON.parse(text));
    },
  };
}

Deno.test("every model is timed in every round that counts, on the same documents", async () => {
  const { tokens, timed } = await trained(["add", "gate_cnn"]);
  const before = tf.memory().numTensors;
  const found = await timed({ documents: 25, batch: 8, warm_up: 1, rounds: 3 });
  assertEquals(tf.memory().numTensors, before, "no tensor is left");
  assertEquals(found.models.map((each) => each.operator), ["add", "gate_cnn"]);
  assertEquals([found.documents, found.batches, found.batch, found.warmUp], [25, 4, 8, 1]);
  const { offsets } = readTokenFile(tokens.path).splits.test!;
  // Of 60 documents the 25 that lie evenly: 0, 2, 4, 7, 9, …
  let sum = 0;
  for (let i = 0; i < 25; i++) {
    const document = Math.floor(i * 60 / 25);
    sum += offsets[document + 1]! - offsets[document]!;
  }
  assertEquals(found.tokensPerDocument, sum / 25);
  for (const model of found.models) {
    assertEquals(model.size, { d_model: 16, heads: 2, layers: 1, d_ff: 32, max_length: 12 });
    assertEquals([model.seed, model.encoding], [3, "sinusoidal"]);
    assertEquals(model.passMs.length, 3);
    assert(model.passMs.every((ms) => ms > 0));
  }
});

Deno.test("a split of fewer documents than asked for is taken whole", async () => {
  const { timed } = await trained(["add"]);
  const found = await timed({ documents: 1000, batch: 100, warm_up: 1, rounds: 2 });
  assertEquals([found.documents, found.batches, found.batch], [60, 1, 60]);
});

Deno.test("weights of another corpus and a split without documents are refused", async () => {
  const { tokens, timed } = await trained(["add"]);
  await assertRejects(
    () => timed({ split: "validation" }),
    Error,
    'must have documents in split "validation", found none; its splits are train, test',
  );
  const other = `${tokens.path}.other`;
  writeTokenFile(other, { ...readTokenFile(tokens.path), vocabularySize: 21 });
  await assertRejects(
    () => timed({}, { tokens: artifact(other) }),
    Error,
    "found 20 words and 3 classes against 21 and 3",
  );
});
