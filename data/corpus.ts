/**
 * Documents with labels out of raw files, whatever their format.
 *
 * @module
 */
import { type Member, tarMembers } from "./archive.ts";
import { type CsvRecord, csvRecords } from "./csv.ts";
import { Labels } from "./labels.ts";
import { DataError, type DataFile, decodeText, fileBytes, type Line, textLines } from "./lines.ts";
import { parquetRows } from "./parquet.ts";
import { documentPattern } from "./pattern.ts";
import type { Description, Layout } from "./source.ts";
import { zipMembers } from "./zip.ts";

/** Splits in the order in which they are read and written. */
export const splitNames = ["train", "validation", "test"] as const;
export type SplitName = typeof splitNames[number];

/** A document as its file has it; `all` is to be drawn. */
export interface Document {
  readonly split: SplitName | "all";
  /** Class index. */
  readonly label: number;
  readonly text: string;
}

/** A document whose label is still as its file wrote it. */
interface Row {
  readonly split: SplitName | "all";
  readonly label: unknown;
  readonly text: string;
  /** For errors. */
  readonly place: string;
}

/** A readable corpus. */
export interface Corpus {
  readonly classes: readonly string[];
  /** Whether any document may come without a given split. */
  readonly drawsSplits: boolean;
  /**
   * Reads the documents from the start, in batches of any size: train, validation, test, each in
   * its file's order.
   */
  documents(): AsyncGenerator<readonly Document[], void, undefined>;
}

interface RawFile extends DataFile {
  readonly split: SplitName | "all";
  readonly class: string | undefined;
}

/**
 * Opens a corpus. Where the description names no classes the files are read once to find them.
 *
 * @param files Name in the raw folder to path.
 * @throws {DataError} If a file is missing or malformed.
 */
export async function openCorpus(
  description: Description,
  files: ReadonlyMap<string, string>,
): Promise<Corpus> {
  const order = [...splitNames, "all"];
  const raw: RawFile[] = description.files.map((file) => {
    const path = files.get(file.name);
    if (path === undefined) {
      throw new DataError(`Cannot read "${file.name}": not in the raw folder`);
    }
    return { ...file, path, unpackedBytes: file.unpacked_bytes, class: file.class };
  }).sort((a, b) => order.indexOf(a.split) - order.indexOf(b.split));
  const rows = () => readRows(description, raw);
  const classes = description.classes ?? await findClasses(rows());
  const labels = new Labels(classes, description.layout.first_label);
  const unwanted = (description.layout.remove ?? []).map((pattern) => new RegExp(pattern, "gu"));
  return {
    classes,
    drawsSplits: raw.some(({ split }) => split === "all") &&
      !description.layout.documents?.includes("{split}"),
    async *documents() {
      for await (const batch of rows()) {
        yield batch.map(({ split, label, text, place }) => ({
          split,
          label: labels.read(label, place),
          text: unwanted.reduce((rest, pattern) => rest.replaceAll(pattern, ""), text),
        }));
      }
    },
  };
}

async function findClasses(rows: AsyncIterable<readonly Row[]>): Promise<string[]> {
  const names = new Set<string>();
  const add = ({ label, place }: Row) => {
    if (typeof label !== "string" && typeof label !== "number" && typeof label !== "bigint") {
      throw new DataError(`Cannot read ${place}: the label must be a string or a number`);
    }
    names.add(String(label));
    if (names.size > 0xffff) {
      throw new DataError(
        `Cannot read ${place}: more than 65535 different labels; is the column right`,
      );
    }
  };
  for await (const batch of rows) for (const row of batch) add(row);
  return [...names].sort((a, b) => a < b ? -1 : 1);
}

async function* readRows(
  description: Description,
  files: readonly RawFile[],
): AsyncGenerator<Row[], void, undefined> {
  const { format, layout } = description;
  if (format === "tar" || format === "zip") {
    const members = format === "tar" ? tarMembers : zipMembers;
    yield* archiveRows(files, description, members);
    return;
  }
  for (const file of files) {
    if (format === "csv") yield* csvRows(file, layout);
    else if (format === "jsonl") yield* jsonRows(file, layout);
    else if (format === "parquet") yield* columnRows(file, layout);
    else if (format === "text") yield* textRows(file);
    else throw new DataError(`Cannot read "${file.name}": format "${format}" holds no documents`);
  }
}

