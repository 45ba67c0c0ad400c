/**
 * Times one implementation in a process of its own: `measure.ts IMPLEMENTATION BACKEND MODEL`.
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

const [implementation, backend, model] = Deno.args as ["ours" | "stock", "webgpu" | "wasm", Model];
const counter = new DispatchCounter();
await startBackend(backend);
if (implementation === "stock") {
  // As tfjs ships.
  tf.env().set("WEBGPU_MATMUL_PROGRAM_TYPE", -1);
  tf.env().set("WEBGPU_CPU_FORWARD", true);
}
const step = (implementation === "ours" ? ours : stock)(model);

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
