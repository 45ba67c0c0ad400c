/**
 * What must hold of every folder of tables.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/csv";
import { join } from "node:path";

/**
 * Each table is there as Markdown, LaTeX and CSV, well formed; returns the tables' names.
 *
 * LaTeX is checked by what breaks it: groups left open, a special character that is not escaped, rows
 * of different lengths, a bracket after the end of a row, a character that its fonts lack.
 */
export function checkTables(folder: string): string[] {
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const names = [...new Set(files.map((name) => name.replace(/\.\w+$/, "")))];
  assertEquals(files, names.flatMap((name) => ["csv", "md", "tex"].map((end) => `${name}.${end}`)));
  for (const name of names) {
    const read = (end: string) => Deno.readTextFileSync(join(folder, `${name}.${end}`));
    checkCsv(read("csv"), name);
    checkLatex(read("tex"), name);
    const cells = read("md").split("\n").filter((line) => line.startsWith("|"))
      .map((line) => line.split(/(?<!\\)\|/).length);
    assert(cells.length > 2, `${name}.md has rows`);
    assertEquals(new Set(cells).size, 1, `${name}.md`);
  }
  return names;
}

function checkCsv(text: string, name: string): void {
  const rows = parse(text);
  assert(rows.length > 1, `${name}.csv has rows`);
  assertEquals(
    new Set(rows[0]).size,
    rows[0]!.length,
    `${name}.csv: columns have names of their own`,
  );
  for (const row of rows) assertEquals(row.length, rows[0]!.length, `${name}.csv`);
  assert(!/NaN|undefined|\[object/.test(text), `${name}.csv`);
}

function checkLatex(text: string, name: string): void {
  assert(
    /^[\n\x20-\x7e\u00c0-\u017f“”‘’…]*$/.test(text),
    `${name}.tex: ${text.match(/[^\n\x20-\x7e]/)}`,
  );
  const body = text.replace(/^%.*\n/, "");
  const bare = body.replace(/\\[\\{}$&#%_]/g, (pair) => pair === "\\\\" ? pair : "");
  assertEquals(bare.split("{").length, bare.split("}").length, `${name}.tex: groups`);
  assertEquals(bare.split("$").length % 2, 1, `${name}.tex: formulas`);
  assert(!/[#%_~^]/.test(bare.replace(/\\label\{[^}]*\}/, "")), `${name}.tex: specials`);
  assert(!/\\\\\s*[[*]/.test(bare), `${name}.tex: a row's end takes what follows for its own`);
  const columns = /\\begin\{tabular\}\{([lr]+)\}/.exec(bare)![1]!.length;
  const rows = bare.split("\n").filter((line) => line.endsWith("\\\\"));
  assert(rows.length > 1, `${name}.tex has rows`);
  for (const row of rows) assertEquals(row.split("&").length, columns, `${name}.tex: ${row}`);
}
