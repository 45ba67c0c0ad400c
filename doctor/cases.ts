/**
 * Each operation on inputs drawn at random, with its formula in doubles.
 *
 * @module
 */
import type * as tf from "@tensorflow/tfjs";
import { gelu, relu } from "../models/operations/activation.ts";
import { attention } from "../models/operations/attention.ts";
import { crossEntropy } from "../models/operations/cross_entropy.ts";
import { depthwise } from "../models/operations/depthwise.ts";
import { drop } from "../models/operations/dropout.ts";
import { embedding } from "../models/operations/embedding.ts";
import { join } from "../models/operations/join.ts";
import { layerNorm } from "../models/operations/layer_norm.ts";
import { linear, unembed } from "../models/operations/linear.ts";
import { mix } from "../models/operations/mix.ts";
import { meanPool } from "../models/operations/pooling.ts";
import { rotary } from "../models/operations/rotary.ts";
import { scaleQueries } from "../models/operations/scale_queries.ts";
import { keepFactors } from "../models/kernels/scalar.ts";
import { integers, normal, streamKey } from "../models/random.ts";
import { attentionFormula } from "./attention_formula.ts";
import { crossEntropyFormula, distribution, matrix, normalised, sum } from "./formulas.ts";

/** Numbers of any precision. */
export type Values = ArrayLike<number>;

/** One input of a case. */
export interface Input {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** An operation on some inputs, and its formula. */
export interface Case {
  readonly inputs: readonly Input[];
  readonly run: (...inputs: tf.Tensor[]) => tf.Tensor;
  readonly formula: (...inputs: Values[]) => Float64Array;
  /** The size of what cancels in its gradients, where they may be 0 but for rounding. */
  readonly cancels?: number;
}

/** What a case draws, each draw from a stream of its own. */
export class Draws {
  #drawn = 0;

  constructor(private readonly operation: string, private readonly number: number) {}

  /** A size from 1 to `most`. */
  size(most: number): number {
    if (this.number === 0) return 1;
    const size = this.integers(1, most)[0]! + 1;
    return this.number > 2 || size % 2 === 1 ? size : size - 1;
  }

  integers(count: number, bound: number): Int32Array {
    return Int32Array.from(integers(this.key(), count, bound));
  }

  /** Numbers from N(0, deviation²). */
  input(shape: readonly number[], deviation = 1): Input {
    const size = shape.reduce((product, n) => product * n, 1);
    return { shape, values: normal(this.key(), size, { deviation }) };
  }

  /** Row numbers of up to `most` documents of `least` to 9 rows. */
  offsets(most: number, least: 0 | 1): Int32Array {
    const offsets = [0];
    for (let document = this.size(most); document > 0; document--) {
      offsets.push(offsets.at(-1)! + least + this.integers(1, 10 - least)[0]!);
    }
    // A tensor cannot be empty here.
    if (offsets.at(-1) === 0) offsets.push(1);
    return Int32Array.from(offsets);
  }

