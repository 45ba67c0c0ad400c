/**
 * Each operation on each backend against its formula in doubles: values, and gradients against the
 * formula's differences. The formulas are written here, element by element, and share no code with
 * the kernels.
 *
 * @module
 */
import { assert } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import type { BackendName } from "../../models/backend.ts";
import { gelu, relu } from "../../models/operations/activation.ts";
import { depthwise } from "../../models/operations/depthwise.ts";
import { embedding } from "../../models/operations/embedding.ts";
import { linear, unembed } from "../../models/operations/linear.ts";
import { mix } from "../../models/operations/mix.ts";
import { meanPool } from "../../models/operations/pooling.ts";
import { rotary } from "../../models/operations/rotary.ts";
import { scaleQueries } from "../../models/operations/scale_queries.ts";
import { integers, normal, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import fixtures from "../reference/pytorch/portable_math.json" with { type: "json" };
import { testOn, worstRelative } from "./rig.ts";

const BACKENDS: readonly BackendName[] = ["cpu", "wasm", "wasm+fma", "webgpu"];

/** Cases of each operation: the first has sizes of 1, the next two odd ones. */
const CASES = 6;

/** Half the distance over which a formula's difference is taken. */
const STEP = 1e-5;

/** Most pairs of an input's and an output's element for differences along each element alone. */
const MAX_PAIRS = 200_000;

type Values = ArrayLike<number>;

interface Input {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** An operation on some inputs, and its formula. */
interface Case {
  readonly inputs: readonly Input[];
  readonly run: (...inputs: tf.Tensor[]) => tf.Tensor;
  readonly formula: (...inputs: Values[]) => Float64Array;
}

/** What a case draws, each draw from a stream of its own. */
class Draws {
  #drawn = 0;

  constructor(private readonly operation: string, private readonly number: number) {}

  /** A size from 1 to `most`. */
  size(most: number): number {
    if (this.number === 0) return 1;
    const size = this.integers(1, most)[0]! + 1;
    return this.number > 2 || size % 2 === 1 ? size : size - 1;
  }

  integers(count: number, bound: number): Int32Array {
    return Int32Array.from(integers(this.#key(), count, bound));
  }

  /** Numbers from N(0, deviation²). */
  input(shape: readonly number[], deviation = 1): Input {
    const size = shape.reduce((product, n) => product * n, 1);
    return { shape, values: normal(this.#key(), size, { deviation }) };
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

  #key() {
    return streamKey(1, `operations/${this.operation}/${this.number}/${this.#drawn++}`);
  }
}

const sum = (count: number, term: (i: number) => number) => {
  let total = 0;
  for (let i = 0; i < count; i++) total += term(i);
  return total;
};

const matrix = (rows: number, columns: number, element: (i: number, j: number) => number) => {
  const values = new Float64Array(rows * columns);
  for (let i = 0, at = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) values[at++] = element(i, j);
  }
  return values;
};

const density = (x: number) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

/** Φ(x) by its series ½ + φ(x) Σ xⁿ/n!! over odd n, whose terms have one sign. */
function distribution(x: number): number {
  if (Math.abs(x) > 10) return x > 0 ? 1 : 0;
  let term = x, total = 0;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(total); n += 2) {
    total += term;
    term *= x * x / (n + 2);
  }
  return 0.5 + density(x) * total;
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

const OPERATIONS: Readonly<Record<string, (draw: Draws) => Case>> = {
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
};

/** The slope of `weights` · formula in input `which`, along a direction. */
function slope(
  { inputs, formula }: Case,
  o: { weights: Values; which: number; direction: (element: number) => number },
): number {
  const at = (distance: number) =>
    formula(
      ...inputs.map(({ values }, i) =>
        i === o.which
          ? Float64Array.from(values, (x, element) => x + distance * o.direction(element))
          : values
      ),
    );
  const up = at(STEP), down = at(-STEP);
  return sum(up.length, (i) => o.weights[i]! * (up[i]! - down[i]!)) / (2 * STEP);
}

for (const [operation, caseOf] of Object.entries(OPERATIONS)) {
  testOn(BACKENDS, `${operation}: values and slopes are the formula's in doubles`, async () => {
    for (let number = 0; number < CASES; number++) {
      const draw = new Draws(operation, number), one = caseOf(draw);
      const label = one.inputs.map(({ shape }) => `[${shape}]`).join(", ");
      const expected = one.formula(...one.inputs.map(({ values }) => values));
      const { values: weights } = draw.input([expected.length]);
      const { value, grads } = tf.tidy(() => {
        const tensors = one.inputs.map(({ shape, values }) => tf.tensor(values, [...shape]));
        const shape = one.run(...tensors).shape;
        return tf.valueAndGrads(one.run)(tensors, tf.tensor(weights, shape));
      });
      const difference = worstRelative(await readTensor(value), expected);
      assert(difference < 1e-6, `${label}: values differ by ${difference}`);
      for (const [which, gradient] of grads.entries()) {
        const found = await readTensor(gradient), name = `${label}: gradient ${which}`;
        const direction = draw.input([found.length]).values;
        const along = slope(one, { weights, which, direction: (i) => direction[i]! });
        const foundAlong = sum(found.length, (i) => found[i]! * direction[i]!);
        const largest = found.reduce((most, g) => Math.max(most, Math.abs(g)), 1e-3);
        const apart = Math.abs(foundAlong - along) / largest / Math.hypot(...direction);
        assert(apart < 1e-6, `${name}: slopes differ by ${apart}`);
        if (found.length * expected.length > MAX_PAIRS) continue;
        const each = Float64Array.from(
          found,
          (_, element) => slope(one, { weights, which, direction: (i) => i === element ? 1 : 0 }),
        );
        const worst = worstRelative(found, each);
        assert(worst < 1e-5, `${name} differs by ${worst}`);
      }
      tf.dispose([value, grads]);
    }
  });
}

Deno.test("the series of the distribution function agrees with 60-digit arithmetic", () => {
  const worst = Math.max(...fixtures.normalCdf.map(([x, y]) => Math.abs(distribution(x!) - y!)));
  assert(worst < 1e-15, `worst error ${worst}`);
});

testOn(BACKENDS, "gelu and its slope are right in the tails and at the ends", async () => {
  // No farther: the least exponential on wasm is not 0 but 1e-38, which |x| multiplies.
  const far = [0, 1e-30, 5.9, 6, 6.1, 12, 14, 100, 1e4, 1e20].flatMap((x) => [x, -x]);
  const points = Float32Array.from([...fixtures.normalCdf.map(([x]) => x!), ...far]);
  const { value, grad } = tf.tidy(() => {
    const x = tf.tensor1d(points);
    return tf.valueAndGrad(gelu)(x, tf.onesLike(x));
  });
  const values = await readTensor(value), slopes = await readTensor(grad);
  points.forEach((x, i) => {
    const most = x < -3 ? 3e-8 : 1e-6;
    const error = Math.abs(values[i]! - x * distribution(x)) / Math.max(1, x);
    assert(error < most, `gelu(${x}) = ${values[i]}`);
    const slope = distribution(x) + x * density(x);
    assert(Math.abs(slopes[i]! - slope) < most, `gelu'(${x}) = ${slopes[i]}, not ${slope}`);
  });
  tf.dispose([value, grad]);
});
