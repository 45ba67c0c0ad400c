/**
 * Synthetic texts whose entropy is known: Markov chains of letters.
 *
 * After each `order` letters four letters can follow, with probabilities 1/2, 1/4, 1/8 and 1/8. So
 * whatever the chain, a letter has 1.75 bits given the letters before it, 1.2130 nats, and no
 * language model can do better on text it was not trained on, but for chance.
 *
 * @module
 */
import { Counter } from "../models/random.ts";
import type { TextGeneratorParams } from "./source.ts";

/** Entropy of a letter given those before it. */
export const chainBits = 1.75;

/** Sixteenths of the four successors' probabilities, summed up. */
const shares = [8, 12, 14, 16] as const;

/** Letters joined before they are given out. */
const chunkLength = 4096;

/** Generates a text of `generator.characters` letters, piece by piece. */
export function* syntheticText(generator: TextGeneratorParams): Generator<string> {
  const { characters, symbols, order, seed } = generator;
  const contexts = symbols ** order;
  const successors = Array.from(
    { length: contexts },
    (_, context) => new Counter(seed, "successors", context).distinct(symbols, shares.length),
  );
  const draw = new Counter(seed, "text");
  let context = draw.below(contexts);
  let chunk = "";
  for (let i = 0; i < characters; i++) {
    const share = draw.below(16);
    const symbol = successors[context]![shares.findIndex((end) => share < end)]!;
    context = (context * symbols + symbol) % contexts;
    chunk += String.fromCharCode(0x61 + symbol);
    if (chunk.length === chunkLength) yield chunk, chunk = "";
  }
  if (chunk !== "") yield chunk;
}
