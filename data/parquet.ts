/**
 * Rows out of parquet files, one row group at a time.
 *
 * @module
 */
import { type FileMetaData, parquetMetadataAsync, parquetSchema } from "hyparquet";
import { DataError, type DataFile, tooLarge, unpackedBound } from "./lines.ts";
import { type ColumnSchema, columnValues } from "./parquet_pages.ts";

/** Most rows of one row group; a group is decoded as a whole. */
const maxRows = 10_000_000;

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
  const slice = (start: number, end: number = byteLength) => {
    if (!(start >= 0 && end <= byteLength && start <= end)) {
      throw new RangeError(`bytes ${start} to ${end} of ${byteLength}`);
    }
    return readAt(handle, start, end - start);
  };
  let unpacked = 0, characters = 0;
  const within = (total: number) => {
    if (!(total <= allowed)) throw new DataError(tooLarge(file.name, allowed));
  };
  try {
    const metadata = await parquetMetadataAsync({ byteLength, slice });
    const schemas = columnSchemas(metadata, columns, file.name);
    for (const { num_rows, columns: chunks } of metadata.row_groups) {
      const rows = Number(num_rows);
      if (!(rows >= 0 && rows <= Math.min(maxRows, allowed))) {
        throw new RangeError(`a row group of ${rows} rows`);
      }
      const values = schemas.map((schema) => {
        const meta = chunks.map(({ meta_data }) => meta_data)
          .find((meta) => String(meta?.path_in_schema) === schema.name);
        if (meta === undefined) throw new RangeError(`a row group without "${schema.name}"`);
        const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
        const chunk = slice(start, start + Number(meta.total_compressed_size));
        const onUnpacked = (bytes: number) => within(unpacked += bytes);
        return columnValues(chunk, { schema, meta, rows, onUnpacked });
      });
      for (let row = 0; row < rows; row++) {
        const fields = schemas.map(({ name }, i) => [name, values[i]![row]] as const);
        // A dictionary's text may be that of many rows.
        for (const [, value] of fields) if (typeof value === "string") characters += value.length;
        within(characters);
        yield Object.fromEntries(fields);
      }
    }
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(
      `Cannot read "${file.name}": not an intact parquet file: ${(cause as Error).message}`,
      { cause },
    );
  }
}

function readAt(handle: Deno.FsFile, start: number, size: number): ArrayBuffer {
  const bytes = new Uint8Array(size);
  handle.seekSync(start, Deno.SeekMode.Start);
  for (let at = 0; at < bytes.length;) {
    const count = handle.readSync(bytes.subarray(at));
    if (count === null) throw new RangeError(`ends at byte ${start + at}`);
    at += count;
  }
  return bytes.buffer;
}

/** The wanted columns, which hold one value in each row. */
function columnSchemas(
  metadata: FileMetaData,
  wanted: readonly string[],
  file: string,
): ColumnSchema[] {
  const root = parquetSchema(metadata);
  return wanted.map((name) => {
    const leaf = root.children.find(({ element }) => element.name === name);
    if (leaf === undefined) {
      const names = root.children.slice(0, 12).map(({ element }) => element.name);
      throw new DataError(
        `Cannot read "${file}": no column "${name}", found ${names.join(", ")}`,
      );
    }
    if (leaf.children.length > 0 || leaf.element.repetition_type === "REPEATED") {
      throw new RangeError(`column "${name}" is a list, map or struct`);
    }
    return { name, path: [root, leaf] };
  });
}
