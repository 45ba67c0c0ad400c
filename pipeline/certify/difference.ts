/**
 * How far two contents of an output differ: in numbers alone, and by how much, or in something else.
 * JSON is compared value by value, arrays of the safetensors format element by element, other text
 * number by number; what is none of these in its bytes.
 *
 * @module
 */
import { sha256 } from "../key/hash.ts";
import type { Difference } from "../store/certificate.ts";
import { isRecord } from "../store/shape.ts";
import { type StoredArrays, toArrays } from "./arrays.ts";

/** Gathers what differs. Numbers are measured against the largest of their group. */
export class Differences {
  #onlyNumbers = true;
  #count = 0;
  #first: Difference["first"] | undefined;
  readonly #groups = new Map<string, { largest: number; scale: number }>();

  /** Two numbers at one place. */
  numbers(group: string, place: Place, pair: readonly [number, number]): void {
    const [a, b] = pair;
    const known = this.#groups.get(group) ?? { largest: 0, scale: 0 };
    this.#groups.set(group, known);
    if (Number.isFinite(a)) known.scale = Math.max(known.scale, Math.abs(a));
    if (Number.isFinite(b)) known.scale = Math.max(known.scale, Math.abs(b));
    if (Object.is(a, b)) return;
    const difference = Math.abs(a - b);
    if (Number.isFinite(difference)) known.largest = Math.max(known.largest, difference);
    else this.#onlyNumbers = false;
    this.#note(place, [String(a), String(b)]);
  }

  /** Something other than numbers that differs at one place. */
  other(place: Place, pair: readonly [string, string]): void {
    this.#onlyNumbers = false;
    this.#note(place, pair);
  }

