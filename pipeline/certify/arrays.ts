/**
 * Arrays of floats in a file of the safetensors format, so that two of them can be compared element by
 * element. The engine knows no tensors: of the format it takes names, shapes and values.
 *
 * @module
 */
import { isCount, isRecord } from "../store/shape.ts";

/** The arrays of a file. */
export interface StoredArrays {
  /** In the order of the file. */
  readonly arrays: ReadonlyMap<string, { readonly shape: string; readonly values: Floats }>;
  readonly metadata: unknown;
}

type Floats = Float32Array | Float64Array;

const TYPES = { F32: Float32Array, F64: Float64Array } as const;

/** The arrays in some bytes; `undefined` if these are no such file, or one with other than floats. */
export function toArrays(bytes: Uint8Array): StoredArrays | undefined {
  if (bytes.length < 10) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  if (!(start <= bytes.length)) return undefined;
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, start)));
  } catch {
    return undefined;
  }
  if (!isRecord(header)) return undefined;
  const { __metadata__: metadata = {}, ...entries } = header;
  const arrays = new Map<string, { shape: string; values: Floats }>();
  for (const [name, entry] of Object.entries(entries)) {
    const values = isRecord(entry) ? valuesOf(entry, bytes.subarray(start)) : undefined;
    if (values === undefined) return undefined;
    arrays.set(name, { shape: JSON.stringify((entry as { shape: unknown }).shape), values });
  }
  return { arrays, metadata };
}

function valuesOf(
  { dtype, data_offsets: offsets }: Readonly<Record<string, unknown>>,
  bytes: Uint8Array,
): Floats | undefined {
  if (dtype !== "F32" && dtype !== "F64" || !Array.isArray(offsets)) return undefined;
  const [start, end] = offsets;
  const Type = TYPES[dtype];
  if (!isCount(start) || !isCount(end) || (end - start) % Type.BYTES_PER_ELEMENT !== 0) {
    return undefined;
  }
  // A copy: an array in a file need not begin where one in memory may.
  return end <= bytes.length ? new Type(bytes.slice(start, end).buffer) : undefined;
}
