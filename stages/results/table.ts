/**
 * A table as data, and its texts as CSV, Markdown and LaTeX.
 *
 * @module
 */
import { stringify } from "@std/csv";
import { join } from "node:path";

/** One column; numbers are set right. */
export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** What a cell shows; on a page it may lead to what that rests on. */
export type Cell = string | { readonly text: string; readonly to: string };

/** A cell that leads somewhere, if there is somewhere to go. */
export function linked(text: string, to: string | undefined): Cell {
  return to === undefined ? text : { text, to };
}

/** The link to rows that have this anchor. */
export function rowsLink(anchor: string): string {
  return `#${anchor}`;
}

/** A name for rows, the same for the same parts and for no others; a URL takes it as it is. */
export function rowsAnchor(...parts: readonly string[]): string {
  const plain = (part: string) =>
    part.replace(/[^A-Za-z0-9_.]/gu, (mark) => `~${mark.codePointAt(0)!.toString(16)}~`);
  return parts.map(plain).join("-");
}

/** A table for people: every cell is text already. */
export interface Table {
  /** File stem and anchor: `table1`. */
  readonly id: string;
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** Anchors of rows on a page, by the row's index. */
  readonly anchors?: ReadonlyMap<number, string>;
  /** Rows after which a group ends, for a rule between groups. */
  readonly breaks?: readonly number[];
  readonly notes?: readonly string[];
}

/** A table's numbers for programs: unrounded, null where there is none. */
export interface Data {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** A table that is written to files. */
export interface FileTable extends Table {
  readonly data: Data;
}

/** Writes a table into a folder, as Markdown and LaTeX for people and as CSV for programs. */
export function writeTable(folder: string, table: FileTable): void {
  const write = (extension: string, text: string) =>
    Deno.writeTextFileSync(join(folder, `${table.id}.${extension}`), text);
  write("md", markdownText(table));
  write("tex", latexText(table));
  write("csv", csvText(table.data));
}

/** A cell's text. */
export function cellText(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

/** CSV with a header, for programs: numbers unrounded, an empty field where there is none. */
export function csvText({ columns, rows }: Data): string {
  const cells = rows.map((row) => row.map((cell) => cell === null ? "" : String(cell)));
  return stringify([columns, ...cells], { headers: false }).replaceAll("\r\n", "\n");
}

/** GitHub-flavoured Markdown. */
export function markdownText(table: Table): string {
  const escape = (text: string) =>
    text.replace(/[\\`*_{}[\]<>|#~]/g, (mark) => `\\${mark}`).replace(/\s+/g, " ");
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    `**${escape(table.caption)}**`,
    "",
    line(table.columns.map((column) => escape(column.title))),
    line(table.columns.map((column) => column.align === "right" ? "---:" : "---")),
    ...table.rows.map((row) => line(row.map((cell) => escape(cellText(cell))))),
    ...(table.notes ?? []).flatMap((note) => ["", escape(note)]),
    "",
  ].join("\n");
}

/** A LaTeX `table` for the booktabs package. */
export function latexText(table: Table): string {
  const columns = table.columns.map((column) => column.align === "right" ? "r" : "l").join("");
  const line = (cells: readonly string[]) => `    ${cells.map(latexEscape).join(" & ")} \\\\`;
  const breaks = new Set(table.breaks ?? []);
  return [
    "% Needs \\usepackage{booktabs}",
    "\\begin{table}",
    "  \\centering",
    `  \\caption{${latexEscape(table.caption)}}`,
    `  \\label{tab:${table.id}}`,
    `  \\begin{tabular}{${columns}}`,
    "    \\toprule",
    line(table.columns.map((column) => column.title)),
    "    \\midrule",
    ...table.rows.flatMap((row, index) => [
      line(row.map(cellText)),
      ...(breaks.has(index) && index < table.rows.length - 1 ? ["    \\midrule"] : []),
    ]),
    "    \\bottomrule",
    "  \\end{tabular}",
    ...(table.notes ?? []).map((note) => `  \\par\\smallskip\\footnotesize ${latexEscape(note)}`),
    "\\end{table}",
    "",
  ].join("\n");
}

const LATEX: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "{": "\\{",
  "}": "\\}",
  "$": "\\$",
  "&": "\\&",
  "#": "\\#",
  "%": "\\%",
  "_": "\\_",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "±": "$\\pm$",
  "−": "$-$",
  "–": "--",
  "—": "---",
  "·": "$\\cdot$",
  "≤": "$\\leq$",
  "≥": "$\\geq$",
  "Δ": "$\\Delta$",
  "×": "$\\times$",
  "→": "$\\rightarrow$",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
  "|": "\\textbar{}",
  // At the start of a row these would be taken for an argument of the row before.
  "[": "{[}",
  "]": "{]}",
  "*": "{*}",
  "\u202f": "\\,",
};

function latexEscape(text: string): string {
  return text.replace(/[\\{}$&#%_~^±−–—·≤≥Δ×→<>|[\]*\u202f]/g, (mark) => LATEX[mark] ?? mark);
}
