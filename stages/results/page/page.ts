/**
 * The report: one page that opens without a network.
 *
 * @module
 */
import { accuracyTable, datasetTitle, kindLabel } from "../accuracy_table.ts";
import { claimsTable, comparisonsTable, withoutIdle } from "../claims/claims_table.ts";
import { deltaTable } from "../delta_table.ts";
import { counted, grouped, percent } from "../format.ts";
import { datasetsByEncoding, encodingsByDataset, encodingTable } from "../encoding_table.ts";
import { lengthTable } from "../length_table.ts";
import type { Latencies } from "../latency/latencies.ts";
import { latencyTable, timingTable } from "../latency/latency_tables.ts";
import { compareText, encodingTitle, operatorTitle } from "../order.ts";
import { findingsTable, paperSeriesTable, paperTable } from "../paper/paper_tables.ts";
import type { Results } from "../results.ts";
import { pairTable, runTable } from "../run_tables.ts";
import { traceLink, type TraceLinks } from "../sources.ts";
import { linked, type Table } from "../table.ts";
import { trainingTable } from "../training_table.ts";
import { documentHtml, type Section } from "./document.ts";
import { drawn, type Figure } from "./figures.ts";
import { type Html, html } from "../../../pipeline/html.ts";
import { tableHtml } from "./parts.ts";
import { everySection, shown, verdictSection } from "./sections.ts";

/** What the page is made of besides the results. */
export interface PageParts {
  /** Figures in order. */
  readonly figures: readonly Figure[];
  /** What timing showed. */
  readonly latencies: Latencies;
  /** SHA-256 of the latencies file. */
  readonly latenciesSha256: string;
  /** Names of the table files beside the page, in `../tables/`. */
  readonly tableFiles: readonly string[];
  /** SHA-256 of the results file every number comes from. */
  readonly resultsSha256: string;
  /** The ways to the artifacts they were read from. */
  readonly trace: TraceLinks;
}

