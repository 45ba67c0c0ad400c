import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { runHost } from "../../models/kernels/host.ts";
import { type Loops, normalCdf, scalarLoops } from "../../models/kernels/scalar.ts";
import { integers, normal, streamKey, threefry } from "../../models/random.ts";
import fixtures from "../reference/pytorch/portable_math.json" with { type: "json" };
import { testOn, worstRelative } from "./rig.ts";

const BACKENDS = ["cpu", "wasm", "wasm+fma"] as const;

const drawn = (name: string, n: number) => normal(streamKey(1, name), n);

/** Runs `body` with copies of the arrays in the current backend's memory; gives them back. */
function withLoops(
  arrays: Float32Array[],
  body: (arrays: Float32Array[], loops: Loops) => void,
): Float32Array[] {
  const tensors = arrays.map((array) => tf.tensor1d(array));
  const outputs = arrays.map((array) => [array.length]);
  const results = runHost("test", { inputs: tensors, outputs }, (inputs, outputs, _, loops) => {
    outputs.forEach((y, i) => y.set(inputs[i]!));
    body(outputs, loops);
  });
  const values = results.map((x) => x.dataSync().slice() as Float32Array);
  tf.dispose([tensors, results]);
  return values;
}

testOn(BACKENDS, "products are right for any shape, stride and transposition", () => {
  const shapes = [[1, 1, 1], [4, 8, 8], [5, 3, 9], [17, 300, 23], [130, 520, 33], [8, 64, 7]]
    .concat([[9, 7, 16], [13, 263, 17], [4, 6, 8]]);
  for (const [m, k, n] of shapes as [number, number, number][]) {
    for (let variant = 0; variant < 8; variant++) {
      const [aT, bT, accumulate] = [variant & 1, variant & 2, (variant & 4) !== 0];
      const gap = variant === 0 ? 0 : 3;
      const a = drawn("a", (m + gap) * (k + gap)), b = drawn("b", (k + gap) * (n + gap));
      const cRow = n + gap, c = new Float32Array(m * cRow).fill(7);
      const aStrides = aT ? { aRow: 1, aColumn: m + gap } : { aRow: k + gap, aColumn: 1 };
      const bStrides = bT ? { bRow: 1, bColumn: k + gap } : { bRow: n + gap, bColumn: 1 };
      const [, , found] = withLoops([a, b, c], ([a, b, c], loops) => {
        const operands = { a: a!, b: b!, c: c!, ...aStrides, ...bStrides, cRow };
        loops.product({ m, n, k, ...operands, accumulate });
      });
      const expected = Float32Array.from(c);
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let sum = accumulate ? 7 : 0;
          for (let x = 0; x < k; x++) {
            sum += a[i * aStrides.aRow + x * aStrides.aColumn]! *
              b[x * bStrides.bRow + j * bStrides.bColumn]!;
          }
          expected[i * cRow + j] = sum;
        }
      }
      const worst = worstRelative(found!, expected);
      assert(worst < 1e-6, `[${m}, ${k}] × [${k}, ${n}], variant ${variant}: ${worst}`);
      for (let i = 0; i < m; i++) {
        for (let j = n; j < cRow; j++) assertEquals(found![i * cRow + j], 7, "wrote past a row");
      }
    }
  }
});

