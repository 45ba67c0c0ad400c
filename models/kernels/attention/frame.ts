/**
 * What the shaders of attention have in common. A workgroup owns {@linkcode OWN} rows of a head, each
 * of its invocations one or two of them, and meets the head's other rows tile by tile.
 *
 * With relative embeddings a score is q·(k + a)/√D and an output Σ p (v + b), a and b being rows of
 * two tables by the clipped distance. Keys at K and beyond share the tables' first or last row, so
 * theirs is one product for each query, and their weights are added up before they meet the row.
 *
 * @module
 */
import type { StreamKey } from "../../random.ts";
import type { Shader } from "../checked_backend.ts";
import { MASK_FIELDS, maskCode, maskUniforms } from "../device_dropout.ts";
import { DistanceCode } from "./distance_code.ts";
import { HeadCode } from "./head_code.ts";

/** Rows that one workgroup owns. */
export const OWN = 64;

/** Most features of a head. */
export const MAX_WIDTH = 256;

/** The memory that every device gives a workgroup, in bytes. */
export const WORKGROUP_BYTES = 16384;

/**
 * Most features of a head of which an invocation has two rows: what it reads of the others is then
 * used twice, and its own up to four vectors for each row still have room in registers.
 */
const MAX_PAIRED_WIDTH = 32;

/** Dropout of weights: each head of each document has a stream, by its number in the batch. */
export interface WeightsDropout {
  readonly rate: number;
  readonly key: StreamKey;
  /** Documents of the batch before the first here; none unless given. */
  readonly before?: number;
}

/** What a shader depends on. */
export interface AttentionTraits {
  /** Features of a head. */
  readonly width: number;
  readonly heads: number;
  readonly causal?: boolean;
  readonly dropout?: WeightsDropout | undefined;
  /** 2K + 1 with relative embeddings, else 0. */
  readonly distances: number;
}

/** Code around a shader's own. Features are bound as `qkv`, `y`, their gradients, `tables`. */
export class AttentionFrame {
  readonly head: HeadCode;
  readonly distance: DistanceCode;
  readonly causal: boolean;
  readonly dropout: boolean;
  /** Rows of an invocation, by number. */
  readonly #rows: readonly number[];
  /** Invocations of a workgroup. */
  readonly lanes: number;

  constructor(readonly traits: AttentionTraits) {
    this.head = new HeadCode(traits.width);
    this.distance = new DistanceCode(this.head, traits.distances > 0);
    this.causal = traits.causal === true;
    this.dropout = (traits.dropout?.rate ?? 0) > 0;
    this.#rows = traits.width <= MAX_PAIRED_WIDTH ? [0, 1] : [0];
    this.lanes = OWN / this.#rows.length;
  }

  shader(
    name: string,
    tensors: Pick<Shader, "changes" | "reads" | "outputs">,
    code: () => string,
  ): Shader {
    const { width, heads, dropout, distances } = this.traits;
    const word = (value: number) => ({ type: "uint32", data: [value] });
    const named = [
      width,
      ...this.causal ? ["causal"] : [],
      ...this.dropout ? ["dropout"] : [],
      ...this.distance.relative ? ["relative"] : [],
    ];
    return {
      name: `${name}.${named.join(".")}`,
      code,
      ...tensors,
      uniforms: [
        word(heads),
        word(heads * width),
        { type: "float32", data: [1 / Math.sqrt(width)] },
        ...this.dropout ? maskUniforms(dropout!) : [],
        ...this.distance.relative ? [word((distances - 1) / 2)] : [],
      ],
      workgroups: [tensors.reads[1]!.shape[0]!, heads, 1],
    };
  }

  bindings(written: string[], read: string[]): string {
    const tensors = [...written, ...read, ...this.distance.relative ? ["tables"] : []];
    const element = (name: string) =>
      name === "tiles"
        ? "vec4<i32>"
        : ["logSums", "shares"].includes(name)
        ? "f32"
        : this.head.element;
    const declared = tensors.map((name, i) =>
      `@group(0) @binding(${i}) var<storage, ${i < written.length ? "read_write" : "read"}> ` +
      `${name} : array<${element(name)}>;`
    );
    return `
      const WIDTH = ${this.head.width}u;
      const PARTS = ${this.head.parts}u;
      struct Uniforms {
        heads : u32, c : u32, scale : f32, ${this.dropout ? MASK_FIELDS : ""}
        ${this.distance.fields}
      };
      ${declared.join("\n")}
      @group(0) @binding(${tensors.length}) var<uniform> uniforms : Uniforms;
      ${this.dropout ? maskCode() : ""}
      ${this.distance.functions}`;
  }

