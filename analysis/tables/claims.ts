/**
 * Claims, their verdicts and what these rest on.
 *
 * @module
 */
import {
  isSyntheticAlone,
  type JudgedClaim,
  type JudgedComparison,
  NO_EVIDENCE,
  VERDICTS,
} from "../claims/judged.ts";
import type { Finding } from "../results.ts";
import { metricOf, type Study } from "../study.ts";
import { capitalized, counted, decimal, percent, probability, signed } from "./format.ts";
import { bounds, figures, once, only, tableOf, words } from "./making.ts";
import { linkOf, notesOn, type Sheet } from "./places.ts";
import { linked, rowsAnchor, type Table } from "./table.ts";

/** One row per claim. */
export function claimsTable({ study }: Sheet, claims: readonly JudgedClaim[]): Table {
  const theirs = claims.some(({ source }) => source === "paper");
  const ours = claims.some(({ source }) => source === "own");
  // Without a word, what synthetic data say would read as a claim of the paper that held.
  const whose = ({ source }: JudgedClaim) => theirs && source === "own" ? "Our own: " : "";
  return tableOf<JudgedClaim>(claims, [
    words("Claim", "claim", ({ id }) => id),
    only("source", ({ source }) => source),
    words(
      "What it says",
      "statement",
      ({ statement }) => statement,
      (claim) => whose(claim) + claim.statement,
    ),
    words(
      "Verdict here",
      "verdict",
      ({ verdict }) => verdict,
      (claim) =>
        linked(claim.verdict, ranOf(claim).length > 0 ? `#${restsAnchor(claim)}` : undefined),
    ),
    words(
      "Does the claim hold?",
      "holds",
      ({ holds }) => holds === null ? "open" : holds ? "yes" : "no",
    ),
    words(
      "On",
      "on",
      (claim) => onText(study, claim),
      (claim) => [onText(study, claim), claim.note].filter((text) => text !== "").join(". "),
    ),
    figures("p, corrected", "p", ({ p }) => p, probability),
    figures("p of the opposite", "p_opposite", ({ against }) => against, probability),
  ], {
    id: "claims",
    caption: `${theirs && !ours ? "The paper's claims" : "The claims"} and what became of them`,
    named: ({ id }) => [id],
    notes: [
      "Reproduced: the sign is the claimed one beyond chance and the size is near the printed one. " +
      "Direction only: the sign, but another size. Equivalent: every difference that would matter " +
      "is ruled out. Contradicted: the opposite sign beyond chance, or the claimed difference " +
      "ruled out. Underpowered: what ran cannot tell. A claim's p-value is the largest of its " +
      "comparisons', since all must hold, corrected over the claims." +
      (theirs
        ? " What ran on a sample of the data or with a smaller model has a verdict, but leaves " +
          "open whether the paper's claim holds."
        : ""),
    ],
  });
}

/** The anchor of what a claim's verdict rests on. */
function restsAnchor({ id }: JudgedClaim): string {
  return rowsAnchor("rests", id);
}

function ranOf({ comparisons }: JudgedClaim): JudgedComparison[] {
  return comparisons.filter(({ outcome }) => outcome.n > 0);
}

/** What data and machine a claim was judged on. */
function onText(study: Study, claim: JudgedClaim): string {
  const ran = ranOf(claim);
  const timed = ran.some(({ comparison }) => metricOf(study, comparison.metric).timed === true);
  return [...new Set(ran.map(({ provenance }) => provenance)), ...timed ? ["this machine"] : []]
    .join("; ");
}

