/**
 * The shaders of {@linkcode deviceAttention}, one workgroup for {@linkcode OWN} rows of a head.
 *
 * With relative embeddings a score is q·(k + a)/√D and an output Σ p (v + b), a and b being rows of
 * two tables by the clipped distance. Keys at K and beyond share the tables' first or last row, so
 * theirs is one product for each query, and their weights are added up before they meet the row.
 *
 * @module
 */
import type * as tf from "@tensorflow/tfjs";
import type { StreamKey } from "../random.ts";
import type { Shader } from "./checked_backend.ts";
import { MASK_FIELDS, maskCode, maskUniforms } from "./device_dropout.ts";
import { DistanceCode } from "./distance_code.ts";
import { HeadCode } from "./head_code.ts";

/** Rows that one workgroup owns. */
export const OWN = 64;

/** Most features of a head. */
export const MOST_WIDE = 256;

/** The memory that every device gives a workgroup, in bytes. */
const WORKGROUP_BYTES = 16384;

/** What a shader depends on, besides the width of heads. */
export interface ShaderOptions {
  readonly heads: number;
  readonly causal?: boolean;
  readonly dropout?: { readonly rate: number; readonly key: StreamKey } | undefined;
}

/** The shaders for heads of one width. Features are bound as `qkv`, `y`, their gradients, `tables`. */
export class AttentionShaders {
  readonly #head: HeadCode;
  readonly #causal: boolean;
  readonly #dropout: boolean;
  readonly #distance: DistanceCode;

  /** @param options.distances 2K + 1 with relative embeddings, else 0. */
  constructor(d: number, readonly options: ShaderOptions & { readonly distances: number }) {
    this.#head = new HeadCode(d);
    this.#causal = options.causal === true;
    this.#dropout = (options.dropout?.rate ?? 0) > 0;
    this.#distance = new DistanceCode(this.#head, options.distances > 0);
  }

