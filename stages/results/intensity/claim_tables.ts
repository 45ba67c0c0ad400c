/**
 * The paper's claims, the verdicts and what they rest on, as tables.
 *
 * @module
 */
import {
  claimsData,
  OUTCOME_COLUMNS,
  outcomeRow,
  probability,
  restsAnchor,
} from "../claims/claims_table.ts";
import { type FileTable, linked, rowsLink } from "../table.ts";
import { AVERAGE, type JudgedClaim } from "./claim.ts";
import type { Results } from "./results.ts";
import { EVERY_PAIR, pairsAnchor, timedAnchor } from "./anchors.ts";
import { signed, titleOf } from "./tables.ts";
import { variantLabel } from "./variants.ts";

/** The claims and what became of them. */
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
      claim.note,
    ]),
    notes: [
      "Reproduced: the sign is the claimed one beyond chance and the size is near the printed one. " +
      "Direction only: the sign, but another size. Equivalent: every difference that would matter " +
      "is ruled out. Contradicted: the opposite sign beyond chance, or the claimed difference " +
      "ruled out. Underpowered: too few seeds to tell. A claim's verdict is that of its weakest " +
      "comparison. What ran on a sample of the data or with a smaller model has a verdict, but " +
      "leaves open whether the paper's claim holds.",
    ],
    data: claimsData(claims, () => ""),
  };
}

/** What each verdict rests on. */
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
    caption: "What each verdict rests on: differences in nats per character, of speeds in percent",
    columns: [
      { title: "Claim" },
      { title: "Difference" },
      { title: "Verdict" },
      ...[
        "Pairs",
        "Mean",
        `${level} % interval`,
        "Paper",
        "Matters from",
        "p",
        "p, Holm",
        "Seeds needed",
      ].map((title) => ({ title, align: "right" as const })),
    ],
    rows: claims.flatMap((claim) => {
      const digits = claim.metric === "speed" ? 1 : 4;
      return claim.comparisons.map((each) => [
        claim.id,
        `${each.dataset === AVERAGE ? "Average" : titleOf(results, each.dataset)}: ${
          variantLabel(each.run)
        } − ${variantLabel(each.against).toLowerCase()}`,
        each.verdict,
        String(each.n),
        each.mean === null
          ? "–"
          : linked(signed(each.mean, digits), rowsLink(evidenceAnchor(claim, each))),
        each.interval === null
          ? "–"
          : `[${signed(each.interval[0], digits)}, ${signed(each.interval[1], digits)}]`,
        each.published === null ? "–" : signed(each.published, digits),
        claim.smallest.toFixed(digits),
        probability(each.p),
        probability(each.holm),
        each.seedsNeeded === null ? "–" : String(each.seedsNeeded),
      ]);
    }),
    anchors,
    notes: [
      "Seeds needed: for a paired t test to find the printed difference, or where none was " +
      "printed the smallest that matters, four times out of five at the spread seen here. Holm's " +
      "correction runs over all comparisons of losses that were tested, and over those of speeds.",
    ],
    data: {
      columns: [
        ...["claim", "dataset", "run", "against", "verdict", "published", "smallest"],
        ...OUTCOME_COLUMNS,
      ],
      rows: claims.flatMap((claim) =>
        claim.comparisons.map((each) => [
          ...[claim.id, each.dataset, each.run, each.against],
          ...[each.verdict, each.published, claim.smallest],
          ...outcomeRow(each),
        ])
      ),
    },
  };
}

/** The rows that a comparison's mean rests on: timed runs, or pairs, of all texts for an average. */
function evidenceAnchor(claim: JudgedClaim, each: JudgedClaim["comparisons"][number]): string {
  if (claim.metric === "speed") return timedAnchor(each.run);
  if (each.dataset === AVERAGE) return EVERY_PAIR;
  return pairsAnchor({ dataset: each.dataset, variant: each.run, against: each.against });
}

/** Whether the paper's numbers fit each other. */
export function findingsTable(results: Results): FileTable {
  return {
    id: "findings",
    caption: "The paper's numbers put to each other",
    columns: [
      { title: "What" },
      { title: "Printed", align: "right" },
      { title: "Computed", align: "right" },
      { title: "Fits?" },
    ],
    rows: results.findings.map((each) => [
      each.what,
      each.printed,
      each.computed,
      each.agrees ? "yes" : "no",
    ]),
    notes: ["Computed from the losses and averages that the paper prints."],
    data: {
      columns: ["what", "printed", "computed", "agrees"],
      rows: results.findings.map((each) => [
        ...[each.what, each.printed, each.computed, String(each.agrees)],
      ]),
    },
  };
}
