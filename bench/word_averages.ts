/**
 * Training of word averages beside PyTorch's: three layers of 300, a vocabulary of 195,000, batches of
 * 15 documents of 230 words, as frequent as in a language.
 *
 *     deno run -A bench/word_averages.ts [PYTHON]
 *
 * The two take turns, one thread each; figures are processor time of the fastest turn. PyTorch has `EmbeddingBag`
 * with sparse gradients and its own AdaGrad, without the weight decay of rows that ours has.
 *
 * @module
 */
import { cpuUsage } from "node:process";
import { AveragingNetwork } from "../models/averaging.ts";
import { streamKey, uniform } from "../models/random.ts";

const python = Deno.args[0] ?? "/usr/bin/python3";
const VOCABULARY = 195_000, LENGTH = 230, BATCH = 15, BATCHES = 40, TURNS = 3;

const count = BATCH * BATCHES;
const drawn = uniform(streamKey(0, "bench/words"), count * LENGTH, { low: 0, high: 1 });
const documents = {
  labels: Uint8Array.from({ length: count }, (_, i) => i % 2),
  offsets: Uint32Array.from({ length: count + 1 }, (_, i) => i * LENGTH),
  // Zipf's law: the density of a rank is 1 / rank.
  ids: Int32Array.from(drawn, (u) => Math.floor(VOCABULARY ** u) - 1),
};

const network = new AveragingNetwork(
  { vocabulary: VOCABULARY, classes: 2, d: 300, depth: 3 },
  {
    batch: BATCH,
    documents: count,
    wordDropout: 0.3,
    rho: 1e-4,
    rate: 0.005,
    epsilon: 1e-3,
    repeats: "all",
    seed: 0,
  },
  LENGTH,
);
let step = 0;
function ours(): number {
  const before = cpuUsage();
  for (let batch = 0; batch < BATCHES; batch++) {
    const chosen = Array.from({ length: BATCH }, (_, i) => batch * BATCH + i);
    network.step(documents, chosen, ++step);
  }
  const { user, system } = cpuUsage(before);
  return (user + system) / 1e6;
}

const folder = Deno.makeTempDirSync();
Deno.writeFileSync(`${folder}/ids`, new Uint8Array(documents.ids.buffer));
async function theirs(): Promise<number> {
  const script = new URL("./word_averages.py", import.meta.url).pathname;
  const { stdout } = await new Deno.Command(python, { args: [script, `${folder}/ids`] }).output();
  return Number(new TextDecoder().decode(stdout));
}

const best = { ours: Infinity, theirs: Infinity };
for (let turn = 0; turn < TURNS; turn++) {
  best.ours = Math.min(best.ours, ours());
  best.theirs = Math.min(best.theirs, await theirs());
}
Deno.removeSync(folder, { recursive: true });
const rate = (seconds: number) => Math.round(count * LENGTH / seconds).toLocaleString("en");
console.log(`ours     ${rate(best.ours)} tokens/s`);
console.log(`PyTorch  ${rate(best.theirs)} tokens/s`);
console.log(`ours is  ${(best.theirs / best.ours).toFixed(2)} ×`);