/** The whole page as text. */
export function pageHtml(results: Results, parts: PageParts): string {
  const sections = [
    claimSection(results, parts),
    runSection(results, parts),
    accuracySection(results, parts),
    deltaSection(results, parts),
    latencySection(results, parts),
    figureSection(parts),
    lengthSection(results, parts),
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
  const runs = results.conditions.reduce((total, cell) => total + cell.n, 0);
  if (runs === 0) return "No run has been evaluated yet.";
  return `${counted(runs, "run")}: ${counted(results.datasets.length, "dataset")}, ${
    counted(results.operators.length, "fusion operator")
  }, ${counted(results.seeds.length, "seed")}.`;
}

/** Says first of all which numbers are not measurements on the paper's data. */
function noticeHtml(results: Results): Html | null {
  const titles = (kind: string) =>
    results.datasets
      .filter((entry) => (entry.corpus?.source.kind ?? "undescribed") === kind)
      .map((entry) => datasetTitle(entry, entry.dataset)).join(", ");
  const lines = [
    ["sample", "ran on a sample of the paper's data, not on all of it"],
    ["synthetic", "ran on synthetic data, which has no counterpart in the paper"],
    ["undescribed", "ran on data that was not described"],
  ].flatMap(([kind, text]) => titles(kind!) === "" ? [] : [`${titles(kind!)} ${text}.`]);
  const smaller = results.datasets.filter((entry) =>
    entry.smaller && entry.corpus?.source.kind !== "synthetic"
  );
  if (smaller.length > 0) {
    const names = smaller.map((entry) => datasetTitle(entry, entry.dataset)).join(", ");
    lines.push(`${names} ran with a smaller model or shorter documents than the paper's.`);
  }
  if (lines.length === 0) return null;
  return html`
    <div class="notice" role="note"><strong>Before you compare.</strong> ${lines.join(" ")}</div>
  `;
}

function claimSection(results: Results, parts: PageParts): Section | null {
  const claims = withoutIdle([...results.claims, ...parts.latencies.claims])
    .sort((a, b) => compareText(a.id, b.id));
  return verdictSection(parts, {
    claims: claimsTable(claims),
    comparisons: comparisonsTable(results, claims),
  });
}

function runSection(results: Results, parts: PageParts): Section {
  const table: Table = {
    id: "datasets",
    caption: "Data the runs were trained and tested on",
    columns: [
      { title: "Dataset" },
      { title: "Data" },
      { title: "Train", align: "right" },
      { title: "Test", align: "right" },
      { title: "Classes", align: "right" },
      { title: "Majority class", align: "right" },
      { title: "Vocabulary", align: "right" },
      { title: "In two splits", align: "right" },
    ],
    rows: results.datasets.map((entry) => {
      const corpus = entry.corpus;
      const documents = (split: string) => {
        const found = corpus?.splits[split];
        if (found === undefined) return "–";
        const { documents, available = documents } = found;
        return available > documents
          ? `${grouped(documents)} of ${grouped(available)}`
          : grouped(documents);
      };
      return [
        datasetTitle(entry, entry.dataset),
        kindLabel(entry),
        linked(documents("train"), parts.trace("statistics", [entry.dataset])),
        documents("test"),
        corpus ? String(corpus.classes.length) : "–",
        entry.majorityShare === null ? "–" : `${percent(entry.majorityShare, 1)} %`,
        corpus ? grouped(corpus.vocabularySize) : "–",
        corpus
          ? grouped(Object.values(corpus.duplicatesAcrossSplits).reduce((sum, n) => sum + n, 0))
          : "–",
      ];
    }),
    notes: [
      "Majority class: the test accuracy of always answering with it. In two splits: documents " +
      "that are in more than one split.",
    ],
  };
  const operators = results.operators.map(operatorTitle).join(", ");
  const encodings = results.encodings.map(encodingTitle).join(", ");
  return {
    id: "what-was-run",
    title: "What was run",
    body: html`
      ${shown(parts, table)}<ul>
        ${results.datasets.flatMap((entry) =>
          entry.corpus === null ? [] : [html`
            <li>${datasetTitle(entry, entry.dataset)}: ${entry.corpus.source.note}</li>
          `]
        )}
        <li>Fusion operators: ${operators || "none"}</li>
        <li>Positional encodings: ${encodings || "none"}</li>
        <li>Seeds: ${results.seeds.join(", ") || "none"}</li>
      </ul>
      ${results.curves.length > 0 ? shown(parts, trainingTable(results)) : null} ${missingHtml(
        results,
      )}
    `,
  };
}

function missingHtml(results: Results): Html | null {
  if (results.missing.length === 0) return null;
  const names = results.missing.map((cell) =>
    html`
      <li>${cell.dataset}, ${encodingTitle(cell.encoding)}, ${operatorTitle(
        cell.operator,
      )}, seed ${cell.seed}</li>
    `
  );
  return html`
    <details>
      <summary>${counted(results.missing.length, "run")} of the grid missing</summary>
      <ul>
    ${names}</ul>
    </details>
  `;
}

function accuracySection(results: Results, parts: PageParts): Section | null {
  if (results.conditions.length === 0) return null;
  const tables = encodingsByDataset(results).map((encoding) =>
    shown(parts, accuracyTable(results, { encoding, id: `accuracy-${encoding}` }))
  );
  const figure = parts.figures.find((each) => each.name === "accuracy");
  const byEncoding = datasetsByEncoding(results).map((entry) =>
    shown(parts, encodingTable(results, entry))
  );
  return {
    id: "accuracy",
    title: results.conditions.some((cell) => cell.published.length > 0)
      ? "Accuracy beside the paper's"
      : "Accuracy",
    body: html`
      ${tables} ${byEncoding} ${figure ? drawn(figure) : null}
    `,
  };
}

function deltaSection(results: Results, parts: PageParts): Section | null {
  if (results.deltas.length === 0) return null;
  const figure = parts.figures.find((each) => each.name === "delta");
  return {
    id: "differences",
    title: `Differences from ${operatorTitle(results.baseline)}, seed by seed`,
    body: html`${figure ? drawn(figure) : null}${shown(parts, deltaTable(results))}`,
  };
}

function latencySection(results: Results, parts: PageParts): Section | null {
  const { latencies } = parts;
  if (latencies.conditions.length === 0) return null;
  const figure = parts.figures.find((each) => each.name === "latency");
  const timed = (table: Table) => tableHtml(table, { trace: traceLink(parts.latenciesSha256) });
  return {
    id: "latency",
    title: "Latency, measured on this machine",
    body: html`
      <p>Unlike all other numbers here, these differ from one timing to the next.</p>
      ${timed(latencyTable(results, latencies))} ${figure ? drawn(figure) : null}
      <details open><summary>Every model that was timed</summary>
      ${timed(timingTable(results, latencies))}</details>
    `,
  };
}

function figureSection(parts: PageParts): Section | null {
  const others = parts.figures.filter((each) =>
    !["accuracy", "delta", "latency", "published"].includes(each.name)
  );
  if (others.length === 0) return null;
  return { id: "figures", title: "Figures", body: html`${others.map(drawn)}` };
}

function lengthSection(results: Results, parts: PageParts): Section | null {
  if (results.datasets.every((entry) => entry.corpus === null)) return null;
  return {
    id: "document-lengths",
    title: "Document lengths",
    body: shown(parts, lengthTable(results, parts.trace)),
  };
}

function paperSection(results: Results, parts: PageParts): Section | null {
  const paper = results.paper;
  if (paper === null) return null;
  const figure = parts.figures.find((each) => each.name === "published");
  const unfit = paper.findings.filter((each) => !each.agrees).length;
  return {
    id: "paper",
    title: "The paper's own numbers, re-analysed",
    body: html`
      <p>
        The same code that judges our runs, put to what the paper printed. Of ${counted(
          paper.findings.length,
          "comparison",
        )} of its numbers with each other, ${grouped(unfit)} do not fit.
      </p>
      ${figure ? drawn(figure) : null} ${paper.series.length > 0
        ? shown(parts, paperSeriesTable(paper, results))
        : null} ${paper.tables.length > 0
        ? shown(parts, paperTable(paper, results))
        : null} ${paper.findings.length > 0 ? shown(parts, findingsTable(paper)) : null}
    `,
  };
}

function traceSection(results: Results, parts: PageParts): Section {
  const files = parts.tableFiles.map((name) =>
    html`
      <li><a href="../tables/${name}">${name}</a></li>
    `
  );
  return {
    id: "trace",
    title: "Where the numbers come from",
    body: html`<p>Every number above is computed from the evaluated runs listed under
“Every run”; differences are taken between runs of the same seed, from counts of correctly
classified documents. Intervals have ${percent(results.confidence, 0)} % coverage if differences
are close to normal. The <a href="${traceLink(parts.resultsSha256)}">trace of the results</a>
names every artifact behind them.</p>
${
      files.length > 0
        ? html`
          <p>The same numbers for programs and papers:</p>
          <ul>
          ${files}</ul>
        `
        : null
    }`,
  };
}