testOn(BACKENDS, "products of random sizes and strides are those of doubles", () => {
  const draw = (name: string, below: number) => integers(streamKey(2, name), 60, below);
  const [ms, ns, ks] = [draw("m", 140), draw("n", 40), draw("k", 5)];
  const [aSteps, bSteps, kinds] = [draw("a", 3), draw("b", 3), draw("kind", 8)];
  for (let i = 0; i < 60; i++) {
    const m = ms[i]! + 1, n = ns[i]! + 1, k = [0, 1, 7, 61, 300][ks[i]!]!;
    // Numbers of a row, or of a column, lie 1 to 3 apart.
    const strides = (rows: number, columns: number, step: number, turned: boolean) =>
      turned ? [step, rows * step + 1] as const : [columns * step + 1, step] as const;
    const [aRow, aColumn] = strides(m, k, aSteps[i]! + 1, (kinds[i]! & 1) !== 0);
    const [bRow, bColumn] = strides(k, n, bSteps[i]! + 1, (kinds[i]! & 2) !== 0);
    const accumulate = (kinds[i]! & 4) !== 0, cRow = n + 1;
    const a = drawn(`a${i}`, m * aRow + k * aColumn + 1);
    const b = drawn(`b${i}`, k * bRow + n * bColumn + 1);
    const [, , found] = withLoops([a, b, drawn("c", m * cRow)], ([a, b, c], loops) => {
      const operands = { a: a!, aRow, aColumn, b: b!, bRow, bColumn, c: c!, cRow };
      loops.product({ m, n, k, ...operands, accumulate });
    });
    const expected = drawn("c", m * cRow);
    for (let row = 0; row < m; row++) {
      for (let j = 0; j < n; j++) {
        let sum = accumulate ? expected[row * cRow + j]! : 0;
        for (let x = 0; x < k; x++) {
          sum += a[row * aRow + x * aColumn]! * b[x * bRow + j * bColumn]!;
        }
        expected[row * cRow + j] = sum;
      }
    }
    const worst = worstRelative(found!, expected);
    assert(worst < 1e-6, `[${m}, ${k}] × [${k}, ${n}], kind ${kinds[i]}: ${worst}`);
  }
});

Deno.test("the normal distribution function agrees with 60-digit arithmetic", () => {
  const worst = Math.max(...fixtures.normalCdf.map(([x, y]) => Math.abs(normalCdf(x!) - y!)));
  assert(worst < 1e-8, `worst error ${worst}`);
});

testOn(BACKENDS, "gelu is x Φ(x), and its gradient its derivative", () => {
  const points = fixtures.normalCdf.map(([x]) => x!);
  const x = Float32Array.from([...points, -100, 100, 0]);
  const ones = new Float32Array(x.length).fill(1);
  const [, y, , dx] = withLoops([x, ones, ones, ones], ([x, y, dy, dx], loops) => {
    loops.gelu(x!, y!);
    loops.geluGradient(x!, dy!, dx!);
  });
  fixtures.normalCdf.forEach(([at, cdf], i) => {
    assert(Math.abs(y![i]! - at! * cdf!) < 1e-6, `gelu(${at}) = ${y![i]}`);
    const slope = cdf! + at! * Math.exp(-at! * at! / 2) / Math.sqrt(2 * Math.PI);
    assert(Math.abs(dx![i]! - slope) < 1e-6, `gelu'(${at}) = ${dx![i]}`);
  });
  assert(worstRelative(y!.subarray(-3), [0, 100, 0]) < 1e-9);
  assert(worstRelative(dx!.subarray(-3), [0, 1, 0.5]) < 1e-7);
});

testOn(
  BACKENDS,
  "softmax rows sum to 1, survive large scores, clear what lies between",
  () => {
    for (const columns of [1, 3, 4, 5, 16, 37]) {
      const stride = (columns + 3) & ~3, rows = 5;
      const x = drawn("scores", rows * stride);
      for (let i = 0; i < x.length; i++) x[i] = i % stride < columns ? x[i]! * 300 : NaN;
      const [found] = withLoops([x], ([x], loops) => {
        loops.softmax(x!, { rows, columns, stride }, 0.25);
      });
      for (let row = 0; row < rows; row++) {
        const scores = [...x.subarray(row * stride, row * stride + columns)].map((s) => s / 4);
        const top = Math.max(...scores);
        const total = scores.reduce((sum, s) => sum + Math.exp(s - top), 0);
        const expected = scores.map((s) => Math.exp(s - top) / total);
        const worst = worstRelative(
          found!.subarray(row * stride, row * stride + columns),
          expected,
        );
        assert(worst < 2e-6, `${columns} columns: ${worst}`);
        assert(found!.subarray(row * stride + columns, (row + 1) * stride).every((p) => p === 0));
      }
    }
  },
);

testOn(BACKENDS, "a causal softmax row sees the columns up to its own", () => {
  for (const n of [1, 3, 4, 5, 18]) {
    const stride = (n + 3) & ~3;
    const x = drawn("scores", n * stride);
    const [found] = withLoops([x], ([x], loops) => {
      loops.softmax(x!, { rows: n, columns: n, stride, causal: true }, 1);
    });
    for (let row = 0; row < n; row++) {
      const scores = [...x.subarray(row * stride, row * stride + row + 1)];
      const total = scores.reduce((sum, s) => sum + Math.exp(s), 0);
      const expected = Array.from({ length: stride }, (_, j) => j > row ? 0 : Math.exp(scores[j]!));
      const values = found!.subarray(row * stride, (row + 1) * stride);
      assert(worstRelative(values, expected.map((e) => e / total)) < 1e-6);
      assert(values.subarray(row + 1).every((p) => p === 0));
    }
  }
});

