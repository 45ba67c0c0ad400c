/**
 * What an experiment can include besides YAML: tables as CSV, texts as Markdown. And where a value of
 * one is written.
 *
 * @module
 */
import defer * as csv from "@std/csv";
import type { Path } from "./document.ts";

/** Why a text is not of its format. */
export class FormatError extends Error {
  override name = "FormatError";
  /** `:LINE:COLUMN`, `:LINE`, or nothing where none is known. */
  readonly position: string;

  constructor(message: string, position: string, options?: ErrorOptions) {
    super(message, options);
    this.position = position;
  }
}

/** Where a value is written: the line, from 1, and what of the path that does not say. */
export interface Place {
  readonly line: number | undefined;
  readonly key: Path;
}

/** A format by how files are named. */
export interface Format {
  /** @throws {FormatError} If the text is not of this format. */
  parse(text: string): unknown;
  place(document: { readonly text: string }, path: Path): Place;
}

/** A list of records of texts, named by the header. */
const CSV: Format = {
  parse(text) {
    const [header, ...records] = recordsOf(text).map(parseRecord);
    if (header === undefined) throw new FormatError("must have a header, found nothing", ":1");
    const names = header.fields;
    const broken = names.findIndex((name, index) => name === "" || names.indexOf(name) < index);
    if (broken >= 0) {
      const found = names[broken] === "" ? "none" : `"${names[broken]}" twice`;
      const rule = `column ${broken + 1} must have a name of its own in the header, found ${found}`;
      throw new FormatError(rule, `:${header.line}`);
    }
    return records.map(({ fields, line }) => {
      if (fields.length !== names.length) {
        const rule = `must have ${names.length} fields, as the header has, found ${fields.length}`;
        throw new FormatError(rule, `:${line}`);
      }
      return Object.fromEntries(fields.map((field, index) => [names[index]!, field]));
    });
  },
  place({ text }, [record, ...key]) {
    const records = recordsOf(text);
    const names = records.slice(0, 1).flatMap((header) => parseRecord(header).fields);
    // What no record has is missing in the header.
    const isMissing = key.length > 0 && !names.includes(String(key[0]));
    const at = record === undefined || isMissing ? 0 : Number(record) + 1;
    return { line: records[at]?.line, key };
  },
};

/** A record as it is written, and the line, from 1, on which it begins. */
interface WrittenRecord {
  readonly line: number;
  readonly text: string;
}

/** Cuts a CSV at the line ends that are in no quotes; what is behind an open quote is one record. */
function recordsOf(text: string): WrittenRecord[] {
  const records: { line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, line] of text.split("\n").entries()) {
    if (isOpen) records.at(-1)!.text += `\n${line}`;
    else if (line !== "" && line !== "\r") records.push({ line: index + 1, text: line });
    // Two within quotes stand for one: out and in again.
    if (line.split('"').length % 2 === 0) isOpen = !isOpen;
  }
  return records;
}

/** One at a time, since the library's errors miscount lines. */
function parseRecord({ line, text }: WrittenRecord): { line: number; fields: string[] } {
  try {
    return { line, fields: csv.parse(text)[0]! };
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const what = /column \d+: (.+)$/s.exec(cause.message)?.[1] ?? cause.message;
    throw new FormatError(`not valid CSV: ${what}`, `:${line}`, { cause });
  }
}

/** One text. A number after its path is a line of it. */
const MARKDOWN: Format = {
  parse: (text) => text,
  place: (_, [line]) => ({ line: typeof line === "number" ? line : 1, key: [] }),
};

/** The formats besides YAML, by the ends of names. */
export const FORMATS: Readonly<Record<string, Format>> = { ".csv": CSV, ".md": MARKDOWN };
