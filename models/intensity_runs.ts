/**
 * The runs of "Learning to Look Harder", 2025, section 4, by their predictors of attention intensity;
 * without tensors, so that a schema can count them.
 *
 * @module
 */

/** What fixes a predictor. */
export interface IntensityConfig {
  readonly low: number;
  readonly high: number;
  /** Whether it knows the position, and has a residual connection (eqs. 3–6). */
  readonly position: boolean;
  /** Whether each head has its own factor (eq. 7). */
  readonly perHead: boolean;
  /**
   * What it reads: what its attention reads, the block's normalised input, or the residual stream
   * itself. The paper writes x for both; the first if left out.
   */
  readonly input?: PredictorInput;
  /** Hidden layers; if left out, one without position and two with it. */
  readonly hiddenLayers?: number;
}

/** What a predictor may read. */
export const PREDICTOR_INPUTS = ["normalised", "residual"] as const;

/** One of {@linkcode PREDICTOR_INPUTS}. */
export type PredictorInput = typeof PREDICTOR_INPUTS[number];

/** A predictor's hidden layers. */
export function hiddenLayersOf({ position, hiddenLayers }: IntensityConfig): number {
  return hiddenLayers ?? (position ? 2 : 1);
}

/** The paper's runs 0–4; `undefined` is the model without intensity. */
export const RUNS: readonly (IntensityConfig | undefined)[] = [
  undefined,
  { low: 0.1, high: 1, position: false, perHead: false },
  { low: 0.5, high: 1, position: false, perHead: false },
  { low: 0.2, high: 1, position: true, perHead: false },
  { low: 0.2, high: 1, position: true, perHead: true },
];
