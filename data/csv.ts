/**
 * CSV (RFC 4180) as a stream of records that know their lines.
 *
 * @module
 */
import { parse } from "@std/csv";
import { DataError, type Line, maxRecordLength } from "./lines.ts";

/** One CSV record. */
export interface CsvRecord {
  /** Line on which it starts, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * Parses records out of lines, which come in batches and so do the records; blank lines are
 * skipped. A record ends with the first line that leaves no quote open, which is where its quotes
 * number even. It is then parsed alone, so that whatever is wrong with it can be reported with the line
 * of the file.
 *
 * @throws {DataError} If a record is malformed, naming its line.
 */
export async function* csvRecords(
  lines: AsyncIterable<readonly Line[]>,
  options: { readonly name: string; readonly separator?: string | undefined },
): AsyncGenerator<CsvRecord[], void, undefined> {
  const { name, separator = "," } = options;
  let first = 0;
  let pieces: string[] = [];
  let length = 0;
  let open = false;
  for await (const batch of lines) {
    const records: CsvRecord[] = [];
    for (const { number, text } of batch) {
      const line = text.endsWith("\r") ? text.slice(0, -1) : text;
      if (!open && line === "") continue;
      if (!open) first = number;
      open = open !== (quotes(line) % 2 === 1);
      pieces.push(line);
      length += line.length + 1;
      if (!open) {
        records.push(parseRecord(pieces.join("\n"), first, { name, separator }));
        pieces = [];
        length = 0;
      } else if (length > maxRecordLength) {
        throw new DataError(
          `Cannot read "${name}": the quote opened on line ${first} is not closed within ${maxRecordLength} characters`,
        );
      }
    }
    if (records.length > 0) yield records;
  }
  if (open) {
    throw new DataError(`Cannot read "${name}": the quote opened on line ${first} is never closed`);
  }
}

function parseRecord(
  text: string,
  line: number,
  options: { readonly name: string; readonly separator: string },
): CsvRecord {
  const plain = plainFields(text, options.separator);
  if (plain !== undefined) return { line, fields: plain };
  try {
    const [fields, ...more] = parse(text, { separator: options.separator });
    if (fields === undefined || more.length > 0) throw new SyntaxError("not one record");
    return { line, fields };
  } catch (cause) {
    const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
    throw new DataError(
      `Cannot read "${options.name}": line ${line} is not CSV as in RFC 4180: ${
        JSON.stringify(shown)
      }`,
      { cause },
    );
  }
}

/**
 * Fields of a record of which each is quoted as a whole or holds no quote: nearly all records are,
 * and this takes a fifth of the time. Anything else is left to `@std/csv`.
 */
export function plainFields(text: string, separator: string): string[] | undefined {
  const fields: string[] = [];
  for (let at = 0;;) {
    let end: number;
    if (text[at] === '"') {
      let doubled = false;
      end = text.indexOf('"', at + 1);
      while (end >= 0 && text[end + 1] === '"') {
        doubled = true;
        end = text.indexOf('"', end + 2);
      }
      if (end < 0) return undefined;
      const field = text.slice(at + 1, end);
      fields.push(doubled ? field.replaceAll('""', '"') : field);
      end += 1;
    } else {
      end = text.indexOf(separator, at);
      if (end < 0) end = text.length;
      const field = text.slice(at, end);
      if (field.includes('"') || field.includes("\r")) return undefined;
      fields.push(field);
    }
    if (end === text.length) return fields;
    if (text[end] !== separator) return undefined;
    at = end + 1;
  }
}

function quotes(line: string): number {
  let count = 0;
  for (let at = line.indexOf('"'); at >= 0; at = line.indexOf('"', at + 1)) count += 1;
  return count;
}
