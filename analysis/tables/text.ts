/**
 * Tables as Markdown and LaTeX for people, as CSV for programs.
 *
 * @module
 */
import { stringify } from "@std/csv";
import { join } from "node:path";
import { latexEscape } from "./latex.ts";
import { numbersText } from "./numbers.ts";
import { cellText, type Table } from "./table.ts";

/** Writes tables into a folder, and every number of theirs for a manuscript, `numbers.tex`. */
export function writeTables(folder: string, tables: readonly Table[]): void {
  const write = (name: string, text: string) => Deno.writeTextFileSync(join(folder, name), text);
  for (const table of tables) {
    write(`${table.id}.md`, markdownText(table));
    write(`${table.id}.tex`, latexText(table));
    write(`${table.id}.csv`, csvText(table.data));
  }
  write("numbers.tex", numbersText(tables));
}

/**
 * CSV with a header, for programs: an empty field where there is nothing, and numbers to the 15 digits
 * that a double keeps, so that 0.582 in percent is 58.2.
 */
export function csvText({ columns, rows }: Table["data"]): string {
  const cells = rows.map((row) =>
    row.map((cell) => typeof cell === "number" ? Number(cell.toPrecision(15)) : cell ?? "")
      .map(String)
  );
  return stringify([columns, ...cells], { headers: false }).replaceAll("\r\n", "\n");
}

/** GitHub-flavoured Markdown. */
export function markdownText(table: Table): string {
  const escape = (text: string) =>
    text.replace(/[\\`*_{}[\]<>|#~&$]/g, (mark) => `\\${mark}`).replace(/\s+/g, " ").trim();
  // At its start a paragraph could be taken for a list.
  const paragraph = (text: string) => escape(text).replace(/^(\d*)([-+.)=])/, "$1\\$2");
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    `**${escape(table.caption)}**`,
    "",
    line(table.columns.map((column) => escape(column.title))),
    line(table.columns.map((column) => column.align === "right" ? "---:" : "---")),
    ...table.rows.map(({ cells }) => line(cells.map((cell) => escape(cellText(cell))))),
    ...(table.notes ?? []).flatMap((note) => ["", paragraph(note)]),
    "",
  ].join("\n");
}

/** A LaTeX `table` for the booktabs package. */
export function latexText(table: Table): string {
  const columns = table.columns.map((column) => column.align === "right" ? "r" : "l").join("");
  const line = (cells: readonly string[]) => `    ${cells.map(latexEscape).join(" & ")} \\\\`;
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
    ...table.rows.flatMap(({ cells, begins }, index) => [
      ...begins && index > 0 ? ["    \\midrule"] : [],
      line(cells.map(cellText)),
    ]),
    "    \\bottomrule",
    "  \\end{tabular}",
    ...(table.notes ?? []).map((note) => `  \\par\\smallskip\\footnotesize ${latexEscape(note)}`),
    "\\end{table}",
    "",
  ].join("\n");
}
