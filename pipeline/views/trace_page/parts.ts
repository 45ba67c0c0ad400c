/**
 * Pieces of the trace page: its style, lists of facts, tables.
 *
 * @module
 */
import { type Html, html } from "../../html.ts";

export const NOTHING: Html = { html: "" };

/** What the page adds to the style of all pages. Ten thousand sections get a layout as they are seen. */
export const STYLE: Html = {
  html: `<style>
body { max-width: 76rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
section { content-visibility: auto; contain-intrinsic-size: auto 28rem; margin: 0 0 1.5rem;
  padding: 1rem 0 0; border-top: 1px solid var(--line); }
section:target, :target > h3, td:has(:target), h2:target { background: var(--soft); }
nav ul, .names { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; }
th { overflow-wrap: normal; }
table { margin: 0 0 .75rem; font-size: .87rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 .75rem;
  font-size: .87rem; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
code { background: none; padding: 0; }
summary { cursor: pointer; }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
@media print {
  section { content-visibility: visible; break-inside: avoid-page; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
</style>`,
};

/** Facts, each under its name. */
export function definitions(facts: readonly (readonly [string, Html])[]): Html {
  return html`<dl>${
    facts.map(([name, value]) =>
      html`
        <dt>${name}</dt>
        <dd>${value}</dd>
      `
    )
  }</dl>`;
}

/** Rows beyond which a table that may be folded is. */
const MAX_ROWS = 40;

/**
 * A table with a caption; nothing if it has no row.
 *
 * @param options.foldable Whether a long one may be folded: not if links lead to its rows, which not
 * every browser then unfolds.
 */
export function table(
  caption: string,
  { head, rows, foldable = false }: {
    readonly head: readonly string[];
    readonly rows: readonly (readonly Html[])[];
    readonly foldable?: boolean;
  },
): Html {
  if (rows.length === 0) return NOTHING;
  const folded = foldable && rows.length > MAX_ROWS;
  const whole = html`
    <table>
      <caption>${caption}</caption>
      <thead>
        <tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr>
      </thead>
      <tbody>${rows.map((row) =>
        html`
          <tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>
        `
      )}</tbody>
    </table>
  `;
  if (!folded) return whole;
  return html`<details><summary>${rows.length} ${caption.toLowerCase()}</summary>${whole}</details>`;
}
