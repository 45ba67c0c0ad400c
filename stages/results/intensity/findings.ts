/**
 * Whether the paper's numbers fit each other.
 *
 * @module
 */
import { sum } from "../../../analysis/statistics/sample.ts";
import type { Published } from "./inputs.ts";
import type { Results } from "./results.ts";
import { BASELINE, variantLabel } from "./variants.ts";

/** Half a unit of the last of the digits printed, and a little for the float. */
const ROUNDING = 0.0005 + 1e-9;

/**
 * Puts each printed average beside the mean of the printed losses, where all of them are printed,
 * and the printed averages to the order that the paper claims for them.
 */
export function findingsOf(published: Published): Results["findings"] {
  const { losses, averages } = published;
  const datasets = Object.keys(losses).sort();
  const means = Object.keys(averages).sort().flatMap((variant) => {
    const own = datasets.map((dataset) => losses[dataset]![variant]);
    if (own.length === 0 || own.some((loss) => loss === undefined)) return [];
    return [{ variant, mean: sum(own as number[]) / own.length }];
  });
  const findings: Results["findings"] = means.map(({ variant, mean }) => ({
    what: `Average loss of ${variantLabel(variant).toLowerCase()} over ${datasets.length} texts`,
    printed: averages[variant]!.toFixed(3),
    computed: mean.toFixed(4),
    agrees: Math.abs(mean - averages[variant]!) <= ROUNDING,
  }));
  const base = means.find((each) => each.variant === BASELINE);
  for (const { variant, mean } of means) {
    if (base === undefined || variant === BASELINE) continue;
    const printed = averages[variant]! - averages[BASELINE]!;
    const computed = mean - base.mean;
    findings.push({
      what: `${variantLabel(variant)} against the baseline, on average`,
      printed: printed < 0 ? "better" : printed > 0 ? "worse" : "equal",
      computed: computed < 0 ? "better" : computed > 0 ? "worse" : "equal",
      agrees: Math.sign(printed) === Math.sign(computed),
    });
  }
  // "Position-awareness is essential": the position-aware runs beat the others.
  for (const a of ["3", "4"]) {
    for (const b of ["1", "2"]) {
      const [own, other] = [averages[a], averages[b]];
      if (own === undefined || other === undefined) continue;
      findings.push({
        what: `${variantLabel(a)} beats ${variantLabel(b).toLowerCase()}, by the printed averages`,
        printed: "yes",
        computed: `${own.toFixed(3)} against ${other.toFixed(3)}`,
        agrees: own < other,
      });
    }
  }
  return findings;
}