testOn(["wasm", "wasm+fma"], "attention and its gradients agree with plain loops", () => {
  const lengths = [1, 3, 4, 9, 37, 70], offsets = [0];
  for (const length of lengths) offsets.push(offsets.at(-1)! + length);
  const n = offsets.at(-1)!, heads = 2, d = 5, c = heads * d, longest = 70, square = longest * 72;
  const zeros = (length: number) => new Float32Array(length);
  for (let variant = 0; variant < 16; variant++) {
    const [causal, drops, relative, kept] = [1, 2, 4, 8].map((bit) => (variant & bit) !== 0);
    const distances = relative ? 7 : 0, tables = distances * d;
    const task = { distances, heads, causal: causal!, offsets: Int32Array.from(offsets) };
    const dropout = drops ? { rate: 0.3, key: streamKey(5, "weights"), first: 6 } : undefined;
    const inputs = [drawn("qkv", n * 3 * c), drawn("keys", tables), drawn("values", tables)];
    const arrays = [
      ...inputs,
      drawn("dy", n * c),
      zeros(n * c),
      zeros(kept ? heads * square * 2 : 0),
    ]
      .concat([zeros(n * 3 * c), drawn("dk", tables), drawn("dv", tables)])
      .concat([square, square, longest * distances, square, longest * distances].map(zeros));
    const body = (arrays: Float32Array[], loops: Loops) => {
      const [qkv, keys, values, dy, y, weights, dx, dKeys] = arrays as Tuple;
      const [dValues, room, used, near, ds, dNear] = arrays.slice(8) as Tuple;
      const work = { weights: room, used, near };
      const tables = relative ? { keys, values } : { keys: undefined, values: undefined };
      const all = { ...task, qkv, ...tables, dropout, work };
      loops.attention(all, { y, weights });
      loops.attentionGradient(all, { weights, dy, ds, dNear }, { dx, dKeys, dValues });
    };
    const expected = arrays.map((array) => array.slice());
    body(expected, scalarLoops);
    const found = withLoops(arrays, body);
    for (const [i, name] of [[4, "y"], [6, "dx"], [7, "dKeys"], [8, "dValues"]] as const) {
      const worst = worstRelative(found[i]!, expected[i]!);
      assert(worst < 2e-6, `${name} of variant ${variant}: ${worst}`);
    }
  }
});

testOn(BACKENDS, "dropout's factors are those of the stream, for any length", () => {
  const key = streamKey(4, "dropout/step.1/x"), rate = 0.3;
  const block = new Uint32Array(4);
  for (const n of [1, 31, 32, 33, 100, 4096]) {
    const [found] = withLoops([new Float32Array(n)], ([out], loops) => {
      loops.keep(key, rate, out!);
    });
    for (let i = 0; i < n; i++) {
      threefry(key, [4 * Math.floor(i / 32) + i % 4, 0, 0, 0], block);
      const word = block[Math.floor(i / 4) % 4]!;
      const bits = i % 32 < 16 ? word & 0xffff : word >>> 16;
      const expected = bits < Math.round(rate * 65536) ? 0 : Math.fround(1 / (1 - rate));
      assertEquals(found![i], expected, `element ${i} of ${n}`);
    }
  }
});

testOn(BACKENDS, "dropout drops its share and keeps the mean", () => {
  const [found] = withLoops([new Float32Array(100_000)], ([out], loops) => {
    loops.keep(streamKey(0, "dropout"), 0.1, out!);
  });
  const dropped = found!.filter((x) => x === 0).length / found!.length;
  assert(Math.abs(dropped - 0.1) < 0.004, `dropped ${dropped}`);
});

testOn(BACKENDS, "elementwise products are right for any length", () => {
  for (const n of [1, 2, 3, 4, 5, 1023]) {
    const a = drawn("a", n), b = drawn("b", n);
    const [, , y] = withLoops([a, b, a], ([a, b, y], loops) => loops.multiply(a!, b!, y!));
    assertEquals([...y!], [...a].map((x, i) => Math.fround(x * b[i]!)));
  }
});

