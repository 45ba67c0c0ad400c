/**
 * Synthetic classification corpora in which the order of words decides part of the class.
 *
 * A document has a topic, known by its topic words, and an order, known by which of two families of
 * marker words fills its first half; class = 2 · topic + order. Both families occur equally often
 * in every document and nothing else depends on the order, so that given a document's bag of words
 * both orders are equally likely, but for the `hinted` documents, which hold one word that gives it away.
 * With K classes, and the shares h hinted and ν noisy (class replaced by one drawn from all K):
 *
 *     best possible accuracy        = (1 − ν) + ν / K
 *     best by bag of words          = (1 − ν)(h + (1 − h) / 2) + ν / K
 *
 * @module
 */
import { Counter } from "../models/random.ts";
import type { GeneratorParams } from "./source.ts";

/** One generated document. */
export interface SyntheticDocument {
  /** Class index: 2 · topic + order, unless noise replaced it. */
  readonly label: number;
  readonly words: readonly string[];
}

const wordsPerTopic = 12;
const wordsPerFamily = 6;

/** Names of the classes: `topic0_forward`, `topic0_backward`, `topic1_forward` and so on. */
export function syntheticClasses(generator: GeneratorParams): string[] {
  return Array.from(
    { length: generator.topics },
    (_, topic) => [`topic${topic}_forward`, `topic${topic}_backward`],
  ).flat();
}

/** Expected accuracies, as fractions, of the best classifier and of the best by bag of words. */
export function syntheticBounds(generator: GeneratorParams): { best: number; bagOfWords: number } {
  const noise = generator.noise / 1000;
  const hinted = generator.hinted / 1000;
  const lucky = noise / (2 * generator.topics);
  return {
    best: 1 - noise + lucky,
    bagOfWords: (1 - noise) * (hinted + (1 - hinted) / 2) + lucky,
  };
}

/** Generates the document numbered `index` of a split; documents do not depend on each other. */
export function syntheticDocument(
  generator: GeneratorParams,
  at: { readonly split: string; readonly index: number },
): SyntheticDocument {
  const draw = new Counter(generator.seed, "document", at.split, at.index);
  const classes = 2 * generator.topics;
  // Every class equally often, whatever the number of documents.
  const truth = at.index % classes;
  const topic = truth >> 1;
  const order = truth & 1;
  const [min, max] = generator.length;
  const length = min + draw.below(max - min + 1);
  const words = Array.from({ length }, () => `w${filler(draw, generator.filler_words)}`);

  // Markers come in pairs, one per half; half the pairs' places are drawn without repetition.
  const half = length >> 1;
  const signals = Math.max(1, Math.floor(length * generator.signal / 1000));
  const pairs = Math.max(1, signals >> 1);
  const places = draw.distinct(half, Math.min(half, pairs + ((signals + 1) >> 1) + 1));
  const mirrored = draw.distinct(half, places.length);
  for (const [i, place] of places.entries()) {
    const other = length - 1 - mirrored[i]!;
    if (i < pairs) {
      const early = draw.below(wordsPerFamily);
      const late = draw.below(wordsPerFamily);
      words[place] = order === 0 ? `a${early}` : `b${early}`;
      words[other] = order === 0 ? `b${late}` : `a${late}`;
    } else if (i < places.length - 1) {
      words[place] = `t${topic}_${draw.below(wordsPerTopic)}`;
      words[other] = `t${topic}_${draw.below(wordsPerTopic)}`;
    } else {
      words[place] = `t${topic}_${draw.below(wordsPerTopic)}`;
      if (draw.below(1000) < generator.hinted) words[other] = `hint${order}`;
    }
  }
  const label = draw.below(1000) < generator.noise ? draw.below(classes) : truth;
  return { label, words };
}

/**
 * Generates one split as text in AG News' layout: headerless CSV, every field quoted, `label` from
 * 1, `title` (a document's first quarter), `description` (the rest).
 */
export function* syntheticCsv(
  generator: GeneratorParams,
  split: "train" | "test",
): Generator<string> {
  for (let index = 0; index < generator.documents[split]; index++) {
    const { label, words } = syntheticDocument(generator, { split, index });
    const quarter = Math.max(1, words.length >> 2);
    const title = words.slice(0, quarter).join(" ");
    const description = words.slice(quarter).join(" ");
    yield `"${label + 1}","${title}","${description}"\n`;
  }
}

/** A filler word's number: the k-th is about ln(n / k) / n likely, so few are common, many rare. */
function filler(draw: Counter, words: number): number {
  return draw.below(1 + draw.below(words));
}
