/**
 * Tables and figures as HTML.
 *
 * @module
 */
import { COLOURS, FAINT, INK, RULE } from "../../../analysis/figures/theme.ts";
import { type Cell, cellText, type Column, type Table } from "../table.ts";
import { type Html, html, trusted } from "../../../pipeline/views/html.ts";

/**
 * A table with its caption, scoped headers and notes, in a region that scrolls sideways by
 * keyboard where the screen is narrow. A leading empty cell belongs to the row group above.
 *
 * @param options.trace Where the trace is of the document that the table was made from.
 */
export function tableHtml(table: Table, options: { readonly trace: string }): Html {
  const groups: (readonly Cell[])[][] = [[]];
  const anchors = new Map([...table.anchors ?? []].map(([row, id]) => [table.rows[row]!, id]));
  const breaks = new Set(table.breaks ?? []);
  table.rows.forEach((row, index) => {
    groups.at(-1)!.push(row);
    if (breaks.has(index) && index < table.rows.length - 1) groups.push([]);
  });
  const head = table.columns.map((column) =>
    html`
      <th scope="col" ${sideOf(column)}>${column.title}</th>
    `
  );
  const bodies = groups.map((rows) =>
    html`
      <tbody>
      ${rows.map((row) =>
        rowHtml(
          row.map((cell, index) => cellHtml(cell, index, { columns: table.columns, rows, row })),
          anchors.get(row),
        )
      )}</tbody>
    `
  );
  return html`
    <div class="scroll" role="region" tabindex="0" aria-labelledby="${table.id}-caption">
      <table id="${table.id}">
    <caption><span><span id="${table.id}-caption">${table.caption}</span>
      <a class="trace" href="${options.trace}" aria-label="Trace of this table: ${table
        .caption}">trace</a>
    </span></caption>
    <thead><tr>${head}</tr></thead>
    ${bodies}</table>
    </div>
    ${(table.notes ?? []).map((note) =>
      html`
        <p class="note">${note}</p>
      `
    )}
  `;
}

function rowHtml(cells: readonly Html[], anchor: string | undefined): Html {
  if (anchor === undefined) return html`<tr>${cells}</tr>`;
  return html`<tr id="${anchor}">${cells}</tr>`;
}

function sideOf(column: Column | undefined): Html {
  return trusted(column?.align === "right" ? ' class="right"' : "");
}

/** A verdict is in its words; colour repeats it. */
const VERDICT_CLASS: Readonly<Record<string, string>> = {
  reproduced: "good",
  "direction only": "good",
  equivalent: "open",
  contradicted: "bad",
  underpowered: "open",
  "not run": "open",
};

/** A number that leads somewhere looks like one that does not, but for a faint line below it. */
function contentHtml(cell: Cell): Html {
  return typeof cell === "string"
    ? html`${cell}`
    : html`<a class="number" href="${cell.to}">${cell.text}</a>`;
}

/** Lets a cell break its text into lines. */
const LONG = trusted(' class="wide"');

function cellHtml(
  cell: Cell,
  index: number,
  place: {
    readonly columns: readonly Column[];
    /** The row group the cell is in, and its row. */
    readonly rows: readonly (readonly Cell[])[];
    readonly row: readonly Cell[];
  },
): Html {
  const { columns, rows, row } = place;
  const isLong = cellText(cell).length > 40;
  if (index > 0) {
    const verdict = columns[index]?.title.startsWith("Verdict")
      ? VERDICT_CLASS[cellText(cell)]
      : undefined;
    const content = contentHtml(cell);
    if (verdict) return html`<td class="verdict ${verdict}">${content}</td>`;
    return html`<td${isLong ? LONG : sideOf(columns[index])}>${content}</td>`;
  }
  // One header for all rows of a group whose first cells are empty below the first.
  const first = rows[0] === row;
  const spans = first && rows.length > 1 && rows.slice(1).every((each) => each[0] === "");
  const long = isLong ? LONG : null;
  if (spans) {
    return html`
      <th scope="rowgroup" rowspan="${rows.length}" ${long}>${contentHtml(cell)}</th>
    `;
  }
  if (!first && cell === "" && rows.slice(1).every((each) => each[0] === "")) return trusted("");
  return html`
    <th scope="row" ${long}>${contentHtml(cell)}</th>
  `;
}

/**
 * A figure from the plot stage, inlined: its ids made unique on the page, its inks and its two
 * most frequent colours handed to the page's theme.
 *
 * @throws {SyntaxError} If `svg` does not start with an `<svg>` element.
 */
export function figureHtml(svg: string, options: {
  readonly id: string;
  readonly title: string;
  /** What the figure shows, for those who can't see it. */
  readonly words: string;
  /** Where its trace is. */
  readonly trace: string;
}): Html {
  if (!svg.startsWith("<svg")) throw new SyntaxError("figureHtml: must start with <svg");
  const own = svg.trimEnd()
    .replace(/\bid="([^"]*)"/g, `id="${options.id}-$1"`)
    .replace(/url\(#([^)]*)\)/g, `url(#${options.id}-$1)`)
    .replace(
      /\baria-labelledby="([^"]*)"/g,
      (_, ids: string) =>
        `aria-labelledby="${ids.split(" ").map((id) => `${options.id}-${id}`).join(" ")}"`,
    )
    .replaceAll(`"${INK}"`, '"var(--ink)"')
    .replaceAll(`"${FAINT}"`, '"var(--faint)"')
    .replaceAll(`"${RULE}"`, '"var(--rule)"')
    .replaceAll(`"${COLOURS[0]}"`, '"var(--first)"')
    .replaceAll(`"${COLOURS[1]}"`, '"var(--second)"');
  return html`
    <figure id="${options.id}">
      <div class="scroll" role="region" tabindex="0" aria-label="Figure: ${options.title}">
        ${trusted(own)}
          </div>
      <figcaption>
        <details>
          <summary>The figure in words</summary>
          <p>${options.words}</p>
        </details>
        <p><a class="trace" href="${options.trace}" aria-label="Trace of the figure: ${options
          .title}"
          >trace</a></p>
      </figcaption>
    </figure>
  `;
}

/** The text of an SVG's own `<title>` or `<desc>`; empty if it has none. */
export function svgText(svg: string, element: "title" | "desc"): string {
  const text = svg.match(new RegExp(`<${element}\\b[^>]*>([^<]*)</${element}>`))?.[1] ?? "";
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}
