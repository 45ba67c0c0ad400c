/**
 * Correction for asking several questions of one experiment.
 *
 * @module
 */

/**
 * Holm's step-down adjusted p-values, in the order given (Holm 1979): below α exactly for the
 * claims that hold at a family-wise error rate of α.
 *
 * @param options.family How many questions there are in all, by default those given. Those whose
 * p-values are not known count as if theirs were the largest: that errs on the safe side.
 * @throws {RangeError} If a p-value lies outside 0..1.
 */
export function holm(
  pValues: readonly number[],
  { family = pValues.length }: { readonly family?: number } = {},
): number[] {
  const bad = pValues.find((p) => !(p >= 0 && p <= 1));
  if (bad !== undefined) throw new RangeError(`holm: p-values must lie within 0..1, got ${bad}`);
  const order = pValues.map((p, index) => ({ p, index })).sort((a, b) =>
    a.p - b.p || a.index - b.index
  );
  const adjusted = new Array<number>(pValues.length).fill(0);
  let running = 0;
  order.forEach(({ p, index }, rank) => {
    running = Math.max(running, Math.min(1, p * (family - rank)));
    adjusted[index] = running;
  });
  return adjusted;
}
