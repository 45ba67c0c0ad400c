/**
 * From a label as a file writes it to a class index.
 *
 * @module
 */
import { DataError } from "./lines.ts";

/** Gives where a label is, for errors: `"train.csv": line 7`. */
export type Place = () => string;

/** Reads labels as numbers counted from a first one, as names of known classes, or either. */
export class Labels {
  readonly #classes: readonly string[];
  readonly #first: number | undefined;
  readonly #index: ReadonlyMap<string, number>;

  /** @param first Number of the first class, where labels may be numbers. */
  constructor(classes: readonly string[], first?: number) {
    this.#classes = classes;
    this.#first = first;
    this.#index = new Map(classes.map((name, i) => [name, i]));
  }

  /**
   * Class index of a label.
   *
   * @throws {DataError} If it is neither a number in range nor a known name.
   */
  read(label: unknown, place: Place): number {
    const text = typeof label === "bigint" ? `${label}` : label;
    if (this.#first !== undefined) {
      const number = typeof text === "number"
        ? text
        : typeof text === "string" && /^\s*\d{1,9}\s*$/.test(text)
        ? Number(text)
        : NaN;
      const index = number - this.#first;
      if (Number.isInteger(index) && index >= 0 && index < this.#classes.length) return index;
    }
    const index = this.#index.get(typeof text === "string" ? text : String(text));
    if (index !== undefined) return index;
    const last = (this.#first ?? 0) + this.#classes.length - 1;
    const shown = this.#classes.length > 12
      ? `${this.#classes.length} classes`
      : this.#classes.join(", ");
    const rule = this.#first === undefined ? "" : `${this.#first} to ${last} or `;
    throw new DataError(
      `Cannot read ${place()}: the label must be ${rule}one of ${shown}, found ${
        JSON.stringify(text)?.slice(0, 80)
      }`,
    );
  }
}
