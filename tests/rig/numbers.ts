/** @module */
import { streamKey, words } from "../../models/random.ts";

/** Numbers below a bound that are the same in every test run, by name. */
export function numbersOf(name: string): (bound: number) => number {
  const drawn = words(streamKey(0, name), 20_000);
  let count = 0;
  return (bound) => drawn[count++ % drawn.length]! % bound;
}
