/**
 * Claims and their verdicts as tables.
 *
 * @module
 */
import { datasetTitle, timedAnchor } from "../accuracy_table.ts";
import { points, pointsInterval } from "../format.ts";
import { encodingTitle, operatorTitle } from "../order.ts";
import type { Results } from "../results.ts";
import { pairsAnchor } from "../run_tables.ts";
import { type Data, type FileTable, linked, rowsAnchor, rowsLink } from "../table.ts";
import type { JudgedClaim, JudgedComparison, Outcome, Verdict } from "./claim.ts";

/** One row per claim. */
export function claimsTable(claims: readonly JudgedClaim[]): FileTable {
  return {
    id: "claims",
    caption: "The paper's claims and what became of them",
    columns: [
      { title: "Claim" },
      { title: "What the paper says" },
      { title: "Verdict here" },
      { title: "Does the claim hold?" },
      { title: "On" },
    ],
    rows: claims.map((claim) => [
      claim.id,
      claim.statement,
      linked(
        claim.verdict,
        claim.comparisons.length > 0 ? rowsLink(restsAnchor(claim)) : undefined,
      ),
      claim.holds === null ? "open" : claim.holds ? "yes" : "no",
      claim.note || dataText(claim),
    ]),
    notes: [
      "Reproduced: the sign is the claimed one beyond chance and the size is near the printed one. " +
      "Direction only: the sign, but another size. Equivalent: every difference that would matter " +
      "is ruled out. Contradicted: the opposite sign beyond chance, or the claimed difference " +
      "ruled out. Underpowered: too few seeds to tell. A claim's verdict is that of its weakest " +
      "comparison. What ran on a sample of the data or with a smaller model has a verdict, but " +
      "leaves open whether the paper's claim holds.",
    ],
    data: claimsData(claims, dataText),
  };
}

/** The anchor of what a claim's verdict rests on. */
export function restsAnchor(claim: { readonly id: string }): string {
  return rowsAnchor("rests", claim.id);
}

/** One row per comparison, with everything the verdict rests on. */
export function comparisonsTable(results: Results, claims: readonly JudgedClaim[]): FileTable {
  const level = Math.round(results.confidence * 100);
  const anchors = new Map<number, string>();
  let rows = 0;
  for (const claim of claims) {
    if (claim.comparisons.length > 0) anchors.set(rows, restsAnchor(claim));
    rows += claim.comparisons.length;
  }
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
        // Of a difference of differences the first pairs are behind the mean, the second here.
        linked(
          String(each.n),
          each.than && each.n > 0 ? rowsLink(pairsAnchor(each.than)) : undefined,
        ),
        each.mean === null ? "–" : { text: points(each.mean), to: rowsLink(behind(claim, each)) },
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
    anchors,
    notes: [
      "Seeds needed: for the deciding test to find the printed difference, or where none was " +
      "printed the smallest that matters, four times out of five at the spread seen here. " +
      "Holm's correction runs over all comparisons of accuracies that were tested, and over those " +
      "of latencies.",
    ],
    data: {
      columns: [
        ...["claim", "dataset", "encoding", "operator", "against"],
        ...["than_dataset", "than_encoding", "than_operator", "than_against"],
        ...["verdict", "published", "smallest"],
        ...OUTCOME_COLUMNS,
      ],
      rows: claims.flatMap((claim) =>
        claim.comparisons.map((each) => [
          ...[claim.id, each.dataset, each.encoding, each.operator, each.against],
          ...[each.than?.dataset ?? null, each.than?.encoding ?? null],
          ...[each.than?.operator ?? null, each.than?.against ?? null],
          ...[each.verdict, each.published, claim.smallest / 100],
          ...outcomeRow(each),
        ])
      ),
    },
  };
}

/** Claims without comparisons that were not run: on a page such rows say nothing. */
export function withoutIdle<
  T extends { readonly comparisons: readonly { readonly verdict: Verdict }[] },
>(claims: readonly T[]): T[] {
  return claims.map((claim) => ({
    ...claim,
    comparisons: claim.comparisons.filter((each) => each.verdict !== "not run"),
  }));
}

/** The anchor of the runs that a comparison's mean is of. */
function behind(claim: JudgedClaim, each: JudgedComparison): string {
  return claim.metric === "latency" ? timedAnchor(each) : pairsAnchor(each);
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

/** Claims for programs. */
export function claimsData<
  T extends Pick<JudgedClaim, "id" | "statement" | "verdict" | "holds" | "note">,
>(claims: readonly T[], on: (claim: T) => string): Data {
  return {
    columns: ["claim", "statement", "verdict", "holds", "on"],
    rows: claims.map((claim) => [
      ...[claim.id, claim.statement, claim.verdict],
      ...[claim.holds === null ? null : String(claim.holds), claim.note || on(claim)],
    ]),
  };
}

/** The columns of {@linkcode outcomeRow}. */
export const OUTCOME_COLUMNS = [
  ...["n", "mean", "sd", "interval_low", "interval_high", "bootstrap_low", "bootstrap_high"],
  ...["positive", "negative", "test", "p", "p_holm", "signed_rank_p", "equivalence_p"],
  "seeds_needed",
];

/** What a comparison found, for programs. */
export function outcomeRow(each: Outcome): (string | number | null)[] {
  return [
    ...[each.n, each.mean, each.sd, each.interval?.[0] ?? null, each.interval?.[1] ?? null],
    ...[each.bootstrap?.[0] ?? null, each.bootstrap?.[1] ?? null, each.positive, each.negative],
    ...[each.test, each.p, each.holm, each.signedRankP, each.equivalenceP, each.seedsNeeded],
  ];
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
