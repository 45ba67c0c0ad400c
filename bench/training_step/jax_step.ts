/**
 * Times a training step of the language model of `sizes.ts` in jax-js, whole under `jit`, without
 * dropout: `jax_step.ts BACKEND MODEL`. Memory on the device is not known.
 *
 * @module
 */
import {
  type Array as Value,
  defaultDevice,
  init,
  jit,
  nn,
  numpy as np,
  random,
  tree,
  valueAndGrad,
} from "@jax-js/jax";
import { median } from "../timing.ts";
import { DispatchCounter } from "./dispatches.ts";
import { batchOf, type Model, SIZES } from "./sizes.ts";

const [backend, model] = Deno.args as ["webgpu" | "wasm", Model];
const s = SIZES[model];
const n = s.batch * s.length, width = s.d / s.heads;

const counter = new DispatchCounter();
await init();
defaultDevice(backend);

let seed = 0;
const weight = (...shape: number[]) => random.normal(random.key(seed++), shape).mul(0.02);
const ones = () => np.ones([s.d]);
const start = {
  embedding: weight(s.vocabulary, s.d),
  position: weight(s.length, s.d),
  last: ones(),
  blocks: Array.from({ length: s.layers }, () => ({
    norm1: ones(),
    qkv: weight(s.d, 3 * s.d),
    out: weight(s.d, s.d),
    norm2: ones(),
    ff1: weight(s.d, s.dFf),
    ff2: weight(s.dFf, s.d),
  })),
};
type Weights = typeof start;

function oneHot(classes: Int32Array): Value {
  const values = new Float32Array(n * s.vocabulary);
  classes.forEach((c, row) => values[row * s.vocabulary + c] = 1);
  return np.array(values).reshape([n, s.vocabulary]);
}

function future(): Value {
  const values = new Float32Array(s.length ** 2);
  for (let i = 0; i < s.length; i++) values.fill(-1e9, i * s.length + i + 1, (i + 1) * s.length);
  return np.array(values).reshape([s.length, s.length]);
}

/** A value passed on is given away; `.ref` keeps it. */
function loss(p: Weights, tokens: Value, wanted: Value, mask: Value): Value {
  const rows = [s.batch, s.length, s.d];
  let x = np.matmul(tokens, p.embedding.ref).reshape(rows).add(p.position);
  for (const b of p.blocks) {
    const split = np.matmul(nn.standardize(x.ref, -1).mul(b.norm1), b.qkv)
      .reshape([s.batch, s.length, 3, s.heads, width]).transpose([2, 0, 3, 1, 4]);
    const q = split.ref.slice(0), k = split.ref.slice(1), v = split.slice(2);
    const scores = np.matmul(q, k.transpose([0, 1, 3, 2])).mul(1 / Math.sqrt(width));
    const mixed = np.matmul(nn.softmax(scores.add(mask.ref), -1), v).transpose([0, 2, 1, 3]);
    x = x.add(np.matmul(mixed.reshape(rows), b.out));
    const hidden = nn.gelu(np.matmul(nn.standardize(x.ref, -1).mul(b.norm2), b.ff1));
    x = x.add(np.matmul(hidden, b.ff2));
  }
  mask.dispose();
  const y = nn.standardize(x, -1).mul(p.last).reshape([n, s.d]);
  const logits = np.matmul(y, p.embedding.transpose());
  return nn.logSoftmax(logits, -1).mul(wanted).sum().mul(-1 / n);
}

const step = jit((
  p: Weights,
  first: Weights,
  second: Weights,
  rate: Value,
  scale: Value,
  data: { tokens: Value; wanted: Value; mask: Value },
) => {
  const [value, slope] = valueAndGrad(loss)(tree.ref(p), data.tokens, data.wanted, data.mask);
  const g = slope as Weights;
  const m = tree.map((m: Value, g: Value) => m.mul(0.9).add(g.mul(0.1)), first, tree.ref(g));
  const v = tree.map(
    (v: Value, g: Value) => v.mul(0.999).add(g.ref.mul(g).mul(0.001)),
    second,
    g,
  );
  const moved = tree.map(
    (p: Value, m: Value, v: Value) =>
      p.sub(m.mul(rate.ref).div(np.sqrt(v.mul(scale.ref)).add(1e-8))),
    p,
    tree.ref(m),
    tree.ref(v),
  );
  rate.dispose();
  scale.dispose();
  return [moved, m, v, value] as [Weights, Weights, Weights, Value];
});

const { ids, labels } = batchOf(model);
const data = { tokens: oneHot(ids), wanted: oneHot(labels), mask: future() };
const zeros = () => tree.map((x: Value) => np.zeros(x.shape), start) as Weights;
let weights = start, first = zeros(), second = zeros();
const seconds: number[] = [], losses: number[] = [];
let dispatches = 0;
for (let i = 1; i <= 10; i++) {
  const begun = performance.now(), before = counter.count;
  const rate = np.array(1e-3 / (1 - 0.9 ** i)), scale = np.array(1 / (1 - 0.999 ** i));
  const done = step(weights, first, second, rate, scale, tree.ref(data));
  [weights, first, second] = done;
  losses.push(await done[3].jsAsync() as number);
  // It encodes what it has queued when a value is read.
  dispatches = counter.count - before;
  if (i > 2) seconds.push((performance.now() - begun) / 1000);
}
const status = Deno.build.os === "linux" ? Deno.readTextFileSync("/proc/self/status") : "";
console.log(JSON.stringify({
  tokensPerSecond: n / median(seconds),
  dispatches,
  deviceBytes: 0,
  ofLimit: 0,
  peakBytes: 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0),
  losses: [losses[0], losses.at(-1)],
}));
// jax-js keeps workers that would keep the process.
Deno.exit(0);
