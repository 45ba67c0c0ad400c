/**
 * What papers claim and print: a fixture, Tables 1 and 3 of "Fusion Matters", and the experiments' own.
 *
 * @module
 */
import { z } from "zod";
import { type Metrics, metricsSchema } from "../../../analysis/spec/axes.ts";
import { type Claim, claimSchema } from "../../../analysis/spec/claims.ts";
import { publishedValues } from "../../../analysis/printed.ts";
import type { Prints } from "../../../analysis/claims/expected.ts";
import type { PublishedValue } from "../../../analysis/study.ts";
import type { AggregateParams } from "../../../stages/aggregate.ts";
import { planned } from "../../rig/planned.ts";

/** A paper's claims with what it prints. */
export interface Paper {
  readonly claims: readonly Claim[];
  readonly prints: Prints;
}

/** A printed value; fields left out are not printed. */
export function printed(
  metric: string,
  at: Readonly<Record<string, string>>,
  value: number,
  rest: Partial<PublishedValue> = {},
): PublishedValue {
  return {
    ...{ source: "Table 1", page: "", metric, at, against: null, value, rounding: 0.005 },
    ...{ spread: null, n: null, words: "" },
    ...rest,
  };
}

export const claimsOf = (claims: readonly unknown[]): Claim[] => z.array(claimSchema).parse(claims);

const METRICS = metricsSchema.parse({
  accuracy: { title: "Test accuracy", unit: "%", scale: 100, max: 100 },
  latency: { title: "Latency", unit: "ms", change: "ratio" },
  loss: { title: "Validation loss", unit: "nats", digits: 4 },
  speed: { title: "Speed", unit: "tokens per second", change: "ratio" },
});

const TABLE_3 = {
  sinusoidal: { add: [59.22, 1.07], gate_scalar: [65.73, 4.01], gate_mlp: [65.50, 2.31] },
  learned: { add: [62.29, 3.24], gate_scalar: [64.61, 2.83], gate_mlp: [64.28, 5.08] },
  rope: { add: [58.47, 2.58], gate_scalar: [65.61, 2.81], gate_mlp: [64.33, 3.67] },
  relative: { add: [62.48, 2.53], gate_scalar: [65.55, 3.15], gate_mlp: [65.23, 2.34] },
};
const TABLE_1 = {
  ag_news: { add: [91.15, 0.08], concat: [90.93, 0.11], gate_scalar: [91.07, 0.09] },
  imdb: { add: [83.28, 0.15], concat: [83.78, 0.13], gate_scalar: [83.40, 0.14] },
};

const add = { operator: "add" };
const arxiv = { dataset: "arxiv", encoding: "sinusoidal" };
const gate = (encoding: string, operator = "gate_scalar") => ({
  at: { dataset: "arxiv", encoding, operator },
});
const on = (dataset: string, operator: string) => ({
  at: { dataset, encoding: "sinusoidal", operator },
});

/** "Fusion Matters"; latencies and Table 2 print no spreads, which are assumed here. */
export const FUSION: Paper = {
  prints: {
    metrics: METRICS,
    seedAxis: "seed",
    published: [
      ...Object.entries(TABLE_1).flatMap(([dataset, operators]) =>
        Object.entries(operators).map(([operator, [value, spread]]) =>
          printed("accuracy", { dataset, operator, encoding: "sinusoidal" }, value!, {
            spread: spread!,
          })
        )
      ),
      ...Object.entries(TABLE_3).flatMap(([encoding, operators]) =>
        Object.entries(operators).map(([operator, [value, spread]]) =>
          printed("accuracy", { dataset: "arxiv", encoding, operator }, value!, {
            source: "Table 3",
            spread: spread!,
          })
        )
      ),
    ],
  },
  claims: claimsOf([
    { id: "A1", tolerance: 2, compare: [gate("sinusoidal")] },
    { id: "A2", test: "sign", compare: [gate("sinusoidal")] },
    {
      id: "A3",
      test: "equivalence",
      printed: "Table 1",
      compare: ["ag_news", "imdb"].flatMap((data) => [on(data, "concat"), on(data, "gate_scalar")]),
    },
    {
      id: "A4",
      tolerance: 2,
      spread: 3.5,
      compare: [
        { ...gate("sinusoidal", "gate_cnn"), printed: 2 },
        { ...gate("sinusoidal"), against: { operator: "gate_cnn" }, printed: 3 },
      ],
    },
    {
      id: "A5",
      tolerance: 2,
      compare: Object.keys(TABLE_3).flatMap((name) => [gate(name), gate(name, "gate_mlp")]),
    },
    {
      id: "A6a",
      against: { operator: "gate_mlp" },
      compare: [gate("sinusoidal"), gate("rope")],
    },
    {
      id: "A6b",
      test: "noninferiority",
      against: { operator: "gate_scalar" },
      compare: [gate("learned", "gate_mlp"), gate("relative", "gate_mlp")],
    },
    {
      id: "A7",
      metric: "latency",
      spread: 1,
      compare: [
        { at: { ...arxiv, operator: "gate_cnn" }, printed: 2.1 },
        {
          at: { ...arxiv, operator: "gate_scalar" },
          against: { operator: "gate_cnn" },
          printed: 1.5,
        },
      ],
    },
    {
      id: "A8",
      tolerance: 2,
      compare: [
        { ...on("imdb", "gate_scalar"), than: { dataset: "ag_news" }, printed: 0.2, spread: 0.25 },
        { ...on("arxiv", "gate_scalar"), than: { dataset: "imdb" }, printed: 6.39, spread: 4.2 },
      ],
    },
  ].map((claim) => ({
    metric: "accuracy",
    against: add,
    smallest: 1,
    tolerance: 1,
    ...["A1", "A2", "A5", "A6a", "A6b"].includes(claim.id) ? { printed: "Table 3" } : {},
    statement: claim.id,
    ...claim,
  }))),
};

/** All claims of a paper, wherever they are judged, and all numbers, as its experiment has them. */
export async function shipped(experiment: string): Promise<Paper> {
  const { graph } = await planned(experiment, "paper");
  const all = graph.filter(({ node }) => node.stage.name === "aggregate")
    .map(({ params }) => params as unknown as AggregateParams);
  const metrics = Object.assign({}, ...all.map((each) => each.metrics)) as Metrics;
  const [{ published, paper, seeds }] = all as [AggregateParams];
  return {
    claims: all.flatMap(({ claims }) => claims).filter(({ source }) => source === "paper"),
    prints: { metrics, seedAxis: seeds, published: publishedValues({ published, paper, metrics }) },
  };
}

/** A paper whose spreads, where they are guesses, are so many times as large. */
export function withSpreads({ claims, prints }: Paper, times: number): Paper {
  const scaled = <T extends { readonly spread?: number | undefined }>(each: T): T =>
    each.spread === undefined ? each : { ...each, spread: times * each.spread };
  return {
    prints,
    claims: claims.map((claim) => ({ ...scaled(claim), compare: claim.compare.map(scaled) })),
  };
}
