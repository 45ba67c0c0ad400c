/**
 * What the paper claims of losses and speeds, as its experiment file declares it, and the verdicts.
 *
 * @module
 */
import { z } from "zod";
import { outcomeSchema, verdictSchema } from "../claims/claim.ts";

/** The mean over all texts in place of one text. */
export const AVERAGE = "average";

const comparison = {
  dataset: z.string(),
  run: z.coerce.string(),
  /** The variant subtracted. */
  against: z.coerce.string().default("0"),
};

/** Schema of a claim. Sizes are nats per character for `loss`, percent for `speed`. */
export const claimSchema = z.strictObject({
  id: z.string().min(1),
  statement: z.string().min(1),
  metric: z.enum(["loss", "speed"]).default("loss"),
  /**
   * `difference`: the mean paired difference has the claimed sign. `equivalence`: it lies within
   * ± `smallest` of zero.
   */
  test: z.enum(["difference", "equivalence"]).default("difference"),
  /** Smallest effect of interest. */
  smallest: z.number().positive(),
  /** How far the measured mean may lie from the published one and still count as the same. */
  tolerance: z.number().positive(),
  /** All of them must hold for the claim to hold. */
  compare: z.array(z.strictObject({
    ...comparison,
    direction: z.enum(["greater", "less"]).default("less"),
    published: z.number().optional(),
  })).min(1),
});
export type Claim = z.infer<typeof claimSchema>;
export type Comparison = Claim["compare"][number];

/** A claim with what was found. */
export const judgedClaimSchema = z.object({
  id: z.string(),
  statement: z.string(),
  metric: claimSchema.shape.metric,
  test: claimSchema.shape.test,
  smallest: z.number(),
  verdict: verdictSchema,
  /** Whether the claim as stated holds; null if that is open. */
  holds: z.boolean().nullable(),
  /** What the verdict rests on, or why there is none. */
  note: z.string(),
  comparisons: z.array(z.object({
    dataset: z.string(),
    run: z.string(),
    against: z.string(),
    direction: z.enum(["greater", "less"]),
    published: z.number().nullable(),
    /** What the differences were taken on; empty without one. */
    on: z.string(),
    verdict: verdictSchema,
    ...outcomeSchema.shape,
  })),
});
export type JudgedClaim = z.infer<typeof judgedClaimSchema>;
