/**
 * Hands trainings without chance over to PyTorch: for each case a folder with its params, its
 * tokens, its initial weights and its batches. The params are those of the experiments' profiles,
 * without dropout and cut to about a hundred steps.
 *
 *     deno run -A tests/learning/hand_over.ts MIRROR TO
 *
 * @module
 */
import { join } from "node:path";
import { loadExperiment } from "../../pipeline/config/experiment.ts";
import { readFiles } from "../../pipeline/config/files.ts";
import { buildGraph } from "../../pipeline/plan/graph.ts";
import { loadStages } from "../../pipeline/cli/wiring.ts";
import { project } from "../../main.ts";
import { download } from "../../stages/download.ts";
import { startOf, type StrictCase, tokensOf, writeStart } from "./strict_case.ts";
import { temporaryFolder } from "../rig/temporary.ts";

interface Origin {
  readonly experiment: string;
  readonly profile: string;
  readonly instance: string;
  readonly set: readonly string[];
  readonly embeddingScale?: number;
}

const LANGUAGE = ["iterations=100", "eval_every=10", "eval_batches=2", "dropout=0"];

const NEWS: Origin = {
  experiment: "fusion",
  profile: "small",
  instance: "ag_news/sinusoidal/add/0",
  set: [
    "train.dropout=0",
    "train.epochs=8",
    "dataset.ag_news.tokenize.subset={train: 400, test: 100}",
  ],
};

const ORIGINS: Readonly<Record<string, Origin>> = {
  chain_one: {
    experiment: "intensity",
    profile: "smoke",
    instance: "chain_one/0/0",
    set: [...LANGUAGE, "decay_until=250"].map((value) => `train.${value}`),
  },
  short: {
    experiment: "fusion",
    profile: "smoke",
    instance: "short/sinusoidal/add/0",
    set: [
      "train.dropout=0",
      "dataset.short.train.epochs=8",
      "dataset.short.tokenize.subset={train: 400, test: 100}",
    ],
  },
  tinyshakespeare: {
    experiment: "intensity",
    profile: "small",
    instance: "tinyshakespeare/0/1337",
    set: [...LANGUAGE, "decay_until=1200"].map((value) => `train.${value}`),
  },
  ag_news: NEWS,
  // Embeddings of size 1, not √d, leave the first attention unsaturated: see docs/learning.md.
  ag_news_small_embedding: { ...NEWS, embeddingScale: 1 / 8 },
};

async function strictCase(name: string, mirror: string): Promise<StrictCase> {
  const { experiment, profile, instance, set, embeddingScale } = ORIGINS[name]!;
  const stages = await loadStages(project);
  const graph = buildGraph(
    loadExperiment(readFiles(experiment, project.root), {
      root: project.root,
      profile,
      set,
      stages,
      mirror,
    }),
  );
  const paramsOf = (wanted: string) => {
    const found = graph.find((each) => each.name === wanted);
    if (found === undefined) throw new Error(`No instance ${wanted} in ${experiment}.${profile}`);
    return { stage: found.node.stage.name, params: found.params as Record<string, unknown> };
  };
  const dataset = instance.split("/")[0]!;
  const wanted = download.params.parse(paramsOf(`download/${dataset}`).params);
  const { stage, params } = paramsOf(`train/${instance}`);
  return {
    name,
    source:
      download.settle!(wanted, { mirror, at: {}, grid: {}, exclude: [], each: {}, pins: new Map() })
        .source.name,
    tokenize: paramsOf(`tokenize/${dataset}`).params,
    ...(embeddingScale === undefined ? {} : { embeddingScale }),
    stage,
    train: params,
  } as unknown as StrictCase;
}

if (import.meta.main) {
  const [mirror, folder] = Deno.args;
  if (mirror === undefined || folder === undefined) throw new Error("Give MIRROR and TO");
  for (const name of Object.keys(ORIGINS)) {
    const from = await strictCase(name, Deno.realPathSync(mirror));
    const directory = temporaryFolder();
    const tokens = await tokensOf(from, { directory, mirror: Deno.realPathSync(mirror) });
    writeStart(join(folder, name), { from, tokens, start: startOf(from, tokens) });
  }
}
