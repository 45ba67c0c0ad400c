/**
 * Times one implementation in a process of its own: `measure.ts IMPLEMENTATION BACKEND MODEL`, ours
 * with or without dropout or stock, which runs on tfjs's own backends as they ship.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { startBackend } from "../../models/backend.ts";
import { readTensor } from "../../models/webgpu.ts";
import { median } from "../timing.ts";
import { DispatchCounter } from "./dispatches.ts";
import { ours } from "./ours.ts";
import { type Model, SIZES } from "./sizes.ts";
import { stock } from "./stock.ts";

const [implementation, backend, model] = Deno.args as [
  "ours" | "ours_without_dropout" | "stock",
  "webgpu" | "wasm",
  Model,
];
const counter = new DispatchCounter();
if (implementation === "stock") await tf.setBackend(backend);
else await startBackend(backend);
const step = implementation === "stock"
  ? stock(model)
  : ours(model, implementation === "ours" ? 0.1 : 0);

const losses: number[] = [], seconds: number[] = [];
let dispatches = 0;
const begun = performance.now();
for (let i = 0; i < 12 && (i < 5 || performance.now() - begun < 4000); i++) {
  const before = counter.count;
  const start = performance.now();
  const loss = tf.tidy(step);
  dispatches = counter.count - before;
  losses.push((await readTensor(loss))[0]!);
  // The first two compile.
  if (i >= 2) seconds.push((performance.now() - start) / 1000);
  loss.dispose();
}
const { batch, length } = SIZES[model];
console.log(JSON.stringify({
  tokensPerSecond: batch * length / median(seconds),
  dispatches,
  // Of tfjs's own pool, which frees nothing, what it holds in the end is the most it held.
  deviceBytes: backend !== "webgpu"
    ? 0
    : (tf.memory() as unknown as { numBytesAllocatedInGPU: number }).numBytesAllocatedInGPU,
  peakBytes: peakBytes(),
  losses: [losses[0], losses.at(-1)],
}));

/** The most memory this process held; 0 where the system does not say. */
function peakBytes(): number {
  try {
    const status = Deno.readTextFileSync("/proc/self/status");
    return 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
