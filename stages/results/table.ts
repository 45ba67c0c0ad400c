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

/** A table for people: every cell is text already. */
export interface Table {
  /** File stem and anchor: `table1`. */
  readonly id: string;
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** Rows after which a group ends, for a rule between groups. */
  readonly breaks?: readonly number[];
  readonly notes?: readonly string[];
}

/** Writes a table into a folder as Markdown and as LaTeX. */
export function writeTable(folder: string, table: Table): void {
  Deno.writeTextFileSync(join(folder, `${table.id}.md`), markdownText(table));
  Deno.writeTextFileSync(join(folder, `${table.id}.tex`), latexText(table));
}

/** CSV with a header, for programs: numbers unrounded, an empty field where there is none. */
export function csvText(
  columns: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string {
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
    ...table.rows.map((row) => line(row.map(escape))),
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
      line(row),
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
  "\u202f": "\\,",
};

function latexEscape(text: string): string {
  return text.replace(/[\\{}$&#%_~^±−–—·≤≥Δ\u202f]/g, (mark) => LATEX[mark] ?? mark);
}
