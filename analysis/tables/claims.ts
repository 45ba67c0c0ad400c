/**
 * Claims, their verdicts and what these rest on.
 *
 * @module
 */
import type { JudgedClaim, JudgedComparison, Verdict } from "../claims/judged.ts";
import type { Finding } from "../results.ts";
import { metricOf, type Study } from "../study.ts";
import { counted, formatsOf, intervalText, NONE, percent, probability } from "./format.ts";
import { everyId, linkOfPairs, runsAnchor, type Sheet } from "./places.ts";
import { type Column, linked, numbers, rowsAnchor, type Table } from "./table.ts";

const VERDICTS: readonly Verdict[] = [
  ...["reproduced", "direction only", "equivalent", "underpowered", "contradicted"] as const,
  "not run",
];

/** One row per claim. */
export function claimsTable({ study }: Sheet, claims: readonly JudgedClaim[]): Table {
  const theirs = claims.some(({ source }) => source === "paper");
  const holds = ({ holds }: JudgedClaim) => holds === null ? "open" : holds ? "yes" : "no";
  return {
    id: "claims",
    caption: `${theirs ? "The paper's claims" : "The claims"} and what became of them`,
    columns: [
      ...[{ title: "Claim" }, { title: "What it says" }, { title: "Verdict here" }],
      ...[{ title: "Does the claim hold?" }, { title: "On" }],
      ...[numbers("p, corrected", "p"), numbers("p of the opposite", "p_opposite")],
    ],
    rows: claims.map((claim) => [
      ...[claim.id, claim.statement],
      linked(claim.verdict, ranOf(claim).length > 0 ? `#${restsAnchor(claim)}` : undefined),
      ...[holds(claim), claim.note === "" ? onText(study, claim) : claim.note],
      ...[probability(claim.p), probability(claim.against)],
    ]),
    names: claims.map(({ id }) => [id]),
    notes: [
      "Reproduced: the sign is the claimed one beyond chance and the size is near the printed one. " +
      "Direction only: the sign, but another size. Equivalent: every difference that would matter " +
      "is ruled out. Contradicted: the opposite sign beyond chance, or the claimed difference " +
      "ruled out. Underpowered: too few seeds to tell. A claim's p-value is the largest of its " +
      "comparisons', since all must hold, corrected over the claims. What ran on a sample of the " +
      "data or with a smaller model has a verdict, but leaves open whether the paper's claim holds.",
    ],
    data: {
      columns: ["claim", "source", "statement", "verdict", "holds", "on", "p", "p_opposite"],
      rows: claims.map((claim) => [
        ...[claim.id, claim.source, claim.statement, claim.verdict],
        ...[claim.holds === null ? null : String(claim.holds), onText(study, claim)],
        ...[claim.p, claim.against],
      ]),
    },
  };
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
  const ran = claims.map((claim) => ({ claim, own: ranOf(claim) }));
  const rows = ran.flatMap(({ claim, own }) => own.map((each) => ({ claim, each })));
  const anchors = ran.flatMap(({ claim, own }): [number, string][] =>
    own.length === 0 ? [] : [[rows.findIndex((row) => row.claim === claim), restsAnchor(claim)]]
  );
  const idle = claims.flatMap(({ comparisons }) => comparisons).length - rows.length;
  return {
    id: "comparisons",
    caption: "What each verdict rests on",
    columns: [
      ...[{ title: "Claim" }, { title: "What is compared" }, { title: "Verdict" }],
      ...[numbers("Seeds"), numbers("Mean")],
      numbers(`${percent(study.confidence)} interval`, "interval"),
      ...[numbers("Paper"), numbers("Matters from", "smallest"), { title: "Test" }],
      ...[numbers("p"), numbers("p of the opposite"), numbers("Signed-rank p")],
      numbers("Seeds needed"),
    ],
    rows: rows.map(({ claim, each }) => {
      const { comparison: { smallest }, outcome } = each;
      const show = showOf(study, each);
      const number = (value: number | null) => value === null ? NONE : show(value);
      return [
        ...[claim.id, each.text, each.verdict, String(outcome.n)],
        linked(number(outcome.mean), linkOf(sheet, each)),
        outcome.interval === null ? NONE : intervalText(outcome.interval, show),
        number(each.printed),
        smallest === null ? NONE : show(smallest).replace(/^\+/, ""),
        ...[outcome.test, ...[outcome.p, outcome.against, outcome.signedRankP].map(probability)],
        outcome.seedsNeeded === null ? NONE : String(outcome.seedsNeeded),
      ];
    }),
    names: rows.map(({ claim, each }) => [claim.id, each.text]),
    anchors,
    breaks: anchors.slice(1).map(([row]) => row - 1),
    notes: [
      "Seeds needed: for the deciding test, at the level that decides, to find the printed " +
      "difference, or where none is printed the smallest that matters, nine times out of ten at " +
      "the spread seen here.",
      ...idle > 0
        ? [`${counted(idle, "comparison")} not run: nothing of the grid has its runs.`]
        : [],
    ],
    data: {
      columns: [
        ...["claim", "compared", "metric", "verdict", "data", "printed", "smallest", "n", "mean"],
        ...["sd", "interval_low", "interval_high", "bootstrap_low", "bootstrap_high", "positive"],
        ...["negative", "test", "p", "p_opposite", "signed_rank_p", "seeds_needed"],
      ],
      rows: rows.map(({ claim, each, each: { outcome } }) => [
        ...[claim.id, each.text, each.comparison.metric, each.verdict, each.provenance],
        ...[each.printed, each.comparison.smallest, outcome.n, outcome.mean, outcome.sd],
        ...outcome.interval ?? [null, null],
        ...outcome.bootstrap ?? [null, null],
        ...[outcome.positive, outcome.negative, outcome.test, outcome.p, outcome.against],
        ...[outcome.signedRankP, outcome.seedsNeeded],
      ]),
    },
  };
}

