/**
 * The report on the language models: one page that opens without a network.
 *
 * @module
 */
import { counted, grouped, percent } from "../format.ts";
import { documentHtml, type Section } from "../page/document.ts";
import { type Html, html } from "../../../pipeline/html.ts";
import { drawn, type Figure } from "../page/figures.ts";
import { tableHtml } from "../page/parts.ts";
import { everySection, shown, verdictSection } from "../page/sections.ts";
import { traceLink, type TraceLinks } from "../sources.ts";
import type { JudgedClaim } from "./claim.ts";
import type { Results, Speeds } from "./results.ts";
import { withoutIdle } from "../claims/claims_table.ts";
import { claimsTable, comparisonsTable, findingsTable } from "./claim_tables.ts";
import { pairTable, runTable, timedTable } from "./run_tables.ts";
import { differenceTable, lossTable, speedTable, textTable, titleOf } from "./tables.ts";
import { isBypassed, variantTitle } from "./variants.ts";

/** What the page is made of besides the results. */
export interface PageParts {
  readonly speeds: Speeds;
  /** Figures in order. */
  readonly figures: readonly Figure[];
  /** Table files, relative to the page. */
  readonly tableFiles: readonly string[];
  /** SHA-256 of the results file every loss comes from. */
  readonly resultsSha256: string;
  /** SHA-256 of the file every speed comes from. */
  readonly speedsSha256: string;
  /** The ways to the artifacts that losses were read from. */
  readonly trace: TraceLinks;
}

/** The whole page as text. */
export function pageHtml(results: Results, parts: PageParts): string {
  const sections = [
    claimSection(results, parts),
    textSection(results, parts),
    lossSection(results, parts),
    speedSection(results, parts),
    intensitySection(parts),
    paperSection(results, parts),
    everySection(parts, {
      runs: runTable(results, parts.trace),
      pairs: pairTable(results, parts.trace),
    }),
    traceSection(results, parts),
  ].filter((section): section is Section => section !== null);
  return documentHtml({
    title: results.experiment,
    lead: leadText(results),
    notice: noticeHtml(results),
    sections,
    resultsSha256: parts.resultsSha256,
  });
}

function leadText(results: Results): string {
  const runs = results.curves.length;
  if (runs === 0) return "No run has been trained yet.";
  return `${counted(runs, "trained model")}: ${counted(results.datasets.length, "text")}, ${
    counted(results.variants.length, "variant")
  }, ${counted(results.seeds.length, "seed")}.`;
}

/** Says first of all which numbers are not measured as the paper's were. */
function noticeHtml(results: Results): Html | null {
  const titles = (chosen: (dataset: Results["datasets"][number]) => boolean) =>
    results.datasets.filter(chosen).map(({ dataset }) => titleOf(results, dataset)).join(", ");
  const kind = (name: string) => titles(({ corpus }) => corpus?.source.kind === name);
  const lines = [
    [kind("sample"), "ran on a sample of the paper's text, not on all of it"],
    [kind("synthetic"), "ran on synthetic text, which has no counterpart in the paper"],
    [titles(({ corpus }) => corpus === null), "ran on text that was not described"],
    [
      titles(({ dataset, corpus }) =>
        corpus !== null && corpus.source.kind !== "synthetic" &&
        results.conditions.some((each) => each.dataset === dataset && !each.fullSize)
      ),
      "ran with a smaller model or shorter training than the paper's",
    ],
  ].flatMap(([names, text]) => names === "" ? [] : [`${names} ${text}.`]);
  if (lines.length === 0) return null;
  return html`
    <div class="notice" role="note"><strong>Before you compare.</strong> ${lines.join(" ")}</div>
  `;
}

function claimSection(results: Results, parts: PageParts): Section | null {
  const claims = withoutIdle(allClaims(results, parts.speeds));
  return verdictSection(parts, {
    claims: claimsTable(claims),
    comparisons: comparisonsTable(results, claims),
  });
}

