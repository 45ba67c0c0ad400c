/**
 * What a word is, and the ids that are not words'.
 *
 * @module
 */

/** Id of padding in a classification corpus. */
export const paddingId = 0;
/** Id of every word outside the vocabulary. */
export const unknownId = 1;
/** Id of the most frequent word. */
export const firstWordId = 2;

/** In a table of {@linkcode byteKinds}: the byte is whitespace. */
const spaceByte = 0x100;
/** In a table of {@linkcode byteKinds}: whitespace of several bytes may start here. */
const spaceStart = 0x101;

/**
 * For each byte of UTF-8 what it is within a word: the byte itself, or its lower-case letter; and
 * `spaceByte` or `spaceStart` where a word may end.
 *
 * Whitespace is what Python's `str.split()` takes for it, since the papers' code is Python: with
 * the control characters U+001C to U+001F and U+0085, and without U+FEFF, unlike `\s` here.
 */
export function byteKinds(lowercase: boolean): Uint16Array {
  const kinds = Uint16Array.from({ length: 0x100 }, (_, byte) => byte);
  if (lowercase) { for (let byte = 0x41; byte <= 0x5a; byte++) kinds[byte] = byte + 0x20; }
  for (const byte of [9, 10, 11, 12, 13, 28, 29, 30, 31, 32]) kinds[byte] = spaceByte;
  for (const byte of [0xc2, 0xe1, 0xe2, 0xe3]) kinds[byte] = spaceStart;
  return kinds;
}

/** Bytes of the whitespace that starts at a `spaceStart`; 0 if another character does. */
function spaceWidth(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  const second = bytes[at + 1];
  // U+0085, U+00A0
  if (first === 0xc2) return second === 0x85 || second === 0xa0 ? 2 : 0;
  const third = bytes[at + 2] ?? 0;
  let space = false;
  // U+1680
  if (first === 0xe1) space = second === 0x9a && third === 0x80;
  // U+3000
  else if (first === 0xe3) space = second === 0x80 && third === 0x80;
  // U+205F
  else if (second === 0x81) space = third === 0x9f;
  // U+2000 to U+200A, U+2028, U+2029, U+202F
  else if (second === 0x80) {
    space = (third >= 0x80 && third <= 0x8a) || third === 0xa8 || third === 0xa9 || third === 0xaf;
  }
  return space ? 3 : 0;
}

/** FNV-1a over bytes. */
const hashStart = 0x811c9dc5 | 0;
const hashFactor = 0x01000193;

/** Words found in a text's bytes: where they are, and their hashes. */
export interface Spans {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly hashes: Int32Array;
  /** How many were found. */
  words: number;
  /** Where to look for more. */
  next: number;
}

/** Room for so many words at a time. */
export function spans(length: number): Spans {
  return {
    starts: new Uint32Array(length),
    ends: new Uint32Array(length),
    hashes: new Int32Array(length),
    words: 0,
    next: 0,
  };
}

/**
 * Finds words of a text from `found.next` on, as many as there is room for, and lower-cases their
 * bytes in place, as `kinds` say.
 */
export function findWords(bytes: Uint8Array, found: Spans, kinds: Uint16Array): void {
  const { starts, ends, hashes } = found;
  const { length } = bytes;
  const room = starts.length;
  let words = 0;
  let hash = hashStart;
  let start = found.next;
  let at = start;
  for (; at < length; at++) {
    let byte = kinds[bytes[at]!]!;
    let width = 0;
    if (byte >= spaceByte) {
      width = byte === spaceByte ? 1 : spaceWidth(bytes, at);
      byte = bytes[at]!;
    }
    if (width === 0) {
      bytes[at] = byte;
      hash = Math.imul(hash ^ byte, hashFactor);
      continue;
    }
    if (at > start) {
      // Left for the next call, which finds its first bytes lower-cased already.
      if (words === room) break;
      starts[words] = start;
      ends[words] = at;
      hashes[words] = hash;
      words += 1;
      hash = hashStart;
    }
    at += width - 1;
    start = at + 1;
  }
  if (at >= length && length > start && words < room) {
    starts[words] = start;
    ends[words] = length;
    hashes[words] = hash;
    words += 1;
    start = length;
  }
  found.words = words;
  found.next = start;
}
