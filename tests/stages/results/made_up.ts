/**
 * Made-up artifacts in the formats evaluate, train and tokenize write. Nothing here is a result.
 *
 * @module
 */
import { join } from "node:path";
import type { Artifact } from "../../../pipeline/stage.ts";
import type { Latencies } from "../../../stages/results/latency/latencies.ts";
import { aggregateLatency } from "../../../stages/aggregate_latency.ts";
import { artifact, runStage } from "../../rig/run_stage.ts";
import { temporaryFolder } from "../../rig/temporary.ts";

export type Kind = "official" | "sample" | "synthetic";

/** A dataset of the made-up grid: its correct counts by operator, one per seed. */
export interface MadeUp {
  readonly dataset: string;
  readonly kind: Kind;
  readonly title?: string;
  readonly documents: number;
  readonly meanLength: number;
  readonly correct: Readonly<Record<string, readonly (number | null)[]>>;
  readonly encoding?: string;
}

export const AG: MadeUp = {
  dataset: "ag_news",
  kind: "sample",
  title: "AG News",
  documents: 7600,
  meanLength: 38.2,
  correct: {
    add: [6930, 6925, 6941, 6922, 6935],
    concat: [6905, 6892, 6930, 6881, 6960],
    gate_scalar: [6943, 6909, 6918, 6906, 6947],
  },
};

export const ARXIV: MadeUp = {
  dataset: "arxiv",
  kind: "official",
  title: "ArXiv-11",
  documents: 10000,
  meanLength: 3870.5,
  correct: {
    // gate_scalar − add are the paper's Figure 3 deltas, in documents of 10,000.
    add: [5900, 5950, 5890, 5930, 5940],
    concat: [6345, 6039, 6678, 6333, 6325],
    gate_scalar: [6850, 6205, 6257, 6713, 6842],
  },
};

export const SHORT: MadeUp = {
  dataset: "short",
  kind: "synthetic",
  title: "Synthetic, short",
  documents: 500,
  meanLength: 30,
  correct: { add: [401, 399], gate_scalar: [409, 400] },
};

/** What aggregate_latency writes where nothing was timed. */
export const NO_LATENCIES: Latencies = {
  format: "lockstep-latencies/1",
  backends: [],
  conditions: [],
  settings: [],
  claims: [],
  published: [],
  accuracies: {},
};

/** Models timed beside each other: operator to milliseconds of each round, for each seed. */
export interface MadeUpTimes {
  readonly dataset: string;
  readonly passMs: Readonly<Record<string, readonly (readonly number[])[]>>;
  readonly batch?: number;
  readonly maxLength?: number;
}

/** Writes what `latency` writes, two batches a pass, one artifact for each seed. */
export function madeUpLatencies(folder: string, grids: readonly MadeUpTimes[]): Artifact[] {
  return grids.flatMap(({ dataset, passMs, batch = 64, maxLength = 4096 }) =>
    Object.values(passMs)[0]!.map((_, seed) => {
      const path = join(folder, `latency-${dataset}-${seed}.json`);
      Deno.writeTextFileSync(
        path,
        JSON.stringify({
          backend: "wasm",
          documents: 2 * batch,
          batches: 2,
          batch,
          tokensPerDocument: 3870.5,
          warmUp: 5,
          models: Object.entries(passMs).map(([operator, seeds]) => ({
            operator,
            encoding: "sinusoidal",
            seed,
            size: { d_model: 128, heads: 8, layers: 2, d_ff: 256, max_length: maxLength },
            passMs: seeds[seed],
          })),
        }),
      );
      return artifact(path, { dataset, seed: String(seed) });
    })
  );
}

