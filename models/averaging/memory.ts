/**
 * A WebAssembly memory of fixed size with the kernels bound to it. Nothing else writes to it, so the
 * same calls leave the same bits on every machine.
 *
 * @module
 */
import { instantiate, PRODUCT_BYTES } from "../kernels/compiled.ts";
import code from "../kernels/compiled/averaging.wasm" with { type: "bytes" };
import { MemoryError } from "../memory_error.ts";

/** Addresses are compared as signed numbers. */
const MAX_BYTES = 2 ** 31 - 2 ** 16;

/** Rows of float32 numbers; each starts at a multiple of 16 bytes, its end filled with zeros. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  /** Floats from one row to the next. */
  readonly stride: number;
  /** In bytes. */
  readonly address: number;
  /** [rows, stride]. */
  readonly values: Float32Array;
}

/** What a memory is to hold. */
export interface Sizes {
  /** Rows and columns by name. */
  readonly matrices: Readonly<Record<string, readonly [rows: number, columns: number]>>;
}

/** The functions of `kernels/assembly/averaging.ts`; addresses in bytes. */
type Functions = Record<
  "product" | "sumRows" | "stepRow" | "stepAll" | "decayRow",
  (...parameters: number[]) => void
>;

/** A factor of a product: a matrix, or its transpose. */
export interface Factor {
  readonly matrix: Matrix;
  readonly transposed?: boolean;
}

/** Matrices and the loops over them. */
export class KernelMemory {
  readonly module: Functions;
  readonly #matrices = new Map<string, Matrix>();
  readonly #packed: number;

  /** @throws {MemoryError} If it would be larger than 2 GiB. */
  constructor({ matrices }: Sizes) {
    let bytes = 0;
    const take = (size: number) => {
      const address = bytes;
      bytes += Math.ceil(size / 16) * 16;
      return address;
    };
    const places = Object.entries(matrices).map(([name, [rows, columns]]) => {
      const stride = Math.ceil(columns / 4) * 4;
      return { name, rows, columns, stride, address: take(4 * rows * stride) };
    });
    this.#packed = take(PRODUCT_BYTES);
    if (bytes > MAX_BYTES) {
      throw new MemoryError(
        `Cannot hold the model: it and its sums of squares may take 2 GiB, found ${
          (bytes / 2 ** 30).toFixed(1)
        } GiB`,
      );
    }
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / 2 ** 16) });
    this.module = instantiate(code, memory);
    for (const { name, ...place } of places) {
      const values = new Float32Array(memory.buffer, place.address, place.rows * place.stride);
      this.#matrices.set(name, { ...place, values });
    }
  }

  matrix(name: string): Matrix {
    const found = this.#matrices.get(name);
    if (found === undefined) throw new RangeError(`Cannot find matrix "${name}": it is not there`);
    return found;
  }

  /** The first `m` rows of C = A B; `k` terms in each sum. */
  product(a: Factor, b: Factor, c: Matrix, { m, k }: { m: number; k: number }): void {
    const [aRow, aColumn] = strides(a);
    const [bRow, bColumn] = strides(b);
    const left = [a.matrix.address, aRow, aColumn], right = [b.matrix.address, bRow, bColumn];
    const to = [c.address, c.stride * 4, 0, this.#packed];
    this.module.product(m, c.columns, k, ...left, ...right, ...to);
  }
}

/** Bytes from one row to the next, and from one column to the next. */
function strides({ matrix, transposed }: Factor): [row: number, column: number] {
  return transposed === true ? [4, matrix.stride * 4] : [matrix.stride * 4, 4];
}
