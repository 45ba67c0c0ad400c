/**
 * A made-up paper on cakes, from measurements to its report, through the stages themselves: axes,
 * metrics and tables that no code knows. Nothing here is a result.
 *
 * @module
 */
import type { Artifact } from "../../../pipeline/stage.ts";
import { aggregate } from "../../../stages/aggregate.ts";
import { plot } from "../../../stages/plot.ts";
import { report } from "../../../stages/report.ts";
import { artifact, runStage } from "../../rig/run_stage.ts";
import { temporaryFolder } from "../../rig/temporary.ts";
import { measured } from "../tidy/measured.ts";

/** What can be baked: ovens with their kind of flour, and the title it goes by. */
export interface Baking {
  readonly ovens?: Readonly<Record<string, { readonly kind: string; readonly title?: string }>>;
  readonly batches?: number;
  /** Coordinates that were not baked: `gas/nut/1`. */
  readonly without?: readonly string[];
  /** Whether ovens were timed as well, by an analysis of its own. */
  readonly timed?: boolean;
  readonly claims?: readonly object[];
  /** What the paper prints. */
  readonly published?: readonly object[];
  /** The axis of choices, and claims to judge under each. */
  readonly sensitivity?: object;
  /** What was asked for, by axis. */
  readonly grid?: Readonly<Record<string, readonly string[]>>;
  /** Params of the report. */
  readonly report?: Readonly<Record<string, string>>;
}

const FLAVOURS = { plain: "Plain", vanilla: "Vanilla", nut: "Nut, chopped" };
export const OVENS = {
  gas: { kind: "official", title: "Gas oven" },
  electric: { kind: "sample", title: "Electric oven" },
  sun: { kind: "synthetic", title: "Sun & mirror" },
};
const axes = {
  oven: { title: "Oven" },
  flavour: {
    title: "Flavour",
    baseline: "plain",
    values: FLAVOURS,
  },
  batch: { title: "Batch" },
};
const published = [
  { oven: "gas", flavour: "plain", value: "61.2", spread: "0.5" },
  { oven: "gas", flavour: "vanilla", value: "66.2", spread: "0.5" },
].map((row) => ({ source: "Table 1", page: "3", metric: "rise", n: "3", words: "", ...row }));

/** Vanilla gains five points of a hundred, and nuts lose one. */
const CLAIMS = [
  {
    id: "C2",
    statement: "Vanilla cakes rise <higher> & are lighter",
    metric: "rise",
    at: { oven: "gas", flavour: "vanilla" },
    against: { flavour: "plain" },
    printed: 5,
    smallest: 1,
    tolerance: 1,
  },
  {
    id: "C10",
    statement: "Nuts help in the steam oven",
    metric: "rise",
    at: { oven: "steam", flavour: "nut" },
    against: { flavour: "plain" },
    printed: 2,
  },
];
const SLOW = {
  id: "C3",
  statement: "Nuts take longer",
  metric: "minutes",
  at: { oven: "gas", flavour: "nut" },
  against: { flavour: "plain" },
  smallest: 1,
};

export const TABLES = {
  rise: {
    caption: "How far cakes rise",
    rows: ["oven", "flavour"],
    columns: [{ metric: "rise" }, { metric: "rise", show: "change" }, {
      metric: "rise",
      show: "change_interval",
    }, { metric: "rise", show: "published", source: "Table 1" }],
  },
  steam: {
    caption: "Steam",
    rows: ["oven"],
    where: { oven: "steam" },
    columns: [{ metric: "rise" }],
  },
};

