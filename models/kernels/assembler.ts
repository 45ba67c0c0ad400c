/**
 * A small assembler for WebAssembly with SIMD: enough to write the few loops in which training
 * spends its time. WebAssembly's float arithmetic is IEEE with a fixed order, so what is assembled
 * here gives the same bits on every machine (the relaxed instructions, which do not, are absent).
 *
 * Instructions and encoding: WebAssembly core specification 2.0, chapter 5.
 *
 * @module
 */

/** Value types. */
export const I32 = 0x7f, F32 = 0x7d, V128 = 0x7b;

/** A local variable or parameter of a function: its index. */
export type Local = number;

function leb(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value >>> 0;;) {
    const low = rest & 0x7f;
    rest >>>= 7;
    if (rest === 0) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

function signedLeb(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value | 0;;) {
    const low = rest & 0x7f;
    rest >>= 7;
    if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) {
      return [...bytes, low];
    }
    bytes.push(low | 0x80);
  }
}

const simd = (opcode: number): number[] => [0xfd, ...leb(opcode)];

const PLAIN = {
  i32_add: [0x6a],
  i32_sub: [0x6b],
  i32_mul: [0x6c],
  i32_lt_s: [0x48],
  i32_ge_s: [0x4e],
  i32_eqz: [0x45],
  i32_and: [0x71],
  f32_add: [0x92],
  f32_mul: [0x94],
  f32_div: [0x95],
  f32_max: [0x97],
  select: [0x1b],
  f32x4_splat: simd(0x13),
  f32x4_nearest: simd(0x6a),
  f32x4_abs: simd(0xe0),
  f32x4_neg: simd(0xe1),
  f32x4_sqrt: simd(0xe3),
  f32x4_add: simd(0xe4),
  f32x4_sub: simd(0xe5),
  f32x4_mul: simd(0xe6),
  f32x4_div: simd(0xe7),
  f32x4_min: simd(0xe8),
  f32x4_max: simd(0xe9),
  f32x4_lt: simd(0x43),
  f32x4_to_i32: simd(0xf8),
  f32x4_from_i32: simd(0xfa),
  i32x4_splat: simd(0x11),
  i32x4_add: simd(0xae),
  i32x4_shl: simd(0xab),
  i32x4_shr_u: simd(0xad),
  i32x4_lt_u: simd(0x3a),
  i32x4_gt_s: simd(0x3b),
  v128_and: simd(0x4e),
  v128_or: simd(0x50),
  v128_andnot: simd(0x4f),
  v128_xor: simd(0x51),
  v128_bitselect: simd(0x52),
} as const;

const MEMORY = {
  i32_load: [0x28],
  f32_load: [0x2a],
  i32_store: [0x36],
  f32_store: [0x38],
  v128_load: simd(0x00),
  v128_load32_splat: simd(0x09),
  v128_store: simd(0x0b),
} as const;

/** An instruction without immediate operands. */
export type Plain = keyof typeof PLAIN;

/** A load or a store. */
export type Memory = keyof typeof MEMORY;

/**
 * Vectors of equal lanes that functions read from memory once, when they start. Written into the
 * code, a constant would be put together by several instructions wherever it is used.
 */
export class ConstantPool {
  readonly #words: number[] = [];

  /** @param address Where the words will be in memory. */
  constructor(readonly address: number) {}

  /** The address of a word. */
  place(word: number): number {
    let index = this.#words.indexOf(word);
    if (index < 0) index = this.#words.push(word) - 1;
    return this.address + 4 * index;
  }

  /** The words, to be written at `address` before a function runs. */
  words(): Int32Array {
    return Int32Array.from(this.#words);
  }
}

/** One function being assembled. Its parameters come first among the locals. */
export class FunctionBuilder {
  readonly #code: number[] = [];
  readonly #locals: number[] = [];
  readonly #constants = new Map<number, Local>();

  /** @param pool Where constant vectors lie; without it they are part of the code. */
  constructor(
    readonly name: string,
    readonly parameters: readonly number[],
    readonly pool?: ConstantPool,
  ) {}

  /** Declares a local of `type`. */
  local(type: number): Local {
    this.#locals.push(type);
    return this.parameters.length + this.#locals.length - 1;
  }

  get(local: Local): this {
    return this.#emit(0x20, ...leb(local));
  }

  set(local: Local): this {
    return this.#emit(0x21, ...leb(local));
  }

