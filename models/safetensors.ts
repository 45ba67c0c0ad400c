/**
 * The safetensors format: named arrays in one file that many tools read.
 *
 * Layout: uint64 length of the header, little-endian; the header, JSON that gives each tensor's
 * type, shape and place, with strings under `__metadata__`; the arrays. Only float32 is used here.
 *
 * @module
 */

/** One array. */
export interface StoredTensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** A file's content. */
export interface TensorFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/** Bytes of a file; equal content gives equal bytes, whatever the order of the keys. */
export function encodeTensors(file: TensorFile): Uint8Array<ArrayBuffer> {
  const names = [...file.tensors.keys()].sort();
  const header: Record<string, unknown> = {
    __metadata__: Object.fromEntries(Object.entries(file.metadata).sort(([a], [b]) => order(a, b))),
  };
  let end = 0;
  for (const name of names) {
    const { shape, values } = file.tensors.get(name)!;
    header[name] = { dtype: "F32", shape, data_offsets: [end, end += values.length * 4] };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  // Spaces fill the header up, so that the arrays start on a multiple of 8 bytes.
  const start = 8 + Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(start + end).fill(0x20, 0, start);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(start - 8), true);
  bytes.set(text, 8);
  let at = start;
  for (const name of names) {
    const { values } = file.tensors.get(name)!;
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
    at += values.byteLength;
  }
  return bytes;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Reads a file's bytes.
 *
 * @throws {SyntaxError} If they are not a safetensors file of float32 arrays.
 */
export function decodeTensors(bytes: Uint8Array): TensorFile {
  if (bytes.length < 8) fail(`the file must have 8 bytes at least, found ${bytes.length}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  if (!(start <= bytes.length)) {
    fail(`the header must end within the file's ${bytes.length} bytes, found its end at ${start}`);
  }
  const { __metadata__: metadata = {}, ...entries } = readHeader(bytes.subarray(8, start));
  if (!isTable(metadata) || !Object.values(metadata).every((value) => typeof value === "string")) {
    fail("the metadata must be strings by name");
  }
  const arrays = bytes.subarray(start);
  const tensors = new Map<string, StoredTensor>();
  for (const [name, entry] of Object.entries(entries)) {
    tensors.set(name, readTensor(arrays, name, entry));
  }
  return { metadata: metadata as Record<string, string>, tensors };
}

function readHeader(bytes: Uint8Array): Record<string, unknown> {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new SyntaxError("Cannot read tensors: the header must be JSON", { cause });
  }
  return isTable(header) ? header : fail("the header must be a JSON object");
}

function readTensor(arrays: Uint8Array, name: string, entry: unknown): StoredTensor {
  const { dtype, shape, data_offsets: place } = isTable(entry) ? entry : {};
  if (dtype !== "F32" || !isWhole(shape) || !isWhole(place) || place.length !== 2) {
    return fail(`tensor "${name}" must be F32 with a shape and data_offsets, found ${dtype}`);
  }
  const [from, to] = place as [number, number];
  const size = shape.reduce((product, n) => product * n, 1);
  if (to - from !== size * 4 || to > arrays.length) {
    fail(
      `tensor "${name}" of shape [${shape}] must take ${size * 4} bytes of the file, found ` +
        `${from} to ${to} of ${arrays.length}`,
    );
  }
  return { shape, values: new Float32Array(arrays.slice(from, to).buffer) };
}

function fail(found: string): never {
  throw new SyntaxError(`Cannot read tensors: ${found}`);
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a list of whole numbers from 0. */
function isWhole(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0);
}
