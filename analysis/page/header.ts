/**
 * What a reader must know before any number: who, what ran on which data, what is not as in the
 * paper, and what is missing.
 *
 * @module
 */
import { type Html, html } from "../../pipeline/html.ts";
import { provenanceOf } from "../provenance.ts";
import { atOf, keyOf, type Study, titleOf } from "../study.ts";
import { counted } from "../tables/format.ts";
import { type Merged, traceLink } from "./merge.ts";
import { runFactsHtml } from "./run_facts.ts";

/** Whose work it is about. */
export interface About {
  readonly title: string;
  readonly authors: string | undefined;
  readonly link: string | undefined;
}

/** The top of the page. */
export function headerHtml(
  { title, authors, link }: About,
  { merged, sections }: {
    merged: Merged;
    sections: readonly { readonly id: string; readonly title: Html }[];
  },
): Html {
  return html`<header>
<h1>${title}</h1>
${authors === undefined ? null : html`<p class="authors">${authors}</p>`}${
    link === undefined ? null : html`<p class="link"><a href="${link}">${link}</a></p>`
  }${runFactsHtml(merged)}${ranHtml(merged)}${noticeHtml(merged.studies)}${
    missingHtml(merged)
  }<p>Numbers are links: a mean
leads to its runs, a run to how it was made. ${
    merged.analyses.map(({ sha256, results }, index) =>
      html`${index === 0 ? null : ", "}<a href="${traceLink(sha256)}">${
        index === 0 ? "Trace" : "trace"
      } of ${merged.analyses.length > 1 ? results.study.title : "these results"}</a>`
    )
  }</p>
<nav aria-label="Sections"><ul>
${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>
</header>`;
}

/** What ran: how many runs, the values of every axis, and what the data is. */
function ranHtml({ studies }: Merged): Html {
  const runs = Math.max(0, ...studies.map(runsOf));
  if (runs === 0) return html`<p class="lead">Nothing has been measured yet.</p>`;
  const axes = new Map<string, { title: string; values: Set<string> }>();
  for (const { axes: own } of studies) {
    for (const { name, title, values } of own) {
      const axis = axes.get(name) ?? { title, values: new Set() };
      for (const value of values) axis.values.add(value.title);
      axes.set(name, axis);
    }
  }
  const corpora = new Map(
    studies.flatMap((study) =>
      study.corpora.map((corpus) =>
        [corpus.title, `${provenanceOf(study, corpus.at).text}. ${corpus.note}`.trim()] as const
      )
    ),
  );
  return html`<p class="lead">${counted(runs, "run")}</p>
<dl class="ran">${
    [...axes.values()].filter(({ values }) => values.size > 0).map(({ title, values }) =>
      html`
        <div>
          <dt>${title}</dt>
          <dd>${[...values].join(", ")}</dd>
        </div>
      `
    )
  }</dl>
${
    corpora.size === 0 ? null : html`
      <details>
        <summary>What the data is</summary>
        <ul>${[...corpora].map(([title, text]) => html`<li><b>${title}</b>: ${text}</li>`)}</ul>
      </details>
    `
  }`;
}

/** Runs of the table that has most of them: a run may be in several. */
function runsOf({ tidy, metrics, axes }: Study): number {
  const names = new Set(Object.values(metrics).map(({ table }) => table));
  const known = new Set(axes.map(({ name }) => name));
  return Math.max(
    0,
    ...[...names].map((name) => {
      const table = tidy[name];
      if (table === undefined) return 0;
      const own = table.axes.filter((axis) => known.has(axis));
      return new Set(Array.from({ length: table.length }, (_, row) => keyOf(atOf(table, row, own))))
        .size;
    }),
  );
}

/** Says which numbers are not measured as the paper's were. */
function noticeHtml(studies: readonly Study[]): Html | null {
  const lines = new Map<string, Set<string>>();
  const say = (text: string, what: string) =>
    lines.set(text, (lines.get(text) ?? new Set()).add(what));
  for (const study of studies) {
    const isPaper = study.published.length > 0;
    for (const { at, title } of dataOf(study)) {
      const { kind, short } = provenanceOf(study, at);
      if (kind === "sample") say("ran on a sample of the data, not on all of it.", title);
      if (kind === "synthetic") {
        say(
          `ran on synthetic data${isPaper ? ", which has no counterpart in the paper" : ""}.`,
          title,
        );
      }
      if (kind === "undescribed") say("ran on data that was not described.", title);
      if (short.length > 0) say(`ran at less than the paper's size: ${short.join(", ")}.`, title);
    }
  }
  if (lines.size === 0) return null;
  const texts = [...lines].map(([text, whats]) => `${[...whats].join(", ")} ${text}`);
  return html`<div class="notice" role="note"><strong>Before you compare.</strong> ${
    texts.join(" ")
  }</div>`;
}

/** The data that ran, by the axes that tell it apart. */
function dataOf(study: Study): { at: Readonly<Record<string, string>>; title: string }[] {
  const axes = [...new Set(study.corpora.flatMap(({ at }) => Object.keys(at)))];
  const found = new Map<string, { at: Readonly<Record<string, string>>; title: string }>();
  for (const name of new Set(Object.values(study.metrics).map(({ table }) => table))) {
    const table = study.tidy[name];
    if (table === undefined) continue;
    const own = axes.filter((axis) => table.axes.includes(axis));
    for (let row = 0; row < table.length; row++) {
      const at = atOf(table, row, own);
      const title = own.map((axis) => titleOf(study, axis, at[axis]!)).join(", ");
      found.set(keyOf(at), { at, title: title || "Everything" });
    }
  }
  return [...found.values()];
}

/** What was asked for and not run: whole values of an axis in words, single runs as a list. */
function missingHtml({ absent, missing }: Merged): Html | null {
  if (absent.length === 0 && missing.length === 0) return null;
  const runs = html`
    <details>
      <summary>${counted(missing.length, "run")} of the grid missing${absent.length === 0
        ? null
        : " besides"}</summary>
      <ul>${missing.map((each) => html`<li>${each}</li>`)}</ul>
    </details>
  `;
  return html`<div class="notice" role="note"><strong>Incomplete.</strong> ${absent.join(" ")}${
    missing.length === 0 ? null : runs
  }</div>`;
}
