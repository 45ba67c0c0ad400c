/**
 * What two papers claim and print, as fixtures: Tables 1 to 3 of "Fusion Matters", Table 1 of
 * "Learning to Look Harder".
 *
 * @module
 */
import { z } from "zod";
import { metricsSchema } from "../../../analysis/spec/axes.ts";
import { type Claim, claimSchema } from "../../../analysis/spec/claims.ts";
import type { Prints } from "../../../analysis/claims/expected.ts";
import type { PublishedValue } from "../../../analysis/study.ts";

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

const run = (name: number | string, over = true) => ({
  at: { run: String(name) },
  ...over ? { over: { dataset: ["tinyshakespeare", "enwik8", "text8", "gutenberg"] } } : {},
});
const better = (name: number, than: number) => ({ ...run(name), against: { run: String(than) } });
const text = (dataset: string) => ({ at: { dataset, run: "4" } });

/** "Learning to Look Harder"; it prints no spreads: those of nats and percent are parameters. */
export function language(spread: { readonly loss: number; readonly speed: number }): Paper {
  const losses = [1.161, 1.159, 1.164, 1.157, 1.160];
  const speeds = [726.3, 500.8, 724.7, 725.2, 722.4];
  return {
    prints: {
      metrics: METRICS,
      seedAxis: "seed",
      published: losses.flatMap((value, index) => [
        printed("loss", { run: String(index) }, value),
        printed("speed", { run: String(index) }, speeds[index]!),
      ]),
    },
    claims: claimsOf([
      {
        id: "B1",
        compare: [{ ...text("text8"), printed: -0.0009 }, { ...text("enwik8"), printed: -0.0015 }],
      },
      {
        id: "B2",
        direction: "greater",
        compare: [
          { ...text("tinyshakespeare"), printed: 0.0069 },
          { ...text("gutenberg"), printed: 0.0031 },
        ],
      },
      { id: "B3a", metric: "speed", test: "within", bounds: [-35, -30], compare: [run(1)] },
      { id: "B3b", metric: "speed", test: "equivalence", compare: [run(2), run(3), run(4)] },
      {
        id: "B3c",
        metric: "speed",
        test: "equivalence",
        printed: -0.5,
        compare: [run("4_bypass")],
      },
      { id: "B4", compare: [better(3, 0), better(3, 1), better(3, 2), better(3, 4)] },
      { id: "B5", compare: [better(3, 1), better(3, 2), better(4, 1), better(4, 2)] },
      { id: "B6", compare: [better(3, 2), better(1, 2)] },
    ].map((claim) => ({
      metric: "loss",
      against: { run: "0" },
      direction: "less",
      printed: ["B1", "B2"].includes(claim.id) ? undefined : "Table 1",
      ...claim.metric === "speed"
        ? { smallest: 1, tolerance: 5, spread: spread.speed }
        : { smallest: 0.005, tolerance: 0.005, spread: spread.loss },
      statement: claim.id,
      ...claim,
    }))),
  };
}
