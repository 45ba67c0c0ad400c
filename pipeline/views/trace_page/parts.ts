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
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
h4 { font-size: .95rem; font-weight: 500; margin: 0; display: inline; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: .3rem 0; }
section:has(:target), section:target { border-left: .3rem solid var(--mark); padding-left: .8rem; }
section:target h4, section:has(:target) h4 { font-weight: 700; }
td:has(:target), h2:target, h3:target { background: var(--soft); }
/* What a link leads to is open, whether its instance is or not. */
section:target > details::details-content, section:has(:target) > details::details-content {
  content-visibility: visible; block-size: auto; }
.instance > :not(summary) { margin-left: 1rem; } .instance > table { width: calc(100% - 1rem); }
.dag svg { max-width: 100%; min-width: 42rem; height: auto; stroke: none; margin: 1rem 0; }
.dag path { fill: none; stroke: var(--mark); opacity: .6; stroke-width: 1.5; }
.dag rect { fill: Canvas; stroke: var(--mark); }
.dag text { fill: CanvasText; font: 12px system-ui, sans-serif; } .dag .name { font-weight: 600; }
.dag a:hover rect, .dag a:focus-visible rect { stroke-width: 3; }
.search { font-size: .95rem; } .search input { font: inherit; width: min(24rem, 100%); }
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

/** Hides instances without the words of a search; without scripts there is none. */
const SCRIPT = `
const box = document.querySelector(".search"), input = box.querySelector("input");
const said = box.querySelector("output"), all = [...document.querySelectorAll("main section")];
box.hidden = false;
input.addEventListener("input", () => {
  const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let found = 0;
  for (const each of all) {
    const text = each.textContent.toLowerCase() + " " + each.id;
    each.hidden = !words.every((word) => text.includes(word));
    if (!each.hidden) found++;
  }
  said.textContent = words.length ? found + " found" : "";
});`;

/** A box to search instances by name, digest or value; put in motion by the page's only script. */
export const SEARCH: Html = html`
  <p class="search" hidden><label>Search <input type="search"></label> <output></output></p>
`;

/** The script of {@linkcode SEARCH}, for the end of the page. */
export const SEARCH_SCRIPT: Html = { html: `<script>${SCRIPT}</script>` };

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
