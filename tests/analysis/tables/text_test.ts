import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { parse } from "@std/csv";
import { join } from "node:path";
import { tablesOf } from "../../../analysis/tables/tables.ts";
import { tablesSchema } from "../../../analysis/spec/tables.ts";
import { numbersText } from "../../../analysis/tables/numbers.ts";
import type { Column, Table } from "../../../analysis/tables/table.ts";
import { csvText, latexText, markdownText, writeTables } from "../../../analysis/tables/text.ts";
import { checkLatexText, hasLatex, latexErrors, macrosOf } from "./check_latex.ts";
import { axis, bakery } from "./made_up.ts";

const HOSTILE = 'a|b & 50 % _x_ $1 #~^ \\end{table} {} <b> [c] -- `q` ``, "d",\n日本 Ω ± − Łé *';

const numbers = (title: string, name: string): Column => ({ title, align: "right", name });

/** A table of one hostile title in every place. */
const TABLE: Table = {
  id: "end_results",
  caption: HOSTILE,
  columns: [{ title: HOSTILE }, numbers(HOSTILE, "cost"), numbers("Sum", "sum")],
  rows: [
    { cells: [HOSTILE, "−1\u202f234.50 ± 0.10", "[+1.0, +2.0]"], name: ["ag_news", "0"] },
    { cells: ["[2]", "3 (1 seed)", HOSTILE], name: [HOSTILE], begins: true },
  ],
  notes: [HOSTILE, "- not a list", "1. nor this"],
  data: { columns: ["name", "cost"], rows: [[HOSTILE, -1234.5], ["", null]] },
};

const DECLARED = tablesSchema.parse({
  table1: {
    ...{ caption: "Rise", rows: ["oven"], across: "flavour", columns: [{ metric: "rise" }] },
    published: "Table 1",
  },
});

function made(): Table[] {
  return tablesOf(bakery(), { tables: DECLARED, claims: [], findings: [] });
}

Deno.test("a CSV field comes back as it was, whatever it holds", () => {
  assertEquals(parse(csvText(TABLE.data)), [["name", "cost"], [HOSTILE, "-1234.5"], ["", ""]]);
  const scaled = { columns: ["percent"], rows: [[0.582 * 100], [100 / 3]] };
  assertEquals(parse(csvText(scaled)), [["percent"], ["58.2"], ["33.3333333333333"]]);
});