/** One row per comparison that was run, with everything its verdict rests on. */
export function comparisonsTable(sheet: Sheet, claims: readonly JudgedClaim[]): Table {
  const { study } = sheet;
  const rows = judgedRows(sheet, claims);
  type Row = typeof rows[number];
  const idle = claims.flatMap(({ comparisons }) => comparisons).filter(({ outcome }) =>
    outcome.n === 0
  );
  const synthetic = idle.filter(isSyntheticAlone).length;
  const size = (value: number, { show }: Row) => show(value);
  return tableOf<Row>(rows, [
    words("Claim", "claim", ({ claim }) => claim.id),
    words("What is compared", "compared", ({ text }) => text),
    only("metric", ({ metric }) => metric),
    words("Verdict alone", "verdict", ({ verdict }) => verdict),
    only("data", ({ provenance }) => provenance),
    figures("Seeds", "n", ({ n }) => n),
    figures("Mean", "mean", ({ mean }) => mean, (mean, { show, to }) => linked(show(mean), to)),
    only("sd", ({ sd }) => sd),
    ...bounds<Row>(`${percent(study.confidence)} interval`, ({ interval }) => interval, size),
    only("bootstrap_low", ({ bootstrap }) => bootstrap?.[0] ?? null),
    only("bootstrap_high", ({ bootstrap }) => bootstrap?.[1] ?? null),
    figures("Paper", "printed", ({ printed }) => printed, size),
    figures(
      "Matters from",
      "smallest",
      ({ smallest }) => smallest,
      (value, row) => size(value, row).replace("+", ""),
    ),
    words("Test", "test", ({ test }) => test),
    figures("p", "p", ({ p }) => p, probability),
    figures("p of the opposite", "p_opposite", ({ opposite }) => opposite, probability),
    figures("Signed-rank p", "signed_rank_p", ({ signedRankP }) => signedRankP, probability),
    figures("Seeds needed", "seeds_needed", ({ seedsNeeded }) => seedsNeeded),
    only("positive", ({ positive }) => positive),
    only("negative", ({ negative }) => negative),
  ], {
    id: "comparisons",
    caption: "What each verdict rests on",
    named: ({ claim, text }) => claim.comparisons.length === 1 ? [claim.id] : [claim.id, text],
    anchor: ({ claim }) => restsAnchor(claim),
    begins: ({ claim }, before) => claim !== before?.claim,
    notes: [
      "Verdict alone: what this comparison would be if it were the only one; a claim's verdict needs " +
      "all of its comparisons, and is corrected over the claims.",
      "Seeds needed: for the deciding test, at the level that decides, to find the printed " +
      "difference, or where none is printed the smallest that matters, nine times out of ten at " +
      "the spread seen here; an effect nearer to a bound takes more.",
      ...idle.length > synthetic
        ? [
          `${
            counted(idle.length - synthetic, "comparison")
          } not run: nothing of the grid has its runs.`,
        ]
        : [],
      ...synthetic > 0
        ? [`${counted(synthetic, "comparison")} run on synthetic data alone: ${NO_EVIDENCE}.`]
        : [],
      ...notesOn(study, {
        places: rows.map(({ at }) => at),
        timed: rows.some(({ metric }) => metricOf(study, metric).timed === true),
      }),
    ],
  });
}

/** The comparisons that were run, each with its claim. */
function judgedRows(sheet: Sheet, claims: readonly JudgedClaim[]) {
  return claims.flatMap((claim) =>
    ranOf(claim).map((each) => {
      const { metric, at, against, smallest } = each.comparison;
      const { digits } = metricOf(sheet.study, metric);
      // Changes have their sign.
      const show = (value: number) => (against === null ? decimal : signed)(value, digits);
      return {
        ...{ ...each.outcome, ...each, claim, metric, at, smallest },
        ...{ opposite: each.outcome.against, show, to: linkOf(sheet, each.comparison) },
      };
    })
  );
}

/** How likely each verdict is with these seeds, if the paper is right and if there is no effect. */
export function chancesTable(claims: readonly Pick<JudgedClaim, "id" | "chances">[]): Table {
  const rows = claims.flatMap(({ id, chances }) => {
    if (chances === null) return [];
    const { seeds, isPrinted, printed, none } = chances;
    const truth = isPrinted ? "the paper is exactly right" : "the claim is exactly right";
    return [
      { id, seeds, name: "printed", truth, chance: printed },
      ...none === null
        ? []
        : [{ id, seeds, name: "none", truth: "nothing has an effect", chance: none }],
    ];
  });
  type Row = typeof rows[number];
  // All of them, whatever is found: tables of several analyses are one if they have the same columns.
  const verdicts = VERDICTS.filter((verdict) => verdict !== "not run");
  return tableOf<Row>(rows, [
    once(words("Claim", "claim", ({ id }) => id)),
    figures("Seeds", "seeds", ({ seeds }) => seeds),
    words("If", "if", ({ truth }) => truth),
    ...verdicts.map((verdict) =>
      figures<Row>(
        capitalized(verdict),
        verdict.replace(" ", "_"),
        ({ chance }) => chance[verdict] ?? 0,
        (value) => percent(value),
      )
    ),
  ], {
    id: "chances",
    caption: "The chance of each verdict with these seeds, from simulated experiments",
    named: ({ id, name }) => [id, name],
    begins: ({ id }, before) => id !== before?.id,
  });
}

/** What can and what can't be true at once of what the paper prints. */
export function findingsTable(findings: readonly Finding[]): Table {
  const sorted = [...findings].sort((a, b) => Number(a.agrees) - Number(b.agrees));
  return tableOf<Finding>(sorted, [
    words("Fits?", "fits", ({ agrees }) => agrees ? "yes" : "no"),
    words("What was compared", "what", ({ text }) => text),
  ], { id: "findings", caption: "Whether the paper's numbers fit each other" });
}