async function* csvRows(file: RawFile, layout: Layout): AsyncGenerator<Row[], void, undefined> {
  const { label = 0, text = [1], header = false, separator } = layout;
  const lines = textLines(decodeText(fileBytes(file), file.name), file.name);
  let columns: { label: number; text: readonly number[]; width: number } | undefined;
  const row = ({ line, fields }: CsvRecord): Row[] => {
    if (columns === undefined) {
      const index = (column: string | number): number => {
        const found = typeof column === "number" ? column : header ? fields.indexOf(column) : -1;
        if (found >= 0 && found < fields.length) return found;
        throw new DataError(
          `Cannot read "${file.name}": no column ${JSON.stringify(column)} in line ${line}, which ${
            header ? `names ${fields.join(", ")}` : `has ${fields.length} fields and no header`
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
      label: fields[columns.label]!,
      text: columns.text.map((column) => fields[column]!).join(" "),
      place: `"${file.name}": line ${line}`,
    }];
  };
  for await (const batch of csvRecords(lines, { name: file.name, separator })) {
    yield batch.flatMap(row);
  }
}

async function* jsonRows(file: RawFile, layout: Layout): AsyncGenerator<Row[], void, undefined> {
  const { label = "label", text = ["text"] } = layout;
  const lines = textLines(decodeText(fileBytes(file), file.name), file.name);
  const row = (line: Line): Row[] => {
    if (line.text.trim() === "") return [];
    const place = `"${file.name}": line ${line.number}`;
    let value: unknown;
    try {
      value = JSON.parse(line.text);
    } catch (cause) {
      throw new DataError(`Cannot read ${place}: not JSON`, { cause });
    }
    return [fieldsRow(value, { label, text, split: file.split, place })];
  };
  for await (const batch of lines) yield batch.flatMap(row);
}

async function* columnRows(file: RawFile, layout: Layout): AsyncGenerator<Row[], void, undefined> {
  const { label = "label", text = ["text"] } = layout;
  let number = 0;
  for await (const value of parquetRows(file, [label, ...text].map(String))) {
    number += 1;
    const place = `"${file.name}": row ${number}`;
    yield [fieldsRow(value, { label, text, split: file.split, place })];
  }
}

/** Makes a row of a JSON object or a parquet row. */
function fieldsRow(
  value: unknown,
  options: {
    readonly label: string | number;
    readonly text: readonly (string | number)[];
    readonly split: SplitName | "all";
    readonly place: string;
  },
): Row {
  const { label, text, split, place } = options;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DataError(`Cannot read ${place}: must be an object with fields`);
  }
  const field = (name: string | number): unknown => {
    if (Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name];
    throw new DataError(
      `Cannot read ${place}: no field "${name}", found ${
        Object.keys(value).slice(0, 12).join(", ")
      }`,
    );
  };
  const parts = text.map((name) => {
    const part = field(name);
    if (typeof part === "string") return part;
    throw new DataError(`Cannot read ${place}: field "${name}" must be a string`);
  });
  return { split, label: field(label), text: parts.join(" "), place };
}

/** One document per line that is not blank; the class is the file's. */
async function* textRows(file: RawFile): AsyncGenerator<Row[], void, undefined> {
  const { split, class: label } = file;
  if (label === undefined) {
    throw new DataError(`Cannot read "${file.name}": a file of format "text" must name its class`);
  }
  for await (const batch of textLines(decodeText(fileBytes(file), file.name), file.name)) {
    yield batch.filter(({ text }) => text.trim() !== "")
      .map(({ number, text }) => ({ split, label, text, place: `"${file.name}": line ${number}` }));
  }
}

/**
 * One document per matching member of all archives, ordered by split, then by name in code units:
 * the order in which an archive was packed must not show.
 */
async function* archiveRows(
  files: readonly RawFile[],
  { layout, classes }: Description,
  members: (
    file: DataFile,
    wanted: (name: string) => boolean,
  ) => Iterable<Member> | AsyncIterable<Member>,
): AsyncGenerator<Row[], void, undefined> {
  const match = documentPattern(layout.documents ?? "{split}/{class}/*");
  const known = classes === undefined ? undefined : new Set(classes);
  const found: { split: SplitName | "all"; label: string; name: string; bytes: Uint8Array }[] = [];
  const where = (name: string, file: RawFile) => {
    const parts = match(name);
    if (parts === undefined) return undefined;
    const split = parts.split ?? file.split;
    const label = parts.class ?? file.class;
    if (label === undefined || (known && !known.has(label))) return undefined;
    if (split !== "all" && !splitNames.includes(split as SplitName)) return undefined;
    return { split: split as SplitName | "all", label };
  };
  for (const file of files) {
    for await (
      const { name, bytes } of members(file, (name) => where(name, file) !== undefined)
    ) {
      found.push({ ...where(name, file)!, name, bytes });
    }
  }
  if (found.length === 0) {
    throw new DataError(
      `Cannot read "${files[0]?.name}": no member is named like "${layout.documents}"`,
    );
  }
  const order = [...splitNames, "all"];
  found.sort((a, b) =>
    order.indexOf(a.split) - order.indexOf(b.split) ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const row = ({ split, label, name, bytes }: typeof found[number]): Row => {
    const place = `"${name}"`;
    try {
      return { split, label, text: decoder.decode(bytes), place };
    } catch (cause) {
      throw new DataError(`Cannot read ${place}: not UTF-8`, { cause });
    }
  };
  for (let at = 0; at < found.length; at += archiveBatch) {
    yield found.slice(at, at + archiveBatch).map(row);
  }
}

/** Members decoded at a time. */
const archiveBatch = 256;
