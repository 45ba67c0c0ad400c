/**
 * What a paper claims, as an experiment file declares it before anything is run.
 *
 * @module
 */
import { z } from "zod";

/** One operator against another under the same seed. */
const contrast = {
  dataset: z.string(),
  encoding: z.string(),
  operator: z.string(),
  against: z.string(),
};

const comparisonSchema = z.strictObject({
  dataset: z.string(),
  encoding: z.string().default("sinusoidal"),
  operator: z.string(),
  /** The operator subtracted. */
  against: z.string().default("add"),
  /** Which sign is claimed; of no account for the test `equivalence`. */
  direction: z.enum(["greater", "less"]).default("greater"),
  /** What the paper printed for this difference, points. */
  published: z.number().optional(),
  /** Subtracts a second difference, which differs from the first in what is named here. */
  than: z.strictObject(contrast).partial().optional(),
});
export type Comparison = z.infer<typeof comparisonSchema>;

/**
 * Schema of a claim. Sizes are percentage points of test accuracy; of latency, percent of that of
 * the operator compared against.
 */
export const claimSchema = z.strictObject({
  /** Short name: `A1`. */
  id: z.string().min(1),
  /** The claim in a sentence. */
  statement: z.string().min(1),
  metric: z.enum(["accuracy", "latency"]).default("accuracy"),
  /**
   * `difference`: the mean paired difference has the claimed sign. `sign`: so has every seed's.
   * `equivalence`: the mean lies within ± `smallest` of zero. `noninferiority`: the mean lies above
   * − `smallest`, "comparable or better".
   */
  test: z.enum(["difference", "sign", "equivalence", "noninferiority"]).default("difference"),
  /** Smallest effect of interest: a difference below it would not matter to anyone. */
  smallest: z.number().positive().default(1),
  /** How far the measured mean may lie from the published one and still count as the same. */
  tolerance: z.number().positive().default(1),
  /** All of them must hold for the claim to hold. */
  compare: z.array(comparisonSchema).default([]),
});
export type Claim = z.infer<typeof claimSchema>;

/** What became of a claim or of one of its comparisons. */
export const verdictSchema = z.enum([
  "reproduced",
  "direction only",
  "equivalent",
  "underpowered",
  "contradicted",
  "not run",
]);
export type Verdict = z.infer<typeof verdictSchema>;

export const outcomeSchema = z.object({
  n: z.number(),
  /** Mean difference, a fraction; null without a pair. */
  mean: z.number().nullable(),
  sd: z.number().nullable(),
  interval: z.tuple([z.number(), z.number()]).nullable(),
  bootstrap: z.tuple([z.number(), z.number()]).nullable(),
  positive: z.number(),
  negative: z.number(),
  /** The test that decides, `paired t`, and its p-value; null where it can't be taken. */
  test: z.string(),
  p: z.number().nullable(),
  /** `p` after Holm's correction over all comparisons that ran. */
  holm: z.number().nullable(),
  signedRankP: z.number().nullable(),
  equivalenceP: z.number().nullable(),
  /** Seeds at which the deciding test would find the claimed effect four times out of five. */
  seedsNeeded: z.number().nullable(),
});
export type Outcome = z.infer<typeof outcomeSchema>;

/** A claim with what was found. */
export const judgedClaimSchema = z.object({
  id: z.string(),
  statement: z.string(),
  test: claimSchema.shape.test,
  metric: claimSchema.shape.metric,
  smallest: z.number(),
  tolerance: z.number(),
  verdict: verdictSchema,
  /** Whether the claim as stated holds; null if that is open. */
  holds: z.boolean().nullable(),
  /** Why nothing was judged; empty otherwise. */
  note: z.string(),
  comparisons: z.array(z.object({
    ...contrast,
    than: z.object(contrast).nullable(),
    direction: z.enum(["greater", "less"]),
    /** A fraction. */
    published: z.number().nullable(),
    /** `official`, `sample` or `undescribed`. */
    data: z.string(),
    verdict: verdictSchema,
    ...outcomeSchema.shape,
  })),
});
export type JudgedClaim = z.infer<typeof judgedClaimSchema>;
export type JudgedComparison = JudgedClaim["comparisons"][number];
