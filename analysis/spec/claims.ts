/**
 * What a paper claims, as its folder declares it before anything is run.
 *
 * @module
 */
import { z } from "zod";
import { atSchema } from "./axes.ts";

/** The parts of a comparison that a claim may set for all of its comparisons. */
const comparison = {
  metric: z.string().optional(),
  at: atSchema.optional().describe(
    "The condition: a value of every axis but the seeds' and `over`",
  ),
  against: atSchema.optional().describe(
    "What differs in the condition it is compared with; without it the values themselves are judged",
  ),
  than: atSchema.optional().describe(
    "Subtracts a second difference, which differs from the first in what is named here",
  ),
  over: z.record(z.string(), z.array(z.union([z.string(), z.number()]).transform(String)).min(1))
    .optional().describe("Axes that are averaged over, and the values that all must be there"),
  test: z.enum(["difference", "sign", "equivalence", "noninferiority", "within"]).optional()
    .describe(
      "difference: the mean has the claimed sign (the default). sign: so has every seed's. " +
        "equivalence: the mean is within ± smallest of zero. noninferiority: it is no worse than " +
        "smallest. within: it is within bounds",
    ),
  direction: z.enum(["greater", "less"]).optional().describe(
    "The claimed sign; greater by default",
  ),
  bounds: z.tuple([z.number(), z.number()]).optional().describe("For the test within"),
  smallest: z.number().positive().optional().describe(
    "Smallest effect of interest: a difference below it would not matter to anyone",
  ),
  tolerance: z.number().positive().optional().describe(
    "How far the measured mean may lie from the printed one and still count as the same",
  ),
  printed: z.union([z.number(), z.string()]).optional().describe(
    "What the paper prints for it: a number, or the source in published.csv that has both means",
  ),
  spread: z.number().positive().optional().describe(
    "Standard deviation over seeds to expect of it, where published.csv has none",
  ),
};

/**
 * Schema of a claim. Sizes are in the metric's shown unit; of ratios, in percent.
 *
 * A claim holds if all of its comparisons do.
 */
export const claimSchema = z.strictObject({
  id: z.string().min(1).describe("A1"),
  statement: z.string().min(1).describe("The claim in a sentence"),
  source: z.enum(["paper", "own"]).default("paper").describe(
    "own: a claim of ours, such as of synthetic data whose truth is known; no run on synthetic data " +
      "is evidence for a paper's",
  ),
  note: z.string().min(1).optional().describe("Shown beside it: a generalization of section 5"),
  ...comparison,
  compare: z.array(z.strictObject(comparison)).min(1).default([{}]).describe(
    "The comparisons; what a claim sets itself is the default of each",
  ),
});
export type Claim = z.infer<typeof claimSchema>;

/** A comparison with the claim's defaults filled in. */
export interface Comparison {
  readonly metric: string;
  readonly at: Readonly<Record<string, string>>;
  readonly against: Readonly<Record<string, string>> | null;
  readonly than: Readonly<Record<string, string>> | null;
  readonly over: Readonly<Record<string, readonly string[]>>;
  readonly test: "difference" | "sign" | "equivalence" | "noninferiority" | "within";
  readonly direction: "greater" | "less";
  readonly bounds: readonly [number, number] | null;
  /** In the shown unit; null if neither the claim nor the comparison says. */
  readonly smallest: number | null;
  readonly tolerance: number | null;
  readonly printed: number | string | null;
  readonly spread: number | null;
}
