import { assertEquals } from "@std/assert";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs";
import { FUSIONS } from "../../models/names.ts";
import { RUNS } from "../../models/intensity_runs.ts";
import type { Stage } from "../../pipeline/stage.ts";
import { train } from "../../stages/train.ts";
import { trainLanguage } from "../../stages/train_language.ts";
import { testOn } from "../models/rig.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { writeToyCorpus, writeToyText } from "./toy_corpus.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const shared = { seed: 0, d_model: 16, heads: 2, layers: 1 };
const short = { ...shared, d_ff: 32, batch: 50, epochs: 1, chunk_tokens: 200 };
const cases: [string, Stage<unknown>, (path: string) => void, Record<string, unknown>][] = [
  ...[
    ...FUSIONS.map((fusion) => ({ fusion })),
    { fusion: "gate_cnn", gate_reduce: "mean" },
    ...["learned", "rope", "relative", "rope_attention", "relative_attention"]
      .map((encoding) => ({ fusion: "add", encoding })),
  ].map((params): typeof cases[number] => [
    Object.values(params).join(", "),
    train as Stage<unknown>,
    writeToyCorpus,
    { ...short, ...params },
  ]),
  ...[...RUNS.keys()].flatMap((run) => [{ run }, ...(run === 4 ? [{ run, bypass: true }] : [])])
    .map((params): typeof cases[number] => [
      `run ${Object.values(params).join(", bypassed ")}`,
      trainLanguage as Stage<unknown>,
      writeToyText,
      {
        ...shared,
        context: 8,
        batch: 4,
        iterations: 2,
        eval_batches: 1,
        chunk_tokens: 16,
        ...params,
      },
    ]),
];

testOn(["wasm", "webgpu"], "a training leaves no tensor behind", async (backend) => {
  for (const [name, stage, write, params] of cases) {
    const directory = temporaryFolder();
    write(join(directory, "corpus"));
    const before = tf.memory();
    const inputs = { tokens: artifact(join(directory, "corpus")) };
    await runStage(stage, params, { directory, inputs, backend });
    const { numTensors, numBytes } = tf.memory();
    assertEquals([numTensors, numBytes], [before.numTensors, before.numBytes], name);
  }
});