  #note(place: Place, [was, is]: readonly [string, string]): void {
    this.#count++;
    this.#first ??= { ...place(), was: short(was), is: short(is) };
  }

  /** What was found; `undefined` if nothing differs in what it says. */
  result(): Difference | undefined {
    if (this.#first === undefined) return undefined;
    let largest = 0, relative = 0;
    for (const group of this.#groups.values()) {
      largest = Math.max(largest, group.largest);
      if (group.largest > 0) relative = Math.max(relative, group.largest / group.scale);
    }
    const count = this.#count;
    return { onlyNumbers: this.#onlyNumbers, largest, relative, count, first: this.#first };
  }
}

/** Where something is; asked for the first difference alone. */
type Place = () => { readonly at: string; readonly step?: number };

const MAX_SHOWN = 60;

function short(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}

/**
 * Adds how two contents differ.
 *
 * @param name What the file is called, before the places in it; empty for an output that is one file.
 */
export function compareContents(
  was: Uint8Array,
  is: Uint8Array,
  { name, into }: { readonly name: string; readonly into: Differences },
): void {
  if (sha256(was) === sha256(is)) return;
  const prefix = name === "" ? "" : `${name}: `;
  const [a, b] = [toArrays(was), toArrays(is)];
  if (a && b) return compareArrays(a, b, { prefix, into });
  const [old, now] = [textOf(was), textOf(is)];
  if (old === undefined || now === undefined) {
    let at = 0;
    while (was[at] === is[at] && at < was.length) at++;
    return into.other(() => ({ at: `${prefix}byte ${at}` }), [
      `${was.length} bytes`,
      `${is.length} bytes`,
    ]);
  }
  const [before, after] = [parsed(old), parsed(now)];
  if (before === undefined || after === undefined) {
    return compareTexts(old, now, { group: prefix, place: () => ({ at: prefix }), into });
  }
  compareValues(before.value, after.value, { path: [], prefix, into });
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function parsed(text: string): { readonly value: unknown } | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function compareArrays(
  was: StoredArrays,
  is: StoredArrays,
  { prefix, into }: { readonly prefix: string; readonly into: Differences },
): void {
  for (const name of new Set([...was.arrays.keys(), ...is.arrays.keys()])) {
    const [a, b] = [was.arrays.get(name), is.arrays.get(name)];
    if (a === undefined || b === undefined || a.shape !== b.shape) {
      into.other(() => ({ at: `${prefix}${name}` }), [a?.shape ?? "absent", b?.shape ?? "absent"]);
      continue;
    }
    for (let index = 0; index < a.values.length; index++) {
      const place = () => ({ at: `${prefix}${name}[${index}]` });
      into.numbers(`${prefix}${name}`, place, [a.values[index]!, b.values[index]!]);
    }
  }
  compareValues(was.metadata, is.metadata, { path: ["__metadata__"], prefix, into });
}

interface Walk {
  readonly path: readonly (string | number)[];
  readonly prefix: string;
  readonly into: Differences;
  /** The number of each element of a list, where its table counts epochs or steps. */
  readonly steps?: readonly unknown[] | undefined;
}

function compareValues(was: unknown, is: unknown, walk: Walk): void {
  const { path, prefix, into, steps } = walk;
  const place = () => {
    const step = steps?.[Number(path.at(-1))];
    return { at: prefix + pathText(path), ...(typeof step === "number" ? { step } : {}) };
  };
  const group = prefix + pathText(path.filter((part) => typeof part !== "number"));
  if (typeof was === "number" && typeof is === "number") {
    return into.numbers(group, place, [was, is]);
  }
  if (typeof was === "string" && typeof is === "string") {
    return was === is ? undefined : compareTexts(was, is, { group, place, into });
  }
  if (Array.isArray(was) && Array.isArray(is) && was.length === is.length) {
    return was.forEach((value, index) =>
      compareValues(value, is[index], { ...walk, path: [...path, index] })
    );
  }
  const [names, others] = [was, is].map((value) => isRecord(value) ? Object.keys(value) : []);
  if (isRecord(was) && isRecord(is) && names!.join("\0") === others!.join("\0")) {
    for (const name of names!) {
      const counted = stepsOf(was, was[name]);
      compareValues(was[name], is[name], { path: [...path, name], prefix, into, steps: counted });
    }
    return;
  }
  if (JSON.stringify(was) === JSON.stringify(is)) return;
  into.other(place, [JSON.stringify(was) ?? "absent", JSON.stringify(is) ?? "absent"]);
}

/** What a table counts: its column of steps or epochs, as long as the column it is beside. */
function stepsOf(
  table: Readonly<Record<string, unknown>>,
  column: unknown,
): readonly unknown[] | undefined {
  const counted = table["step"] ?? table["epoch"];
  return Array.isArray(counted) && Array.isArray(column) && counted.length === column.length
    ? counted
    : undefined;
}

function pathText(path: readonly (string | number)[]): string {
  return path.map((part, index) =>
    typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`
  ).join("");
}

/** A digest names content and says nothing itself: one for another counts for nothing. No number is one. */
const DIGEST = /(?<!\.)\b(?!\d+e[+-]?\d+\b)(?=\d*[a-f])[0-9a-f]{12,64}\b/g;
const NUMBER = /[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;

function compareTexts(
  was: string,
  is: string,
  { group, place, into }: {
    readonly group: string;
    readonly place: Place;
    readonly into: Differences;
  },
): void {
  const [a, b] = [was.replaceAll(DIGEST, "#"), is.replaceAll(DIGEST, "#")];
  const [words, others] = [a.split(NUMBER), b.split(NUMBER)];
  const differs = words.findIndex((word, index) => word !== others[index]);
  if (differs >= 0 || words.length !== others.length) {
    const at = Math.max(differs, 0);
    return into.other(place, [words[at] ?? "", others[at] ?? "nothing more"]);
  }
  const [numbers, now] = [a.match(NUMBER) ?? [], b.match(NUMBER) ?? []];
  numbers.forEach((number, index) => {
    const numbered = () => {
      const { at, ...rest } = place();
      return {
        at: `${at}${at === "" || at.endsWith(" ") ? "" : ", "}number ${index + 1}`,
        ...rest,
      };
    };
    into.numbers(`${group}#${index}`, numbered, [Number(number), Number(now[index])]);
  });
}
