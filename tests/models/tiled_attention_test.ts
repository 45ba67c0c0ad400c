import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import {
  type AttentionArrays,
  attentionFormula,
  type AttentionWork,
  doubles,
} from "../../doctor/attention_formula.ts";
import { sum } from "../../doctor/formulas.ts";
import type { CheckedBackend } from "../../models/kernels/checked_backend.ts";
import { attention } from "../../models/operations/attention.ts";
import { normal, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn, worstRelative } from "./rig.ts";

const drawn = (name: string, n: number) => normal(streamKey(1, name), n);

/** Output and gradients of the operation: of qkv, and of the relative embeddings if there are any. */
async function computed(o: AttentionWork): Promise<Float32Array[]> {
  const n = o.offsets.at(-1)!, width = o.qkv.length / n, d = width / 3 / o.heads;
  const tensors = tf.tidy(() => {
    const tables = o.keys === undefined ? [] : [o.keys, o.values!];
    const { value, grads } = tf.valueAndGrads((qkv: tf.Tensor, ...tables: tf.Tensor[]) => {
      const [keys, values] = tables as [tf.Tensor?, tf.Tensor?];
      const relative = keys && values && { keys, values };
      return attention(qkv, { ...o, relative });
    })(
      [tf.tensor2d(o.qkv, [n, width]), ...tables.map((x) => tf.tensor2d(x, [x.length / d, d]))],
      tf.tensor2d(o.dy, [n, width / 3]),
    );
    return [value, ...grads];
  });
  const found = await Promise.all(tensors.map(readTensor));
  tf.dispose(tensors);
  return found;
}

interface Case {
  readonly lengths: number[];
  readonly d: number;
  readonly causal?: boolean;
  readonly dropout?: boolean;
  /** K of relative embeddings. */
  readonly furthest?: number | undefined;
}

function work({ lengths, d, causal = false, dropout = false, furthest }: Case): AttentionWork {
  const offsets = [0];
  for (const length of lengths) offsets.push(offsets.at(-1)! + length);
  const heads = d > 32 ? 1 : 2, n = offsets.at(-1)!;
  const table = (name: string) => drawn(name, (2 * furthest! + 1) * d);
  return {
    offsets: Int32Array.from(offsets),
    heads,
    causal,
    dropout: dropout ? { rate: 0.3, key: streamKey(3, "dropout/weights") } : undefined,
    qkv: drawn("qkv", n * 3 * heads * d).map((x) => 2 * x),
    dy: drawn("dy", n * heads * d),
    ...furthest === undefined ? {} : { keys: table("keys"), values: table("values") },
  };
}

function label({ lengths, d, causal, dropout, furthest }: Case): string {
  return `documents of ${lengths}, heads of ${d}${causal ? ", causal" : ""}` +
    `${dropout ? ", dropout" : ""}${furthest === undefined ? "" : `, distances up to ${furthest}`}`;
}

const shapes = [
  { lengths: [1], d: 1 },
  { lengths: [5, 1, 2], d: 3 },
  { lengths: [63, 64, 65], d: 4 },
  { lengths: [131, 7], d: 8 },
  { lengths: [33, 129], d: 18 },
  { lengths: [70, 31], d: 32 },
  { lengths: [97], d: 33 },
  { lengths: [66, 3], d: 64 },
  { lengths: [67], d: 80 },
];
const cases: Case[] = [
  ...shapes.flatMap((shape, i) => [
    { ...shape, dropout: i % 2 === 0 },
    { ...shape, dropout: i % 2 === 1, causal: true },
  ]),
  // A tile of a head this wide has four rows.
  { lengths: [19, 70], d: 132, causal: true, dropout: true },
  { lengths: [1, 2], d: 2, furthest: 0 },
  { lengths: [5, 1, 9], d: 3, furthest: 2, dropout: true },
  { lengths: [130, 3], d: 4, furthest: 1, causal: true },
  { lengths: [65, 131], d: 8, furthest: 16, dropout: true },
  { lengths: [40, 23], d: 6, furthest: 70, causal: true, dropout: true },
  { lengths: [129], d: 33, furthest: 5 },
];

