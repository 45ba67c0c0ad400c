/**
 * Fields of JSON objects, read from their bytes.
 *
 * @module
 */

import type { PackedBytes } from "./growing.ts";

/** A field's value: a text's UTF-8 (halves of surrogate pairs as `text_bytes.ts` has them), or an integer. */
export type FieldValue = Uint8Array | number;

const quote = 0x22, backslash = 0x5c, comma = 0x2c, colon = 0x3a, minus = 0x2d;
const braceOpen = 0x7b, braceClose = 0x7d, zero = 0x30, letterU = 0x75;

/** For the byte after a backslash what the two stand for; 0 where nothing, or more, does. */
const escapes = new Uint8Array(0x100);
for (const [letter, means] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"]) {
  escapes[letter!.charCodeAt(0)] = means!.charCodeAt(0);
}

/**
 * The fields that are wanted of an object of texts and integers without nesting, whose names have no
 * escapes: most JSON lines are one, and this takes a third of the time of `JSON.parse`, to which anything else
 * is left. Of fields of one name the last counts, as there.
 *
 * @param packed Where texts are put whose escapes were resolved; others are parts of the line.
 * @returns The values in the order of `wanted`; `undefined` if one is missing, or the line is anything else,
 * perhaps not JSON.
 */
export function plainJsonFields(
  line: Uint8Array,
  wanted: readonly Uint8Array[],
  packed: PackedBytes,
): FieldValue[] | undefined {
  const values = new Array<FieldValue | undefined>(wanted.length).fill(undefined);
  let at = pastSpace(line, 0);
  if (line[at] !== braceOpen) return undefined;
  do {
    at = pastSpace(line, at + 1);
    const nameEnd = textEnd(line, at);
    if (nameEnd < 0) return undefined;
    const name = line.subarray(at + 1, nameEnd);
    if (name.includes(backslash)) return undefined;
    at = pastSpace(line, nameEnd + 1);
    if (line[at] !== colon) return undefined;
    at = pastSpace(line, at + 1);
    const end = line[at] === quote ? textEnd(line, at) + 1 : integerEnd(line, at);
    if (end <= at) return undefined;
    const value = line[at] === quote
      ? unescaped(line.subarray(at + 1, end - 1), packed)
      : integer(line, at, end);
    if (value === undefined) return undefined;
    for (const [i, bytes] of wanted.entries()) if (isSame(bytes, name)) values[i] = value;
    at = pastSpace(line, end);
  } while (line[at] === comma);
  if (line[at] !== braceClose || pastSpace(line, at + 1) !== line.length) return undefined;
  return values.every((value) => value !== undefined) ? values : undefined;
}

function pastSpace(line: Uint8Array, at: number): number {
  while (line[at] === 0x20 || line[at] === 0x09 || line[at] === 0x0d || line[at] === 0x0a) at += 1;
  return at;
}

/** Where the quote is that ends the text which starts at `at`; -1 if there is none. */
function textEnd(line: Uint8Array, at: number): number {
  if (line[at] !== quote) return -1;
  for (at += 1; at < line.length; at++) {
    const byte = line[at]!;
    if (byte === quote) return at;
    if (byte === backslash) at += 1;
    // Control characters must be escaped.
    else if (byte < 0x20) return -1;
  }
  return -1;
}

/** The end of an integer that a double holds; `at` if there is none. */
function integerEnd(line: Uint8Array, at: number): number {
  const first = line[at] === minus ? at + 1 : at;
  let end = first;
  while (line[end]! >= zero && line[end]! <= zero + 9) end += 1;
  const digits = end - first;
  return digits === 0 || digits > 15 || (digits > 1 && line[first] === zero) ? at : end;
}

function integer(line: Uint8Array, at: number, end: number): number {
  return Number(String.fromCharCode(...line.subarray(at, end)));
}

/** A text, its escapes resolved; `undefined` if one is none of JSON's. */
function unescaped(line: Uint8Array, packed: PackedBytes): Uint8Array | undefined {
  let next = line.indexOf(backslash);
  if (next < 0) return line;
  const end = line.length;
  const bytes = packed.room(end);
  bytes.set(line.subarray(0, next));
  let at = next;
  while (next < end) {
    const byte = line[next++]!;
    if (byte !== backslash) {
      bytes[at++] = byte;
    } else if (line[next] !== letterU) {
      const means = escapes[line[next++]!]!;
      if (means === 0) return undefined;
      bytes[at++] = means;
    } else {
      let code = hexadecimal(line, next + 1);
      next += 5;
      if (
        code >= 0xd800 && code < 0xdc00 && line[next] === backslash && line[next + 1] === letterU
      ) {
        const low = hexadecimal(line, next + 2);
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
          next += 6;
        }
      }
      if (!(code >= 0)) return undefined;
      at = writeCode(bytes, at, code);
    }
  }
  return bytes.subarray(0, at);
}

/** The value of four hexadecimal digits; NaN if they are none. */
function hexadecimal(line: Uint8Array, at: number): number {
  let value = 0;
  for (let i = at; i < at + 4; i++) {
    const byte = line[i] ?? 0;
    const letter = byte | 0x20;
    if (byte >= zero && byte <= zero + 9) value = value * 16 + byte - zero;
    else if (letter >= 0x61 && letter <= 0x66) value = value * 16 + letter - 0x61 + 10;
    else return NaN;
  }
  return value;
}

/** Writes a code point, or half of a pair, in UTF-8. */
function writeCode(bytes: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    bytes[at++] = code;
  } else {
    const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes[at++] = [0xc0, 0xe0, 0xf0][more - 1]! | (code >> (6 * more));
    for (let i = more - 1; i >= 0; i--) bytes[at++] = 0x80 | ((code >> (6 * i)) & 0x3f);
  }
  return at;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
