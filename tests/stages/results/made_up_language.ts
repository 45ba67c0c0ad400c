/**
 * Made-up outputs of the language model's stages, for tests of what gathers them.
 *
 * @module
 */
import { join } from "node:path";
import type { Artifact } from "../../../pipeline/stage.ts";
import { artifact } from "../../rig/run_stage.ts";

/** Runs on one text. */
export interface MadeUpText {
  readonly dataset: string;
  readonly title: string;
  readonly kind: "official" | "sample" | "synthetic";
  readonly characters?: number;
  /** Variant to best validation losses by seed; null is a run that was not made. */
  readonly losses: Readonly<Record<string, readonly (number | null)[]>>;
  /** Variant to tokens per second by seed, without a cache. */
  readonly speeds?: Readonly<Record<string, readonly number[]>>;
  readonly steps?: number;
  readonly context?: number;
}

/** Losses and speeds of a method that makes things worse and slower. */
export const SHAKESPEARE: MadeUpText = {
  dataset: "tinyshakespeare",
  title: "Tiny Shakespeare",
  kind: "official",
  characters: 1000,
  losses: {
    "0": [1.46, 1.464, 1.461],
    "4": [1.467, 1.4705, 1.4685],
    "4_bypass": [1.46, 1.464, 1.461],
  },
  speeds: { "0": [700, 710, 705], "4": [490, 490, 493], "4_bypass": [700, 711, 704] },
  steps: 5000,
  context: 256,
};

export const CHAIN: MadeUpText = {
  dataset: "chain_one",
  title: "Chain of order 1",
  kind: "synthetic",
  losses: { "0": [1.3, 1.31], "4": [1.2, 1.25] },
  speeds: { "0": [1000, 1000], "4": [500, 500] },
};

/** Writes the artifacts below `folder`. */
export function languageInputs(folder: string, texts: readonly MadeUpText[]) {
  const inputs: Record<"runs" | "histories" | "speeds" | "corpora", Artifact[]> = {
    runs: [],
    histories: [],
    speeds: [],
    corpora: [],
  };
  let written = 0;
  const put = (input: keyof typeof inputs, at: Record<string, string>, value: unknown) => {
    const path = join(folder, `${input}.${written++}.json`);
    Deno.writeTextFileSync(path, JSON.stringify(value));
    inputs[input].push(artifact(path, at));
  };
  for (const text of texts) {
    const { dataset, title, kind, steps = 100, context = 4 } = text;
    const characters = text.characters ?? 1000;
    const split = (tokens: number) => ({
      documents: 1,
      tokens,
      perClass: [{ class: "text", documents: 1 }],
      lengths: { mean: 1, median: 1, p90: 1, p95: 1, p99: 1, max: 1, clippedShare: 0 },
    });
    put("corpora", { dataset }, {
      source: { name: dataset, title, kind, note: "" },
      classes: ["text"],
      splits: { train: split(characters * 0.9), validation: split(characters * 0.1) },
      vocabularySize: 65,
      duplicatesAcrossSplits: {},
    });
    for (const [variant, losses] of Object.entries(text.losses)) {
      losses.forEach((best, seed) => {
        if (best === null) return;
        const own = { run: Number(variant[0]), bypass: variant.endsWith("_bypass"), seed };
        const at = { dataset, run: variant, seed: String(seed) };
        const evaluations = [0, 1, 2].map((part) => ({
          iteration: part * steps / 2,
          trainLoss: best + 2 - part,
          validationLoss: best + 2 - part,
        }));
        put("histories", at, {
          ...own,
          parameters: 1000,
          evaluations,
          bestIteration: steps,
          bestValidationLoss: best,
          steps,
        });
        put("runs", at, {
          ...own,
          shape: { vocabulary: 65, context, d: 384, heads: 6, layers: 6 },
          splits: [{ split: "validation", tokens: 96, lossNats: best + 0.01, bits: 2 }],
          intensities: own.run === 0 ? [] : [0, 1].map((block) => ({
            block,
            head: null,
            byPosition: [0.2, 0.4 + block / 10, 0.6, 0.8 + seed / 100],
          })),
        });
        const rate = text.speeds?.[variant]?.[seed];
        if (rate === undefined) return;
        put("speeds", at, {
          ...own,
          speeds: [false, true].map((cache) => ({
            cache,
            tokens: 1000,
            seconds: 1000 / rate,
            tokensPerSecond: cache ? 3 * rate : rate,
          })),
        });
      });
    }
  }
  return inputs;
}
