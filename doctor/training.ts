/**
 * What the trainings of an experiment compute: from a stage's params to a step of that size, and to how
 * many such steps there are.
 *
 * @module
 */
import type { Instance } from "../pipeline/plan/graph.ts";

/** One training: the size of a step and their number. */
export interface Training {
  readonly model: "classifier" | "gpt" | "averaging";
  /** Params of the stage. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Documents, or sequences, of a step. */
  readonly batch: number;
  /** Tokens of one of them, on average. */
  readonly tokens: number;
  readonly vocabulary: number;
  readonly classes: number;
  /** Steps, evaluations included as the part of a step that they take. */
  readonly steps: number;
}

/** Documents for training, and words of one in the samples of `docs/data.md`; papers are longer than is kept. */
const CORPORA: Readonly<Record<string, { readonly documents: number; readonly tokens: number }>> = {
  ag_news: { documents: 120_000, tokens: 38 },
  imdb: { documents: 25_000, tokens: 230 },
  arxiv: { documents: 28_388, tokens: 4096 },
};

type Values = Readonly<Record<string, unknown>>;

/** A forward pass takes a third of a step. */
const FORWARD = 1 / 3;

/** The training that an instance is; `undefined` if it is none, or of a corpus of unknown size. */
export function trainingOf(instance: Instance): Training | undefined {
  const params = instance.params as Values, number = (name: string) => params[name] as number;
  switch (instance.node.stage.name) {
    case "train_language": {
      const evaluated = number("iterations") / number("eval_every") * number("eval_batches") * 2;
      return {
        ...{ model: "gpt", params, batch: number("batch"), tokens: number("context") },
        ...{ vocabulary: textVocabulary(instance), classes: 0 },
        steps: number("iterations") + FORWARD * evaluated,
      };
    }
    case "train":
    case "train_averaging": {
      const corpus = corpusOf(instance);
      if (corpus === undefined) return undefined;
      const model = instance.node.stage.name === "train" ? "classifier" : "averaging";
      const held = model === "classifier" ? number("validation_share") : 0;
      const passes = number("epochs") * (1 - held + FORWARD * held);
      return {
        ...{ model, params, batch: number("batch"), ...corpus, classes: 4 },
        steps: passes * corpus.documents / number("batch"),
      };
    }
    default:
      return undefined;
  }
}

/** The instance that feeds an input. */
const above = ({ inputs }: Instance, input: string) => inputs[input]?.[0]?.instance;

function textVocabulary(instance: Instance): number {
  return (above(instance, "tokens")?.params as Values | undefined)?.["unit"] === "byte" ? 256 : 65;
}

function corpusOf(
  instance: Instance,
): { documents: number; tokens: number; vocabulary: number } | undefined {
  const tokenize = above(instance, "tokens"), download = tokenize && above(tokenize, "raw");
  if (tokenize === undefined || download === undefined) return undefined;
  const { source } = download.params as { source: Values };
  const known = CORPORA[source["name"] as string] ?? generated(source);
  const { subset, max_length, max_vocabulary } = tokenize.params as {
    subset?: { train?: number };
    max_length: number;
    max_vocabulary: number;
  };
  return known && {
    documents: Math.min(known.documents, subset?.train ?? Infinity),
    tokens: Math.min(known.tokens, max_length),
    vocabulary: Math.min(max_vocabulary, VOCABULARY),
  };
}

/** Rows of the embeddings that a step does not touch take no time but in the optimizer. */
const VOCABULARY = 30_000;

/** A generated corpus says in its record how large it is. */
function generated({ generator }: Values): { documents: number; tokens: number } | undefined {
  if (generator === undefined) return undefined;
  const { documents, length: [low, high] } = generator as {
    documents: { train: number };
    length: [number, number];
  };
  return { documents: documents.train, tokens: (low + high) / 2 };
}

/**
 * Floating-point operations of a step, within a factor: 6 for each weight of a matrix and token, 12 for
 * each pair of tokens that attend and feature.
 */
export function operationsOf({ model, params, batch, tokens, vocabulary }: Training): number {
  const number = (name: string) => params[name] as number, d = number("d_model");
  if (model === "averaging") return batch * (20 * tokens * d + 6 * number("depth") * d * d);
  const hidden = model === "gpt" ? 4 * d : number("d_ff");
  const weights = number("layers") * (4 * d * d + 2 * d * hidden) +
    (model === "gpt" ? vocabulary * d : 0);
  const pairs = model === "gpt" ? tokens / 2 : tokens;
  return batch * tokens * (6 * weights + 12 * number("layers") * pairs * d);
}