Deno.test("a Markdown table has its columns, and nothing in a title is markup", () => {
  const lines = markdownText(TABLE).split("\n");
  const rows = lines.filter((line) => line.startsWith("|"));
  assertEquals(rows.length, 4);
  for (const row of rows) assertEquals(row.split(/(?<!\\)\|/).length, 5, row);
  const bare = lines.join("\n").replace(/\\[^A-Za-z0-9\s]/g, "").replace(/^\*\*|\*\*$/gm, "");
  assert(!/[*_`<>[\]#~&$]/.test(bare), bare);
  assert(lines.includes("\\- not a list") && lines.includes("1\\. nor this"));
});

Deno.test("a count is on one line of a page and of a LaTeX table", () => {
  const table = made().find(({ id }) => id === "table1")!;
  assertEquals(table.rows[0]!.cells[1], "This run: full data, n\u00a0=\u00a03");
  assert(latexText(table).includes("This run: full data, n~=~3 &"));
  assert(markdownText(table).includes("| This run: full data, n = 3 |"));
});

Deno.test("LaTeX has its special characters escaped, and names those that its fonts lack", () => {
  const text = latexText(TABLE);
  checkLatexText(text, "hostile");
  assert(text.includes("(U+65E5)(U+672C) (U+03A9) $\\pm$ $-$ Łé"), text);
  assert(text.includes("$-$1\\,234.50 $\\pm$ 0.10"));
});

Deno.test("every number has a macro with a name that can be read", () => {
  const macros = macrosOf(numbersText(made()));
  assertEquals(macros.get("tableOneGasVanilla"), "65.00 $\\pm$ 8.66");
  assertEquals(macros.get("tableOneGasVanillaMean"), "65.00");
  assertEquals(macros.get("tableOneGasVanillaSd"), "8.66");
  assertEquals(macros.get("tableOneGasPaperVanilla"), "64.0 $\\pm$ 1.5");
  assertEquals(macros.get("everyRunGasPlainTwoRise"), "70.00");
  const all = [...macros.values()].join(" ");
  for (const table of made()) {
    for (
      const cell of table.rows.flatMap(({ cells }) =>
        cells.slice(table.columns.findIndex((c) => c.name))
      )
    ) {
      const text = typeof cell === "string" ? cell : cell.text;
      for (const number of text.match(/\d+\.\d+/g) ?? []) assert(all.includes(number), number);
    }
  }
});

Deno.test("a macro's name holds whatever its row is called, and does not change with other rows", () => {
  const macros = macrosOf(numbersText([TABLE]));
  assertEquals(macros.get("theEndResultsAgNewsZeroCostMean"), "$-$1\\,234.50");
  assertEquals(macros.get("theEndResultsAgNewsZeroSumHigh"), "+2.0");
  const first = { ...TABLE, rows: TABLE.rows.slice(0, 1) };
  for (const name of macrosOf(numbersText([first])).keys()) assert(macros.has(name), name);
});

Deno.test("names that come out alike are made longer, and a row that nothing tells apart has none", () => {
  const of = (...names: string[][]) => {
    const rows = names.map((name, index) => ({ cells: [String(index)], name }));
    const data = { columns: [], rows: [] };
    return numbersText([{ id: "t", caption: "", columns: [numbers("n", "n")], rows, data }]);
  };
  const alike = of(["a_b"], ["a-b"], ["aB"], ["a", "b"], ["other"]);
  const macros = macrosOf(alike);
  assertEquals([...macros.values()], ["0", "1", "2", "3", "4"]);
  assert(macros.has("tOtherN"));
  const longer = [...macrosOf(of(["a-b"], ["a_b"])).keys()].sort();
  for (const name of longer) assert(macros.has(name), `${name} counts what comes before it`);
  assertEquals(macrosOf(of(["same"], ["same"])).size, 0);
});

Deno.test("a folder of tables has each as Markdown, LaTeX and CSV, and the same bytes each time", () => {
  const folders = [Deno.makeTempDirSync(), Deno.makeTempDirSync()];
  try {
    for (const folder of folders) writeTables(folder, made());
    const files = [...Deno.readDirSync(folders[0]!)].map(({ name }) => name).sort();
    const ids = made().map(({ id }) => id);
    assertEquals(
      files,
      [...ids.flatMap((id) => [`${id}.csv`, `${id}.md`, `${id}.tex`]), "numbers.tex"].sort(),
    );
    for (const file of files) {
      const [a, b] = folders.map((folder) => Deno.readTextFileSync(join(folder, file)));
      assertEquals(a, b);
      assert(!/NaN|undefined|\[object|Infinity/.test(a!), file);
      if (file.endsWith(".tex")) checkLatexText(a!, file);
      if (file.endsWith(".csv")) {
        const [head, ...rows] = parse(a!);
        assertEquals(new Set(head).size, head!.length, file);
        for (const row of rows) assertEquals(row.length, head!.length, file);
      }
    }
  } finally {
    for (const folder of folders) Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("titles are free to be anything: no table breaks", () => {
  const study = bakery({
    axes: [
      axis("oven", { gas: HOSTILE, electric: "\u202e" }),
      axis("flavour", { plain: "", vanilla: HOSTILE }, { baseline: "plain" }),
    ],
  });
  for (const table of tablesOf(study, { tables: DECLARED, claims: [], findings: [] })) {
    checkLatexText(latexText(table), table.id);
    assertNotEquals(markdownText(table), "");
  }
});

Deno.test({
  name: "LaTeX itself takes the tables and the numbers",
  ignore: !hasLatex(),
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      writeTables(folder, [TABLE, ...made()]);
      // The rules of booktabs, which is in another package.
      const rules = ["toprule", "midrule", "bottomrule"]
        .map((rule) => `\\newcommand{\\${rule}}{\\hline}`);
      const names = [...macrosOf(Deno.readTextFileSync(join(folder, "numbers.tex"))).keys()];
      const document = [
        ...["\\documentclass{article}", ...rules],
        ...["\\input{numbers.tex}", "\\begin{document}"],
        ...[TABLE, ...made()].map(({ id }) => `\\input{${id}.tex}`),
        ...[...names.map((name) => `\\${name}{} `), "\\end{document}", ""],
      ];
      assertEquals(latexErrors(folder, document.join("\n")), []);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