/** Measurements of every cake. */
export function bakings(
  { ovens = OVENS, batches = 3, without = [] }: Baking,
): { runs: Artifact[]; times: Artifact[]; corpora: Artifact[] } {
  const places = Object.keys(ovens).flatMap((oven, o) =>
    Object.keys(FLAVOURS).flatMap((flavour, f) =>
      Array.from({ length: batches }, (_, batch) => ({ oven, flavour, batch, o, f }))
    )
  ).filter(({ oven, flavour, batch }) => !without.includes(`${oven}/${flavour}/${batch}`));
  const at = ({ oven, flavour, batch }: typeof places[number]) => ({
    ...{ oven, flavour, batch: String(batch) },
  });
  // Every cake has its own weight, so that each has bytes of its own.
  const rise = ({ o, f, batch }: typeof places[number]) =>
    0.612 + 0.1 * o + [0, 0.05, -0.01][f]! + 0.001 * batch + 0.0005 * ((batch + f) % 2);
  return {
    runs: places.map((place, index) =>
      measured(at(place), { runs: { rise: [rise(place)], grams: [100 + index] } })
    ),
    times: places.filter(({ oven }) => oven === "gas").map((place) =>
      measured(at(place), {
        rounds: {
          round: [0, 1],
          minutes: [0, 1].map((round) => 30 * (1 + 0.1 * place.f) + round + place.batch),
        },
      })
    ),
    corpora: Object.entries(ovens).map(([oven, { kind, title = oven }]) =>
      measured({ oven }, {
        corpora: { kind: [kind], title: [title], note: [`The flour of ${title}.`] },
      })
    ),
  };
}

/** The report on what was baked, and what it was made of. */
export async function baked(baking: Baking = {}) {
  const { runs, times, corpora } = bakings(baking);
  const claims = baking.claims ?? CLAIMS;
  const timings = [...claims, SLOW];
  const values = {
    oven: Object.keys(baking.ovens ?? OVENS),
    flavour: Object.keys(FLAVOURS),
    batch: Array.from({ length: baking.batches ?? 3 }, (_, batch) => String(batch)),
  };
  const each = [["batch", "flavour", "oven"], ["oven"]];
  const analyse = async (measurements: readonly Artifact[], params: object) => {
    const made = await runStage(aggregate, {
      axes,
      seeds: "batch",
      grid: { values: baking.grid ?? values, each },
      ...params,
    }, {
      directory: temporaryFolder(),
      inputs: { measurements },
    });
    return {
      results: artifact(made.outputs["results"]!),
      shown: artifact(made.outputs["shown"]!),
    };
  };
  const analyses = [
    await analyse([...runs, ...corpora], {
      title: "Cakes",
      published: baking.published ?? published,
      metrics: { rise: { title: "Rise", unit: "percent", scale: 100, better: "greater" } },
      tables: TABLES,
      claims,
      elsewhere: baking.timed ? [SLOW] : [],
      ...(baking.sensitivity === undefined ? {} : {
        axes: { ...axes, oven: { ...axes.oven, baseline: "gas" } },
        sensitivity: baking.sensitivity,
      }),
    }),
  ];
  if (baking.timed) {
    analyses.push(
      await analyse([...times, ...corpora], {
        title: "Cakes: time",
        grid: { values: baking.grid ?? { ...values, oven: ["gas"] }, each },
        metrics: {
          minutes: {
            ...{ title: "Time", table: "rounds", unit: "min", digits: 1, better: "less" },
            ...{ change: "ratio", within: "round", timed: true },
          },
        },
        claims: timings.slice(-1),
        elsewhere: claims,
      }),
    );
  }
  const drawn = await runStage(plot, {
    figures: {
      risen: {
        title: "Risen",
        template: "forest",
        metric: "rise",
        rows: ["flavour"],
        panels: ["oven"],
      },
    },
    scale: 1,
  }, { directory: temporaryFolder(), inputs: { results: analyses[0]!.results } });
  const figures = artifact(drawn.outputs["figures"]!);
  const { outputs } = await runStage(report, baking.report ?? {}, {
    directory: temporaryFolder(),
    inputs: {
      results: analyses.map(({ results }) => results),
      shown: analyses.map(({ shown }) => shown),
      figures: [figures],
    },
  });
  return {
    page: Deno.readTextFileSync(outputs["page"]!),
    files: [...Deno.readDirSync(outputs["tables"]!)].map(({ name }) => name).sort(),
    tables: outputs["tables"]!,
    ...{ runs, times, corpora, figures, analyses },
  };
}
