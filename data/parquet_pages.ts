/**
 * The values of one column of a parquet file's row group, page by page.
 *
 * hyparquet decodes; what a page claims is checked before, since a decoder makes room for it: a page
 * of a few bytes may claim two thousand million values, or hold a run of as many.
 *
 * @module
 */
import {
  type ColumnMetaData,
  type DecodedArray,
  type PageHeader,
  type SchemaTree,
  snappyUncompress,
} from "hyparquet";
import { parquetHeader, readPage } from "hyparquet/column";
import { convert, DEFAULT_PARSERS } from "hyparquet/convert";
import { gunzipSync, zstdDecompressSync } from "node:zlib";

/** A column that holds one value, or none, in each row. */
export interface ColumnSchema {
  readonly name: string;
  /** The schema's root and the column's leaf. */
  readonly path: readonly [SchemaTree, SchemaTree];
}

/** What is known of a column's pages. */
export interface ColumnOptions {
  readonly schema: ColumnSchema;
  readonly meta: ColumnMetaData;
  readonly rows: number;
  /** Called with a page's size before it is unpacked; throws if that is too much. */
  readonly onUnpacked: (bytes: number) => void;
}

/**
 * Decodes a column's pages.
 *
 * @returns As many values as the group has rows.
 * @throws {Error} If the pages are damaged, or hold more or less than they should.
 */
export function columnValues(
  chunk: ArrayBuffer,
  { schema, meta, rows, onUnpacked }: ColumnOptions,
): unknown[] {
  const path = [...schema.path];
  const { element } = schema.path[1];
  // Pages are unpacked here.
  const plain = { ...meta, codec: "UNCOMPRESSED" as const };
  const decoder = {
    ...plain,
    ...{ pathInSchema: [schema.name], element, schemaPath: path, parsers: DEFAULT_PARSERS },
  };
  const reader = { view: new DataView(chunk), offset: 0 };
  const values: unknown[] = [];
  let dictionary: DecodedArray | undefined;
  while (values.length < rows) {
    const header = parquetHeader(reader);
    const packed = new Uint8Array(chunk, reader.offset, header.compressed_page_size);
    reader.offset += packed.length;
    const limit = rows - values.length;
    const optional = element.repetition_type !== "REQUIRED";
    const page = unpackedPage(header, packed, { codec: meta.codec, onUnpacked });
    if (header.type !== "DICTIONARY_PAGE") checkPage(page, { limit, optional });
    const body = { view: viewOf(page.body), offset: 0 };
    const { data } = readPage(body, page.header, decoder, dictionary, undefined, 0);
    if (data === undefined) throw new RangeError("a page without values");
    if (header.type === "DICTIONARY_PAGE") dictionary = convert(data, decoder);
    else for (const value of data) values.push(value);
  }
  return values;
}

/** A page as if it had never been compressed. */
interface Page {
  readonly header: PageHeader;
  readonly body: Uint8Array;
}

function unpackedPage(
  header: PageHeader,
  packed: Uint8Array,
  { codec, onUnpacked }: { codec: string; onUnpacked(bytes: number): void },
): Page {
  const { data_page_header_v2: v2, uncompressed_page_size: size } = header;
  onUnpacked(size);
  // Version 2 leaves the levels before the values as they are.
  const levels = v2 === undefined
    ? 0
    : v2.repetition_levels_byte_length + v2.definition_levels_byte_length;
  if (!(levels >= 0 && levels <= Math.min(size, packed.length))) {
    throw new RangeError(`a page of ${size} bytes, ${levels} of levels`);
  }
  const unpack = v2?.is_compressed === false ? undefined : decompressors[codec];
  if (unpack === undefined && codec !== "UNCOMPRESSED") {
    throw new RangeError(`compression ${codec} is not supported`);
  }
  const body = new Uint8Array(size);
  body.set(packed.subarray(0, levels));
  const rest = packed.subarray(levels);
  const unpacked = unpack === undefined ? rest : unpack(rest, size - levels);
  if (unpacked.length !== size - levels) {
    throw new RangeError(`a page of ${levels + unpacked.length} bytes, not ${size}`);
  }
  body.set(unpacked, levels);
  return {
    header: {
      ...header,
      compressed_page_size: size,
      ...(v2 === undefined ? {} : { data_page_header_v2: { ...v2, is_compressed: false } }),
    },
    body,
  };
}

/** Decompressors that make no more bytes than asked for. */
const decompressors: Record<string, (packed: Uint8Array, size: number) => Uint8Array> = {
  SNAPPY(packed, size) {
    const unpacked = new Uint8Array(size);
    snappyUncompress(packed, unpacked);
    return unpacked;
  },
  GZIP: (packed, size) => gunzipSync(packed, { maxOutputLength: Math.max(1, size) }),
  ZSTD: (packed, size) => zstdDecompressSync(packed, { maxOutputLength: Math.max(1, size) }),
};

/** Checks that a page of values holds `limit` at most, and no run that is longer than the page. */
function checkPage(
  { header, body }: Page,
  { limit, optional }: { limit: number; optional: boolean },
): void {
  const { data_page_header: v1, data_page_header_v2: v2 } = header;
  const { num_values: count, encoding } = v1 ?? v2 ?? { num_values: 0, encoding: "PLAIN" };
  const nulls = v2?.num_nulls ?? 0;
  if (!(count > 0 && count <= limit && nulls >= 0 && nulls <= count)) {
    throw new RangeError(
      `a page of ${count} values, ${nulls} of them null, where ${limit} are left`,
    );
  }
  const view = viewOf(body);
  let at = 0;
  const lengthAt = () => view.getUint32((at += 4) - 4, true);
  if (v2 !== undefined) {
    if (v2.repetition_levels_byte_length !== 0) throw new RangeError("a page of lists");
    if (optional) checkRuns(body.subarray(0, v2.definition_levels_byte_length), 1, count);
    at = v2.definition_levels_byte_length;
  } else if (optional) {
    const length = lengthAt();
    checkRuns(body.subarray(at, at += length), 1, count);
  }
  switch (encoding) {
    case "PLAIN_DICTIONARY":
    case "RLE_DICTIONARY":
      return checkRuns(body.subarray(at + 1), view.getUint8(at), count);
    // Of the one each text may repeat the last and add to it, without bound; the other is for booleans.
    case "DELTA_BYTE_ARRAY":
    case "RLE":
      throw new RangeError(`encoding ${encoding} is not supported`);
  }
}

/** Checks the runs of values of `width` bits until there are `count`. */
function checkRuns(bytes: Uint8Array, width: number, count: number): void {
  if (width === 0) return;
  let at = 0;
  for (let seen = 0; seen < count;) {
    let head = 0;
    for (let shift = 0;; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 28) throw new RangeError("a run that is cut off");
      head += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    const length = Math.floor(head / 2);
    if (head % 2 === 1) {
      // Packed in groups of eight, of which the last may be padded.
      if (length * width > bytes.length - at + width) throw new RangeError("a run that is cut off");
      at += length * width;
      seen += length * 8;
    } else {
      if (length > count - seen) {
        throw new RangeError(`a run of ${length} values in a page of ${count}`);
      }
      at += Math.ceil(width / 8);
      seen += length;
    }
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
