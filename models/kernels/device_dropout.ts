/**
 * Dropout on a device. A mask is computed where it is used, from the key and an element's number.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { PARITY, ROTATIONS, type StreamKey } from "../random.ts";
import { runShader, spread } from "./device.ts";
import { differentiable } from "./host.ts";

/** `drop` of the operations, with its gradient. */
export function deviceDrop(x: tf.Tensor, stream: DropStream): tf.Tensor {
  return differentiable(
    [x],
    () => ({ value: masked(x, stream), keep: [] }),
    (dy) => [masked(dy, stream)],
  );
}

/** Where a tensor's mask comes from. */
interface DropStream {
  readonly key: StreamKey;
  readonly rate: number;
  /** Elements of the stream before the tensor's. */
  readonly from: number;
}

/** x times the factors of `keepFactors`. */
function masked(x: tf.Tensor, { key, rate, from }: DropStream): tf.Tensor {
  // A block of random words serves eight elements: an invocation has one block.
  const blocks = 4 * (Math.ceil((from + x.size) / 32) - Math.floor(from / 32));
  const [y] = runShader({
    name: "dropout",
    code: dropoutCode,
    reads: [x],
    outputs: [x.shape],
    uniforms: [
      { type: "uint32", data: [from] },
      { type: "uint32", data: [from + x.size] },
      ...maskUniforms({ key, rate }),
    ],
    workgroups: spread(Math.ceil(blocks / 64)),
  });
  return y!;
}

function dropoutCode(): string {
  return `
    struct Uniforms { begin : u32, end : u32, ${MASK_FIELDS} };
    @group(0) @binding(0) var<storage, read_write> y : array<f32>;
    @group(0) @binding(1) var<storage, read> x : array<f32>;
    @group(0) @binding(2) var<uniform> uniforms : Uniforms;
    ${threefryCode()}
    @compute @workgroup_size(64)
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(num_workgroups) groups : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let begin = uniforms.begin;
      let block = begin / 32u * 4u + (group.y * groups.x + group.x) * 64u + lane;
      let first = block / 4u * 32u + block % 4u;
      if (first >= uniforms.end) { return; }
      let key = vec4<u32>(uniforms.k0, uniforms.k1, uniforms.k2, uniforms.k3);
      let words = threefry(key, block);
      ${
    ["words.x & 0xffffu", "words.y & 0xffffu", "words.z & 0xffffu", "words.w & 0xffffu"]
      .concat(["words.x >> 16u", "words.y >> 16u", "words.z >> 16u", "words.w >> 16u"])
      .map((bits, i) => `
        if (first + ${4 * i}u >= begin && first + ${4 * i}u < uniforms.end) {
          let at = first + ${4 * i}u - begin;
          y[at] = select(uniforms.factor * x[at], 0.0, (${bits}) < uniforms.limit);
        }`).join("")
  }
    }`;
}

/** Fields of a shader's uniforms that its masks come from. */
export const MASK_FIELDS = "k0 : u32, k1 : u32, k2 : u32, k3 : u32, limit : u32, factor : f32,";

/** Values of {@linkcode MASK_FIELDS}. */
export function maskUniforms({ key, rate }: { key: StreamKey; rate: number }) {
  return [
    ...[...key, Math.round(rate * 65536)].map((n) => ({ type: "uint32", data: [n >>> 0] })),
    { type: "float32", data: [1 / (1 - rate)] },
  ];
}

/** Dropout's choices for elements 32g to 32g + 31 of a stream: bit i is set if 32g + i is kept. */
export function maskCode(): string {
  return `
  ${threefryCode()}
  fn maskOf(key : vec4<u32>, group : u32) -> u32 {
    var mask = 0u;
    for (var block = 0u; block < 4u; block = block + 1u) {
      let words = threefry(key, 4u * group + block);
      let low = vec4<u32>(words.x & 0xffffu, words.y & 0xffffu, words.z & 0xffffu, words.w & 0xffffu);
      let high = vec4<u32>(words.x >> 16u, words.y >> 16u, words.z >> 16u, words.w >> 16u);
      let limit = vec4<u32>(uniforms.limit);
      let places = vec4<u32>(1u, 16u, 256u, 4096u);
      let halves = select(places, vec4<u32>(0u), low < limit) +
        select(places * 65536u, vec4<u32>(0u), high < limit);
      mask = mask | ((halves.x | halves.y | halves.z | halves.w) << block);
    }
    return mask;
  }`;
}

/**
 * Threefry-4x32-20 of counter (counter, 0, 0, 0) in WGSL, written out without loops or indexed
 * arrays: compilers take seconds over those.
 */
function threefryCode(): string {
  const keys = ["key.x", "key.y", "key.z", "key.w", "parity"];
  const half = (to: string, from: string, rotation: number) =>
    `${to} = ${to} + ${from}; ` +
    `${from} = ((${from} << ${rotation}u) | (${from} >> ${32 - rotation}u)) ^ ${to};\n`;
  let rounds = "";
  for (let round = 0; round < 5; round++) {
    const r = ROTATIONS[round & 1]!;
    rounds += half("a", "b", r[0]) + half("c", "d", r[1]) + half("a", "d", r[2]) +
      half("c", "b", r[3]) + half("a", "b", r[4]) + half("c", "d", r[5]) + half("a", "d", r[6]) +
      half("c", "b", r[7]);
    const [k0, k1, k2, k3] = [1, 2, 3, 4].map((i) => keys[(round + i) % 5]!);
    rounds += `a = a + ${k0}; b = b + ${k1}; c = c + ${k2}; d = d + ${k3} + ${round + 1}u;\n`;
  }
  return `
    fn threefry(key : vec4<u32>, counter : u32) -> vec4<u32> {
      let parity = ${PARITY}u ^ key.x ^ key.y ^ key.z ^ key.w;
      var a = key.x + counter;
      var b = key.y; var c = key.z; var d = key.w;
      ${rounds}
      return vec4<u32>(a, b, c, d);
    }`;
}
