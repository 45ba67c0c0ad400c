import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { openCorpus } from "../../data/corpus.ts";
import { DataError } from "../../data/lines.ts";
import { textOf } from "../../data/text_bytes.ts";
import { parquetRows } from "../../data/parquet.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const { rows, files } = JSON.parse(
  Deno.readTextFileSync(new URL("../reference/tokenizer/parquet.json", import.meta.url)),
) as { rows: { text: string; label: number; stamp: string }[]; files: Record<string, string> };

async function withFile<T>(name: string, body: (path: string) => Promise<T>): Promise<T> {
  const directory = temporaryFolder();
  const path = join(directory, "a.parquet");
  Deno.writeFileSync(path, Uint8Array.fromBase64(files[name]!));
  return await body(path);
}

Deno.test("parquet that Arrow's Rust code wrote gives its rows, for every compression but Brotli", async () => {
  for (const compression of ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"]) {
    await withFile(compression, async (path) => {
      const read = await Array.fromAsync(parquetRows({ name: "a", path }, ["text", "label"]));
      const expected = rows.map(({ text, label }) => ({ text, label: BigInt(label) }));
      assertEquals(read as unknown[], expected, compression);
    });
  }
  await withFile("BROTLI", async (path) => {
    const read = () => Array.fromAsync(parquetRows({ name: "a", path }, ["text"]));
    await assertRejects(read, DataError, "not an intact parquet file");
  });
});

Deno.test("a parquet corpus reads labels of 64 bits as class indexes and strips what is to go", async () => {
  await withFile("SNAPPY", async (path) => {
    const corpus = await openCorpus({
      source: { name: "a", title: "A", kind: "sample", note: "" },
      format: "parquet",
      classes: ["x", "y", "z"],
      layout: {
        label: "label",
        text: ["text", "stamp"],
        first_label: 0,
        remove: ["\\[cs\\.\\w+\\]"],
      },
      files: [{ name: "a.parquet", split: "train" }],
    }, new Map([["a.parquet", path]]));
    const documents = (await Array.fromAsync(corpus.documents())).flat();
    assertEquals(
      documents.map((each) => ({ ...each, text: textOf(each.text) })),
      rows.map(({ text, label, stamp }) => ({
        split: "train",
        label,
        text: `${text} ${stamp.startsWith("[cs") ? "" : stamp}`,
      })),
    );
  });
});

Deno.test("a parquet file without the column is refused with the columns it has", async () => {
  await withFile("SNAPPY", async (path) => {
    const read = () => Array.fromAsync(parquetRows({ name: "a.parquet", path }, ["body"]));
    await assertRejects(
      read,
      DataError,
      'Cannot read "a.parquet": no column "body", found text, label, stamp',
    );
  });
});