testOn(
  ["wasm", "wasm+fma"],
  "loops in doubles, and sums of rows, have the bits of the plain loops",
  () => {
    for (const [n, c] of [[1, 1], [2, 3], [3, 4], [5, 7], [8, 64], [7, 130]] as const) {
      const x = drawn("x", n * c), gain = drawn("gain", c), bias = drawn("bias", c);
      const rows = new Float32Array(n * c), columns = new Float32Array(c);
      const arrays = [x, gain, bias, rows, rows, new Float32Array(n), drawn("dy", n * c), rows]
        .concat([columns, columns, new Float32Array(4 * c), rows, columns, rows]);
      arrays.push(drawn("m", n * c), drawn("v", n * c).map(Math.abs));
      const body = (arrays: Float32Array[], loops: Loops) => {
        const [x, gain, bias, y, normed, inverse, dy, dx] = arrays as Tuple;
        const [dGain, dBias, sums, filled, sum, bare] = arrays.slice(8) as Tuple;
        const [m, v] = arrays.slice(14) as Tuple;
        loops.layerNorm({ x, gain, epsilon: 1e-5 }, { y: bare, normed, inverse });
        loops.layerNorm({ x, gain, bias, epsilon: 1e-5 }, { y, normed, inverse });
        const from = { normed, inverse, gain, dy };
        loops.layerNormGradient(from, { dx, dGain, dBias, sums });
        loops.fillRows(bias, filled);
        loops.sumOfRows(dy, sum);
        const step = { coupled: 0.01, shrink: 0.99, beta1: 0.9, beta2: 0.999 };
        loops.adam({ p: x, g: dy, m, v }, { ...step, size: 0.01, correction: 0.3, epsilon: 1e-8 });
      };
      const expected = arrays.map((array) => array.slice());
      body(expected, scalarLoops);
      const found = withLoops(arrays, body);
      found.forEach((array, i) => assertEquals(array, expected[i], `array ${i} of [${n}, ${c}]`));
    }
  },
);

testOn(
  ["wasm", "wasm+fma"],
  "probabilities have the bits of the plain loop, for any classes",
  () => {
    for (const [n, k] of [[1, 1], [2, 2], [3, 5], [4, 65], [2, 300]] as const) {
      // Some lie so far below the largest that they count for nothing.
      const z = drawn("z", n * k).map((x) => 60 * x),
        doubles = (n: number) => new Float32Array(2 * n);
      const arrays = [z, z.slice(), doubles(n), doubles(n), doubles(k + 1)];
      const body = (arrays: Float32Array[], loops: Loops) => {
        const [z, p, ...rest] = arrays as Tuple;
        const [tops, totals, powers] = rest.map((x) =>
          new Float64Array(x.buffer, x.byteOffset, x.length / 2)
        ) as [Float64Array, Float64Array, Float64Array];
        loops.probabilities(z, k, { p, tops, totals, powers });
      };
      const expected = arrays.map((array) => array.slice());
      body(expected, scalarLoops);
      const found = withLoops(arrays, body);
      for (const i of [1, 2, 3]) assertEquals(found[i], expected[i], `array ${i} of [${n}, ${k}]`);
      for (let row = 0; row < n; row++) {
        const sum = expected[1]!.subarray(row * k, (row + 1) * k).reduce((a, b) => a + b);
        assert(Math.abs(sum - 1) < 1e-6);
      }
    }
  },
);

testOn(BACKENDS, "adding what dropout leaves is the product with its factors, added", () => {
  const key = streamKey(4, "dropout/step.1/x"), rate = 0.3;
  for (const [n, from] of [[1, 0], [31, 5], [33, 32], [200, 17]] as const) {
    const x = drawn("x", n), h = drawn("h", n);
    const [, , y, factors] = withLoops([x, h, x, x], ([x, h, y, factors], loops) => {
      loops.addDropped({ x: x!, h: h!, y: y! }, { key, rate, from });
      loops.keep(key, rate, factors!, from);
    });
    const expected = x.map((value, i) => Math.fround(value + Math.fround(h[i]! * factors![i]!)));
    assertEquals(y, expected);
  }
});

type Tuple = [
  Float32Array,
  Float32Array,
  Float32Array,
  Float32Array,
  Float32Array,
  Float32Array,
  Float32Array,
  Float32Array,
];
