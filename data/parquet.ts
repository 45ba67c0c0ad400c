/**
 * Rows out of parquet files, one row group at a time.
 *
 * @module
 */
import {
  type Compressors,
  parquetMetadataAsync,
  parquetReadObjects,
  snappyUncompress,
} from "hyparquet";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { DataError, type DataFile, tooLarge, unpackedBound } from "./lines.ts";

/**
 * Streams the named columns of a parquet file as objects, in order. Pages may be uncompressed or
 * compressed by snappy, gzip or zstd.
 *
 * @throws {DataError} If the file is damaged, lacks a column, or unpacks to more than allowed.
 */
export async function* parquetRows(
  file: DataFile,
  columns: readonly string[],
): AsyncGenerator<Record<string, unknown>, void, undefined> {
  using handle = await Deno.open(file.path);
  const byteLength = (await handle.stat()).size;
  const allowed = unpackedBound(file);
  const source = {
    byteLength,
    slice(start: number, end: number = byteLength): ArrayBuffer {
      if (start < 0 || end > byteLength || start > end) {
        throw new RangeError(`bytes ${start} to ${end} of ${byteLength}`);
      }
      const bytes = new Uint8Array(end - start);
      handle.seekSync(start, Deno.SeekMode.Start);
      for (let at = 0; at < bytes.length;) {
        const count = handle.readSync(bytes.subarray(at));
        if (count === null) throw new RangeError(`ends at byte ${start + at}`);
        at += count;
      }
      return bytes.buffer;
    },
  };
  const compressors = boundedCompressors(allowed);
  try {
    const metadata = await parquetMetadataAsync(source);
    const names = new Set(metadata.schema.map(({ name }) => name));
    for (const column of columns) {
      if (!names.has(column)) {
        throw new DataError(
          `Cannot read "${file.name}": no column "${column}", found ${
            [...names].slice(1, 13).join(", ")
          }`,
        );
      }
    }
    let unpacked = 0;
    let rowStart = 0;
    for (const group of metadata.row_groups) {
      const rows = Number(group.num_rows);
      for (const { meta_data: column } of group.columns) {
        if (column === undefined || !columns.includes(column.path_in_schema[0] ?? "")) continue;
        unpacked += Number(column.total_uncompressed_size);
        // So it is for flat columns; lists and maps cannot be text or labels.
        if (Number(column.num_values) !== rows) throw new RangeError("values differ from rows");
      }
      if (!(unpacked >= 0 && unpacked <= allowed)) {
        throw new DataError(tooLarge(file.name, allowed));
      }
      if (!(rows >= 0 && rows <= mostRows)) throw new RangeError(`a row group of ${rows} rows`);
      const rowEnd = rowStart + rows;
      const options = { file: source, metadata, compressors, columns: [...columns] };
      yield* await parquetReadObjects({ ...options, rowStart, rowEnd });
      rowStart = rowEnd;
    }
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(
      `Cannot read "${file.name}": not an intact parquet file: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** Most rows of one row group; a group is decoded as a whole. */
const mostRows = 10_000_000;

/** Decompressors that refuse to make more bytes than allowed. */
function boundedCompressors(allowed: number): Compressors {
  const bounded = (size: number): number => {
    if (size >= 0 && size <= allowed) return size;
    throw new RangeError(`a page of ${size} bytes`);
  };
  return {
    SNAPPY(input, size) {
      const output = new Uint8Array(bounded(size));
      snappyUncompress(input, output);
      return output;
    },
    GZIP: (input, size) => gunzipSync(input, { maxOutputLength: bounded(size) }),
    ZSTD: (input, size) => zstdDecompressSync(input, { maxOutputLength: bounded(size) }),
  };
}
