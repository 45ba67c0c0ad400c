import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs";
import { readTokenFile, writeTokenFile } from "../../data/token_file.ts";
import type { Artifact } from "../../pipeline/stage.ts";
import { latency } from "../../stages/latency.ts";
import { train } from "../../stages/train.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";
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
      const table = (name: string) => measuredRows(run.outputs.latency!, name);
      return { rounds: table("rounds"), timing: table("timing")[0]! };
    },
  };
}

Deno.test("every model is timed in every round that counts, on the same documents", async () => {
  const { tokens, timed } = await trained(["add", "gate_cnn"]);
  const before = tf.memory().numTensors;
  const { rounds, timing } = await timed({ documents: 25, batch: 8, warm_up: 1, rounds: 3 });
  assertEquals(tf.memory().numTensors, before, "no tensor is left");
  const { offsets } = readTokenFile(tokens.path).splits.test!;
  // Of 60 documents the 25 that lie evenly: 0, 2, 4, 7, 9, …
  let sum = 0;
  for (let i = 0; i < 25; i++) {
    const document = Math.floor(i * 60 / 25);
    sum += offsets[document + 1]! - offsets[document]!;
  }
  assertEquals(timing, {
    backend: "wasm",
    documents: 25,
    batch: 8,
    tokens_per_document: sum / 25,
    warm_up: 1,
    rounds: 3,
  });
  assertEquals(
    rounds.map(({ dataset, operator, seed, round }) => [dataset, operator, seed, round]),
    ["add", "gate_cnn"].flatMap((operator) =>
      [0, 1, 2].map((round) => ["toy", operator, "3", round])
    ),
  );
  for (const { ms_per_batch: batch, ms_per_document: document } of rounds) {
    assert(Number(batch) > 0);
    // A pass is 4 batches, of 25 documents together.
    assertAlmostEquals(Number(batch) * 4, Number(document) * 25, 1e-9);
  }
});

Deno.test("models are called by their coordinates, whatever these are", async () => {
  const { tokens, weights } = await trained(["add"]);
  const directory = temporaryFolder();
  const inputs = {
    tokens,
    weights: ["1", "10"].map((decay) => artifact(weights[0]!.path, { decay, arm: "x" })),
  };
  const { outputs } = await runStage(latency, { warm_up: 1, rounds: 2 }, { directory, inputs });
  assertEquals(
    measuredRows(outputs.latency!, "rounds").map(({ arm, decay, round }) => [arm, decay, round]),
    [["x", "1", 0], ["x", "1", 1], ["x", "10", 0], ["x", "10", 1]],
  );
});

Deno.test("a split of fewer documents than asked for is taken whole", async () => {
  const { timed } = await trained(["add"]);
  const { timing } = await timed({ documents: 1000, batch: 100, warm_up: 1, rounds: 2 });
  assertEquals([timing.documents, timing.batch], [60, 60]);
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