/** How a comparison's sizes are shown: changes with their sign. */
function showOf(study: Study, { comparison }: JudgedComparison): (value: number) => string {
  const { value, change } = formatsOf(metricOf(study, comparison.metric));
  return comparison.against === null ? value : change;
}

/** The runs or pairs that a comparison's mean is of. */
function linkOf(sheet: Sheet, { comparison }: JudgedComparison): string {
  const { metric: name, at, against, over } = comparison;
  if (against !== null) return linkOfPairs(sheet, comparison);
  const { table } = metricOf(sheet.study, name);
  const several = Object.keys(over).length > 0 || comparison.than !== null;
  return `#${several ? everyId(table) : runsAnchor(sheet.study, table, at)}`;
}

/** How likely each verdict is with these seeds, if the paper is right and if there is no effect. */
export function chancesTable(claims: readonly JudgedClaim[]): Table {
  const own = claims.flatMap(({ id, chances }) => chances === null ? [] : [{ id, ...chances }]);
  const found = VERDICTS.filter((verdict) =>
    own.some(({ printed, none }) => (printed[verdict] ?? 0) + (none[verdict] ?? 0) > 0)
  );
  const rows = own.flatMap(({ id, seeds, printed, none }) => [
    { id, seeds, key: "printed", truth: "the paper is exactly right", chance: printed },
    { id, seeds, key: "none", truth: "nothing has an effect", chance: none },
  ]);
  const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
  return {
    id: "chances",
    caption: "The chance of each verdict with these seeds, from simulated experiments",
    columns: [
      ...[{ title: "Claim" }, numbers("Seeds"), { title: "If" }],
      ...found.map((verdict): Column => numbers(capital(verdict), verdict)),
    ],
    rows: rows.map(({ id, seeds, key, truth, chance }) => [
      ...key === "printed" ? [id, String(seeds)] : ["", ""],
      truth,
      ...found.map((verdict) => percent(chance[verdict] ?? 0)),
    ]),
    names: rows.map(({ id, key }) => [id, key]),
    breaks: own.map((_, index) => 2 * index + 1).slice(0, -1),
    data: {
      columns: ["claim", "seeds", "truth", ...found.map((verdict) => verdict.replace(" ", "_"))],
      rows: rows.map(({ id, seeds, key, chance }) => [
        ...[id, seeds, key, ...found.map((verdict) => chance[verdict] ?? 0)],
      ]),
    },
  };
}

/** What can and what can't be true at once of what the paper prints. */
export function findingsTable(findings: readonly Finding[]): Table {
  const sorted = [...findings].sort((a, b) => Number(a.agrees) - Number(b.agrees));
  return {
    id: "findings",
    caption: "Whether the paper's numbers fit each other",
    columns: [{ title: "Fits?" }, { title: "What was compared" }],
    rows: sorted.map(({ agrees, text }) => [agrees ? "yes" : "no", text]),
    data: {
      columns: ["agrees", "what"],
      rows: sorted.map(({ agrees, text }) => [String(agrees), text]),
    },
  };
}
