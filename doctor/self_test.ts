/**
 * Every operation on the current backend against its formula in doubles.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { clipByNorm, optimizerStep, zeroMoments } from "../models/optimizer.ts";
import { normal, streamKey } from "../models/random.ts";
import { readTensor } from "../models/webgpu.ts";
import { OPERATIONS } from "./cases.ts";
import { checkCase, type Finding, worstOf } from "./check.ts";
import { Adam } from "./formulas.ts";
import { type Deadline, NotInTimeError, within } from "./timing.ts";

/** Numbers of the cases that are tried: odd sizes, then any. */
const CASES = [1, 4];
/** See `checkCase`: small enough for half a minute in all. */
const MAX_PAIRS = 5_000;
/** How long the last operation before the deadline may take, its compilation included. */
const GRACE_S = 5;

/** What came of one operation. */
export interface Tested {
  readonly operation: string;
  /** Whether it agrees; `null` if there was no time to try it, or no answer in that time. */
  readonly ok: boolean | null;
  /** What is farthest from its formula, in terms of what is allowed. */
  readonly worst?: Finding;
  /** Where it gave no result. */
  readonly error?: string;
}

/** Tries all operations until the deadline. */
export async function testOperations(
  deadline: Deadline,
  done: (operation: string) => void,
): Promise<Tested[]> {
  const all: (readonly [string, () => Promise<Finding[]>])[] = [
    ...Object.entries(OPERATIONS).map(([name, operation]) =>
      [name, async () => {
        const findings: Finding[] = [];
        for (const number of CASES) {
          findings.push(...await checkCase(operation, { name, number, maxPairs: MAX_PAIRS }));
        }
        return findings;
      }] as const
    ),
    ["optimizer", checkOptimizer],
  ];
  const tested: Tested[] = [];
  for (const [operation, check] of all) {
    done(operation);
    tested.push(
      deadline.isPast
        ? { operation, ok: null }
        : await testOne(operation, check, deadline.secondsLeft + GRACE_S),
    );
  }
  return tested;
}

async function testOne(
  operation: string,
  check: () => Promise<Finding[]>,
  seconds: number,
): Promise<Tested> {
  try {
    const findings = await within(seconds, check());
    const worst = findings.reduce((a, b) => b.error / b.tolerance > a.error / a.tolerance ? b : a);
    return { operation, ok: worst.error < worst.tolerance, worst };
  } catch (error) {
    const ok = error instanceof NotInTimeError ? null : false;
    return { operation, ok, error: error instanceof Error ? error.message : String(error) };
  }
}

/** Three steps of AdamW on clipped gradients. */
async function checkOptimizer(): Promise<Finding[]> {
  const shapes = [[1], [3, 1367], [40, 7]], clip = 0.5;
  const size = (shape: number[]) => shape.reduce((a, b) => a * b);
  const drawn = (name: string, n: number) => normal(streamKey(1, `doctor/${name}`), n);
  const settings = {
    ...{ kind: "adamw", learningRate: 0.05, weightDecay: 0.1, decayRank: 2 } as const,
    ...{ beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
  };
  const starts = shapes.map((shape, i) => drawn(`p.${i}`, size(shape)));
  const references = starts.map((start, i) =>
    new Adam(start, { ...settings, rank: shapes[i]!.length })
  );
  const parameters = new Map(
    starts.map((start, i) => [`${i}`, tf.tidy(() => tf.variable(tf.tensor(start, shapes[i]!)))]),
  );
  const moments = zeroMoments(parameters);
  for (let step = 1; step <= 3; step++) {
    const values = shapes.map((shape, i) => drawn(`g.${step}.${i}`, size(shape)));
    const norm = Math.sqrt(values.flatMap((x) => [...x]).reduce((sum, x) => sum + x * x, 0));
    // Before clipping: a tensor on cpu is the array it was made of.
    references.forEach((reference, i) =>
      reference.step(values[i]!.map((x) => x * clip / norm), step)
    );
    const gradients = new Map<string, tf.Tensor>(
      values.map((x, i) => [`${i}`, tf.tensor(x, shapes[i]!)]),
    );
    clipByNorm(gradients, clip);
    optimizerStep(parameters, gradients, { ...settings, moments, step });
    tf.dispose([...gradients.values()]);
  }
  const findings: Finding[] = [];
  for (const [i, { p }] of references.entries()) {
    const found = await readTensor(parameters.get(`${i}`)!);
    const { error, at } = worstOf(found, p, 1e-3);
    findings.push({
      ...{ what: "weights after 3 steps", inputs: `[${shapes[i]}]`, tolerance: 1e-6 },
      ...{ error, at, found: found[at]!, expected: p[at]! },
    });
  }
  tf.dispose([...parameters.values()]);
  for (const { first, second } of moments.values()) first.dispose(), second.dispose();
  return findings;
}
