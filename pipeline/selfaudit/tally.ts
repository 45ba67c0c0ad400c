/**
 * What a self-audit tried and what came of it.
 *
 * @module
 */
import { sha256 } from "../key/hash.ts";

/** One kind of alteration, with what came of all of them. */
export interface Tally {
  /** `a value of the configuration`. */
  readonly kind: string;
  /** How many were made. */
  readonly tried: number;
  /** Of these, how many were refused with a message: nothing runs on them. */
  readonly refused: number;
  /** Reactions that had to come: of an instance to an edit, of the audit to an alteration. */
  readonly expected: number;
  /** Reactions that had to stay away. */
  readonly unexpected: number;
  /** What should have reacted and did not, in words. */
  readonly missed: readonly string[];
  /** What reacted and should not have, with the cause. */
  readonly spurious: readonly string[];
}

/** Gathers one kind. */
export class Count implements Tally {
  readonly kind: string;
  tried = 0;
  refused = 0;
  expected = 0;
  unexpected = 0;
  readonly missed: string[] = [];
  readonly spurious: string[] = [];

  constructor(kind: string) {
    this.kind = kind;
  }

  /**
   * Takes an alteration after which some may react.
   *
   * @param o.all Who may react.
   * @param o.due Whether one has to; asked of each.
   * @param o.reacted Whether it did.
   * @param o.cause Why one reacted that should not have, in words.
   */
  take<T>(
    what: string,
    o: {
      readonly all: Iterable<T>;
      readonly due: (one: T) => boolean;
      readonly reacted: (one: T) => boolean;
      readonly name: (one: T) => string;
      readonly cause: (one: T) => string;
    },
  ): void {
    this.tried++;
    for (const one of o.all) {
      const [due, reacted] = [o.due(one), o.reacted(one)];
      if (due) this.expected++;
      else this.unexpected++;
      if (due && !reacted) this.missed.push(`${what}: ${o.name(one)}`);
      if (!due && reacted) this.spurious.push(`${what}: ${o.name(one)}, ${o.cause(one)}`);
    }
  }
}

/** A part in percent, of nothing 0. */
export function rate(count: number, of: number): number {
  return of === 0 ? 0 : 100 * count / of;
}

/** Numbers below a bound that follow from a seed and a name. */
export function numbers(seed: number, name: string): (bound: number) => number {
  let count = 0;
  return (bound) => parseInt(sha256(`${seed} ${name} ${count++}`).slice(0, 12), 16) % bound;
}

/** At most so many of a list, drawn by a seed, in the order of the list. */
export function draw<T>(
  all: readonly T[],
  { count, next }: { readonly count: number; readonly next: (bound: number) => number },
): T[] {
  if (all.length <= count) return [...all];
  const left = all.map((_, index) => index);
  const drawn = Array.from({ length: count }, () => left.splice(next(left.length), 1)[0]!);
  return drawn.sort((a, b) => a - b).map((index) => all[index]!);
}
