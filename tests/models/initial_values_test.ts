import { assert, assertEquals } from "@std/assert";
import { type ClassifierConfig, classifierSpecs } from "../../models/classifier.ts";
import { ENCODINGS, FUSIONS } from "../../models/names.ts";
import { type GptConfig, gptSpecs } from "../../models/gpt.ts";
import { RUNS } from "../../models/intensity_runs.ts";
import { initialValue, type ParameterSpec } from "../../models/parameters.ts";

/** All values the same, uniform on [−b, b], or N(0, σ²). */
type Law = { same: number } | { b: number } | { sigma: number };
type Laws = readonly (readonly [name: RegExp, law: Law])[];

/** Standard errors by which a mean or a variance of values drawn may be off. */
const ERRORS = 4.5;

function assertDrawn(name: string, { values, law }: { values: Float32Array; law: Law }): void {
  if ("same" in law) return assertEquals([...new Set(values)], [law.same], name);
  const n = values.length;
  // A variance's standard error is √((kurtosis − 1) / n) of it.
  const [sigma, kurtosis] = "b" in law ? [law.b / Math.sqrt(3), 9 / 5] : [law.sigma, 3];
  const mean = values.reduce((sum, x) => sum + x / sigma, 0) / n;
  const variance = values.reduce((sum, x) => sum + (x / sigma) ** 2, 0) / n;
  const error = Math.sqrt((kurtosis - 1) / n);
  assert(Math.abs(mean) < ERRORS / Math.sqrt(n), `${name}: mean ${mean} σ`);
  assert(Math.abs(variance - 1) < ERRORS * error, `${name}: variance ${variance} σ²`);
  const largest = values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  if ("b" in law) {
    // All of n values miss the outmost 14/n with probability e⁻¹⁴.
    const near = largest / law.b;
    assert(near < 1 + 1e-7 && near > 1 - 14 / n, `${name}: the largest is ${near} of the bound`);
  } else if (n > 1000) {
    assert(largest > 2 * sigma, `${name}: no uniform law reaches 2 σ, nor do these values`);
  }
}

/** Checks every parameter against the one law that has its name. */
function assertAllDrawn(
  specs: readonly ParameterSpec[],
  { laws, zeros = {} }: { laws: Laws; zeros?: Record<string, number> },
): void {
  for (const spec of specs) {
    const [law, ...others] = laws.filter(([name]) => name.test(spec.name));
    assert(law !== undefined && others.length === 0, `${spec.name}: not one law`);
    const values = initialValue(spec, { seed: 0 });
    const still = zeros[spec.name] ?? 0;
    assert(values.subarray(0, still).every((x) => x === 0), `${spec.name} starts with no zeros`);
    assertDrawn(spec.name, { values: values.subarray(still), law: law[1] });
  }
}

const classifier: ClassifierConfig = {
  fusion: "add",
  gateTaps: 5,
  gateReduce: "none",
  maxDistance: 6,
  encoding: "sinusoidal",
  vocabulary: 300,
  maxLength: 40,
  classes: 7,
  d: 48,
  heads: 4,
  layers: 2,
  dFf: 90,
  activation: "gelu",
};

Deno.test("a classifier starts as PyTorch's modules do", () => {
  // `Linear(i, o)`: weight and bias uniform within 1/√i. `Conv1d`: 1/√taps where each channel is
  // its own group. `MultiheadAttention`: Glorot's √(6/(i + o)) for queries, keys and values as one
  // matrix, no bias at first. `Embedding`: N(0, 1), padding 0. `LayerNorm`: 1 and 0.
  const laws = (fusion: RegExp, fusionLaw: Law): Laws => [
    [/^embedding$/, { sigma: 1 }],
    [/^position\.(learned|relative)$/, { sigma: 1 }],
    [fusion, fusionLaw],
    [/^fusion\.hidden\.(weight|bias)$/, { b: 1 / Math.sqrt(96) }],
    [/\.attention\.in\.weight$/, { b: Math.sqrt(6 / (48 + 144)) }],
    [/\.attention\.out\.weight$/, { b: 1 / Math.sqrt(48) }],
    [/\.attention\.(in|out)\.bias$/, { same: 0 }],
    // Glorot's, for 2 · 6 + 1 distances of 12 features of a head.
    [/\.relative\.(keys|values)$/, { b: Math.sqrt(6 / (13 + 12)) }],
    [/\.norm[12]\.gain$/, { same: 1 }],
    [/\.norm[12]\.bias$/, { same: 0 }],
    [/\.ff1\.(weight|bias)$/, { b: 1 / Math.sqrt(48) }],
    [/\.ff2\.(weight|bias)$/, { b: 1 / Math.sqrt(90) }],
    [/^classifier\.(weight|bias)$/, { b: 1 / Math.sqrt(48) }],
  ];
  const into: Record<string, number> = {
    concat: 96,
    gate_scalar: 96,
    gate_vector: 96,
    gate_mlp: 48,
    mlp: 48,
    gate_cnn: 5,
  };
  for (const fusion of FUSIONS) {
    const specs = classifierSpecs({ ...classifier, fusion });
    const fusionLaw = { b: 1 / Math.sqrt(into[fusion] ?? NaN) };
    assertAllDrawn(specs, {
      laws: laws(/^fusion\.(weight|bias)$/, fusionLaw),
      zeros: { embedding: 48 },
    });
  }
  for (const encoding of ENCODINGS) {
    const specs = classifierSpecs({ ...classifier, encoding });
    assertAllDrawn(specs, { laws: laws(/^none$/, { same: NaN }), zeros: { embedding: 48 } });
  }
});

Deno.test("a language model starts as nanoGPT does, its predictors like the rest", () => {
  const config: GptConfig = {
    vocabulary: 65,
    context: 40,
    d: 96,
    heads: 6,
    layers: 3,
    bypass: false,
  };
  // Six projections write to the residual stream, each smaller by √6.
  const laws: Laws = [
    [/^(embedding|position)$/, { sigma: 0.02 }],
    [/\.attention\.in\.weight$/, { sigma: 0.02 }],
    [/\.ff1\.weight$/, { sigma: 0.02 }],
    [/\.(attention\.out|ff2)\.weight$/, { sigma: 0.02 / Math.sqrt(6) }],
    [/\.intensity\.(position|(hidden|hidden2|out)\.weight)$/, { sigma: 0.02 }],
    [/(^|\.)norm[12]?\.gain$/, { same: 1 }],
  ];
  for (const intensity of RUNS) assertAllDrawn(gptSpecs({ ...config, intensity }), { laws });
});
