/**
 * Attention on a device without its weights in memory: each invocation keeps one row and meets the
 * other rows tile by tile, in a fixed order and without atomics.
 *
 * Dao et al. 2022, "FlashAttention", algorithms 1 and 4, with the gradient in two kernels: one owns
 * queries and gives dQ, the other owns keys and gives dK and dV.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { StreamKey } from "../random.ts";
import type { Shader } from "./checked_backend.ts";
import { runShader, threefryCode } from "./device.ts";
import { differentiable } from "./host.ts";

/** Widest head: its tiles fit the memory that every device gives a workgroup. */
export const MOST_TILED = 128;

/** Rows that one workgroup owns. */
const OWN = 64;

/** As `AttentionOptions`, without relative embeddings. */
export interface TiledOptions {
  readonly offsets: Int32Array;
  readonly heads: number;
  readonly causal?: boolean;
  readonly dropout?: { readonly rate: number; readonly key: StreamKey } | undefined;
}

/**
 * softmax(QKᵀ/√D)V within each document; see `attention`.
 *
 * @param qkv float32 [N, 3C], C = heads × D, D ≤ {@linkcode MOST_TILED}.
 * @returns float32 [N, C].
 */
export function tiledAttention(qkv: tf.Tensor, options: TiledOptions): tf.Tensor2D {
  const { heads } = options;
  const n = qkv.shape[0]!, c = qkv.shape[1]! / 3;
  const kernels = new Kernels(c / heads, options);
  return differentiable<tf.Tensor2D>(
    [qkv],
    () => {
      const tiles = tileTable(options.offsets);
      const [y, logSums] = runShader(kernels.forward([qkv, tiles], [[n, c], [n, heads]]));
      return { value: y!, keep: [qkv, tiles, y!, logSums!] };
    },
    (dy, [qkv, tiles, y, logSums]) => {
      const shapes = [[n, 3 * c], [n, heads]];
      const rows = [qkv!, tiles!, dy, logSums!];
      const [dqkv, along] = runShader(kernels.queryGradient([...rows, y!], shapes));
      runShader(kernels.keyGradient(dqkv!, [...rows, along!]));
      along!.dispose();
      return [dqkv!];
    },
  );
}

/** First and last row of a document (exclusive), first row owned, the document's number: [G, 4]. */
function tileTable(offsets: Int32Array): tf.Tensor {
  const tiles: number[] = [];
  for (let document = 0; document + 1 < offsets.length; document++) {
    const start = offsets[document]!, end = offsets[document + 1]!;
    for (let first = start; first < end; first += OWN) tiles.push(start, end, first, document);
  }
  return tf.tensor2d(Int32Array.from(tiles), [tiles.length / 4, 4], "int32");
}

/** The shaders for one head width; code is written for it, sums and loads spelt out. */
class Kernels {
  /** vec4s of a head's features; the last is filled up with zeros. */
  readonly #parts: number;
  readonly #whole: boolean;
  readonly #causal: boolean;
  readonly #dropout: boolean;

  constructor(readonly d: number, readonly options: TiledOptions) {
    this.#parts = Math.ceil(d / 4);
    this.#whole = d % 4 === 0;
    this.#causal = options.causal === true;
    this.#dropout = (options.dropout?.rate ?? 0) > 0;
  }