/** Claims on losses and on speeds in the order of their names. */
function allClaims(results: Results, speeds: Speeds): JudgedClaim[] {
  return [...results.claims, ...speeds.claims].sort((a, b) => a.id < b.id ? -1 : 1);
}

function textSection(results: Results, parts: PageParts): Section {
  const missing = results.missing.map((each) =>
    html`
      <li>${titleOf(results, each.dataset)}, ${variantTitle(each.variant)}, seed ${each.seed}</li>
    `
  );
  return {
    id: "what-was-run",
    title: "What was run",
    body: html`
      ${shown(parts, textTable(results, parts.trace))}
      <ul>
        ${results.datasets.flatMap(({ dataset, corpus }) =>
          corpus === null || corpus.source.note === "" ? [] : [html`
            <li>${titleOf(results, dataset)}: ${corpus.source.note}</li>
          `]
        )}
        ${results.variants.map((variant) =>
          html`
            <li>${variantTitle(variant)}</li>
          `
        )}
        <li>Seeds: ${results.seeds.join(", ") || "none"}</li>
      </ul>
      ${results.variants.some(isBypassed)
        ? html`
          <p>The paper says that it switches modulation off where fused attention runs, and prints
          the baseline's speed for runs 2 to 4. A bypassed run does so: it has the predictors and
          does not use them, so that it computes what the baseline computes, bit for bit.</p>
        `
        : null} ${missing.length === 0 ? null : html`
        <details>
          <summary>${counted(missing.length, "run")} of the grid missing</summary>
          <ul>
          ${missing}</ul>
        </details>
      `}
    `,
  };
}

function lossSection(results: Results, parts: PageParts): Section | null {
  if (results.conditions.length === 0) return null;
  const figure = parts.figures.find((each) => each.name === "losses");
  return {
    id: "losses-by-run",
    title: results.conditions.some((each) => each.published !== null)
      ? "Losses beside the paper's"
      : "Losses",
    body: html`
      ${shown(parts, lossTable(results))} ${figure
        ? drawn(figure)
        : null} ${results.deltas.length > 0 ? shown(parts, differenceTable(results)) : null}
    `,
  };
}

function speedSection(results: Results, parts: PageParts): Section | null {
  const { speeds, speedsSha256 } = parts;
  if (speeds.variants.length === 0) return null;
  const trace = traceLink(speedsSha256);
  return {
    id: "speed",
    title: "Speed of generation",
    body: html`${tableHtml(speedTable(results, speeds), { trace })} ${
      tableHtml(timedTable(results, speeds), { trace })
    }`,
  };
}

function intensitySection(parts: PageParts): Section | null {
  const figure = parts.figures.find((each) => each.name === "intensities");
  if (figure === undefined) return null;
  return { id: "learned", title: "What the predictors learned", body: drawn(figure) };
}

function paperSection(results: Results, parts: PageParts): Section | null {
  if (results.findings.length === 0) return null;
  const unfit = results.findings.filter((each) => !each.agrees).length;
  return {
    id: "paper",
    title: "The paper's own numbers, re-analysed",
    body: html`
      <p>
        Of ${counted(results.findings.length, "comparison")} of the paper's numbers with each
        other, ${grouped(unfit)} do not fit.
      </p>
      ${shown(parts, findingsTable(results))}
    `,
  };
}

function traceSection(results: Results, parts: PageParts): Section {
  const files = parts.tableFiles.map((path) =>
    html`
      <li><a href="${path}">${path.split("/").at(-1)!}</a></li>
    `
  );
  return {
    id: "trace",
    title: "Where the numbers come from",
    body: html`
      <p>Every number above is computed from the runs listed under “Every run”; differences are
      taken between runs of the same seed, which have the same batches and the same initial values
      wherever they share a parameter. Intervals have ${percent(results.confidence, 0)} % coverage
      if differences are close to normal. The <a href="${traceLink(
        parts.resultsSha256,
      )}">trace of the
      results</a> names every artifact behind them.</p>
      ${files.length === 0 ? null : html`
        <p>The same numbers for programs and papers:</p>
        <ul>
        ${files}</ul>
      `}
    `,
  };
}
