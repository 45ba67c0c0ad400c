/**
 * Every number of every table as a LaTeX macro, so that a manuscript can't go stale.
 *
 * @module
 */
import { latexEscape } from "./latex.ts";
import { cellText, type Table } from "./table.ts";

const DIGITS = ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
const NUMBER = /[+\u2212]?\d[\d\u202f]*(?:\.\d+)?/g;

/** A number, where it comes from, and the parts of its name. */
interface Named {
  readonly parts: readonly string[];
  readonly text: string;
  readonly from: string;
}

/**
 * A `\newcommand` for each cell of numbers and for each number in it, with the table and cell it is
 * from: `\tableOneGasVanilla`, `\tableOneGasVanillaMean`.
 *
 * A name is made of the table, what tells the row from others, and the column; where two names come
 * out alike, both spell their punctuation and case too. Rows that nothing tells apart have none.
 */
export function numbersText(tables: readonly Table[]): string {
  const all = tables.flatMap(numbersOf);
  const short = Map.groupBy(all, ({ parts }) => shortName(parts));
  const named = all.map((each) => {
    const name = shortName(each.parts);
    return { ...each, name: short.get(name)!.length === 1 ? name : longName(each.parts) };
  });
  const names = Map.groupBy(named, ({ name }) => name);
  return [
    "% Every number of the tables beside this file: \\input{numbers.tex}",
    ...named.map(({ name, text, from }) =>
      names.get(name)!.length > 1
        ? `% ${from}: another cell has this name`
        : `\\newcommand{\\${name}}{${latexEscape(text)}}% ${from}`
    ),
    "",
  ].join("\n");
}

function numbersOf(table: Table): Named[] {
  return table.rows.flatMap(({ cells, name: own }) =>
    cells.flatMap((cell, place) => {
      const column = table.columns[place]!;
      const text = cellText(cell);
      const found = text.match(NUMBER);
      if (own === undefined || column.name === undefined || found === null) return [];
      const parts = [table.id, ...own, column.name];
      const where = [table.id, [...own].join(" "), column.title].join(": ");
      const from = where.replace(/[^ -~]+/g, "?");
      return [
        { parts, text, from },
        ...partsIn(text).map((part, at) => ({
          parts: [...parts, part],
          text: found[at]!,
          from: `${from}, ${part}`,
        })),
      ];
    })
  );
}

/** What the numbers of a cell that has several are. */
function partsIn(text: string): string[] {
  if (text.includes("±")) return ["mean", "sd"];
  if (text.endsWith(" seed)")) return ["mean"];
  if (text.startsWith("[")) return ["low", "high"];
  if (text.includes("/")) return ["wins", "losses"];
  return /\d(–| to )/.test(text) ? ["min", "max"] : [];
}

/** `["table1", "gas_oven"]` is `tableOneGasOven`: letters alone, as TeX has it. */
function shortName(parts: readonly string[]): string {
  const words = parts.flatMap((part) =>
    part.normalize("NFD").replace(/\p{M}/gu, "").match(/[a-z]+|\d|[\p{L}\p{S}]/giu) ??
      []
  );
  return camel(words.map((word) => /^[a-z]/i.test(word) ? word : spelled(word)));
}

/** A name that no other parts have: every character counts. */
function longName(parts: readonly string[]): string {
  const words = parts.map((part) =>
    part.replace(/[^a-z]/gu, (mark) => /[A-Z]/.test(mark) ? `Capital${mark}` : spelled(mark))
  );
  return camel(words.map((word) => `In${word}`));
}

function camel(words: readonly string[]): string {
  const joined = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
  const name = joined.slice(0, 1).toLowerCase() + joined.slice(1);
  // LaTeX keeps names that begin with `end` for itself.
  return name.startsWith("end") ? `the${joined}` : name;
}

/** A digit by its name, a minus sign as `Minus`, any other character by that of its code: `-` is `CodeTwoD`. */
function spelled(mark: string): string {
  if (/^\d$/.test(mark)) return DIGITS[Number(mark)]!;
  if (mark === "\u2212") return "Minus";
  const code = [...mark.codePointAt(0)!.toString(16)];
  return `Code${code.map((digit) => DIGITS[Number(digit)] ?? digit.toUpperCase()).join("")}`;
}
