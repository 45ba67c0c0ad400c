/**
 * What an optimizer does on a device: as many parameters in one dispatch as it can bind.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { CheckedBackend, Shader } from "./checked_backend.ts";
import { runDevice, runShader, spread, totalOf } from "./device.ts";

/** Invocations of a workgroup. */
const LANES = 64;

/** A parameter, its gradient and moments, and what differs between parameters. */
export interface AdamParameter {
  readonly p: tf.Tensor;
  readonly g: tf.Tensor;
  readonly m: tf.Tensor;
  readonly v: tf.Tensor;
  /** Weight decay added to the gradient. */
  readonly coupled: number;
  /** Factor of the weight. */
  readonly shrink: number;
}

/** Constants of one step of Adam; see `optimizerStep`. */
export interface AdamConstants {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** Step size, √(1 − β₂ᵗ). */
  readonly size: number;
  readonly correction: number;
}

/** One step of some parameters, changing them and their moments in place. */
export function deviceAdam(parameters: readonly AdamParameter[], o: AdamConstants): void {
  const constants = {
    held1: o.beta1,
    fresh1: 1 - o.beta1,
    held2: o.beta2,
    fresh2: 1 - o.beta2,
    step: o.size,
    correction: o.correction,
    epsilon: o.epsilon,
  };
  for (const some of boundTogether(parameters, { each: 4, besides: 0 })) {
    const blocks = new Blocks(some.map(({ p }) => p), LANES);
    runShader({
      name: `adam.${some.length}`,
      code: () => adamCode(some.length, { constants: Object.keys(constants), blocks }),
      changes: some.flatMap(({ p, m, v }) => [p, m, v]),
      reads: some.map(({ g }) => g),
      outputs: [],
      uniforms: [
        ...[...Object.values(constants), ...some.flatMap((one) => [one.coupled, one.shrink])]
          .map((x) => ({ type: "float32", data: [x] })),
        ...blocks.uniforms,
      ],
      workgroups: spread(blocks.count),
    });
  }
}

function adamCode(count: number, o: { constants: string[]; blocks: Blocks }): string {
  const tensors = {
    written: names("", count).flatMap((n) => [`p${n}`, `m${n}`, `v${n}`]),
    read: names("g", count),
  };
  const floats = [
    ...o.constants,
    ...names("", count).flatMap((n) => [`coupled${n}`, `shrink${n}`]),
  ];
  return `
    struct Uniforms { ${floats.map((name) => `${name} : f32, `).join("")} ${o.blocks.fields} };
    ${declarations(tensors)}
    ${
    perElement(count, (n) => `
          let d = g${n}[i] + uniforms.coupled${n} * p${n}[i];
          let first = uniforms.held1 * m${n}[i] + uniforms.fresh1 * d;
          let second = uniforms.held2 * v${n}[i] + uniforms.fresh2 * d * d;
          m${n}[i] = first;
          v${n}[i] = second;
          let root = sqrt(second) / uniforms.correction + uniforms.epsilon;
          p${n}[i] = uniforms.shrink${n} * p${n}[i] - uniforms.step * first / root;`)
  }`;
}

/** The entry point: `code(n)` for block `own` of tensor n, in the workgroups up to `end<n>`. */
function entry(
  count: number,
  code: (tensor: number) => string,
  { first, last } = { first: "", last: "" },
): string {
  const branches = Array.from({ length: count }, (_, n) => `
      if (block < uniforms.end${n}) {
        let own = block - ${n === 0 ? "0u" : `uniforms.end${n - 1}`};
        ${code(n)}
      }`);
  return `
    @compute @workgroup_size(${LANES})
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(num_workgroups) groups : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let block = group.y * groups.x + group.x;
      ${first}
      ${branches.join(" else ")}
      ${last}
    }`;
}

/** The entry point: `code(n)` for element `i` of tensor n. */
function perElement(count: number, code: (tensor: number) => string): string {
  return entry(count, (n) => `
        let i = own * ${LANES}u + lane;
        if (i < uniforms.size${n}) { ${code(n)} }`);
}

/**
 * Scales all gradients in place by min(1, limit / (norm + 1e-6)), norm being that of all of them
 * together.
 */
