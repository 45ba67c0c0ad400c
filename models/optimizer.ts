/**
 * Adam and AdamW as PyTorch computes them, and clipping by the gradients' norm.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { type AdamParameter, deviceAdam, deviceClip } from "./kernels/device_optimizer.ts";
import { onHost, runHost } from "./kernels/host.ts";
import type { Parameters } from "./parameters.ts";
import { cosTurns } from "./portable_math.ts";

/** Settings; PyTorch's names and defaults but for the weight decay, which is 0. */
export interface OptimizerOptions {
  /** `adamw` shrinks weights by themselves; `adam` adds weight decay to the gradient. */
  readonly kind: "adamw" | "adam";
  readonly learningRate: number;
  readonly weightDecay?: number;
  /** Least rank of a parameter that decays; all decay unless given. */
  readonly decayRank?: number;
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
}

/** First and second moments of one parameter's gradient. */
export interface Moments {
  readonly first: tf.Variable;
  readonly second: tf.Variable;
}

/** Moments of all parameters, all 0; the caller disposes them. */
export function zeroMoments(parameters: Parameters): Map<string, Moments> {
  const zeros = (like: tf.Variable) => tf.tidy(() => tf.variable(tf.zerosLike(like)));
  return new Map(
    [...parameters].map(([name, p]) => [name, { first: zeros(p), second: zeros(p) }]),
  );
}

/**
 * Scales all gradients by min(1, limit / (norm + 1e-6)), norm being that of all of them together.
 *
 * PyTorch's `clip_grad_norm_`. The gradients are changed in place.
 */
export function clipByNorm(gradients: ReadonlyMap<string, tf.Tensor>, limit: number): void {
  if (onHost()) {
    runHost("clipByNorm", { inputs: [...gradients.values()], outputs: [] }, (arrays) => {
      let squares = 0;
      for (const g of arrays) for (let i = 0; i < g.length; i++) squares += g[i]! * g[i]!;
      const scale = limit / (Math.sqrt(squares) + 1e-6);
      if (scale >= 1) return;
      for (const g of arrays) for (let i = 0; i < g.length; i++) g[i]! *= scale;
    });
    return;
  }
  deviceClip([...gradients.values()], limit);
}

/**
 * One step, number `step` from 1, changing parameters and moments in place. A parameter without a
 * gradient stays as it is.
 *
 * Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2, with PyTorch's order:
 * p ← p − lr λ p; m ← β₁m + (1−β₁)g; v ← β₂v + (1−β₂)g²;
 * p ← p − lr/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + ε).
 */
export function optimizerStep(
  parameters: Parameters,
  gradients: ReadonlyMap<string, tf.Tensor>,
  options: OptimizerOptions & { moments: ReadonlyMap<string, Moments>; step: number },
): void {
  const { learningRate, step } = options;
  const beta1 = options.beta1 ?? 0.9, beta2 = options.beta2 ?? 0.999;
  const epsilon = options.epsilon ?? 1e-8;
  const size = learningRate / (1 - integerPower(beta1, step));
  const correction = Math.sqrt(1 - integerPower(beta2, step));
  const stepped: AdamParameter[] = [];
  for (const [name, gradient] of gradients) {
    const parameter = parameters.get(name);
    const moments = options.moments.get(name);
    if (parameter === undefined || moments === undefined) {
      throw new RangeError(`Cannot step parameter "${name}": it is not there or has no moments`);
    }
    const decay = parameter.rank >= (options.decayRank ?? 0) ? options.weightDecay ?? 0 : 0;
    const coupled = options.kind === "adam" ? decay : 0;
    const shrink = options.kind === "adamw" ? 1 - learningRate * decay : 1;
    stepped.push({
      p: parameter,
      g: gradient,
      m: moments.first,
      v: moments.second,
      coupled,
      shrink,
    });
  }
  if (stepped.length === 0) return;
  const rule = { beta1, beta2, epsilon, size, correction };
  if (!onHost()) return deviceAdam(stepped, rule);
  const inputs = stepped.flatMap(({ p, g, m, v }) => [p, g, m, v]);
  // In place: sound because no kernel here caches what it derives from a weight, as XNNPACK does.
  runHost("optimizerStep", { inputs, outputs: [] }, (arrays, _outputs, _scratch, loops) => {
    for (const [i, { coupled, shrink }] of stepped.entries()) {
      const [p, g, m, v] = arrays.slice(4 * i, 4 * i + 4) as AdamArrays;
      loops.adam({ p, g, m, v }, { coupled, shrink, ...rule });
    }
  });
}

type AdamArrays = [Float32Array, Float32Array, Float32Array, Float32Array];

/** xⁿ for a whole n ≥ 0 by squaring: portable, unlike `Math.pow`. */
function integerPower(x: number, n: number): number {
  let result = 1;
  for (let base = x, rest = n; rest > 0; rest = Math.floor(rest / 2), base *= base) {
    if (rest % 2 === 1) result *= base;
  }
  return result;
}

/**
 * Learning rate of iteration `step`, from 0: rises linearly from 0 over `warmup` iterations, then
 * falls along half a cosine to `least` at iteration `decayUntil`, and stays there.
 */
export function cosineRate(
  step: number,
  o: { peak: number; min: number; warmup: number; decayUntil: number },
): number {
  if (step < o.warmup) return o.peak * step / o.warmup;
  if (step > o.decayUntil) return o.min;
  const share = (step - o.warmup) / (o.decayUntil - o.warmup);
  return o.min + 0.5 * (1 + cosTurns(share / 2)) * (o.peak - o.min);
}
