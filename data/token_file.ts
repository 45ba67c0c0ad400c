/**
 * Tokenised corpora as one compact file.
 *
 * Layout, little-endian, every block padded with zeros to a multiple of 8 bytes so that the arrays
 * can be viewed without a copy: 8 bytes of magic; uint32 length of the header and uint32 bytes per
 * id (2 or 4); the header, JSON in UTF-8; then per split, in the header's order, `labels`
 * (uint16), `offsets` (uint32) and `ids` (uint16 or uint32).
 *
 * @module
 */

/** One split: documents one after another, with their class labels. */
export interface TokenSplit {
  /** Class index of each document, uint16 [documents]. */
  readonly labels: Uint16Array;
  /** Where each document starts in `ids`, and last where the last one ends, uint32 [documents + 1]. */
  readonly offsets: Uint32Array;
  /** Token ids of all documents, [tokens]. Every document has at least one. */
  readonly ids: Uint16Array | Uint32Array;
  /** How many documents lost their tail. */
  readonly clipped: number;
}

/**
 * A tokenised corpus. In a classification corpus id 0 is padding and id 1 an unknown word; a
 * character corpus has neither, one class, and one long document per split.
 */
export interface TokenFile {
  /** Number of ids; every id is below it. */
  readonly vocabularySize: number;
  /**
   * Tokens of the longest document held. Not the limit asked for, so that a limit which cuts
   * nothing leaves the same bytes as no limit.
   */
  readonly maxLength: number;
  /** Class names; a label is an index into them. */
  readonly classes: readonly string[];
  /** `train` and `test`, sometimes `validation`. */
  readonly splits: Readonly<Record<string, TokenSplit>>;
}

/** Ids that are given once, in pieces that the next overwrites, so that a corpus need not be held to be written. */
export interface IdPieces {
  /** How many there are. */
  readonly length: number;
  pieces(): Iterable<Uint32Array>;
}

/** A tokenised corpus to be written. */
export interface TokensToWrite extends Omit<TokenFile, "splits"> {
  readonly splits: Readonly<
    Record<string, Omit<TokenSplit, "ids"> & { readonly ids: TokenSplit["ids"] | IdPieces }>
  >;
}

interface Header {
  readonly vocabularySize: number;
  readonly maxLength: number;
  readonly classes: readonly string[];
  readonly splits: readonly {
    readonly name: string;
    readonly documents: number;
    readonly tokens: number;
    readonly clipped: number;
  }[];
}

const magic = "LSTOKEN1";
const preamble = 16;

/** Writes a corpus as bytes. Ids take 2 bytes where the vocabulary allows, else 4. */
export function encodeTokens(file: TokensToWrite): Uint8Array<ArrayBuffer> {
  const blocks = Array.from(tokenBlocks(file), (block) => block.slice());
  const bytes = new Uint8Array(blocks.reduce((size, block) => size + block.length, 0));
  let at = 0;
  for (const block of blocks) {
    bytes.set(block, at);
    at += block.length;
  }
  return bytes;
}