export function deviceClip(gradients: readonly tf.Tensor[], limit: number): void {
  const scale = tf.tidy(() => clipFactor(gradients, limit));
  for (const some of boundTogether(gradients, { each: 1, besides: 1 })) {
    const blocks = new Blocks(some, LANES);
    runShader({
      name: `clip.${some.length}`,
      code: () => `
        ${declarations({ written: names("g", some.length), read: ["scale"] })}
        struct Uniforms { ${blocks.fields} };
        ${perElement(some.length, (n) => `g${n}[i] = g${n}[i] * scale[0];`)}`,
      changes: some,
      reads: [scale],
      outputs: [],
      uniforms: blocks.uniforms,
      workgroups: spread(blocks.count),
    });
  }
  scale.dispose();
}

/** min(1, limit / (norm + 1e-6)), [1]. */
function clipFactor(gradients: readonly tf.Tensor[], limit: number): tf.Tensor {
  const squares = boundTogether(gradients, { each: 1, besides: 1 }).map(blockSquares);
  return runDevice("clipFactor", {
    inputs: { squares: totalOf(squares.length === 1 ? squares[0]! : tf.concat(squares)) },
    output: [1],
    floats: { limit },
    element: "setOutputAtIndex(index, min(1.0, uniforms.limit / (sqrt(squares[0]) + 1e-6)));",
  });
}

/** Elements of which a workgroup adds the squares. */
const SQUARES = 64 * LANES;

/** Sums of squares of each block of each tensor, [blocks]. */
function blockSquares(some: readonly tf.Tensor[]): tf.Tensor {
  const blocks = new Blocks(some, SQUARES);
  const [sums] = runShader({
    name: `squares.${some.length}`,
    code: () => `
      ${declarations({ written: ["sums"], read: names("g", some.length) })}
      struct Uniforms { ${blocks.fields} };
      var<workgroup> parts : array<f32, ${LANES}>;
      ${
      entry(
        some.length,
        (n) => `
        let end = min((own + 1u) * ${SQUARES}u, uniforms.size${n});
        for (var i = own * ${SQUARES}u + lane; i < end; i = i + ${LANES}u) {
          part = part + g${n}[i] * g${n}[i];
        }`,
        {
          first: "var part = 0.0;",
          last: `
      parts[lane] = part;
      for (var half = ${LANES / 2}u; half > 0u; half = half / 2u) {
        workgroupBarrier();
        if (lane < half) { parts[lane] = parts[lane] + parts[lane + half]; }
      }
      if (lane == 0u && block < uniforms.end${some.length - 1}) { sums[block] = parts[0]; }`,
        },
      )
    }`,
    reads: some,
    outputs: [[blocks.count]],
    uniforms: blocks.uniforms,
    workgroups: spread(blocks.count),
  });
  return sums!;
}

/** How tensors are cut into blocks of `size` elements, one block a workgroup. */
class Blocks {
  /** Fields of the uniforms: each tensor's elements, and the blocks up to its last. */
  readonly fields: string;
  readonly uniforms: Shader["uniforms"];
  readonly count: number;

  constructor(tensors: readonly tf.Tensor[], size: number) {
    let end = 0;
    this.uniforms = tensors.flatMap((x) => {
      end += Math.ceil(x.size / size);
      return [{ type: "uint32", data: [x.size] }, { type: "uint32", data: [end] }];
    });
    this.fields = tensors.map((_, n) => `size${n} : u32, end${n} : u32,`).join(" ");
    this.count = end;
  }
}

/** Most tensors, times what each binds, in one dispatch: longer shaders compile slowly. */
const MAX_BINDINGS = 64;

/** Items in groups whose tensors, `each` for an item and some besides, a shader may bind. */
function boundTogether<T>(items: readonly T[], o: { each: number; besides: number }): T[][] {
  const limit = (tf.backend() as CheckedBackend).device.limits.maxStorageBuffersPerShaderStage;
  const size = Math.max(1, Math.floor((Math.min(limit, MAX_BINDINGS) - o.besides) / o.each));
  const groups: T[][] = [];
  for (let i = 0; i < items.length; i += size) groups.push(items.slice(i, i + size));
  return groups;
}

function names(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${name}${n}`);
}

/** The tensors, and the uniforms after them. */
function declarations({ written, read }: { written: string[]; read: string[] }): string {
  const tensors = [...written, ...read].map((name, i) =>
    `@group(0) @binding(${i}) var<storage, ${i < written.length ? "read_write" : "read"}> ` +
    `${name} : array<f32>;`
  );
  return `${tensors.join("\n")}
    @group(0) @binding(${tensors.length}) var<uniform> uniforms : Uniforms;`;
}