  /** Writes y and each row's log Σ exp(scores), [N, H]. */
  forward(reads: tf.Tensor[], outputs: number[][]): Shader {
    const tile = this.d <= 64 ? 32 : 16;
    return this.#shader("attention", { reads, outputs }, () => `
      ${this.#bindings(["y", "logSums"], ["qkv", "tiles"])}
      var<workgroup> keys : array<vec4<f32>, ${tile * this.#parts}>;
      var<workgroup> values : array<vec4<f32>, ${tile * this.#parts}>;
      ${this.#start}
        ${this.#each((i) => `let q${i} = ${this.#at("qkv", "at", i)} * uniforms.scale;`)}
        ${this.#each((i) => `var o${i} = vec4<f32>(0.0);`)}
        var top = -1e30;
        var total = 0.0;
        ${
      this.#keyLoop(
        tile,
        `
          let score = ${this.#dot((i) => `q${i}`, (i) => `keys[j * PARTS + ${i}u]`)};
          if (score > top) {
            let shrink = exp(top - score);
            total = total * shrink;
            ${this.#each((i) => `o${i} = o${i} * shrink;`)}
            top = score;
          }
          let weight = exp(score - top);
          total = total + weight;
          ${this.#ifKept(this.#each((i) => `o${i} = o${i} + weight * values[j * PARTS + ${i}u];`))}
        `,
      )
    }
        if (row < end) {
          let share = ${this.#dropout ? "uniforms.factor" : "1.0"} / total;
          let to = row * uniforms.c + head * WIDTH;
          ${this.#each((i) => this.#put("y", "to", i, `o${i} * share`))}
          logSums[row * uniforms.heads + head] = top + log(total);
        }
      }`);
  }

  /** Writes dQ and each row's Σⱼ P dP = dO·O, [N, H]. */
  queryGradient(reads: tf.Tensor[], outputs: number[][]): Shader {
    const tile = this.d <= 64 ? 32 : 16;
    return this.#shader("attentionQueries", { reads, outputs }, () => `
      ${this.#bindings(["dqkv", "along"], ["qkv", "tiles", "dy", "logSums", "y"])}
      var<workgroup> keys : array<vec4<f32>, ${tile * this.#parts}>;
      var<workgroup> values : array<vec4<f32>, ${tile * this.#parts}>;
      ${this.#start}
        let out = own * uniforms.c + head * WIDTH;
        ${this.#each((i) => `let q${i} = ${this.#at("qkv", "at", i)} * uniforms.scale;`)}
        ${this.#each((i) => `let g${i} = ${this.#at("dy", "out", i)};`)}
        ${this.#each((i) => `var dq${i} = vec4<f32>(0.0);`)}
        let inner = ${this.#dot((i) => `g${i}`, (i) => this.#at("y", "out", i))};
        let logSum = logSums[own * uniforms.heads + head];
        ${
      this.#keyLoop(
        tile,
        `
          let score = ${this.#dot((i) => `q${i}`, (i) => `keys[j * PARTS + ${i}u]`)};
          var slope = 0.0;
          ${
          this.#ifKept(
            `slope = ${this.#factor}${
              this.#dot((i) => `g${i}`, (i) => `values[j * PARTS + ${i}u]`)
            };`,
          )
        }
          let ds = exp(score - logSum) * (slope - inner);
          ${this.#each((i) => `dq${i} = dq${i} + ds * keys[j * PARTS + ${i}u];`)}
        `,
      )
    }
        if (row < end) {
          ${this.#each((i) => this.#put("dqkv", "at", i, `dq${i} * uniforms.scale`))}
          along[row * uniforms.heads + head] = inner;
        }
      }`);
  }

  /** Adds dK and dV to what holds dQ. */
  keyGradient(dqkv: tf.Tensor, reads: tf.Tensor[]): Shader {
    const tile = this.d <= 32 ? 32 : this.d <= 64 ? 16 : 8;
    const first = this.#causal ? "u32(place.z)" : "start";
    return this.#shader("attentionKeys", { changes: [dqkv], reads, outputs: [] }, () => `
      ${this.#bindings(["dqkv"], ["qkv", "tiles", "dy", "logSums", "along"])}
      var<workgroup> queries : array<vec4<f32>, ${tile * this.#parts}>;
      var<workgroup> slopes : array<vec4<f32>, ${tile * this.#parts}>;
      ${this.#dropout ? `var<workgroup> masks : array<u32, ${tile * 3}>;` : ""}
      ${this.#start}
        ${this.#each((i) => `let k${i} = ${this.#at("qkv", "at + uniforms.c", i)};`)}
        ${this.#each((i) => `let v${i} = ${this.#at("qkv", "at + 2u * uniforms.c", i)};`)}
        ${this.#each((i) => `var dk${i} = vec4<f32>(0.0); var dv${i} = vec4<f32>(0.0);`)}
        for (var base = ${first}; base < end; base = base + ${tile}u) {
          workgroupBarrier();
          for (var i = lane; i < ${tile}u * PARTS; i = i + ${OWN}u) {
            let other = min(base + i / PARTS, end - 1u);
            queries[i] = ${this.#part("qkv", "other * 3u * uniforms.c + head * WIDTH")};
            slopes[i] = ${this.#part("dy", "other * uniforms.c + head * WIDTH")};
          }
          ${
      this.#dropout
        ? `for (var i = lane; i < ${tile * 3}u; i = i + ${OWN}u) {
                 let element = (base + i / 3u - start) * stride + u32(place.z) - start;
                 masks[i] = maskOf(key, element / 32u + i % 3u);
               }`
        : ""
    }
          workgroupBarrier();
          for (var j = 0u; j < min(${tile}u, end - base); j = j + 1u) {
            let query = base + j;
            ${this.#causal ? "if (query < row) { continue; }" : ""}
            let score = uniforms.scale *
              (${this.#dot((i) => `k${i}`, (i) => `queries[j * PARTS + ${i}u]`)});
            let weight = exp(score - logSums[query * uniforms.heads + head]);
            var slope = 0.0;
            ${
      this.#dropout
        ? `let before = (query - start) * stride;
                 let element = before + row - start;
                 let word = element / 32u - (before + u32(place.z) - start) / 32u;
                 let bit = (masks[j * 3u + word] >> (element & 31u)) & 1u;`
        : ""
    }
            ${
      this.#ifKept(`
              slope = ${this.#factor}${
        this.#dot((i) => `v${i}`, (i) => `slopes[j * PARTS + ${i}u]`)
      };
              let used = ${this.#factor}weight;
              ${this.#each((i) => `dv${i} = dv${i} + used * slopes[j * PARTS + ${i}u];`)}`)
    }
            let ds = weight * (slope - along[query * uniforms.heads + head]);
            ${this.#each((i) => `dk${i} = dk${i} + ds * queries[j * PARTS + ${i}u];`)}
          }
        }
        if (row < end) {
          ${this.#each((i) => this.#put("dqkv", "at + uniforms.c", i, `dk${i} * uniforms.scale`))}
          ${this.#each((i) => this.#put("dqkv", "at + 2u * uniforms.c", i, `dv${i}`))}
        }
      }`);
  }

  #shader(
    name: string,
    tensors: Pick<Shader, "changes" | "reads" | "outputs">,
    code: () => string,
  ): Shader {
    const { heads, dropout } = this.options;
    const word = (value: number) => ({ type: "uint32", data: [value >>> 0] });
    const float = (value: number) => ({ type: "float32", data: [value] });
    const rate = dropout?.rate ?? 0;
    const traits = [this.d, ...this.#causal ? ["causal"] : [], ...this.#dropout ? ["dropout"] : []];
    return {
      name: `${name}.${traits.join(".")}`,
      code,
      ...tensors,
      uniforms: [
        word(heads),
        word(heads * this.d),
        float(1 / Math.sqrt(this.d)),
        ...(this.#dropout
          ? [
            ...dropout!.key.map(word),
            word(Math.round(rate * 65536)),
            float(1 / (1 - rate)),
          ]
          : []),
      ],
      workgroups: [tensors.reads[1]!.shape[0]!, heads, 1],
    };
  }

  #bindings(written: string[], read: string[]): string {
    const element = (name: string) =>
      name === "tiles"
        ? "vec4<i32>"
        : ["qkv", "dqkv", "y", "dy"].includes(name) && this.#whole
        ? "vec4<f32>"
        : "f32";
    const tensors = [...written, ...read].map((name, i) =>
      `@group(0) @binding(${i}) var<storage, ${i < written.length ? "read_write" : "read"}> ` +
      `${name} : array<${element(name)}>;`
    );
    const dropout = "k0 : u32, k1 : u32, k2 : u32, k3 : u32, limit : u32, factor : f32,";
    return `
      const WIDTH = ${this.d}u;
      const PARTS = ${this.#parts}u;
      struct Uniforms { heads : u32, c : u32, scale : f32, ${this.#dropout ? dropout : ""} };
      ${tensors.join("\n")}
      @group(0) @binding(${tensors.length}) var<uniform> uniforms : Uniforms;
      ${this.#dropout ? maskCode() : ""}`;
  }

  /** The row owned, and where its head's queries lie. Rows past the end read the last one. */
  get #start(): string {
    return `
      @compute @workgroup_size(${OWN})
      fn main(
        @builtin(workgroup_id) group : vec3<u32>,
        @builtin(local_invocation_index) lane : u32,
      ) {
        let place = tiles[group.x];
        let head = group.y;
        let start = u32(place.x);
        let end = u32(place.y);
        let row = u32(place.z) + lane;
        let own = min(row, end - 1u);
        let at = own * 3u * uniforms.c + head * WIDTH;
        ${
      this.#dropout
        ? `let stride = (end - start + 3u) & 0xfffffffcu;
             let key = vec4<u32>(uniforms.k0, uniforms.k1, uniforms.k2,
               uniforms.k3 ^ (u32(place.w) * uniforms.heads + head));`
        : ""
    }`;
  }

  /** Runs `body` for every key j of every tile that the row sees. */
  #keyLoop(tile: number, body: string): string {
    return `
      let last = ${this.#causal ? `min(end, u32(place.z) + ${OWN}u)` : "end"};
      for (var base = start; base < last; base = base + ${tile}u) {
        workgroupBarrier();
        for (var i = lane; i < ${tile}u * PARTS; i = i + ${OWN}u) {
          let other = min(base + i / PARTS, end - 1u) * 3u * uniforms.c + head * WIDTH;
          keys[i] = ${this.#part("qkv", "other + uniforms.c")};
          values[i] = ${this.#part("qkv", "other + 2u * uniforms.c")};
        }
        workgroupBarrier();
        ${
      this.#dropout
        ? `let element = (own - start) * stride + base - start;
             let low = maskOf(key, element / 32u);
             let high = maskOf(key, element / 32u + 1u);`
        : ""
    }
        for (var j = 0u; j < min(${tile}u, last - base); j = j + 1u) {
          ${this.#causal ? "if (base + j > row) { break; }" : ""}
          ${
      this.#dropout
        ? `let shift = (element & 31u) + j;
               let bit = (select(low, high, shift > 31u) >> (shift & 31u)) & 1u;`
        : ""
    }
          ${body}
        }
      }`;
  }

  #ifKept(code: string): string {
    return this.#dropout ? `if (bit == 1u) { ${code} }` : code;
  }

  get #factor(): string {
    return this.#dropout ? "uniforms.factor * " : "";
  }

  #each(code: (part: number) => string): string {
    return Array.from({ length: this.#parts }, (_, i) => code(i)).join("\n");
  }

  #dot(a: (part: number) => string, b: (part: number) => string): string {
    const parts = Array.from({ length: this.#parts }, (_, i) => `dot(${a(i)}, ${b(i)})`);
    return `(${parts.join(" + ")})`;
  }

  /** vec4 number `i` of the head that starts at element `at`. */
  #at(tensor: string, at: string, i: number): string {
    if (this.#whole) return `${tensor}[(${at}) / 4u + ${i}u]`;
    const lanes = [0, 1, 2, 3].map((lane) => 4 * i + lane);
    return `vec4<f32>(${
      lanes.map((f) => f < this.d ? `${tensor}[${at} + ${f}u]` : "0.0").join(", ")
    })`;
  }

  #put(tensor: string, at: string, i: number, value: string): string {
    if (this.#whole) return `${tensor}[(${at}) / 4u + ${i}u] = ${value};`;
    const lanes = ["x", "y", "z", "w"].slice(0, Math.min(4, this.d - 4 * i));
    return lanes.map((lane, k) => `${tensor}[${at} + ${4 * i + k}u] = (${value}).${lane};`)
      .join("\n");
  }

  /** vec4 number `i % PARTS` of the head that starts at element `at`. */
  #part(tensor: string, at: string): string {
    if (this.#whole) return `${tensor}[(${at}) / 4u + i % PARTS]`;
    const feature = (lane: number) => `4u * (i % PARTS) + ${lane}u`;
    return `vec4<f32>(${
      [0, 1, 2, 3].map((lane) =>
        `select(0.0, ${tensor}[${at} + min(${feature(lane)}, WIDTH - 1u)], ` +
        `${feature(lane)} < WIDTH)`
      ).join(", ")
    })`;
  }
}

/** Dropout's choices for elements 32g to 32g + 31 of a stream: bit i is set if 32g + i is kept. */
function maskCode(): string {
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