  /** The next stream. */
  key() {
    return streamKey(1, `operations/${this.operation}/${this.number}/${this.#drawn++}`);
  }
}

const documentOf = (offsets: Int32Array, row: number) =>
  offsets.findLastIndex((start) => start <= row);

function embeddingCase(draw: Draws, options: { scale?: number; padding?: number }): Case {
  const v = draw.size(40), c = draw.size(20);
  // Ids of even number alone, so that others are never used, and more of them than there are rows.
  const n = v + draw.size(20), ids = draw.integers(n, Math.ceil(v / 2)).map((id) => 2 * id);
  const table = draw.input([v, c]);
  return {
    inputs: [table],
    run: (table) => embedding(table!, ids, options),
    // A row that takes no gradient is a constant.
    formula: (moved) =>
      matrix(n, c, (i, j) =>
        (options.scale ?? 1) *
        (ids[i] === options.padding ? table.values : moved!)[ids[i]! * c + j]!),
  };
}

function linearCase(draw: Draws, biased: boolean): Case {
  const n = draw.size(600), i = draw.size(70), o = draw.size(70);
  const inputs = [draw.input([n, i]), draw.input([i, o]), draw.input([o])];
  return {
    inputs: biased ? inputs : inputs.slice(0, 2),
    run: (x, w, b) => linear(x!, w!, b),
    formula: (x, w, b) =>
      matrix(n, o, (row, k) => (b?.[k] ?? 0) + sum(i, (j) => x![row * i + j]! * w![j * o + k]!)),
  };
}

function mixCase(draw: Draws, o: { gateOfRow: boolean; deviation: number }): Case {
  const n = draw.size(50), c = draw.size(40), gates = o.gateOfRow ? 1 : c;
  return {
    inputs: [draw.input([n, gates], o.deviation), draw.input([n, c]), draw.input([n, c])],
    run: (z, e, p) => mix(z!, e!, p!),
    formula: (z, e, p) =>
      matrix(n, c, (i, j) => {
        const g = 1 / (1 + Math.exp(-z![i * gates + j % gates]!));
        return g * e![i * c + j]! + (1 - g) * p![i * c + j]!;
      }),
  };
}

function scaleQueriesCase(draw: Draws, factorOfRow: boolean): Case {
  const n = draw.size(30), heads = draw.size(6), d = draw.size(12), c = heads * d;
  const groups = factorOfRow ? 1 : heads;
  return {
    inputs: [draw.input([n, 3 * c]), draw.input([n, groups])],
    run: (qkv, factors) => scaleQueries(qkv!, factors!),
    formula: (qkv, factors) =>
      matrix(n, 3 * c, (i, j) => {
        const head = Math.floor(j / d);
        const factor = j < c ? factors![i * groups + (factorOfRow ? 0 : head)]! : 1;
        return factor * qkv![i * 3 * c + j]!;
      }),
  };
}

function layerNormCase(draw: Draws, biased: boolean): Case {
  const n = draw.size(60), c = draw.size(70);
  const inputs = [draw.input([n, c], 3), draw.input([c]), draw.input([c])];
  const none = new Float64Array(c);
  return {
    inputs: biased ? inputs : inputs.slice(0, 2),
    run: (x, gain, bias) => layerNorm(x!, gain!, bias),
    formula: (x, gain, bias = none) => normalised(x!, { n, c, gain: gain!, bias }),
  };
}

function attentionCase(
  draw: Draws,
  o: { causal?: boolean; dropped?: boolean; furthest?: number },
): Case {
  // Each width is a program of its own on a device: two of them, one of whole vec4s.
  const offsets = draw.offsets(6, 1), n = offsets.at(-1)!, heads = draw.size(3);
  const d = draw.size(2) === 1 ? 6 : 8;
  const table = o.furthest === undefined ? [] : [2 * o.furthest + 1];
  const inputs = [
    draw.input([n, 3 * heads * d]),
    ...table.flatMap((rows) => [draw.input([rows, d]), draw.input([rows, d])]),
  ];
  const dropout = o.dropped === true ? { rate: 0.3, key: draw.key() } : undefined;
  const options = { offsets, heads, causal: o.causal === true, dropout };
  const { values: qkv } = inputs[0]!, dy = new Float32Array(n * heads * d);
  return {
    inputs,
    run: (qkv, keys, values) =>
      attention(qkv!, { ...options, relative: keys && values && { keys, values } }),
    formula: (x, keys = new Float64Array(d), values = new Float64Array(d)) => {
      const [a, b, c] = [x!, keys, values].map((t) => Float64Array.from(t));
      return attentionFormula({ ...options, qkv, dy }, { qkv: a!, keys: b!, values: c! }).y;
    },
    // Whoever sees one key alone gives it all its weight.
    cancels: 1,
  };
}

/** The operations of the models, by name. */
export const OPERATIONS: Readonly<Record<string, (draw: Draws) => Case>> = {
  gelu: (draw) => ({
    inputs: [draw.input([draw.size(50), draw.size(70)], 2)],
    run: (x) => gelu(x!),
    formula: (x) => Float64Array.from(x!, (x) => x * distribution(x)),
  }),
  relu: (draw) => {
    const x = draw.input([draw.size(50), draw.size(70)]);
    // Away from 0, where it has no derivative.
    return {
      inputs: [{ ...x, values: x.values.map((x) => x + (x < 0 ? -0.01 : 0.01)) }],
      run: (x) => relu(x!),
      formula: (x) => Float64Array.from(x!, (x) => Math.max(x, 0)),
    };
  },
  embedding: (draw) => embeddingCase(draw, {}),
  "embedding with a scale and a padding row": (draw) =>
    embeddingCase(draw, { scale: 1.7, padding: 0 }),
  depthwise: (draw) => {
    const offsets = draw.offsets(12, 0), n = offsets.at(-1)!, c = draw.size(20);
    const reach = draw.integers(1, 5)[0]!, taps = 2 * reach + 1;
    return {
      inputs: [draw.input([n, c]), draw.input([taps, c])],
      run: (p, w) => depthwise(p!, w!, offsets),
      formula: (p, w) =>
        matrix(n, c, (i, j) =>
          sum(taps, (tap) => {
            const from = i + tap - reach;
            const inside = from >= 0 && from < n &&
              documentOf(offsets, from) === documentOf(offsets, i);
            return inside ? w![tap * c + j]! * p![from * c + j]! : 0;
          })),
    };
  },
  "mean pooling": (draw) => {
    const offsets = draw.offsets(15, 1), c = draw.size(40);
    return {
      inputs: [draw.input([offsets.at(-1)!, c])],
      run: (x) => meanPool(x!, offsets),
      formula: (x) =>
        matrix(offsets.length - 1, c, (d, j) => {
          const start = offsets[d]!, length = offsets[d + 1]! - start;
          return sum(length, (i) => x![(start + i) * c + j]!) / length;
        }),
    };
  },
  rotary: (draw) => {
    const n = draw.size(30), heads = draw.size(5), d = 2 * draw.size(9), c = heads * d;
    const positions = draw.integers(n, 3000);
    return {
      inputs: [draw.input([n, 3 * c])],
      run: (qkv) => rotary(qkv!, { positions, heads }),
      // Su et al. 2021, eq. 34: x cos + (−x₂, x₁, −x₄, x₃, …) sin.
      formula: (qkv) =>
        matrix(n, 3 * c, (i, j) => {
          const x = qkv![i * 3 * c + j]!;
          if (j >= 2 * c) return x;
          const pair = Math.floor(j % d / 2), even = j % 2 === 0;
          const angle = positions[i]! * Math.pow(10000, -2 * pair / d);
          const other = qkv![i * 3 * c + (even ? j + 1 : j - 1)]!;
          return x * Math.cos(angle) + (even ? -other : other) * Math.sin(angle);
        }),
    };
  },
  "mix with a gate a row": (draw) => mixCase(draw, { gateOfRow: true, deviation: 2 }),
  "mix with a gate a feature": (draw) => mixCase(draw, { gateOfRow: false, deviation: 2 }),
  // Some gates are past the range of float32's exponentials.
  "mix with gates open or shut": (draw) => mixCase(draw, { gateOfRow: false, deviation: 60 }),
  "scaled queries with a factor a row": (draw) => scaleQueriesCase(draw, true),
  "scaled queries with a factor a head": (draw) => scaleQueriesCase(draw, false),
  join: (draw) => {
    const n = draw.size(50), a = draw.size(20), b = draw.size(20);
    return {
      inputs: [draw.input([n, a]), draw.input([n, b])],
      run: (x, y) => join(x!, y!),
      formula: (x, y) => matrix(n, a + b, (i, j) => j < a ? x![i * a + j]! : y![i * b + j - a]!),
    };
  },
  linear: (draw) => linearCase(draw, true),
  "linear without a bias": (draw) => linearCase(draw, false),
  unembed: (draw) => {
    const n = draw.size(600), c = draw.size(70), v = draw.size(70);
    return {
      inputs: [draw.input([n, c]), draw.input([v, c])],
      run: (x, table) => unembed(x!, table!),
      formula: (x, table) =>
        matrix(n, v, (i, k) => sum(c, (j) => x![i * c + j]! * table![k * c + j]!)),
    };
  },
  "layer normalisation": (draw) => layerNormCase(draw, true),
  "layer normalisation without a bias": (draw) => layerNormCase(draw, false),
  "cross-entropy": (draw) => {
    const n = draw.size(60), k = draw.size(40), divisor = n + 2;
    const labels = draw.integers(n, k);
    return {
      inputs: [draw.input([n, k], 3)],
      run: (x) => crossEntropy(x!, labels, { divisor }),
      formula: (x) => Float64Array.of(crossEntropyFormula({ labels, k, divisor }, x!).loss),
    };
  },
  dropout: (draw) => {
    const n = draw.size(40), c = draw.size(50), rate = 0.3, key = draw.key();
    const factors = new Float32Array(n * c);
    keepFactors(key, rate, factors);
    return {
      inputs: [draw.input([n, c])],
      run: (x) => drop(x!, { rate, key: () => key }, { use: "x" }),
      formula: (x) => Float64Array.from(factors, (factor, i) => factor * x![i]!),
    };
  },
  attention: (draw) => attentionCase(draw, {}),
  "attention to what precedes": (draw) => attentionCase(draw, { causal: true }),
  "attention with dropout": (draw) => attentionCase(draw, { dropped: true }),
  "attention with relative embeddings": (draw) => attentionCase(draw, { furthest: 3 }),
};
