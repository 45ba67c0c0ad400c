/**
 * Fields of JSON objects, read from their bytes.
 *
 * @module
 */

import code from "./compiled/json.wasm" with { type: "bytes" };
import type { PackedBytes } from "./growing.ts";

/** A field's value: a text's UTF-8 (halves of surrogate pairs as `text_bytes.ts` has them), or an integer. */
export type FieldValue = Uint8Array | number;

const quote = 0x22, backslash = 0x5c, comma = 0x2c, colon = 0x3a, minus = 0x2d;
const braceOpen = 0x7b, braceClose = 0x7d, zero = 0x30;

/** A text in a line. */
interface Text {
  /** Where the quote is that ends it. */
  readonly end: number;
  /** Its bytes, escapes resolved, until the next text is read. */
  readonly bytes: Uint8Array;
}

/** The functions of `assembly/json.ts`; addresses in bytes. */
interface Functions {
  lineAddress(length: number): number;
  readText(at: number): number;
  textAddress(): number;
  textEndAddress(): number;
}

/** The texts of a line. */
class LineTexts {
  readonly #memory = new WebAssembly.Memory({ initial: 1 });
  readonly #functions: Functions;
  #bytes = new Uint8Array(this.#memory.buffer);
  #start = 0;

  constructor() {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code), {
      env: { memory: this.#memory },
    });
    this.#functions = exports as unknown as Functions;
  }

  /** Takes a line. */
  take(line: Uint8Array): void {
    this.#start = this.#functions.lineAddress(line.length);
    // Enlarging the memory makes its views empty.
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#bytes.set(line, this.#start);
  }

  /** The text whose first quote is at `at`; `undefined` if there is none. */
  read(at: number): Text | undefined {
    const { readText, textAddress, textEndAddress } = this.#functions;
    const end = readText(this.#start + at + 1);
    if (end === 0) return undefined;
    const bytes = this.#bytes.subarray(textAddress(), textEndAddress());
    return { end: end - this.#start, bytes };
  }
}

let texts: LineTexts | undefined;

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
  texts ??= new LineTexts();
  texts.take(line);
  do {
    at = pastSpace(line, at + 1);
    if (line[at] !== quote) return undefined;
    const nameEnd = texts.read(at)?.end;
    if (nameEnd === undefined) return undefined;
    const name = line.subarray(at + 1, nameEnd);
    if (name.includes(backslash)) return undefined;
    at = pastSpace(line, nameEnd + 1);
    if (line[at] !== colon) return undefined;
    at = pastSpace(line, at + 1);
    let value: FieldValue;
    let end: number;
    if (line[at] === quote) {
      const text = texts.read(at);
      if (text === undefined) return undefined;
      end = text.end + 1;
      value = line.subarray(at + 1, text.end);
      if (text.bytes.length < value.length) {
        value = packed.room(text.bytes.length);
        value.set(text.bytes);
      }
    } else {
      end = integerEnd(line, at);
      if (end === at) return undefined;
      value = integer(line, at, end);
    }
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

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
