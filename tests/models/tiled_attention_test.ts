import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import type { CheckedBackend } from "../../models/kernels/checked_backend.ts";
import { keepFactors } from "../../models/kernels/scalar.ts";
import { attention, type AttentionOptions } from "../../models/operations/attention.ts";
import { normal, type StreamKey, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn, worstRelative } from "./rig.ts";

const drawn = (name: string, n: number) => normal(streamKey(1, name), n);

interface Work extends AttentionOptions {
  readonly qkv: Float32Array;
  readonly dy: Float32Array;
}

/** Attention and its gradient in doubles, by the formulas, for one head at a time. */
function reference(o: Work): { y: Float64Array; dqkv: Float64Array } {
  const n = o.offsets.at(-1)!, c = o.qkv.length / n / 3, d = c / o.heads;
  const y = new Float64Array(n * c), dqkv = new Float64Array(n * 3 * c);
  for (let document = 0; document + 1 < o.offsets.length; document++) {
    const start = o.offsets[document]!, t = o.offsets[document + 1]! - start;
    for (let head = 0; head < o.heads; head++) {
      const x = (row: number, part: number, f: number) =>
        (start + row) * 3 * c + part * c + head * d + f;
      const out = (row: number, f: number) => (start + row) * c + head * d + f;
      const sum = (n: number, term: (i: number) => number) => {
        let total = 0;
        for (let i = 0; i < n; i++) total += term(i);
        return total;
      };
      const stride = (t + 3) & ~3;
      const keep = new Float32Array(t * stride).fill(1);
      if (o.dropout !== undefined) {
        const [k0, k1, k2, k3] = o.dropout.key;
        const key: StreamKey = [k0, k1, k2, (k3 ^ (document * o.heads + head)) >>> 0];
        keepFactors(key, o.dropout.rate, keep);
      }
      for (let i = 0; i < t; i++) {
        const sees = o.causal === true ? i + 1 : t;
        const scores = Array.from(
          { length: sees },
          (_, j) => sum(d, (f) => o.qkv[x(i, 0, f)]! * o.qkv[x(j, 1, f)]!) / Math.sqrt(d),
        );
        const top = Math.max(...scores);
        const total = sum(sees, (j) => Math.exp(scores[j]! - top));
        const p = scores.map((score) => Math.exp(score - top) / total);
        const kept = (j: number) => keep[i * stride + j]!;
        const dp = p.map((_, j) => kept(j) * sum(d, (f) => o.dy[out(i, f)]! * o.qkv[x(j, 2, f)]!));
        const inner = sum(sees, (j) => p[j]! * dp[j]!);
        for (let j = 0; j < sees; j++) {
          const ds = p[j]! * (dp[j]! - inner) / Math.sqrt(d);
          for (let f = 0; f < d; f++) {
            y[out(i, f)]! += p[j]! * kept(j) * o.qkv[x(j, 2, f)]!;
            dqkv[x(i, 0, f)]! += ds * o.qkv[x(j, 1, f)]!;
            dqkv[x(j, 1, f)]! += ds * o.qkv[x(i, 0, f)]!;
            dqkv[x(j, 2, f)]! += p[j]! * kept(j) * o.dy[out(i, f)]!;
          }
        }
      }
    }
  }
  return { y, dqkv };
}

async function computed(o: Work): Promise<{ y: Float32Array; dqkv: Float32Array }> {
  const n = o.offsets.at(-1)!, width = o.qkv.length / n;
  const [y, dqkv] = tf.tidy(() => {
    const x = tf.tensor2d(o.qkv, [n, width]);
    const { value, grad } = tf.valueAndGrad((x: tf.Tensor) => attention(x, o))(
      x,
      tf.tensor2d(o.dy, [n, width / 3]),
    );
    return [value, grad];
  });
  const found = { y: await readTensor(y!), dqkv: await readTensor(dqkv!) };
  tf.dispose([y!, dqkv!]);
  return found;
}

function work(lengths: number[], d: number, o: { causal: boolean; dropout: boolean }): Work {
  const offsets = [0];
  for (const length of lengths) offsets.push(offsets.at(-1)! + length);
  const heads = d > 32 ? 1 : 2, n = offsets.at(-1)!;
  return {
    offsets: Int32Array.from(offsets),
    heads,
    causal: o.causal,
    dropout: o.dropout ? { rate: 0.3, key: streamKey(3, "dropout/weights") } : undefined,
    qkv: drawn("qkv", n * 3 * heads * d).map((x) => 2 * x),
    dy: drawn("dy", n * heads * d),
  };
}

const cases = [
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

for (const [index, { lengths, d }] of cases.entries()) {
  for (const causal of [false, true]) {
    const dropout = index % 2 === (causal ? 1 : 0);
    const name = `documents of ${lengths}, heads of ${d}${causal ? ", causal" : ""}${
      dropout ? ", dropout" : ""
    }`;
    testOn(["webgpu"], `tiled attention agrees with doubles: ${name}`, async () => {
      const o = work(lengths, d, { causal, dropout });
      const expected = reference(o);
      const found = await computed(o);
      const forward = worstRelative(found.y, expected.y as unknown as Float32Array);
      assert(forward < 1e-5, `outputs differ by ${forward}`);
      const backward = worstRelative(found.dqkv, expected.dqkv as unknown as Float32Array);
      assert(backward < 1e-4, `gradients differ by ${backward}`);
    });
  }
}

testOn(["webgpu"], "tiled attention gives the same bits twice", async () => {
  const o = work([150, 40], 16, { causal: true, dropout: true });
  assertEquals(await computed(o), await computed(o));
});

testOn(
  ["webgpu"],
  "tiled attention keeps no weights: memory grows with length, not its square",
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
    await computed(work([t], d, { causal: false, dropout: true }));
    Object.defineProperty(device, "createBuffer", { value: original, configurable: true });
    assert(largest > 0 && largest <= t * 3 * 2 * d * 4, `a buffer of ${largest} bytes`);
    assertEquals(held(), before);
  },
);

testOn(["webgpu"], "tiled attention survives scores that overflow an exponential", async () => {
  const o = work([70], 8, { causal: false, dropout: false });
  const large = { ...o, qkv: o.qkv.map((x) => 30 * x) };
  const found = await computed(large);
  assert(worstRelative(found.y, reference(large).y as unknown as Float32Array) < 1e-3);
});