for (const one of cases) {
  testOn(["webgpu"], `tiled attention agrees with doubles: ${label(one)}`, async () => {
    const o = work(one);
    const { y, gradients } = attentionFormula(o);
    const [found, ...slopes] = await computed(o);
    const forward = worstRelative(found!, y);
    assert(forward < 1e-5, `outputs differ by ${forward}`);
    // A table's gradient is a sum of what may cancel, as all of it does at K = 0.
    const size = gradients.qkv.reduce((most, slope) => Math.max(most, Math.abs(slope)), 1e-3);
    Object.entries(gradients).slice(0, slopes.length).forEach(([name, expected], i) => {
      const backward = worstRelative(slopes[i]!, expected, size);
      assert(backward < 1e-4, `gradients of ${name} differ by ${backward}`);
    });
  });
}

testOn(["webgpu"], "tiled attention's gradients are slopes of differences", async () => {
  for (
    const one of [{ lengths: [9, 4], d: 5, furthest: 3, dropout: true }, {
      lengths: [11],
      d: 4,
      furthest: 2,
      causal: true,
    }]
  ) {
    const o = work(one), at = doubles(o);
    const [, ...slopes] = await computed(o);
    (Object.keys(at) as (keyof AttentionArrays)[]).forEach((name, i) => {
      const direction = normal(streamKey(2, name), at[name].length);
      const along = (step: number) => {
        const moved = at[name].map((x, k) => x + step * direction[k]!);
        const { y } = attentionFormula(o, { ...at, [name]: moved });
        return sum(y.length, (k) => y[k]! * o.dy[k]!);
      };
      const expected = (along(1e-5) - along(-1e-5)) / 2e-5;
      const found = sum(direction.length, (k) => slopes[i]![k]! * direction[k]!);
      const size = Math.hypot(...slopes[i]!) * Math.hypot(...direction);
      assert(Math.abs(found - expected) < 1e-5 * size, `${name}: ${found} against ${expected}`);
    });
  }
});

testOn(["webgpu"], "tiled attention gives the same bits twice", async () => {
  const o = work({ lengths: [150, 40], d: 16, causal: true, dropout: true, furthest: 9 });
  assertEquals(await computed(o), await computed(o));
});

for (const furthest of [undefined, 5]) {
  testOn(
    ["webgpu"],
    `tiled attention keeps no weights${
      furthest === undefined ? "" : " by distance either"
    }: memory grows with length, not its square`,
    async () => {
      const held = () => (tf.memory() as unknown as { numBytesInGPU: number }).numBytesInGPU;
      const { device } = tf.backend() as CheckedBackend;
      const original = device.createBuffer;
      let largest = 0;
      Object.defineProperty(device, "createBuffer", {
        value: (descriptor: GPUBufferDescriptor) => {
          largest = Math.max(largest, descriptor.size);
          return original.call(device, descriptor);
        },
        configurable: true,
      });
      const before = held(), t = 700, d = 4;
      await computed(work({ lengths: [t], d, dropout: true, furthest }));
      Object.defineProperty(device, "createBuffer", { value: original, configurable: true });
      // Queries, keys and values, or two sums for each row, head and distance.
      const most = t * 2 * 4 * Math.max(3 * d, 2 * (2 * (furthest ?? 0) + 1));
      // Buffers are made an eighth larger at most, so that lengths share them.
      assert(largest > 0 && largest <= most * 9 / 8, `a buffer of ${largest} bytes`);
      assertEquals(held(), before);
    },
  );
}

testOn(["webgpu"], "tiled attention survives scores that overflow an exponential", async () => {
  const o = work({ lengths: [70], d: 8 });
  const large = { ...o, qkv: o.qkv.map((x) => 30 * x) };
  const [found] = await computed(large);
  assert(worstRelative(found!, attentionFormula(large).y) < 1e-3);
});

testOn(["webgpu"], "heads too wide for a workgroup's memory are refused", () => {
  assertThrows(
    () => tf.tidy(() => attention(tf.zeros([2, 900]), { offsets: Int32Array.of(0, 2), heads: 1 })),
    RangeError,
    "heads must have at most 256 features",
  );
});
