/**
 * Holds an operation on the current backend against its formula in doubles: values, and gradients
 * against the formula's differences.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { readTensor } from "../models/webgpu.ts";
import { type Case, Draws, type Values } from "./cases.ts";
import { sum } from "./formulas.ts";

/** How far values may be off, relative to the largest. */
const TOLERANCE = 1e-6;
/** The same of each element of a gradient, which differences give with some error of their own. */
const EACH_TOLERANCE = 1e-5;
/** Half the distance over which a formula's difference is taken. */
const STEP = 1e-5;

/** How far one result of an operation is from what it should be. */
export interface Finding {
  /** `values`, `gradient of input 0`, `slope along a direction of input 0`. */
  readonly what: string;
  /** Shapes of the inputs. */
  readonly inputs: string;
  /** Largest difference, relative to the largest value; infinite where something is no number. */
  readonly error: number;
  readonly tolerance: number;
  /** Where it is, row after row of the result, and what is there. */
  readonly at: number;
  readonly found: number;
  readonly expected: number;
}

/** The largest difference, relative to the larger of the largest value expected and `floor`. */
export function worstOf(
  found: Values,
  expected: Values,
  floor: number,
): Pick<Finding, "error" | "at"> {
  if (found.length !== expected.length) return { error: Infinity, at: 0 };
  let scale = floor, worst = 0, at = 0;
  for (let i = 0; i < expected.length; i++) scale = Math.max(scale, Math.abs(expected[i]!));
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(found[i]! - expected[i]!);
    // What is no number is never overlooked, whatever comes after it.
    if (Number.isNaN(difference)) return { error: Infinity, at: i };
    if (difference > worst) worst = difference, at = i;
  }
  return { error: worst / scale, at };
}

/** The slope of `weights` · formula in input `which`, along a direction. */
function slope(
  { inputs, formula }: Case,
  o: { weights: Values; which: number; direction: (element: number) => number },
): number {
  const at = (distance: number) =>
    formula(
      ...inputs.map(({ values }, i) =>
        i === o.which
          ? Float64Array.from(values, (x, element) => x + distance * o.direction(element))
          : values
      ),
    );
  const up = at(STEP), down = at(-STEP);
  return sum(up.length, (i) => o.weights[i]! * (up[i]! - down[i]!)) / (2 * STEP);
}

/**
 * Computes one case of an operation and compares.
 *
 * @param o.maxPairs Most pairs of an input's and an output's element for differences along each element
 *   alone; with more of them gradients are compared along one direction.
 */
export async function checkCase(
  operation: (draw: Draws) => Case,
  o: { readonly name: string; readonly number: number; readonly maxPairs: number },
): Promise<Finding[]> {
  const draw = new Draws(o.name, o.number), one = operation(draw);
  const inputs = one.inputs.map(({ shape }) => `[${shape}]`).join(", ");
  const expected = one.formula(...one.inputs.map(({ values }) => values));
  const { values: weights } = draw.input([expected.length]);
  const { value, grads } = tf.tidy(() => {
    const tensors = one.inputs.map(({ shape, values }) => tf.tensor(values, [...shape]));
    const shape = one.run(...tensors).shape;
    return tf.valueAndGrads(one.run)(tensors, tf.tensor(weights, shape));
  });
  const floor = one.cancels ?? 1e-3;
  const compared = (what: string, found: Values, expected: Values, tolerance = TOLERANCE) => {
    const { error, at } = worstOf(found, expected, floor);
    return { what, inputs, error, tolerance, at, found: found[at]!, expected: expected[at]! };
  };
  const findings: Finding[] = [compared("values", await readTensor(value), expected)];
  for (const [which, gradient] of grads.entries()) {
    const found = await readTensor(gradient);
    const direction = draw.input([found.length]).values;
    const along = slope(one, { weights, which, direction: (i) => direction[i]! });
    const foundAlong = sum(found.length, (i) => found[i]! * direction[i]!);
    const largest = found.reduce((most, g) => Math.max(most, Math.abs(g)), floor);
    const apart = Math.abs(foundAlong - along) / largest / Math.hypot(...direction);
    findings.push({
      what: `slope along a direction of input ${which}`,
      ...{ inputs, tolerance: TOLERANCE, at: 0, found: foundAlong, expected: along },
      error: Number.isFinite(apart) ? apart : Infinity,
    });
    if (found.length * expected.length > o.maxPairs) continue;
    const each = Float64Array.from(
      found,
      (_, element) => slope(one, { weights, which, direction: (i) => i === element ? 1 : 0 }),
    );
    findings.push(
      compared(`gradient of input ${which}`, found, each, EACH_TOLERANCE),
    );
  }
  tf.dispose([value, grads]);
  return findings;
}