/** Runs aggregate_latency on made-up timings; gives the inputs the report takes from it. */
export async function gatheredLatencies(
  results: Artifact,
  options: { readonly grids: readonly MadeUpTimes[]; readonly params?: unknown },
): Promise<Record<"latencies" | "latency_tables", Artifact>> {
  const [directory, own] = [temporaryFolder(), temporaryFolder()];
  const latencies = madeUpLatencies(own, options.grids);
  const inputs = { results, latencies };
  const { outputs } = await runStage(aggregateLatency, options.params ?? {}, { directory, inputs });
  return {
    latencies: artifact(outputs["latencies"]!),
    latency_tables: artifact(outputs["tables"]!),
  };
}

/** Writes the artifacts into `folder` and returns them as aggregate's inputs. */
export function madeUpInputs(
  folder: string,
  grids: readonly MadeUp[],
): Record<"runs" | "histories" | "corpora", Artifact[]> {
  const write = (name: string, value: unknown, at: Record<string, string>) => {
    const path = join(folder, `${name}.json`);
    Deno.writeTextFileSync(path, JSON.stringify(value) + "\n");
    return artifact(path, at);
  };
  const inputs = { runs: [], histories: [], corpora: [] } as Record<
    "runs" | "histories" | "corpora",
    Artifact[]
  >;
  for (const grid of grids) {
    const { dataset, documents } = grid;
    const encoding = grid.encoding ?? "sinusoidal";
    for (const [operator, counts] of Object.entries(grid.correct)) {
      counts.forEach((correct, seed) => {
        if (correct === null) return;
        const at = { dataset, operator, seed: String(seed) };
        const name = [dataset, encoding, operator, seed].join("-");
        inputs.runs.push(write(`run-${name}`, {
          fusion: operator,
          encoding,
          seed,
          documents,
          correct,
          accuracy: correct / documents,
          lossNats: 0.3,
          perClass: [],
          size: { d_model: 128, heads: 8, layers: 2, d_ff: 256, max_length: 4096 },
          majorityShare: 0.25,
          ...(operator.startsWith("gate")
            ? {
              gate: { byPosition: Array.from({ length: 64 }, (_, i) => 0.5 + 0.2 / (1 + i / 8)) },
            }
            : {}),
        }, at));
        inputs.histories.push(
          write(`history-${name}`, history(operator, encoding, seed, correct / documents), at),
        );
      });
    }
    inputs.corpora.push(write(`corpus-${dataset}`, corpus(grid), { dataset }));
  }
  return inputs;
}

function history(fusion: string, encoding: string, seed: number, accuracy: number) {
  const epochs = Array.from({ length: 8 - seed % 3 }, (_, index) => ({
    epoch: index + 1,
    trainLoss: 1.2 / (index + 1) + 0.02 * seed + 0.01 * fusion.length,
    validationLoss: 1.3 / (index + 1) + 0.03 * index,
    validationAccuracy: accuracy * (1 - 0.4 / (index + 1.5)),
  }));
  return {
    protocol: "paper",
    fusion,
    encoding,
    seed,
    parameters: 123456,
    epochs,
    bestEpoch: epochs.length,
    steps: 100,
  };
}

function corpus(grid: MadeUp) {
  const lengths = {
    mean: grid.meanLength,
    median: Math.floor(grid.meanLength),
    p90: Math.floor(grid.meanLength * 1.5),
    p95: Math.floor(grid.meanLength * 1.7),
    p99: Math.floor(grid.meanLength * 1.9),
    max: Math.floor(grid.meanLength * 2),
    clippedShare: 0.0312,
  };
  const split = (documents: number) => ({
    documents,
    tokens: Math.round(documents * grid.meanLength),
    perClass: [{ class: "c0", documents }],
    lengths,
  });
  return {
    source: {
      name: grid.dataset,
      title: grid.title ?? grid.dataset,
      kind: grid.kind,
      note: `Made up for tests <${grid.dataset}>`,
    },
    classes: ["a", "b", "c", "d"],
    splits: { train: split(4 * grid.documents), test: split(grid.documents) },
    vocabularySize: 50000,
    duplicatesAcrossSplits: { "train+test": 7 },
  };
}
