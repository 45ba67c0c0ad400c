/**
 * Writes parquet files of one column of texts, page by page, so that a test can say what no writer
 * would: Apache Parquet's format in Thrift's compact protocol.
 *
 * @module
 */

/** A value of Thrift: an integer of 32 or 64 bits, bytes, a list, or a struct by field number. */
type Value =
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly bytes: string }
  | { readonly list: readonly Value[] }
  | { readonly struct: Readonly<Record<number, Value>> };

const typeCodes = { i32: 5, i64: 6, bytes: 8, list: 9, struct: 12 } as const;
const codeOf = (value: Value) => typeCodes[Object.keys(value)[0] as keyof typeof typeCodes];

/** An unsigned integer, 7 bits to a byte. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return [...bytes, value];
}

const zigzag = (value: number) => varint(value < 0 ? -2 * value - 1 : 2 * value);
const utf8 = (text: string) => [...new TextEncoder().encode(text)];

function encode(value: Value): number[] {
  if ("i32" in value) return zigzag(value.i32);
  if ("i64" in value) return zigzag(value.i64);
  if ("bytes" in value) return [...varint(utf8(value.bytes).length), ...utf8(value.bytes)];
  if ("list" in value) {
    const head = 0xf0 | (value.list.length === 0 ? typeCodes.i32 : codeOf(value.list[0]!));
    return [head, ...varint(value.list.length), ...value.list.flatMap(encode)];
  }
  let last = 0;
  const fields = Object.entries(value.struct).map(([id, field]) => {
    const step = Number(id) - last;
    last = Number(id);
    return [step << 4 | codeOf(field), ...encode(field)];
  });
  return [...fields.flat(), 0];
}

/** A page: its body as it is in the file, and what its header says of it. */
export interface Page {
  readonly kind: "dictionary" | "data" | "data v2";
  readonly values: number;
  readonly encoding?: number;
  readonly body: readonly number[];
  /** Bytes the body unpacks to; its own length unless given. */
  readonly unpacked?: number;
  readonly nulls?: number;
}

export const PLAIN = 0, DELTA_BYTE_ARRAY = 7, RLE_DICTIONARY = 8;

function pageBytes(page: Page): number[] {
  const encoding = { i32: page.encoding ?? PLAIN }, values = { i32: page.values };
  const rle = { i32: 3 }, none = { i32: 0 };
  const own: Record<number, Value> = page.kind === "data"
    ? { 5: { struct: { 1: values, 2: encoding, 3: rle, 4: rle } } }
    : page.kind === "dictionary"
    ? { 7: { struct: { 1: values, 2: encoding } } }
    : {
      8: {
        struct: {
          1: values,
          2: { i32: page.nulls ?? 0 },
          3: values,
          4: encoding,
          5: none,
          6: none,
        },
      },
    };
  const header = encode({
    struct: {
      1: { i32: { data: 0, dictionary: 2, "data v2": 3 }[page.kind] },
      2: { i32: page.unpacked ?? page.body.length },
      3: { i32: page.body.length },
      ...own,
    },
  });
  return [...header, ...page.body];
}

/** A text as the plain encoding has it. */
export function plain(text: string): number[] {
  const bytes = utf8(text);
  return [...new Uint8Array(Uint32Array.of(bytes.length).buffer), ...bytes];
}

/** Indexes of a dictionary: runs of one index each, after the indexes' width in bits. */
export function runs(...ofIndexes: readonly (readonly [count: number, index: number])[]): number[] {
  return [8, ...ofIndexes.flatMap(([count, index]) => [...varint(count * 2), index])];
}

/** A file with the column `text`, which is required; every group has the same pages. */
export function parquetFile(
  pages: readonly Page[],
  options: { readonly rows: number; readonly codec?: number; readonly groups?: number },
): Uint8Array {
  const { rows, codec = 0, groups = 1 } = options;
  const chunk = pages.flatMap(pageBytes);
  const first = 4 + (pages[0]!.kind === "dictionary" ? pageBytes(pages[0]!).length : 0);
  const column: Value = {
    struct: {
      1: { i32: 6 },
      2: { list: [{ i32: PLAIN }] },
      3: { list: [{ bytes: "text" }] },
      4: { i32: codec },
      5: { i64: rows },
      // What it says it unpacks to need not be so.
      6: { i64: 1 },
      7: { i64: chunk.length },
      9: { i64: first },
      ...(first === 4 ? {} : { 11: { i64: 4 } }),
    },
  };
  const group: Value = {
    struct: {
      1: { list: [{ struct: { 2: { i64: 4 }, 3: column } }] },
      2: { i64: 1 },
      3: { i64: rows },
    },
  };
  const footer = encode({
    struct: {
      1: { i32: 1 },
      2: {
        list: [
          { struct: { 4: { bytes: "schema" }, 5: { i32: 1 } } },
          { struct: { 1: { i32: 6 }, 3: { i32: 0 }, 4: { bytes: "text" }, 6: { i32: 0 } } },
        ],
      },
      3: { i64: rows * groups },
      4: { list: Array.from({ length: groups }, () => group) },
    },
  });
  const length = new Uint8Array(Uint32Array.of(footer.length).buffer);
  const magic = utf8("PAR1");
  return Uint8Array.from([...magic, ...chunk, ...footer, ...length, ...magic]);
}
