/**
 * Claims and their verdicts as tables.
 *
 * @module
 */
import { datasetTitle } from "../accuracy_table.ts";
import { points, pointsInterval } from "../format.ts";
import { encodingTitle, operatorTitle } from "../order.ts";
import type { Results } from "../results.ts";
import type { Table } from "../table.ts";
import type { JudgedClaim, JudgedComparison } from "./claim.ts";

/** One row per claim. */
export function claimsTable(claims: readonly JudgedClaim[]): Table {
  return {
    id: "claims",
    caption: "The paper's claims and what became of them",
    columns: [
      { title: "Claim" },
      { title: "What the paper says" },
      { title: "Verdict" },
      { title: "Does it stand?" },
      { title: "On" },
    ],
    rows: claims.map((claim) => [
      claim.id,
      claim.statement,
      claim.verdict,
      claim.holds === null ? "open" : claim.holds ? "yes" : "no",
      claim.note || dataText(claim),
    ]),
    notes: [
      "Reproduced: the sign is the claimed one beyond chance and the size is near the printed one. " +
      "Direction only: the sign, but another size. Equivalent: every difference that would matter " +
      "is ruled out. Contradicted: the opposite sign beyond chance, or the claimed difference " +
      "ruled out. Underpowered: too few seeds to tell. A claim's verdict is that of its weakest " +
      "comparison.",
    ],
  };
}

/** One row per comparison, with everything the verdict rests on. */
export function comparisonsTable(results: Results, claims: readonly JudgedClaim[]): Table {
  const level = Math.round(results.confidence * 100);
  return {
    id: "comparisons",
    caption: "What each verdict rests on: differences of accuracy in percentage points, of " +
      "latency in percent",
    columns: [
      { title: "Claim" },
      { title: "Difference" },
      { title: "Verdict" },
      { title: "Seeds", align: "right" },
      { title: "Mean", align: "right" },
      { title: `${level} % interval`, align: "right" },
      { title: "Paper", align: "right" },
      { title: "Matters from", align: "right" },
      { title: "Test" },
      { title: "p", align: "right" },
      { title: "p, Holm", align: "right" },
      { title: "Signed-rank p", align: "right" },
      { title: "Seeds needed", align: "right" },
    ],
    rows: claims.flatMap((claim) =>
      claim.comparisons.map((each) => [
        claim.id,
        (claim.metric === "latency" ? "Latency, " : "") + comparisonText(each, results),
        each.verdict,
        String(each.n),
        each.mean === null ? "–" : points(each.mean),
        each.interval === null ? "–" : pointsInterval(each.interval),
        each.published === null ? "–" : points(each.published),
        (claim.smallest * 100).toFixed(2),
        each.test,
        probability(each.p),
        probability(each.holm),
        probability(each.signedRankP),
        each.seedsNeeded === null ? "–" : String(each.seedsNeeded),
      ])
    ),
    notes: [
      "Seeds needed: for the deciding test to find the printed difference, or where none was " +
      "printed the smallest that matters, four times out of five at the spread seen here. " +
      "Holm's correction runs over all comparisons of accuracies that were tested, and over those " +
      "of latencies.",
    ],
  };
}

/** `ArXiv, sinusoidal: Gate-Scalar − Add`. */
export function comparisonText(comparison: JudgedComparison, results: Results): string {
  const one = (contrast: NonNullable<JudgedComparison["than"]>) => {
    const entry = results.datasets.find((each) => each.dataset === contrast.dataset);
    return `${datasetTitle(entry, contrast.dataset)}, ${encodingTitle(contrast.encoding)}: ${
      operatorTitle(contrast.operator)
    } − ${operatorTitle(contrast.against)}`;
  };
  return one(comparison) + (comparison.than ? `, less the same of ${one(comparison.than)}` : "");
}

/** A p-value as people read it, `0.0104` or `< 0.0001`. */
export function probability(p: number | null): string {
  if (p === null) return "–";
  return p < 0.0001 ? "< 0.0001" : p.toFixed(4);
}

function dataText(claim: JudgedClaim): string {
  const kinds = new Set(claim.comparisons.filter((each) => each.n > 0).map((each) => each.data));
  const where = claim.metric === "latency" ? ", on this machine" : "";
  if (kinds.has("undescribed")) return `data not described${where}`;
  return (kinds.has("sample") ? "a sample of the data" : "the full data") + where;
}