/** The bytes of a corpus in pieces, so that it can be written without a copy of all of it. */
function* tokenBlocks(file: TokensToWrite): Generator<Uint8Array, void, undefined> {
  const idBytes = file.vocabularySize <= 0x10000 ? 2 : 4;
  const splits = Object.entries(file.splits);
  const header: Header = {
    vocabularySize: file.vocabularySize,
    maxLength: file.maxLength,
    classes: file.classes,
    splits: splits.map(([name, split]) => ({
      name,
      documents: split.labels.length,
      tokens: split.ids.length,
      clipped: split.clipped,
    })),
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = new Uint8Array(preamble);
  start.set(new TextEncoder().encode(magic));
  new Uint32Array(start.buffer, 8, 2).set([text.length, idBytes]);
  yield start;
  yield* paddedBlock(text);
  const Ids = idBytes === 2 ? Uint16Array : Uint32Array;
  for (const [, { labels, offsets, ids }] of splits) {
    yield* paddedBlock(labels);
    yield* paddedBlock(offsets);
    let given = 0;
    let room = new Ids();
    for (const piece of "pieces" in ids ? ids.pieces() : [ids]) {
      given += piece.length;
      if (!(piece instanceof Ids)) {
        if (room.length < piece.length) room = new Ids(piece.length);
        room.set(piece);
      }
      yield bytesOf(piece instanceof Ids ? piece : room.subarray(0, piece.length));
    }
    if (given !== ids.length) throw new Error(`${given} ids were given of ${ids.length}`);
    yield padding(given * idBytes);
  }
}

/** An array's bytes and the zeros that pad them. */
function* paddedBlock(
  array: Uint8Array | Uint16Array | Uint32Array,
): Generator<Uint8Array, void, undefined> {
  yield bytesOf(array);
  yield padding(array.byteLength);
}

function bytesOf(array: Uint8Array | Uint16Array | Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** The zeros after so many bytes. */
function padding(bytes: number): Uint8Array {
  return new Uint8Array(padded(bytes) - bytes);
}

/**
 * Reads what {@linkcode encodeTokens} wrote, as views of `bytes`, and checks all of it.
 *
 * @throws {SyntaxError} If anything is malformed, with the offset of the first fault.
 */
export function decodeTokens(bytes: Uint8Array<ArrayBuffer>): TokenFile {
  // Views need alignment, which a subarray may lack.
  if (bytes.byteOffset % 8 !== 0) bytes = bytes.slice();
  const { buffer, byteOffset: base } = bytes;
  if (bytes.length < preamble) {
    malformed(bytes.length, `file ends inside the ${preamble}-byte start`);
  }
  if (new TextDecoder().decode(bytes.subarray(0, 8)) !== magic) malformed(0, `no "${magic}" there`);
  const [headerBytes = 0, idBytes = 0] = new Uint32Array(buffer, base + 8, 2);
  if (idBytes !== 2 && idBytes !== 4) malformed(12, `ids take 2 or 4 bytes, found ${idBytes}`);
  if (preamble + padded(headerBytes) > bytes.length) malformed(8, "the header runs past the end");
  const header = parseHeader(bytes.subarray(preamble, preamble + headerBytes));
  let at = preamble + padded(headerBytes);
  const splits: Record<string, TokenSplit> = {};
  for (const split of header.splits) {
    const { name, documents, tokens, clipped } = split;
    if (at + splitBytes(split, idBytes) > bytes.length) {
      malformed(at, `split "${name}" runs past the end of the file, byte ${bytes.length}`);
    }
    const labels = new Uint16Array(buffer, base + at, documents);
    const wrongLabel = labels.findIndex((label) => label >= header.classes.length);
    if (wrongLabel >= 0) {
      malformed(at + wrongLabel * 2, `label ${labels[wrongLabel]} of ${header.classes.length}`);
    }
    at += padded(documents * 2);
    const offsets = new Uint32Array(buffer, base + at, documents + 1);
    if (offsets[0] !== 0) malformed(at, `split "${name}" starts at token ${offsets[0]}, not 0`);
    for (let i = 0; i < documents; i++) {
      const length = offsets[i + 1]! - offsets[i]!;
      if (length < 1 || length > header.maxLength) {
        malformed(at + i * 4 + 4, `a document of ${length} tokens, not 1 to ${header.maxLength}`);
      }
    }
    if (offsets[documents] !== tokens) {
      malformed(at + documents * 4, `split "${name}" ends at ${offsets[documents]}, not ${tokens}`);
    }
    at += padded((documents + 1) * 4);
    const ids = idBytes === 2
      ? new Uint16Array(buffer, base + at, tokens)
      : new Uint32Array(buffer, base + at, tokens);
    for (let i = 0; i < tokens; i++) {
      if (ids[i]! >= header.vocabularySize) {
        malformed(at + i * idBytes, `id ${ids[i]} of a vocabulary of ${header.vocabularySize}`);
      }
    }
    at += padded(tokens * idBytes);
    splits[name] = { labels, offsets, ids, clipped };
  }
  if (at !== bytes.length) malformed(at, `${bytes.length - at} bytes too many`);
  const { vocabularySize, maxLength, classes } = header;
  return { vocabularySize, maxLength, classes, splits };
}

/** Writes a corpus to `path`. */
export function writeTokenFile(path: string, file: TokensToWrite): void {
  using target = Deno.openSync(path, { write: true, create: true, truncate: true });
  for (const block of tokenBlocks(file)) {
    for (let at = 0; at < block.length;) at += target.writeSync(block.subarray(at));
  }
}

/**
 * Reads a corpus.
 *
 * @throws {SyntaxError} If the file is malformed, with the offset of the first fault.
 */
export function readTokenFile(path: string): TokenFile {
  return decodeTokens(Deno.readFileSync(path));
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function splitBytes(split: { documents: number; tokens: number }, idBytes: number): number {
  return padded(split.documents * 2) + padded((split.documents + 1) * 4) +
    padded(split.tokens * idBytes);
}

function parseHeader(bytes: Uint8Array): Header {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    malformed(preamble, "the header is not JSON in UTF-8", cause);
  }
  if (!isHeader(header)) malformed(preamble, "the header lacks a field or has one of a wrong type");
  return header;
}

function isHeader(value: unknown): value is Header {
  if (typeof value !== "object" || value === null) return false;
  const { vocabularySize, maxLength, classes, splits } = value as Record<string, unknown>;
  return isCount(vocabularySize) && isCount(maxLength) &&
    Array.isArray(classes) && classes.every((name) => typeof name === "string") &&
    Array.isArray(splits) &&
    splits.every((split) =>
      typeof split === "object" && split !== null && typeof split.name === "string" &&
      isCount(split.documents) && isCount(split.tokens) && isCount(split.clipped)
    );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function malformed(offset: number, what: string, cause?: unknown): never {
  throw new SyntaxError(`Cannot read token file: malformed at byte ${offset}: ${what}`, { cause });
}
