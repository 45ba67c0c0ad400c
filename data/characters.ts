/**
 * Character corpora: one long text as symbol ids, for language models.
 *
 * @module
 */
import { type Member, tarMembers } from "./archive.ts";
import { DataError, type DataFile, decodeText, fileBytes } from "./lines.ts";
import { documentPattern } from "./pattern.ts";
import type { Description } from "./source.ts";
import { type SplitName, splitNames } from "./splits.ts";
import { lengthStatistics } from "./statistics.ts";
import type { TokenFile, TokenSplit } from "./token_file.ts";
import type { Tokenized } from "./tokenize.ts";
import { ChunkedArray } from "./growing.ts";
import { zipMembers } from "./zip.ts";

/** How to cut and number a text. */
export interface CharacterOptions {
  /** What a symbol is: a byte, or a Unicode code point of text in UTF-8. */
  readonly unit: "byte" | "character";
  /** Shares of the text, from its start: train, then validation, then test. */
  readonly shares: Readonly<Record<SplitName, number>>;
  /** At most how many symbols of each split to keep, from its start. */
  readonly subset?: Readonly<Partial<Record<SplitName, number | undefined>>> | undefined;
}

/** A character corpus with its symbols, `symbols[id]` a byte value or code point. */
export interface CharacterCorpus {
  readonly tokens: TokenFile;
  readonly symbols: readonly number[];
  readonly statistics: Tokenized["statistics"];
}

/**
 * Numbers the symbols of a text from 0 in order of their values, as they occur in the whole text,
 * and cuts it into contiguous splits at ⌊n · share⌋ symbols. There is no padding and no unknown
 * symbol; a split is one document of the one class "text".
 *
 * @throws {DataError} If a file is malformed, or the text or a split that has a share is empty.
 */
export async function tokenizeCharacters(
  description: Description,
  files: ReadonlyMap<string, string>,
  options: CharacterOptions,
): Promise<CharacterCorpus> {
  const { values, seen } = await readSymbols(description, files, options.unit);
  const symbols: number[] = [];
  for (let value = 0; value < seen.length; value++) if (seen[value] === 1) symbols.push(value);
  if (symbols.length === 0) {
    throw new DataError(`Cannot read "${namesOf(description)}": it holds no text`);
  }
  const parts = contiguousParts(values.length, options);
  const ids = new Uint32Array(seen.length);
  for (const [id, symbol] of symbols.entries()) ids[symbol] = id;
  const Ids = symbols.length <= 0x10000 ? Uint16Array : Uint32Array;
  const kept = parts.map(({ from, to }) => new Ids(to - from));
  let start = 0;
  for (const piece of values.drain()) {
    for (const [i, { from, to }] of parts.entries()) {
      const into = kept[i]!;
      const end = Math.min(to - start, piece.length);
      for (let at = Math.max(from - start, 0); at < end; at++) {
        into[start + at - from] = ids[piece[at]!]!;
      }
    }
    start += piece.length;
  }
  const splits: Record<string, TokenSplit> = {};
  const summaries: Tokenized["statistics"]["splits"] = Object.fromEntries(
    parts.map(({ split, from, to, whole }, i) => {
      const clipped = whole > to - from ? 1 : 0;
      const offsets = Uint32Array.of(0, to - from);
      splits[split] = { labels: Uint16Array.of(0), offsets, ids: kept[i]!, clipped };
      return [split, {
        documents: 1,
        tokens: to - from,
        perClass: [{ class: "text", documents: 1 }],
        lengths: lengthStatistics(Uint32Array.of(to - from), clipped),
        stamps: { own: 0, other: 0 },
      }];
    }),
  );
  const maxLength = Math.max(...kept.map(({ length }) => length));
  const classes = ["text"];
  const vocabularySize = symbols.length;
  return {
    tokens: { vocabularySize, maxLength, classes, splits },
    symbols,
    statistics: { classes, splits: summaries, vocabularySize, duplicatesAcrossSplits: {} },
  };
}

