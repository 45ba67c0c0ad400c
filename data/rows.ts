/**
 * Rows of raw files, a document each, its label as the file wrote it.
 *
 * @module
 */
import { tarMembers } from "./archive.ts";
import { type CsvRecord, csvRecords } from "./csv.ts";
import { type FieldValue, plainJsonFields } from "./json_fields.ts";
import { PackedBytes } from "./growing.ts";
import type { Place } from "./labels.ts";
import { DataError, type DataFile, fileBytes, type Line, textLines } from "./lines.ts";
import { membersReader } from "./members.ts";
import { parquetRows } from "./parquet.ts";
import type { Description, Layout } from "./source.ts";
import type { SplitName } from "./splits.ts";
import { bytesOf, textOf } from "./text_bytes.ts";
import { zipMembers } from "./zip.ts";

/** A document whose label is still as its file wrote it. */
export interface Row {
  readonly split: SplitName | "all";
  readonly label: unknown;
  /** In UTF-8; halves of surrogate pairs as `text_bytes.ts` has them. */
  readonly text: Uint8Array;
  readonly place: Place;
}

/** A raw file, and what is known of its documents. */
export interface RawFile extends DataFile {
  readonly split: SplitName | "all";
  readonly class: string | undefined;
}

/** Reads rows from the start, in batches of any size, whose texts the next may overwrite; texts that are not needed are empty. */
export type RowReader = (withText: boolean) => AsyncGenerator<readonly Row[], void, undefined>;

/** What reads the files' rows, whatever their format, in the order of the files. */
export function rowReader(description: Description, files: readonly RawFile[]): RowReader {
  const { format, layout } = description;
  if (format === "tar" || format === "zip") {
    return membersReader(files, description, format === "tar" ? tarMembers : zipMembers);
  }
  return async function* (withText) {
    for (const file of files) {
      const wanted = withText ? layout : { ...layout, text: [] };
      if (format === "csv") yield* csvRows(file, wanted);
      else if (format === "jsonl") yield* jsonRows(file, wanted);
      else if (format === "parquet") yield* columnRows(file, wanted);
      else if (format === "text") yield* textRows(file);
      else throw new DataError(`Cannot read "${file.name}": format "${format}" holds no documents`);
    }
  };
}

async function* csvRows(file: RawFile, layout: Layout): AsyncGenerator<Row[], void, undefined> {
  const { label = 0, text = [1], header = false, separator } = layout;
  const lines = textLines(fileBytes(file), file.name);
  const packed = new PackedBytes();
  let columns: { label: number; text: readonly number[]; width: number } | undefined;
  const row = ({ line, fields }: CsvRecord): Row[] => {
    if (columns === undefined) {
      const names = fields.map(textOf);
      const index = (column: string | number): number => {
        const found = typeof column === "number" ? column : header ? names.indexOf(column) : -1;
        if (found >= 0 && found < fields.length) return found;
        throw new DataError(
          `Cannot read "${file.name}": no column ${JSON.stringify(column)} in line ${line}, which ${
            header ? `names ${names.join(", ")}` : `has ${fields.length} fields and no header`
          }`,
        );
      };
      columns = { label: index(label), text: text.map(index), width: fields.length };
      if (header) return [];
    }
    if (fields.length !== columns.width) {
      throw new DataError(
        `Cannot read "${file.name}": line ${line} must have ${columns.width} fields like the first, found ${fields.length}`,
      );
    }
    return [{
      split: file.split,
      label: textOf(fields[columns.label]!),
      text: spaced(columns.text.map((column) => fields[column]!), packed),
      place: () => `"${file.name}": line ${line}`,
    }];
  };
  for await (const batch of csvRecords(lines, { name: file.name, separator })) {
    packed.clear();
    yield batch.flatMap(row);
  }
}

async function* jsonRows(file: RawFile, layout: Layout): AsyncGenerator<Row[], void, undefined> {
  const { label = "label", text = ["text"] } = layout;
  const wanted = [label, ...text].map((name) => bytesOf(String(name)));
  const packed = new PackedBytes();
  const row = ({ number, bytes }: Line): Row[] => {
    if (isBlank(bytes)) return [];
    const place = () => `"${file.name}": line ${number}`;
    const plain = plainJsonFields(bytes, wanted, packed);
    if (plain !== undefined && plain.slice(1).every(isText)) {
      const [value, ...texts] = plain;
      return [{
        split: file.split,
        label: isText(value!) ? textOf(value) : value,
        text: spaced(texts as Uint8Array[], packed),
        place,
      }];
    }
    let value: unknown;
    try {
      value = JSON.parse(textOf(bytes));
    } catch (cause) {
      throw new DataError(`Cannot read ${place()}: not JSON`, { cause });
    }
    return [fieldsRow(value, { label, text, split: file.split, place, packed })];
  };
  for await (const batch of textLines(fileBytes(file), file.name)) {
    packed.clear();
    yield batch.flatMap(row);
  }
}

function isText(value: FieldValue): value is Uint8Array {
  return typeof value !== "number";
}

async function* columnRows(file: RawFile, layout: Layout): AsyncGenerator<Row[], void, undefined> {
  const { label = "label", text = ["text"] } = layout;
  const packed = new PackedBytes();
  let count = 0;
  for await (const value of parquetRows(file, [label, ...text].map(String))) {
    const number = ++count;
    const place = () => `"${file.name}": row ${number}`;
    yield [fieldsRow(value, { label, text, split: file.split, place, packed })];
  }
}

/** Makes a row of a JSON object or a parquet row. */
function fieldsRow(
  value: unknown,
  options: {
    readonly label: string | number;
    readonly text: readonly (string | number)[];
    readonly split: SplitName | "all";
    readonly place: Place;
    readonly packed: PackedBytes;
  },
): Row {
  const { label, text, split, place, packed } = options;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DataError(`Cannot read ${place()}: must be an object with fields`);
  }
  const field = (name: string | number): unknown => {
    if (Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name];
    throw new DataError(
      `Cannot read ${place()}: no field "${name}", found ${
        Object.keys(value).slice(0, 12).join(", ")
      }`,
    );
  };
  const parts = text.map((name) => {
    const part = field(name);
    if (typeof part === "string") return bytesOf(part);
    throw new DataError(`Cannot read ${place()}: field "${name}" must be a string`);
  });
  return { split, label: field(label), text: spaced(parts, packed), place };
}

/** One document per line that is not blank; the class is the file's. */
async function* textRows(file: RawFile): AsyncGenerator<Row[], void, undefined> {
  const { split, class: label } = file;
  if (label === undefined) {
    throw new DataError(`Cannot read "${file.name}": a file of format "text" must name its class`);
  }
  for await (const batch of textLines(fileBytes(file), file.name)) {
    yield batch.filter(({ bytes }) => !isBlank(bytes))
      .map(({ number, bytes: text }) => {
        return { split, label, text, place: () => `"${file.name}": line ${number}` };
      });
  }
}

/** Whether a line is nothing but whitespace. */
function isBlank(line: Uint8Array): boolean {
  const first = line[0] ?? 0x20;
  return (first <= 0x20 || first >= 0x80) && textOf(line).trim() === "";
}

/** Texts with a space between them. */
function spaced(texts: readonly Uint8Array[], packed: PackedBytes): Uint8Array {
  if (texts.length === 1) return texts[0]!;
  const length = texts.reduce((sum, text) => sum + text.length + 1, -1);
  const bytes = packed.room(Math.max(0, length));
  let at = 0;
  for (const text of texts) {
    bytes.set(text, at);
    at += text.length;
    if (at < length) bytes[at++] = 0x20;
  }
  return bytes;
}
