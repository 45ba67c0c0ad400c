/**
 * Times one implementation in a process of its own: `measure.ts IMPLEMENTATION BACKEND MODEL`, ours
 * with or without dropout or stock, which runs on tfjs's own backends as they ship. On the processor the
 * time that counts is its own, so that what else the machine does matters less. The later half of the steps counts:
 * a training has thousands, and after forty of a small model V8 is still compiling.
 *
 * @module
 */
import { cpuUsage } from "node:process";
import * as tf from "@tensorflow/tfjs";
import { type BackendName, startBackend } from "../../models/backend.ts";
import { readTensor } from "../../models/webgpu.ts";
import { median } from "../timing.ts";
import { DispatchCounter } from "./dispatches.ts";
import { productSpeed, stepFlops } from "./limit.ts";
import { ours } from "./ours.ts";
import { type Model, SIZES } from "./sizes.ts";
import { stock } from "./stock.ts";

const [implementation, backend, model] = Deno.args as [
  "ours" | "ours_without_dropout" | "stock",
  Exclude<BackendName, "cpu">,
  Model,
];
const counter = new DispatchCounter();
if (implementation === "stock") await tf.setBackend(backend);
else await startBackend(backend);
const step = implementation === "stock"
  ? stock(model)
  : ours(model, implementation === "ours" ? 0.1 : 0);

/** In milliseconds. */
const now = () => {
  if (backend === "webgpu") return performance.now();
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
};
const losses: number[] = [], seconds: number[] = [];
let dispatches = 0;
const begun = now();
for (let i = 0; i < 7 || now() - begun < 4000; i++) {
  const before = counter.count;
  const start = now();
  const loss = tf.tidy(step);
  dispatches = counter.count - before;
  losses.push((await readTensor(loss))[0]!);
  seconds.push((now() - start) / 1000);
  loss.dispose();
}
const { batch, length } = SIZES[model];
const stepSeconds = median(seconds.slice(seconds.length >> 1));
console.log(JSON.stringify({
  tokensPerSecond: batch * length / stepSeconds,
  dispatches,
  // Of tfjs's own pool, which frees nothing, what it holds in the end is the most it held.
  deviceBytes: backend !== "webgpu"
    ? 0
    : (tf.memory() as unknown as { numBytesAllocatedInGPU: number }).numBytesAllocatedInGPU,
  peakBytes: peakBytes(),
  // Of what the products alone would take at their best speed.
  ofLimit: backend === "webgpu" || implementation === "stock"
    ? 0
    : stepFlops(model) / productSpeed(now) / stepSeconds,
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
