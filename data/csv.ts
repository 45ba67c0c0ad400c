/**
 * CSV (RFC 4180) as a stream of records that know their lines.
 *
 * @module
 */
import { parse } from "@std/csv";
import { DataError, type Line, maxRecordLength } from "./lines.ts";
import { bytesOf, textOf } from "./text_bytes.ts";

/** One CSV record. */
export interface CsvRecord {
  /** Line on which it starts, counted from 1. */
  readonly line: number;
  /** In UTF-8. */
  readonly fields: readonly Uint8Array[];
}

const quote = 0x22, carriageReturn = 0x0d, newline = 0x0a;

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
  let pieces: Uint8Array[] = [];
  let length = 0;
  let open = false;
  for await (const batch of lines) {
    const records: CsvRecord[] = [];
    for (const { number, bytes } of batch) {
      const line = bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
      if (!open) {
        if (line.length === 0) continue;
        first = number;
        const fields = plainFields(line, separator);
        if (fields !== undefined) {
          records.push({ line: number, fields });
          continue;
        }
      }
      open = open !== hasOddQuotes(line);
      // Its chunk may be overwritten before the record ends.
      pieces.push(line.slice());
      length += line.length + 1;
      if (!open) {
        records.push(parseRecord(joinedLines(pieces, length), first, { name, separator }));
        pieces = [];
        length = 0;
      } else if (length > maxRecordLength) {
        throw new DataError(
          `Cannot read "${name}": the quote opened on line ${first} is not closed within ${maxRecordLength} bytes`,
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
  record: Uint8Array,
  line: number,
  options: { readonly name: string; readonly separator: string },
): CsvRecord {
  const plain = plainFields(record, options.separator);
  if (plain !== undefined) return { line, fields: plain };
  const text = textOf(record);
  try {
    const [fields, ...more] = parse(text, { separator: options.separator });
    if (fields === undefined || more.length > 0) throw new SyntaxError("not one record");
    return { line, fields: fields.map(bytesOf) };
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
export function plainFields(record: Uint8Array, separator: string): Uint8Array[] | undefined {
  const between = separator.charCodeAt(0);
  if (separator.length !== 1 || between >= 0x80) return undefined;
  const fields: Uint8Array[] = [];
  for (let at = 0;;) {
    let end: number;
    if (record[at] === quote) {
      let doubled = 0;
      end = record.indexOf(quote, at + 1);
      while (end >= 0 && record[end + 1] === quote) {
        doubled += 1;
        end = record.indexOf(quote, end + 2);
      }
      if (end < 0) return undefined;
      const field = record.subarray(at + 1, end);
      fields.push(doubled === 0 ? field : withoutDoubled(field, doubled));
      end += 1;
    } else {
      end = record.indexOf(between, at);
      if (end < 0) end = record.length;
      const field = record.subarray(at, end);
      if (field.includes(quote) || field.includes(carriageReturn)) return undefined;
      fields.push(field);
    }
    if (end === record.length) return fields;
    if (record[end] !== between) return undefined;
    at = end + 1;
  }
}

/** A field's bytes with one quote for each of `doubled` pairs. */
function withoutDoubled(field: Uint8Array, doubled: number): Uint8Array {
  const bytes = new Uint8Array(field.length - doubled);
  for (let at = 0, from = 0; from < field.length; at++, from++) {
    if (field[from] === quote) from += 1;
    bytes[at] = field[from]!;
  }
  return bytes;
}

function hasOddQuotes(line: Uint8Array): boolean {
  let odd = false;
  for (let at = line.indexOf(quote); at >= 0; at = line.indexOf(quote, at + 1)) odd = !odd;
  return odd;
}

/** Lines with newlines between them. */
function joinedLines(lines: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length - 1);
  let at = 0;
  for (const line of lines) {
    bytes.set(line, at);
    at += line.length;
    if (at < bytes.length) bytes[at++] = newline;
  }
  return bytes;
}
