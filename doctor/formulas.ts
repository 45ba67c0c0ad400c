/**
 * What the operations compute, in doubles and element by element. These formulas share no code with the
 * kernels: they are what kernels are held against, by the tests and on each machine by `doctor`.
 *
 * @module
 */
import type { OptimizerOptions } from "../models/optimizer.ts";

/** Σ of `count` terms. */
export const sum = (count: number, term: (i: number) => number) => {
  let total = 0;
  for (let i = 0; i < count; i++) total += term(i);
  return total;
};

/** A matrix by its elements, row after row. */
export const matrix = (
  rows: number,
  columns: number,
  element: (i: number, j: number) => number,
) => {
  const values = new Float64Array(rows * columns);
  for (let i = 0, at = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) values[at++] = element(i, j);
  }
  return values;
};

/** The density φ of the normal distribution. */
export const density = (x: number) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

/** Φ(x) by its series ½ + φ(x) Σ xⁿ/n!! over odd n, whose terms have one sign. */
export function distribution(x: number): number {
  if (Math.abs(x) > 10) return x > 0 ? 1 : 0;
  let term = x, total = 0;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(total); n += 2) {
    total += term;
    term *= x * x / (n + 2);
  }
  return 0.5 + density(x) * total;
}

/** Layer normalisation in doubles. */
export function normalised(x: ArrayLike<number>, { n, c, gain, bias }: {
  n: number;
  c: number;
  gain: ArrayLike<number>;
  bias: ArrayLike<number>;
}): Float64Array {
  const y = new Float64Array(n * c);
  for (let row = 0; row < n; row++) {
    const values = Array.from({ length: c }, (_, j) => x[row * c + j]!);
    const mean = values.reduce((sum, value) => sum + value, 0) / c;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / c;
    values.forEach((value, j) => {
      y[row * c + j] = (value - mean) / Math.sqrt(variance + 1e-5) * gain[j]! + bias[j]!;
    });
  }
  return y;
}

/** What a cross-entropy is taken of: logits in rows of `k`, and a label for each row. */
export interface Labelled {
  readonly labels: Int32Array;
  readonly k: number;
  readonly divisor: number;
}

/** Cross-entropy and its gradient, with what a sure row would lose kept: ln Σ eᶻ⁻ᵐ is ln(1 + the rest). */
export function crossEntropyFormula({ labels, k, divisor }: Labelled, logits: ArrayLike<number>) {
  const gradient = new Float64Array(logits.length);
  let loss = 0;
  labels.forEach((label, row) => {
    const z = Array.from({ length: k }, (_, j) => logits[row * k + j]!);
    const top = z.indexOf(Math.max(...z));
    const powers = z.map((x) => Math.exp(x - z[top]!));
    const rest = powers.reduce((sum, power, j) => j === top ? sum : sum + power, 0);
    loss += (Math.log1p(rest) + (z[top]! - z[label]!)) / divisor;
    powers.forEach((power, j) => {
      const others = powers.reduce((sum, x, i) => i === j ? sum : sum + x, 0);
      gradient[row * k + j] = (j === label ? -others : power) / (1 + rest) / divisor;
    });
  });
  return { loss, gradient };
}

/** Adam in doubles: Kingma & Ba 2015, algorithm 1; their m̂ and v̂, not the step they fold into. */
export class Adam {
  readonly p: Float64Array;
  readonly m: Float64Array;
  readonly v: Float64Array;
  readonly #decay: number;

  constructor(
    start: Float32Array,
    private readonly o: Required<OptimizerOptions> & { rank: number },
  ) {
    this.p = Float64Array.from(start);
    this.m = new Float64Array(start.length);
    this.v = new Float64Array(start.length);
    this.#decay = o.rank >= o.decayRank ? o.weightDecay : 0;
  }

  step(gradient: Float32Array, t: number): void {
    const { p, m, v, o } = this, decay = this.#decay;
    for (let i = 0; i < p.length; i++) {
      // Loshchilov & Hutter 2019, algorithm 2: L2 in the gradient for Adam, in the update for AdamW.
      const g = gradient[i]! + (o.kind === "adam" ? decay * p[i]! : 0);
      m[i] = o.beta1 * m[i]! + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i]! + (1 - o.beta2) * g * g;
      const mHat = m[i]! / (1 - Math.pow(o.beta1, t)), vHat = v[i]! / (1 - Math.pow(o.beta2, t));
      const decoupled = o.kind === "adamw" ? decay * p[i]! : 0;
      p[i]! -= o.learningRate * (mHat / (Math.sqrt(vHat) + o.epsilon) + decoupled);
    }
  }
}
