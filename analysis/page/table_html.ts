/**
 * Tables as HTML.
 *
 * @module
 */
import { type Html, html, trusted } from "../../pipeline/html.ts";
import { NONE } from "../tables/format.ts";
import { type Cell, cellText, type Column, type Row } from "../tables/table.ts";
import { type ShownTable, traceLink } from "./merge.ts";

/** Columns beyond which each row becomes a list of its cells where the screen is narrow. */
const MAX_NARROW = 3;

/** A verdict is in its words; colour repeats it. */
const VERDICT_CLASS: Readonly<Record<string, string>> = {
  reproduced: "good",
  "direction only": "good",
  equivalent: "open",
  contradicted: "bad",
  underpowered: "open",
  "not run": "open",
};

/**
 * A table with its number, scoped headers, notes and files. A leading empty cell belongs to the group
 * of rows above.
 *
 * @param options.number `Table 3`.
 */
export function tableHtml(table: ShownTable, { number }: { readonly number: string }): Html {
  const shown = shownColumns(table);
  const columns = shown.map((index) => table.columns[index]!);
  const asLists = columns.length > MAX_NARROW;
  const role = (name: string) => trusted(asLists ? ` role="${name}"` : "");
  const bodies = groupsOf(table).map((rows) =>
    html`<tbody${role("rowgroup")}>${
      rows.map((row) => {
        const { anchor } = row;
        const own = shown.map((index) => row.cells[index]!);
        const id = anchor === undefined ? null : html`
          id="${anchor}"
        `;
        const cells = own.map((cell, index) => cellHtml(cell, { index, columns, rows, row, role }));
        return html`<tr${id}${role("row")}>${cells}</tr>`;
      })
    }</tbody>`
  );
  const head = columns.map((column) =>
    html`
      <th scope="col" ${sideOf(column)}${role("columnheader")}>${column.title}</th>
    `
  );
  return html`
    <div class="${asLists ? "table lists" : "table"}${table.rows.length > 12 ? "" : " short"}">
      <div class="scroll">
        <table id="${table.id}" ${role("table")}>
          <caption><b>${number}.</b> ${table.caption}</caption>
          <thead${role("rowgroup")}>
            <tr${role("row")}>${head}</tr></thead>
    ${bodies}</table></div>
    ${(table.notes ?? []).map((note) => html`<p class="note">${note}</p>`)}${filesHtml(
      table,
      number,
    )}</div>
  `;
}

/** The columns that have something in some row, and the first, which names the rows. */
function shownColumns({ columns, rows }: ShownTable): number[] {
  return [...columns.keys()].filter((index) =>
    index === 0 || rows.some(({ cells }) => !["", NONE].includes(cellText(cells[index]!)))
  );
}

/** The same for programs and papers, and how it was made. */
function filesHtml({ id, from }: ShownTable, number: string): Html {
  const files = [["CSV", "csv"], ["Markdown", "md"], ["LaTeX", "tex"]].map(([title, end]) =>
    html`
      <a href="tables/${id}.${end!}" aria-label="${number} as ${title!}">${title!}</a>
    `
  );
  return html`<p class="files">${files}${
    from.map(({ sha256, results }) => {
      const text = from.length > 1 ? `Trace: ${results.study.title}` : "Trace";
      return html`
        <a href="${traceLink(sha256)}" aria-label="${text}, ${number}">${text}</a>
      `;
    })
  }</p>`;
}

function groupsOf(table: ShownTable): Row[][] {
  const groups: Row[][] = [[]];
  table.rows.forEach((row, index) => {
    if (row.begins && index > 0) groups.push([]);
    groups.at(-1)!.push(row);
  });
  return groups;
}

function sideOf(column: Column | undefined): Html {
  return trusted(column?.align === "right" ? ' class="right"' : "");
}

interface Place {
  readonly index: number;
  readonly columns: readonly Column[];
  /** The group of rows the cell is in, and its row. */
  readonly rows: readonly Row[];
  readonly row: Row;
  readonly role: (name: string) => Html;
}

function cellHtml(cell: Cell, { index, columns, rows, row, role }: Place): Html {
  const text = cellText(cell);
  const content = typeof cell === "string"
    ? html`${cell}`
    // A number that leads somewhere looks like one that does not, but for a faint line below it.
    : html`<a class="number" href="${cell.to}">${cell.text}</a>`;
  const column = columns[index];
  const looks = looksOf(text, column);
  if (index > 0) {
    const label = html`
      data-label="${column?.title ?? ""}"
    `;
    return html`<td${looks}${label}${role("cell")}>${content}</td>`;
  }
  // One header for all rows of a group whose first cells are empty below the first.
  const isGroup = rows.length > 1 && rows.slice(1).every(({ cells }) => cells[0] === "");
  if (isGroup && rows[0] === row) {
    return html`
      <th scope="rowgroup" rowspan="${rows.length}" ${looks}${role("rowheader")}>${content}</th>
    `;
  }
  if (isGroup) return trusted("");
  return html`
    <th scope="row" ${looks}${role("rowheader")}>${content}</th>
  `;
}

/** Cells of text may break into lines, and words that are too long anywhere. */
function looksOf(text: string, column: Column | undefined): Html {
  const verdict = column?.title.startsWith("Verdict") ? VERDICT_CLASS[text] : undefined;
  if (verdict !== undefined) return trusted(` class="verdict ${verdict}"`);
  const isLong = text.split(/\s/).some((word) => word.length > 24);
  const classes = [
    ...column?.align === "right" ? ["right"] : [],
    ...text.length > 40 ? ["wide"] : [],
    ...isLong ? ["broken"] : [],
  ];
  return trusted(classes.length === 0 ? "" : ` class="${classes.join(" ")}"`);
}
