/**
 * CSV (RFC 4180) as a stream of records that know their lines.
 *
 * @module
 */
import { parse } from "@std/csv";
import { DataError, type Line, longestRecord } from "./lines.ts";

/** One CSV record. */
export interface CsvRecord {
  /** Line on which it starts, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * Parses records out of lines; blank lines are skipped. A record ends with the first line that
 * leaves no quote open, which is where its quotes number even; `@std/csv` then parses it, alone, so
 * that whatever is wrong with it can be told with the line of the file.
 *
 * @throws {DataError} If a record is malformed, naming its line.
 */
export async function* csvRecords(
  lines: AsyncIterable<Line>,
  options: { readonly name: string; readonly separator?: string | undefined },
): AsyncGenerator<CsvRecord, void, undefined> {
  const { name, separator = "," } = options;
  let first = 0;
  let pieces: string[] = [];
  let length = 0;
  let open = false;
  for await (const { number, text } of lines) {
    const line = text.endsWith("\r") ? text.slice(0, -1) : text;
    if (!open && line === "") continue;
    if (!open) first = number;
    open = open !== (quotes(line) % 2 === 1);
    pieces.push(line);
    length += line.length + 1;
    if (!open) {
      yield parseRecord(pieces.join("\n"), first, { name, separator });
      pieces = [];
      length = 0;
    } else if (length > longestRecord) {
      throw new DataError(
        `Cannot read "${name}": the quote opened on line ${first} is not closed within ${longestRecord} characters`,
      );
    }
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

function quotes(line: string): number {
  let count = 0;
  for (let at = line.indexOf('"'); at >= 0; at = line.indexOf('"', at + 1)) count += 1;
  return count;
}
