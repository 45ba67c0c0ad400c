/**
 * What a model's attention heads must be, for the schemas of params.
 *
 * @module
 */
import type { z } from "zod";

/** Refuses heads that do not divide the width: `schema.superRefine(checkHeads)`. */
export function checkHeads(
  { heads, d_model }: { readonly heads: number; readonly d_model: number },
  context: z.RefinementCtx,
): void {
  if (d_model % heads === 0) return;
  context.addIssue({ code: "custom", path: ["heads"], message: `must divide d_model, ${d_model}` });
}
