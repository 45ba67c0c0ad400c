/**
 * What WebAssembly can do here, and a small module that asks the processor how fast products and sums are
 * where nothing is read from memory.
 *
 * Opcodes: WebAssembly 2.0 and the relaxed SIMD proposal.
 *
 * @module
 */

import { fusesMultiplyAdd } from "../pipeline/key/fused.ts";

const VECTOR = 0x7b, F32 = 0x7d, I32 = 0x7f;
const SPLAT = [0xfd, 0x13], FIRST_LANE = [0xfd, 0x1f, 0], STORE = [0xfd, 0x0b, 0];
const ADD = [0xfd, 0xe4, 0x01], MULTIPLY = [0xfd, 0xe6, 0x01], RELAXED_MADD = [0xfd, 0x85, 0x02];
const get = (local: number) => [0x20, local], set = (local: number) => [0x21, local];

/**
 * How many vectors are changed in turn: enough that no step waits for the last of the same vector, and no more
 * than have a register. Twice as many where V8 joins neighbours.
 */
const VECTORS = [12, 24];
/** Steps of a turn, beside which its own instructions count for little. */
const STEPS = 8;

/** A number in as many bytes as it takes, seven bits each. */
function count(n: number): number[] {
  return n < 128 ? [n] : [n & 127 | 128, ...count(n >>> 7)];
}

function section(id: number, content: number[]): number[] {
  return [id, ...count(content.length), ...content];
}

/** A module with a page of memory that exports function `f`, which gives a float32. */
function moduleOf(o: { params: number[]; locals: number[]; body: number[] }): BufferSource {
  const locals = o.locals.flatMap((type) => [1, type]);
  const code = [o.locals.length, ...locals, ...o.body, 0x0b];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, o.params.length, ...o.params, 1, F32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [1, 1, 0x66, 0, 0]),
    ...section(10, [1, ...count(code.length), ...code]),
  ]);
}

function functionOf(code: BufferSource): (...params: number[]) => number {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code));
  return exports["f"] as (...params: number[]) => number;
}

/** What this machine's WebAssembly does. */
export interface WasmFeatures {
  readonly simd: boolean;
  readonly relaxedSimd: boolean;
  /** Whether `relaxed_madd` rounds once. */
  readonly fusesMultiplyAdd: boolean;
}

/** Asks for each. */
export function wasmFeatures(): WasmFeatures {
  return {
    simd: WebAssembly.validate(peakModule(false, 1)),
    relaxedSimd: WebAssembly.validate(peakModule(true, 1)),
    fusesMultiplyAdd: fusesMultiplyAdd(),
  };
}

/**
 * Repeats v = x × y + v where that is fused, else v = v × x + y, over vectors in registers, and stores them side by side: V8 joins vectors of 128 bits
 * into ones of 256 where neighbours are stored.
 */
function peakModule(fused: boolean, vectors: number): BufferSource {
  const x = 1, y = 2, chains = Array.from({ length: vectors }, (_, i) => 3 + i);
  const constant = (value: number) => [
    0x43,
    ...new Uint8Array(Float32Array.of(value).buffer),
    ...SPLAT,
  ];
  const step = (v: number) =>
    // The sum in place, as in a product: the processor's instruction overwrites one of its operands.
    fused
      ? [...get(x), ...get(y), ...get(v), ...RELAXED_MADD, ...set(v)]
      : [...get(v), ...get(x), ...MULTIPLY, ...get(y), ...ADD, ...set(v)];
  return moduleOf({
    params: [I32],
    locals: [x, y, ...chains].map(() => VECTOR),
    body: [
      ...[...constant(0.999), ...set(x), ...constant(0.001), ...set(y)],
      ...[0x03, 0x40, ...Array.from({ length: STEPS }, () => chains.flatMap(step)).flat()],
      // Counts down to 0.
      ...[...get(0), 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b],
      ...chains.flatMap((v, i) => [0x41, 0, ...get(v), ...STORE, ...count(16 * i)]),
      ...[
        ...get(chains[0]!),
        ...chains.slice(1).flatMap((v) => [...get(v), ...ADD]),
        ...FIRST_LANE,
      ],
    ],
  });
}

/** Products and sums alone. */
export interface PeakLoop {
  /** Runs so many turns. */
  readonly run: (turns: number) => number;
  /** Vectors of four that it changes. */
  readonly vectors: number;
  /** Floating-point operations of a turn. */
  readonly operations: number;
}

/** Loops of products and sums, fused where the processor does; on which machine which is the faster one differs. */
export function peakLoops(fused: boolean): PeakLoop[] {
  return VECTORS.map((vectors) => ({
    run: functionOf(peakModule(fused, vectors)),
    vectors,
    operations: STEPS * vectors * 4 * 2,
  }));
}
