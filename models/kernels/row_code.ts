/**
 * WGSL of shaders that meet a tensor [n, c] row by row: {@linkcode SHARING} invocations share a row,
 * {@linkcode ROWS} rows a workgroup.
 *
 * @module
 */
import type { Shader } from "./checked_backend.ts";
import { spread } from "./device.ts";

/** Invocations of a row. */
export const SHARING = 8;

/** Rows of a workgroup. */
const ROWS = 4;

const LANES = SHARING * ROWS;

/** What a shader binds and does. */
export interface RowCode {
  /** Tensors in the order they are bound in: float32, or int32 if among `integers`. */
  readonly written: readonly string[];
  readonly read: readonly string[];
  readonly integers?: readonly string[];
  /** Fields of the uniforms besides n and c. */
  readonly fields?: string;
  readonly functions?: string;
  /**
   * What invocation `own`, 0 to SHARING − 1, of row `row` does: the row's elements are `start` to
   * `end - 1`, and `sumOf(lane, part)` is the sum of the vec2 that each of them brings, for all of
   * them. Past the last row there are invocations too, with no elements and `live` false.
   */
  readonly body: string;
}

/** The whole shader. */
export function rowCode(o: RowCode): string {
  const tensors = [...o.written, ...o.read].map((name, i) =>
    `@group(0) @binding(${i}) var<storage, ${i < o.written.length ? "read_write" : "read"}> ` +
    `${name} : array<${o.integers?.includes(name) ? "i32" : "f32"}>;`
  );
  return `
    struct Uniforms { n : u32, c : u32, ${o.fields ?? ""} };
    ${tensors.join("\n")}
    @group(0) @binding(${tensors.length}) var<uniform> uniforms : Uniforms;
    ${reduction({ name: "sumOf", type: "vec2<f32>", combine: (a, b) => `${a} + ${b}` })}
    ${o.functions ?? ""}
    @compute @workgroup_size(${LANES})
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(num_workgroups) groups : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let row = (group.y * groups.x + group.x) * ${ROWS}u + lane / ${SHARING}u;
      let own = lane % ${SHARING}u;
      let live = row < uniforms.n;
      let start = row * uniforms.c;
      let end = select(start, start + uniforms.c, live);
      ${o.body}
    }`;
}

/** Workgroups for `rows` rows. */
export function rowGroups(rows: number): Shader["workgroups"] {
  return spread(Math.ceil(rows / ROWS));
}

/** Runs `code` for an invocation's share of the row's elements `i`. */
export function eachOfRow(code: string): string {
  return `for (var i = start + own; i < end; i = i + ${SHARING}u) { ${code} }`;
}

/** Function `name(lane, part)`, which combines what the invocations of a row bring, in order. */
export function reduction(
  o: { name: string; type: string; combine: (a: string, b: string) => string },
): string {
  const parts = Array.from({ length: SHARING }, (_, i) => `${o.name}Parts[first + ${i}u]`);
  return `
    var<workgroup> ${o.name}Parts : array<${o.type}, ${LANES}>;
    fn ${o.name}(lane : u32, part : ${o.type}) -> ${o.type} {
      let first = lane / ${SHARING}u * ${SHARING}u;
      // Others may still read what the call before left.
      workgroupBarrier();
      ${o.name}Parts[lane] = part;
      workgroupBarrier();
      return ${parts.reduce(o.combine)};
    }`;
}
