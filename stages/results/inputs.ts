/**
 * Schemas of what the aggregate stage reads: what evaluate, train and tokenize wrote.
 *
 * @module
 */
import { z } from "zod";
import { StageError } from "../../pipeline/errors.ts";
import type { Artifact, StageContext } from "../../pipeline/stage.ts";

const share = z.number().min(0).max(1);
const count = z.number().int().nonnegative();

/** One evaluated run. */
export const metricsSchema = z.object({
  fusion: z.string(),
  encoding: z.string(),
  seed: z.number().int(),
  /** Of the model and its documents, by the names of stages' params: `d_model`. */
  size: z.record(z.string(), z.number()),
  documents: count,
  correct: count,
  accuracy: share,
  lossNats: z.number(),
  majorityShare: share,
  gate: z.object({ byPosition: z.array(z.number()) }).nullish(),
});
export type Metrics = z.infer<typeof metricsSchema>;

/** How one run trained. */
export const historySchema = z.object({
  protocol: z.string(),
  fusion: z.string(),
  encoding: z.string(),
  seed: z.number().int(),
  parameters: count,
  epochs: z.array(z.object({
    epoch: count,
    trainLoss: z.number(),
    validationLoss: z.number(),
    validationAccuracy: share,
  })),
  bestEpoch: count,
  steps: count,
});
export type History = z.infer<typeof historySchema>;

const lengthsSchema = z.object({
  mean: z.number(),
  median: z.number(),
  p90: z.number(),
  p95: z.number(),
  p99: z.number(),
  max: z.number(),
  clippedShare: share,
});

/** A corpus as it was tokenized. */
export const corpusSchema = z.object({
  source: z.object({
    name: z.string(),
    title: z.string(),
    kind: z.enum(["official", "sample", "synthetic"]),
    note: z.string(),
  }),
  classes: z.array(z.string()),
  splits: z.record(
    z.string(),
    z.object({
      documents: count,
      /** Documents the source holds; absent where all of them were taken. */
      available: count.optional(),
      tokens: count,
      perClass: z.array(z.object({ class: z.string(), documents: count })),
      lengths: lengthsSchema,
    }),
  ),
  vocabularySize: count,
  duplicatesAcrossSplits: z.record(z.string(), count),
});
export type Corpus = z.infer<typeof corpusSchema>;

/** Models timed in turn on the same documents. */
export const latencySchema = z.object({
  backend: z.string(),
  documents: count,
  batches: count,
  /** Documents of a batch; the last may have fewer. */
  batch: count,
  tokensPerDocument: z.number(),
  /** Rounds before those that count. */
  warmUp: count,
  models: z.array(z.object({
    operator: z.string(),
    encoding: z.string(),
    seed: z.number().int(),
    size: z.record(z.string(), z.number()),
    /** Milliseconds to classify all documents, one value for each round. */
    passMs: z.array(z.number().positive()).min(1),
  })),
});
export type Latency = z.infer<typeof latencySchema>;

/**
 * Reads and checks one JSON artifact.
 *
 * @param what What it should be, for the error: `evaluate.metrics of imdb/add/0`.
 * @throws {StageError} If it is no JSON or lacks a field.
 */
export function readJson<T>(path: string, schema: z.ZodType<T>, options: { what: string }): T {
  const fail = (found: string): never => {
    throw new StageError(
      `Cannot read ${options.what}: ${found}; re-run the stage that wrote it`,
    );
  };
  let value: unknown;
  try {
    value = JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    if (error instanceof SyntaxError) return fail(`it must be JSON, found ${error.message}`);
    throw error;
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return fail(`its field "${issue?.path.join(".") ?? ""}" is wrong: ${issue?.message ?? ""}`);
}

/** A parsed artifact with the coordinates of the instance that made it. */
export interface Located<T> {
  readonly at: Readonly<Record<string, string>>;
  readonly sha256: string;
  readonly value: T;
}

/** Reads and checks all JSON artifacts of an input. */
export function locatedJson<T>(
  context: Pick<StageContext<unknown>, "inputs">,
  input: string,
  schema: z.ZodType<T>,
): Located<T>[] {
  return context.inputs(input).map((artifact) => ({
    at: artifact.at,
    sha256: artifact.sha256,
    value: readJson(artifact.path, schema, { what: describe(input, artifact) }),
  }));
}

function describe(input: string, artifact: Artifact): string {
  const at = Object.entries(artifact.at).sort().map(([axis, value]) => `${axis} ${value}`);
  return `an artifact of input "${input}" (${at.join(", ") || "no coordinates"})`;
}

/** JSON text of an artifact: keys in the order they were written, a newline at the end. */
export function artifactJson(value: unknown): string {
  return JSON.stringify(value, null, 1) + "\n";
}
