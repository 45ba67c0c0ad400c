/**
 * Texts as UTF-8 and back, without losing what UTF-8 cannot say.
 *
 * A string may hold half of a surrogate pair, and JSON can bring one in. Such a half is written as
 * the three bytes its number would take (WTF-8), so that different strings have different bytes.
 *
 * @module
 */

/** Encodes texts one after another into one buffer. */
export class TextBytes {
  readonly #encoder = new TextEncoder();
  #buffer = new Uint8Array(1 << 16);

  /**
   * A text's bytes. With `lowercase` it is lower-cased as `toLowerCase` does, but for the letters A
   * to Z where it holds no character outside ASCII: those are left to the reader, who looks at
   * every byte anyway.
   *
   * @returns A view that the next call overwrites and the caller may change.
   */
  encode(text: string, lowercase: boolean): Uint8Array<ArrayBuffer> {
    const written = this.#write(text);
    if (written === text.length) return this.#buffer.subarray(0, written);
    const folded = lowercase ? text.toLowerCase() : text;
    const length = folded.isWellFormed() ? this.#write(folded) : this.#writeHalves(folded);
    return this.#buffer.subarray(0, length);
  }

  #reserve(units: number): void {
    if (units * 3 <= this.#buffer.length) return;
    this.#buffer = new Uint8Array(Math.max(units * 3, this.#buffer.length * 2));
  }

  #write(text: string): number {
    this.#reserve(text.length);
    return this.#encoder.encodeInto(text, this.#buffer).written;
  }

  #writeHalves(text: string): number {
    this.#reserve(text.length);
    let at = 0;
    for (const character of text) {
      const code = character.codePointAt(0)!;
      if (code >= 0xd800 && code <= 0xdfff) {
        this.#buffer[at++] = 0xe0 | (code >> 12);
        this.#buffer[at++] = 0x80 | ((code >> 6) & 0x3f);
        this.#buffer[at++] = 0x80 | (code & 0x3f);
      } else {
        at += this.#encoder.encodeInto(character, this.#buffer.subarray(at)).written;
      }
    }
    return at;
  }
}

/** The text that {@linkcode TextBytes} gave these bytes. */
export function textOf(bytes: Uint8Array): string {
  let text = "";
  let from = 0;
  for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
    const second = bytes[at + 1] ?? 0;
    if (second < 0xa0) continue;
    const half = 0xd000 | ((second & 0x3f) << 6) | ((bytes[at + 2] ?? 0) & 0x3f);
    text += decode(bytes.subarray(from, at)) + String.fromCharCode(half);
    from = at + 3;
  }
  return text + decode(bytes.subarray(from));
}

function decode(bytes: Uint8Array): string {
  return bytes.length === 0 ? "" : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
