/**
 * Learning curves as `gather.ts` and PyTorch's `curves.py` write them.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

/** A language model's run; losses are means in nats per token. */
export interface LanguageRun {
  readonly seed: number;
  readonly evaluations: readonly {
    readonly iteration: number;
    readonly train_loss: number;
    readonly validation_loss: number;
  }[];
  /** Of the best weights, on excerpts of the validation text that do not overlap. */
  readonly heldOutLoss: number;
}

/** A classifier's run; losses are means in nats. */
export interface ClassifierRun {
  readonly seed: number;
  readonly epochs: readonly {
    readonly epoch: number;
    readonly train_loss: number;
    readonly validation_loss: number;
    readonly validation_accuracy: number;
  }[];
  /** Of the best weights, on the test documents. */
  readonly testAccuracy: number;
  readonly testLoss: number;
}

/** What was trained on which tokens, by which versions, and how it went. */
export interface Curves<Run> {
  readonly versions: Readonly<Record<string, string>>;
  /** Name of a record in data/sources.yaml. */
  readonly source: string;
  /** Params of the stages but for the seed; those of `tokenize` by their paths. */
  readonly tokenize: Readonly<Record<string, unknown>>;
  readonly train: Readonly<Record<string, unknown>>;
  readonly evaluate: Readonly<Record<string, unknown>>;
  /** SHA-256 of the token file. */
  readonly tokens: string;
  readonly runs: readonly Run[];
}

/** Two implementations' runs of the same training. */
export interface Pair<Run> {
  readonly ours: Curves<Run>;
  readonly pytorch: Curves<Run>;
}

/** The folder of Lockstep's curves and of the figures. */
export const LEARNING = fileURLToPath(new URL("../../docs/learning/", import.meta.url));

/**
 * The committed runs on a text.
 *
 * @throws {RangeError} If the two sides did not train the same model on the same tokens.
 */
export function readPair<Run>(text: string): Pair<Run> {
  const read = (path: string | URL) => JSON.parse(Deno.readTextFileSync(path)) as Curves<Run>;
  const ours = read(`${LEARNING}${text}.json`);
  const pytorch = read(new URL(`../reference/learning/${text}.json`, import.meta.url));
  for (const what of ["source", "tokenize", "train", "evaluate", "tokens"] as const) {
    const [mine, theirs] = [ours, pytorch].map((each) => JSON.stringify(each[what]));
    if (mine !== theirs) {
      throw new RangeError(
        `Cannot compare the runs on ${text}: both must have the same ${what}, found ${mine} and ` +
          theirs,
      );
    }
  }
  return { ours, pytorch };
}