  /**
   * Writes y and each row's log Σ exp(scores), [N, H].
   *
   * @param reads qkv, tiles and, with relative embeddings, both tables one after the other.
   */
  forward(reads: tf.Tensor[], outputs: number[][]): Shader {
    const head = this.#head;
    return this.#shader("attention", { reads, outputs }, () => `
      ${this.#bindings(["y", "logSums"], ["qkv", "tiles"])}
      ${this.#keyTiles}
      ${this.#start}
        ${head.each((i) => `let q${i} = ${head.at("qkv", "at", i)} * uniforms.scale;`)}
        ${head.each((i) => `var o${i} = vec4<f32>(0.0);`)}
        ${
      this.#distance.when(`let lowScore = ${this.#distance.dot("q", "keyTable(0u)")};
        let highScore = ${this.#distance.dot("q", "keyTable(LAST)")};
        var low = 0.0;
        var high = 0.0;`)
    }
        var top = -1e30;
        var total = 0.0;
        ${
      this.#keyLoop(`
          var score = ${head.dot((i) => `q${i}`, (i) => `keys[j * PARTS + ${i}u]`)};
          ${
        this.#distance.choose({
          near: `score = score + ${this.#distance.dot("q", "keyTable(distance)")};`,
          low: "score = score + lowScore;",
          high: "score = score + highScore;",
        })
      }
          if (score > top) {
            let shrink = exp(top - score);
            total = total * shrink;
            ${this.#distance.when("low = low * shrink; high = high * shrink;")}
            ${head.each((i) => `o${i} = o${i} * shrink;`)}
            top = score;
          }
          let weight = exp(score - top);
          total = total + weight;
          let used = ${this.#kept("weight")};
          ${head.each((i) => `o${i} = o${i} + used * values[j * PARTS + ${i}u];`)}
          ${
        this.#distance.choose({
          near: this.#distance.add("o", "used", "valueTable(distance)"),
          low: "low = low + used;",
          high: "high = high + used;",
        })
      }`)
    }
        if (row < end) {
          ${
      this.#distance.when(`
          ${this.#distance.add("o", "low", "valueTable(0u)")}
          ${this.#distance.add("o", "high", "valueTable(LAST)")}`)
    }
          let share = 1.0 / total;
          let to = row * uniforms.c + head * WIDTH;
          ${head.each((i) => head.put("y", "to", { i, value: `o${i} * share` }))}
          logSums[row * uniforms.heads + head] = top + log(total);
        }
      }`);
  }

  /**
   * Writes dQ; with relative embeddings also, for each row and distance, the sum of dS over its
   * keys and of the weights after dropout: [2, N × H, 2K + 1].
   */
  queryGradient(reads: tf.Tensor[], outputs: number[][]): Shader {
    const head = this.#head;
    return this.#shader("attentionQueries", { reads, outputs }, () => `
      ${
      this.#bindings(
        ["dqkv", ...this.#distance.relative ? ["shares"] : []],
        ["qkv", "tiles", "dy", "logSums", "y"],
      )
    }
      ${this.#keyTiles}
      ${this.#start}
        let out = own * uniforms.c + head * WIDTH;
        ${head.each((i) => `let q${i} = ${head.at("qkv", "at", i)} * uniforms.scale;`)}
        ${head.each((i) => `let g${i} = ${head.at("dy", "out", i)};`)}
        ${head.each((i) => `var dq${i} = vec4<f32>(0.0);`)}
        let inner = ${head.dot((i) => `g${i}`, (i) => head.at("y", "out", i))};
        let logSum = logSums[own * uniforms.heads + head];
        ${
      this.#distance.when(`
        let lowScore = ${this.#distance.dot("q", "keyTable(0u)")};
        let highScore = ${this.#distance.dot("q", "keyTable(LAST)")};
        let lowSlope = ${this.#distance.dot("g", "valueTable(0u)")};
        let highSlope = ${this.#distance.dot("g", "valueTable(LAST)")};
        let ofKeys = (own * uniforms.heads + head) * (LAST + 1u);
        let ofValues = ofKeys + arrayLength(&shares) / 2u;
        let seen = ${this.#causal ? "row + 1u" : "end"};
        var low = 0.0;
        var high = 0.0;
        var lowUsed = 0.0;
        var highUsed = 0.0;`)
    }
        ${
      this.#keyLoop(`
          var score = ${head.dot((i) => `q${i}`, (i) => `keys[j * PARTS + ${i}u]`)};
          var slope = ${head.dot((i) => `g${i}`, (i) => `values[j * PARTS + ${i}u]`)};
          ${
        this.#distance.choose({
          near: `score = score + ${this.#distance.dot("q", "keyTable(distance)")};
            slope = slope + ${this.#distance.dot("g", "valueTable(distance)")};`,
          low: "score = score + lowScore; slope = slope + lowSlope;",
          high: "score = score + highScore; slope = slope + highSlope;",
        })
      }
          let weight = exp(score - logSum);
          let used = ${this.#kept("weight")};
          let ds = weight * (${this.#kept("slope")} - inner);
          ${head.each((i) => `dq${i} = dq${i} + ds * keys[j * PARTS + ${i}u];`)}
          ${
        this.#distance.choose({
          near: `${this.#distance.add("dq", "ds", "keyTable(distance)")}
            if (row < end) {
              shares[ofKeys + distance] = ds;
              shares[ofValues + distance] = used;
            }`,
          low: "low = low + ds; lowUsed = lowUsed + used;",
          high: "high = high + ds; highUsed = highUsed + used;",
        })
      }`)
    }
        if (row < end) {
          ${this.#distance.when(this.#putShares())}
          ${head.each((i) => head.put("dqkv", "at", { i, value: `dq${i} * uniforms.scale` }))}
        }
      }`);
  }

  /** The shares of distances that many keys have, or none. */
  #putShares(): string {
    return `
          ${this.#distance.add("dq", "low", "keyTable(0u)")}
          ${this.#distance.add("dq", "high", "keyTable(LAST)")}
          for (var distance = 1u; distance < LAST; distance = distance + 1u) {
            let key = row + distance;
            if (key < start + uniforms.reach || key >= seen + uniforms.reach) {
              shares[ofKeys + distance] = 0.0;
              shares[ofValues + distance] = 0.0;
            }
          }
          // Of one distance alone, both ends are one.
          shares[ofKeys + LAST] = high;
          shares[ofValues + LAST] = highUsed;
          shares[ofKeys] = select(low, low + high, LAST == 0u);
          shares[ofValues] = select(lowUsed, lowUsed + highUsed, LAST == 0u);`;
  }

  /** Adds dK and dV to what holds dQ; reads what the gradient of queries does. */
  keyGradient(dqkv: tf.Tensor, reads: tf.Tensor[]): Shader {
    const head = this.#head;
    const tile = head.tile(WORKGROUP_BYTES / 2);
    const first = this.#causal ? "u32(place.z)" : "start";
    return this.#shader("attentionKeys", { changes: [dqkv], reads, outputs: [] }, () => `
      ${this.#bindings(["dqkv"], ["qkv", "tiles", "dy", "logSums", "y"])}
      var<workgroup> queries : array<vec4<f32>, ${tile * head.parts}>;
      var<workgroup> slopes : array<vec4<f32>, ${tile * head.parts}>;
      var<workgroup> logs : array<f32, ${tile}>;
      var<workgroup> inners : array<f32, ${tile}>;
      ${this.#distance.when(`var<workgroup> sides : array<vec4<f32>, ${tile}>;`)}
      ${this.#dropout ? `var<workgroup> masks : array<u32, ${tile * 3}>;` : ""}
      ${this.#start}
        ${head.each((i) => `let k${i} = ${head.at("qkv", "at + uniforms.c", i)};`)}
        ${head.each((i) => `let v${i} = ${head.at("qkv", "at + 2u * uniforms.c", i)};`)}
        ${head.each((i) => `var dk${i} = vec4<f32>(0.0); var dv${i} = vec4<f32>(0.0);`)}
        for (var base = ${first}; base < end; base = base + ${tile}u) {
          workgroupBarrier();
          ${this.#loadQueries(tile)}
          workgroupBarrier();
          for (var j = 0u; j < min(${tile}u, end - base); j = j + 1u) {
            let query = base + j;
            ${this.#causal ? "if (query < row) { continue; }" : ""}
            var score = ${head.dot((i) => `k${i}`, (i) => `queries[j * PARTS + ${i}u]`)};
            var slope = ${head.dot((i) => `v${i}`, (i) => `slopes[j * PARTS + ${i}u]`)};
            ${this.#distance.of("i32(row) - i32(query)")}
            ${
      this.#distance.choose({
        near: `
              score = score + ${this.#distance.dotTile("queries", "keyTable(distance)")};
              slope = slope + ${this.#distance.dotTile("slopes", "valueTable(distance)")};`,
        low: "score = score + sides[j].x; slope = slope + sides[j].z;",
        high: "score = score + sides[j].y; slope = slope + sides[j].w;",
      })
    }
            let weight = exp(uniforms.scale * score - logs[j]);
            ${
      this.#dropout
        ? `let before = (query - start) * stride;
            let element = before + row - start;
            let word = element / 32u - (before + u32(place.z) - start) / 32u;
            let bit = (masks[j * 3u + word] >> (element & 31u)) & 1u;
            let keep = select(0.0, uniforms.factor, bit == 1u);`
        : ""
    }
            let used = ${this.#kept("weight")};
            ${head.each((i) => `dv${i} = dv${i} + used * slopes[j * PARTS + ${i}u];`)}
            let ds = weight * (${this.#kept("slope")} - inners[j]);
            ${head.each((i) => `dk${i} = dk${i} + ds * queries[j * PARTS + ${i}u];`)}
          }
        }
        if (row < end) {
          let to = at + uniforms.c;
          ${head.each((i) => head.put("dqkv", "to", { i, value: `dk${i} * uniforms.scale` }))}
          ${head.each((i) => head.put("dqkv", "to + uniforms.c", { i, value: `dv${i}` }))}
        }
      }`);
  }

  /** Fills the workgroup's memory with what `tile` queries bring, from `base` on. */
  #loadQueries(tile: number): string {
    const head = this.#head;
    return `
          for (var i = lane; i < ${tile}u * PARTS; i = i + ${OWN}u) {
            let other = min(base + i / PARTS, end - 1u);
            queries[i] = ${head.part("qkv", "other * 3u * uniforms.c + head * WIDTH")};
            slopes[i] = ${head.part("dy", "other * uniforms.c + head * WIDTH")};
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
          if (lane < ${tile}u) {
            let j = lane;
            let other = min(base + j, end - 1u);
            let out = other * uniforms.c + head * WIDTH;
            logs[j] = logSums[other * uniforms.heads + head];
            inners[j] = ${
      head.dot((i) => `slopes[j * PARTS + ${i}u]`, (i) => head.at("y", "out", i))
    };
            ${
      this.#distance.when(`
            sides[j] = vec4<f32>(
              ${this.#distance.dotTile("queries", "keyTable(0u)")},
              ${this.#distance.dotTile("queries", "keyTable(LAST)")},
              ${this.#distance.dotTile("slopes", "valueTable(0u)")},
              ${this.#distance.dotTile("slopes", "valueTable(LAST)")});`)
    }
          }`;
  }

  #shader(
    name: string,
    tensors: Pick<Shader, "changes" | "reads" | "outputs">,
    code: () => string,
  ): Shader {
    const { heads, dropout, distances } = this.options;
    const { width } = this.#head;
    const word = (value: number) => ({ type: "uint32", data: [value] });
    const traits = [
      width,
      ...this.#causal ? ["causal"] : [],
      ...this.#dropout ? ["dropout"] : [],
      ...this.#distance.relative ? ["relative"] : [],
    ];
    return {
      name: `${name}.${traits.join(".")}`,
      code,
      ...tensors,
      uniforms: [
        word(heads),
        word(heads * width),
        { type: "float32", data: [1 / Math.sqrt(width)] },
        ...this.#dropout ? maskUniforms(dropout!) : [],
        ...this.#distance.relative ? [word((distances - 1) / 2)] : [],
      ],
      workgroups: [tensors.reads[1]!.shape[0]!, heads, 1],
    };
  }

  #bindings(written: string[], read: string[]): string {
    const tensors = [...written, ...read, ...this.#distance.relative ? ["tables"] : []];
    const element = (name: string) =>
      name === "tiles"
        ? "vec4<i32>"
        : ["logSums", "shares"].includes(name)
        ? "f32"
        : this.#head.element;
    const declared = tensors.map((name, i) =>
      `@group(0) @binding(${i}) var<storage, ${i < written.length ? "read_write" : "read"}> ` +
      `${name} : array<${element(name)}>;`
    );
    return `
      const WIDTH = ${this.#head.width}u;
      const PARTS = ${this.#head.parts}u;
      struct Uniforms {
        heads : u32, c : u32, scale : f32, ${this.#dropout ? MASK_FIELDS : ""}
        ${this.#distance.fields}
      };
      ${declared.join("\n")}
      @group(0) @binding(${tensors.length}) var<uniform> uniforms : Uniforms;
      ${this.#dropout ? maskCode() : ""}
      ${this.#distance.functions}`;
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
        ${this.#distance.when("let LAST = 2u * uniforms.reach;")}
        ${
      this.#dropout
        ? `let stride = (end - start + 3u) & 0xfffffffcu;
        let key = vec4<u32>(uniforms.k0, uniforms.k1, uniforms.k2,
          uniforms.k3 ^ (u32(place.w) * uniforms.heads + head));`
        : ""
    }`;
  }

  /** Runs `body` for every key j of every tile that the row sees. */
  #keyLoop(body: string): string {
    const tile = this.#head.tile(WORKGROUP_BYTES);
    return `
        let last = ${this.#causal ? `min(end, u32(place.z) + ${OWN}u)` : "end"};
        for (var base = start; base < last; base = base + ${tile}u) {
          workgroupBarrier();
          for (var i = lane; i < ${tile}u * PARTS; i = i + ${OWN}u) {
            let other = min(base + i / PARTS, end - 1u) * 3u * uniforms.c + head * WIDTH;
            keys[i] = ${this.#head.part("qkv", "other + uniforms.c")};
            values[i] = ${this.#head.part("qkv", "other + 2u * uniforms.c")};
          }
          workgroupBarrier();
          ${
      this.#dropout
        ? `let element = (own - start) * stride + base - start;
          let masks = vec2<u32>(maskOf(key, element / 32u), maskOf(key, element / 32u + 1u));`
        : ""
    }
          for (var j = 0u; j < min(${tile}u, last - base); j = j + 1u) {
            ${this.#causal ? "if (base + j > row) { break; }" : ""}
            ${
      this.#dropout
        ? `let shift = (element & 31u) + j;
            let bit = (select(masks.x, masks.y, shift > 31u) >> (shift & 31u)) & 1u;
            let keep = select(0.0, uniforms.factor, bit == 1u);`
        : ""
    }
            ${this.#distance.of("i32(base + j) - i32(row)")}
            ${body}
          }
        }`;
  }

  /** Memory of the workgroup for the keys and values of {@linkcode #keyLoop}. */
  get #keyTiles(): string {
    const size = this.#head.tile(WORKGROUP_BYTES) * this.#head.parts;
    return `var<workgroup> keys : array<vec4<f32>, ${size}>;
      var<workgroup> values : array<vec4<f32>, ${size}>;`;
  }

  /** `value` times dropout's factor. */
  #kept(value: string): string {
    return this.#dropout ? `(keep * ${value})` : value;
  }
}