/** The values of a text's symbols in order, and for each value whether it occurs. */
async function readSymbols(
  description: Description,
  files: ReadonlyMap<string, string>,
  unit: CharacterOptions["unit"],
): Promise<{ values: ChunkedArray; seen: Uint8Array }> {
  const values = new ChunkedArray();
  const seen = new Uint8Array(0x110000);
  const add = (part: Uint32Array) => {
    for (let i = 0; i < part.length; i++) seen[part[i]!] = 1;
    values.append(part);
  };
  for await (const { name, bytes } of textFiles(description, files)) {
    if (unit === "byte") {
      for await (const chunk of bytes) {
        for (let at = 0; at < chunk.length; at += pieceLength) {
          add(Uint32Array.from(chunk.subarray(at, at + pieceLength)));
        }
      }
      continue;
    }
    for await (const text of decodeText(bytes, name)) {
      for (let at = 0; at < text.length;) {
        let end = Math.min(text.length, at + pieceLength);
        // A surrogate pair stays in one piece; a chunk of decoded text holds no half of one.
        if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
        add(codePoints(text.slice(at, end)));
        at = end;
      }
    }
  }
  return { values, seen };
}

/** The files' names, for errors. */
function namesOf({ files }: Description): string {
  return files.map(({ name }) => name).join(", ");
}

/** Symbols taken over at a time. */
const pieceLength = 1 << 20;

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

function codePoints(text: string): Uint32Array {
  const points = new Uint32Array(text.length);
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at)!;
    if (point > 0xffff) at += 1;
    points[count++] = point;
  }
  return points.subarray(0, count);
}

interface Part {
  readonly split: SplitName;
  readonly from: number;
  readonly to: number;
  /** Symbols before a subset was taken. */
  readonly whole: number;
}

function contiguousParts(length: number, { shares, subset }: CharacterOptions): Part[] {
  const parts: Part[] = [];
  let from = 0;
  let sum = 0;
  for (const split of splitNames) {
    sum += shares[split];
    if (shares[split] === 0) continue;
    // Shares that sum to one up to rounding must use the text up.
    const end = sum > 1 - 1e-9 ? length : Math.floor(length * sum);
    const whole = end - from;
    if (whole === 0) {
      throw new DataError(`Cannot split a text of ${length} symbols: none is left for "${split}"`);
    }
    parts.push({ split, from, to: from + Math.min(whole, subset?.[split] ?? whole), whole });
    from = end;
  }
  return parts;
}

/** One file of a text, or one member of an archive. */
interface TextFile {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * The text's files in their order, of an archive the chosen members by name. Each is decoded by
 * itself: the byte order mark that it may begin with is no symbol of the text.
 */
async function* textFiles(
  description: Description,
  files: ReadonlyMap<string, string>,
): AsyncGenerator<TextFile, void, undefined> {
  for (const { name, unpacked_bytes } of description.files) {
    const path = files.get(name);
    if (path === undefined) throw new DataError(`Cannot read "${name}": not in the raw folder`);
    const file: DataFile = { name, path, unpackedBytes: unpacked_bytes };
    const read = name.endsWith(".zip")
      ? zipMembers
      : /\.(tar|tgz|tar\.gz)$/.test(name)
      ? tarMembers
      : undefined;
    if (read === undefined) {
      yield { name, bytes: fileBytes(file) };
      continue;
    }
    const pattern = description.layout.member ?? "*";
    const match = documentPattern(pattern);
    const members: Member[] = [];
    for await (const some of read(file, (name) => match(name) !== undefined)) {
      members.push(...some);
    }
    if (members.length === 0) {
      throw new DataError(`Cannot read "${name}": no member is named like "${pattern}"`);
    }
    members.sort((a, b) => a.name < b.name ? -1 : 1);
    for (const member of members) {
      yield { name: `${name}: ${member.name}`, bytes: ReadableStream.from([member.bytes]) };
    }
  }
}
