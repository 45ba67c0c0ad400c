/**
 * The symbols of a text that language models read and write.
 *
 * @module
 */
import { StageError } from "../../pipeline/errors.ts";

/** Between a text and the ids of its symbols. */
export interface Symbols {
  /** @throws {StageError} If the training text lacks a symbol of it. */
  encode(text: string): number[];
  decode(ids: readonly number[]): string;
}

/** Reads the `vocabulary` of a text that was cut into bytes or characters. @throws {StageError} Of another. */
export function symbolsFrom(path: string): Symbols {
  const { unit, symbols } = JSON.parse(Deno.readTextFileSync(path)) as {
    unit?: string;
    symbols?: number[];
  };
  if (symbols === undefined || (unit !== "byte" && unit !== "character")) {
    throw new StageError(
      'Cannot generate: the vocabulary must be of bytes or characters, found unit "' +
        `${unit ?? "word"}"; tokenize with unit: character`,
    );
  }
  const isByte = unit === "byte";
  return {
    encode(text) {
      const values = isByte
        ? [...new TextEncoder().encode(text)]
        : [...text].map((character) => character.codePointAt(0)!);
      return values.map((value) => {
        const id = symbols.indexOf(value);
        if (id >= 0) return id;
        const found = isByte ? `byte ${value}` : JSON.stringify(String.fromCodePoint(value));
        throw new StageError(
          `Cannot generate: start must be of symbols of the training text, found ${found} in ` +
            JSON.stringify(text),
        );
      });
    },
    decode(ids) {
      const values = ids.map((id) => symbols[id]!);
      return isByte
        ? new TextDecoder().decode(Uint8Array.from(values))
        : String.fromCodePoint(...values);
    },
  };
}
