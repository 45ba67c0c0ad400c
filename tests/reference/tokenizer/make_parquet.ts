// Makes small parquet files with Apache Arrow's Rust implementation, to compare data/parquet.ts
// with. Its packages are not the project's: run by hand as
//
//     deno run -A --no-lock tests/reference/tokenizer/make_parquet.ts > …/parquet.json
//
// parquet.json holds the rows as written and maps each compression to a file in base64.
// deno-lint-ignore-file no-import-prefix
import { Int64, Table, tableToIPC, Utf8, vectorFromArray } from "npm:apache-arrow@17.0.0";
import {
  Compression,
  Table as WasmTable,
  WriterPropertiesBuilder,
  writeParquet,
} from "npm:parquet-wasm@0.6.1/node";

const rows = Array.from({ length: 50 }, (_, i) => ({
  text: `paper ${i} über ${"graph theory ".repeat(i % 4)}`.trim(),
  label: i % 3,
  stamp: i % 2 ? "[cs.DS]" : "[math.AC]",
}));
const table = new Table({
  text: vectorFromArray(rows.map(({ text }) => text), new Utf8()),
  label: vectorFromArray(rows.map(({ label }) => BigInt(label)), new Int64()),
  stamp: vectorFromArray(rows.map(({ stamp }) => stamp), new Utf8()),
});
const ipc = tableToIPC(table, "stream");
const files: Record<string, string> = {};
for (const name of ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI"] as const) {
  const properties = new WriterPropertiesBuilder()
    .setCompression(Compression[name]).setMaxRowGroupSize(20).build();
  const bytes = writeParquet(WasmTable.fromIPCStream(ipc), properties);
  files[name] = btoa(String.fromCharCode(...bytes));
}
console.log(JSON.stringify({ rows, files }, null, 1));
