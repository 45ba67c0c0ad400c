/**
 * Documents with labels out of raw files, whatever their format.
 *
 * @module
 */
import { Labels } from "./labels.ts";
import { DataError } from "./lines.ts";
import { type RawFile, type Row, rowReader } from "./rows.ts";
import type { Description } from "./source.ts";
import { type SplitName, splitOrder } from "./splits.ts";
import { bytesOf, textOf } from "./text_bytes.ts";

/** A document as its file has it; `all` is to be drawn. */
export interface Document {
  readonly split: SplitName | "all";
  /** Class index. */
  readonly label: number;
  /** In UTF-8; halves of surrogate pairs as `text_bytes.ts` has them. */
  readonly text: Uint8Array;
}

/** A readable corpus. */
export interface Corpus {
  readonly classes: readonly string[];
  /** Whether any document may come without a given split. */
  readonly drawsSplits: boolean;
  /**
   * Reads the documents from the start, in batches of any size, whose texts the next may overwrite:
   * train, validation, test, each in its file's order.
   *
   * @param withText Whether their texts are needed; else they are empty, and come sooner.
   */
  documents(withText?: boolean): AsyncGenerator<readonly Document[], void, undefined>;
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
  const raw: RawFile[] = description.files.map((file) => {
    const path = files.get(file.name);
    if (path === undefined) {
      throw new DataError(`Cannot read "${file.name}": not in the raw folder`);
    }
    return { ...file, path, unpackedBytes: file.unpacked_bytes, class: file.class };
  }).sort((a, b) => splitOrder(a.split) - splitOrder(b.split));
  const rows = rowReader(description, raw);
  const classes = description.classes ?? await findClasses(rows(false));
  const labels = new Labels(classes, description.layout.first_label);
  const unwanted = (description.layout.remove ?? []).map((pattern) => new RegExp(pattern, "gu"));
  return {
    classes,
    drawsSplits: raw.some(({ split }) => split === "all") &&
      !description.layout.documents?.includes("{split}"),
    async *documents(withText = true) {
      for await (const batch of rows(withText)) {
        yield batch.map(({ split, label, text, place }) => ({
          split,
          label: labels.read(label, place),
          text: unwanted.length === 0 ? text : removed(text, unwanted),
        }));
      }
    },
  };
}

function removed(text: Uint8Array, unwanted: readonly RegExp[]): Uint8Array {
  return bytesOf(unwanted.reduce((rest, pattern) => rest.replaceAll(pattern, ""), textOf(text)));
}

async function findClasses(rows: AsyncIterable<readonly Row[]>): Promise<string[]> {
  const names = new Set<string>();
  const add = ({ label, place }: Row) => {
    if (typeof label !== "string" && typeof label !== "number" && typeof label !== "bigint") {
      throw new DataError(`Cannot read ${place()}: the label must be a string or a number`);
    }
    names.add(String(label));
    if (names.size > 0xffff) {
      throw new DataError(
        `Cannot read ${place()}: more than 65535 different labels; is the column right`,
      );
    }
  };
  for await (const batch of rows) for (const row of batch) add(row);
  return [...names].sort((a, b) => a < b ? -1 : 1);
}