  tee(local: Local): this {
    return this.#emit(0x22, ...leb(local));
  }

  i32(value: number): this {
    return this.#emit(0x41, ...signedLeb(value));
  }

  /** Pushes a vector of four equal floats. */
  f32x4(value: number): this {
    return this.i32x4(new Int32Array(new Float32Array([value]).buffer)[0]!);
  }

  /** Pushes a vector of four integers; fewer than four numbers repeat the first. */
  i32x4(first: number, ...rest: number[]): this {
    if (rest.length === 0 && this.pool !== undefined) return this.get(this.#constant(first));
    const lanes = [first, rest[0] ?? first, rest[1] ?? first, rest[2] ?? first];
    return this.#emit(...simd(0x0c), ...new Uint8Array(new Int32Array(lanes).buffer));
  }

  #constant(word: number): Local {
    let local = this.#constants.get(word);
    if (local === undefined) this.#constants.set(word, local = this.local(V128));
    return local;
  }

  op(...names: Plain[]): this {
    for (const name of names) this.#emit(...PLAIN[name]);
    return this;
  }

  /** A load or store at the address on the stack plus `offset` bytes. */
  memory(name: Memory, offset = 0): this {
    return this.#emit(...MEMORY[name], 2, ...leb(offset));
  }

  /** Pushes a vector of four times the float in one lane of `vector`. */
  spread(vector: Local, lane: number): this {
    const bytes = Array.from({ length: 16 }, (_, i) => 4 * lane + i % 4);
    return this.get(vector).get(vector).#emit(...simd(0x0d), ...bytes);
  }

  /** The float in one lane of the vector on the stack. */
  extract(lane: number): this {
    return this.#emit(...simd(0x1f), lane);
  }

  f32(value: number): this {
    return this.#emit(0x43, ...new Uint8Array(new Float32Array([value]).buffer));
  }

  /** Adds `amount` to an i32 local: a constant or another local. */
  advance(local: Local, amount: { by: number } | { byLocal: Local }): this {
    this.get(local);
    if ("by" in amount) this.i32(amount.by);
    else this.get(amount.byLocal);
    return this.op("i32_add").set(local);
  }

  /** Runs `body` while `counter < bound` (signed), testing first; `body` must advance. */
  whileLess(counter: Local, bound: Local, body: () => void): this {
    this.#emit(0x02, 0x40, 0x03, 0x40);
    this.get(counter).get(bound).op("i32_ge_s").#emit(0x0d, 1);
    body();
    return this.#emit(0x0c, 0, 0x0b, 0x0b);
  }

  /** Takes a condition from the stack. */
  when(then: () => void, otherwise?: () => void): this {
    this.#emit(0x04, 0x40);
    then();
    if (otherwise !== undefined) {
      this.#emit(0x05);
      otherwise();
    }
    return this.#emit(0x0b);
  }

  /** The encoded body, locals included. */
  encode(): number[] {
    const groups = this.#locals.flatMap((type) => [1, type]);
    const prologue = [...this.#constants].flatMap(([word, local]) => [
      0x41,
      ...signedLeb(this.pool!.place(word)),
      ...MEMORY.v128_load32_splat,
      2,
      0,
      0x21,
      ...leb(local),
    ]);
    const body = [...leb(this.#locals.length), ...groups, ...prologue, ...this.#code, 0x0b];
    return [...leb(body.length), ...body];
  }

  #emit(...bytes: number[]): this {
    for (const byte of bytes) this.#code.push(byte);
    return this;
  }
}

/** Encodes a module that imports memory `host.memory` and exports the functions by name. */
export function encodeModule(functions: readonly FunctionBuilder[]): Uint8Array<ArrayBuffer> {
  const text = (name: string) => [...leb(name.length), ...new TextEncoder().encode(name)];
  const section = (id: number, entries: number[][]) => {
    const content = [...leb(entries.length), ...entries.flat()];
    return [id, ...leb(content.length), ...content];
  };
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, functions.map((f) => [0x60, ...leb(f.parameters.length), ...f.parameters, 0])),
    ...section(2, [[...text("host"), ...text("memory"), 0x02, 0x00, 0x00]]),
    ...section(3, functions.map((_, i) => leb(i))),
    ...section(7, functions.map((f, i) => [...text(f.name), 0x00, ...leb(i)])),
    ...section(10, functions.map((f) => f.encode())),
  ]);
}