  /** `code` for every row of an invocation. What it declares ends in the row's number. */
  each(code: (row: number) => string): string {
    return this.#rows.map(code).join("\n");
  }

  /** `code` for every vec4 of every row of an invocation. */
  parts(code: (row: number, part: number) => string): string {
    return this.each((r) => this.head.each((i) => code(r, i)));
  }

  /** The rows owned, and where their head's queries lie. Rows past the end read the last one. */
  get start(): string {
    return `
      @compute @workgroup_size(${this.lanes})
      fn main(
        @builtin(workgroup_id) group : vec3<u32>,
        @builtin(local_invocation_index) lane : u32,
      ) {
        let place = tiles[group.x];
        let head = group.y;
        let start = u32(place.x);
        let end = u32(place.y);
        ${
      this.each((r) => `
        let row${r} = u32(place.z) + lane * ${this.#rows.length}u + ${r}u;
        let own${r} = min(row${r}, end - 1u);
        let at${r} = own${r} * 3u * uniforms.c + head * WIDTH;`)
    }
        ${this.distance.when("let LAST = 2u * uniforms.reach;")}
        ${
      this.dropout
        ? `let stride = (end - start + 3u) & 0xfffffffcu;
        let key = vec4<u32>(uniforms.k0, uniforms.k1, uniforms.k2,
          uniforms.k3 ^ (u32(place.w) * uniforms.heads + head));`
        : ""
    }`;
  }

  /** Memory of the workgroup for the keys and values of {@linkcode keyLoop}. */
  get keyTiles(): string {
    const size = this.head.tile(WORKGROUP_BYTES) * this.head.parts;
    return `var<workgroup> keys : array<vec4<f32>, ${size}>;
      var<workgroup> values : array<vec4<f32>, ${size}>;`;
  }

  /**
   * Runs `body` for each row and every key of every tile that the row sees; the key and its value are
   * the vec4s `k` and `v`.
   */
  keyLoop(body: (row: number) => string): string {
    const tile = this.head.tile(WORKGROUP_BYTES);
    const furthest = `row${this.#rows.at(-1)}`;
    return `
        let last = ${this.causal ? `min(end, u32(place.z) + ${OWN}u)` : "end"};
        for (var base = start; base < last; base = base + ${tile}u) {
          workgroupBarrier();
          for (var i = lane; i < ${tile}u * PARTS; i = i + ${this.lanes}u) {
            let other = min(base + i / PARTS, end - 1u) * 3u * uniforms.c + head * WIDTH;
            keys[i] = ${this.head.part("qkv", "other + uniforms.c")};
            values[i] = ${this.head.part("qkv", "other + 2u * uniforms.c")};
          }
          workgroupBarrier();
          ${
      this.dropout
        ? this.each((r) => `
          let element${r} = (own${r} - start) * stride + base - start;
          let masks${r} = vec2<u32>(
            maskOf(key, element${r} / 32u), maskOf(key, element${r} / 32u + 1u));`)
        : ""
    }
          for (var j = 0u; j < min(${tile}u, last - base); j = j + 1u) {
            ${this.causal ? `if (base + j > ${furthest}) { break; }` : ""}
            ${this.head.each((i) => `let k${i} = keys[j * PARTS + ${i}u];`)}
            ${this.head.each((i) => `let v${i} = values[j * PARTS + ${i}u];`)}
            ${
      this.each((r) =>
        `${this.causal ? `if (base + j <= row${r})` : ""} {
              ${
          this.dropout
            ? `let shift = (element${r} & 31u) + j;
              let bit = (select(masks${r}.x, masks${r}.y, shift > 31u) >> (shift & 31u)) & 1u;
              let keep = select(0.0, uniforms.factor, bit == 1u);`
            : ""
        }
              ${this.distance.of(`i32(base + j) - i32(row${r})`)}
              ${body(r)}
            }`
      )
    }
          }
        }`;
  }

  /** `value` times dropout's factor. */
  kept(value: string): string {
    return this.dropout ? `(keep * ${value})` : value;
  }
}
