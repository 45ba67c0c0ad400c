/**
 * Trains a small model in a process of its own: `train_process.ts TRAINER BACKEND FOLDER
 * [BUSY]`. Writes each step's number, then the digests of what it made. A second start in the same
 * folder resumes. With BUSY another thread keeps a processor busy meanwhile.
 *
 * @module
 */
import { join } from "node:path";
import type { Backend, Stage } from "../../pipeline/stage.ts";
import { train } from "../../stages/train.ts";
import { trainLanguage } from "../../stages/train_language.ts";
import { writeToyCorpus, writeToyText } from "../stages/toy_corpus.ts";
import { artifact, runStage } from "./run_stage.ts";

const shared = { seed: 5, d_model: 16, heads: 2, layers: 1, checkpoint_every: 4 };
const trainers = {
  classifier: {
    stage: train as Stage<unknown>,
    write: writeToyCorpus,
    // 24 steps, so that the last one writes a checkpoint.
    params: { ...shared, fusion: "gate_cnn", d_ff: 32, batch: 16, epochs: 4, chunk_tokens: 70 },
  },
  language: {
    stage: trainLanguage as Stage<unknown>,
    write: writeToyText,
    params: {
      ...shared,
      run: 4,
      context: 8,
      batch: 4,
      iterations: 24,
      eval_every: 6,
      eval_batches: 2,
      chunk_tokens: 24,
    },
  },
};

type Args = [name: keyof typeof trainers, backend: Backend, folder: string, busy?: string];
const [name, backend, folder, busy] = Deno.args as Args;
if (busy !== undefined) {
  const loop = "for (let x = 0; ; x++) Math.sqrt(x);";
  new Worker(`data:text/javascript,${encodeURIComponent(loop)}`, { type: "module" });
}
const { stage, write, params } = trainers[name];
const [corpus, directory, checkpoints] = ["corpus", "run", "checkpoints"].map((part) =>
  join(folder, part)
) as [string, string, string];
Deno.mkdirSync(directory, { recursive: true });
Deno.mkdirSync(checkpoints, { recursive: true });
write(corpus);
const say = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
const inputs = { tokens: artifact(corpus) };
const { outputs } = await runStage(stage, params, {
  directory,
  inputs,
  checkpoints,
  backend,
  progress: ({ done }) => say(`step ${done}`),
});
const digests = {
  // Weights, both moments and the best weights, of the last step.
  state: artifact(join(checkpoints, "checkpoint")).sha256,
  weights: artifact(outputs.weights!).sha256,
  history: artifact(outputs.history!).sha256,
};
say(JSON.stringify(digests));
Deno.exit(0);
