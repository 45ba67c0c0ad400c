import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { DataError } from "../../data/lines.ts";
import { parquetRows } from "../../data/parquet.ts";
import { temporaryFolder } from "../rig/temporary.ts";
import {
  DELTA_BYTE_ARRAY,
  type Page,
  parquetFile,
  plain,
  RLE_DICTIONARY,
  runs,
  varint,
} from "./parquet_writer.ts";

const HUGE = 100_000_000, GZIP = 2;

async function textsOf(bytes: Uint8Array, unpackedBytes?: number): Promise<unknown[]> {
  const path = join(temporaryFolder(), "a.parquet");
  Deno.writeFileSync(path, bytes);
  const rows = parquetRows({ name: "a.parquet", path, unpackedBytes }, ["text"]);
  const texts: unknown[] = [];
  for await (const { text } of rows) texts.push(text);
  return texts;
}

const dictionary: Page = { kind: "dictionary", values: 2, body: [...plain("a"), ...plain("bc")] };
const indexes = (values: number, body: number[], more: Partial<Page> = {}): Page => ({
  kind: "data",
  values,
  encoding: RLE_DICTIONARY,
  body,
  ...more,
});
const zipped = (page: Page): Page => ({
  ...page,
  unpacked: page.body.length,
  body: [...gzipSync(Uint8Array.from(page.body))],
});

Deno.test("pages are read as the format says, plain, by dictionary, packed or not", async () => {
  const texts = ["a", "bc", "bc"];
  const data = indexes(3, runs([1, 0], [2, 1]));
  const body = texts.flatMap(plain);
  for (
    const [pages, codec] of [
      [[{ kind: "data", values: 3, body }], 0],
      [[{ kind: "data v2", values: 3, body }], 0],
      [[dictionary, data], 0],
      [[dictionary, { ...data, kind: "data v2" }], 0],
      [[zipped(dictionary), zipped(data)], GZIP],
      [[zipped(dictionary), { ...zipped(data), kind: "data v2" }], GZIP],
      [[dictionary, indexes(1, runs([1, 0])), indexes(2, runs([2, 1]))], 0],
      // Eight indexes of a bit each in a byte, the last five of no value.
      [[dictionary, indexes(3, [1, 3, 0b110])], 0],
    ] as [Page[], number][]
  ) {
    assertEquals(await textsOf(parquetFile(pages, { rows: 3, codec })), texts);
  }
  assertEquals((await textsOf(parquetFile([dictionary, data], { rows: 3, groups: 4 }))).length, 12);
});

const many = (page: Page) => [dictionary, ...Array.from({ length: 2000 }, () => page)];
const bombs: Record<string, Uint8Array> = {
  "a page of more values than rows": parquetFile(
    [dictionary, indexes(HUGE, runs([HUGE, 1]))],
    { rows: 3 },
  ),
  "the same, of indexes of no bits": parquetFile([dictionary, indexes(HUGE, [0])], { rows: 3 }),
  "the same, in version 2": parquetFile(
    [dictionary, indexes(3, runs([HUGE, 1]), { kind: "data v2", nulls: 3 - HUGE })],
    { rows: 3 },
  ),
  "a page of less than no values": parquetFile(
    [dictionary, indexes(-HUGE, runs([3, 1])), indexes(HUGE, runs([HUGE, 1]))],
    { rows: 3 },
  ),
  "a run longer than its page": parquetFile([dictionary, indexes(3, runs([HUGE, 1]))], { rows: 3 }),
  "the same, packed": parquetFile(
    [zipped(dictionary), zipped(indexes(3, runs([HUGE, 1])))],
    { rows: 3, codec: GZIP },
  ),
  "the same, packed, in version 2": parquetFile(
    [zipped(dictionary), { ...zipped(indexes(3, runs([HUGE, 1]))), kind: "data v2" }],
    { rows: 3, codec: GZIP },
  ),
  "many such pages": parquetFile(many(indexes(3, runs([HUGE, 1]))), { rows: 6000 }),
  "many pages of more values than rows": parquetFile(
    many(indexes(100_000, runs([100_000, 1]))),
    { rows: 2000 },
  ),
  "a dictionary of more values than bytes": parquetFile(
    [{ ...dictionary, values: 2 ** 31 - 1 }, indexes(3, runs([3, 1]))],
    { rows: 3 },
  ),
  "more rows than bytes": parquetFile([dictionary, indexes(9_999_999, runs([9_999_999, 1]))], {
    rows: 9_999_999,
  }),
  "a long text that every row repeats": parquetFile(
    [
      { kind: "dictionary", values: 1, body: plain("x".repeat(100_000)) },
      indexes(1_000_000, runs([1_000_000, 0])),
    ],
    { rows: 1_000_000 },
  ),
  "texts that each repeat the one before": parquetFile(
    [{
      kind: "data",
      values: 2000,
      encoding: DELTA_BYTE_ARRAY,
      // Prefixes of 0, 1e6, 2e6 and on, in one block of one miniblock of no bits; suffixes of 0.
      body: [
        ...[...varint(2048), 1, ...varint(2000), 0, ...varint(2_000_000), 0],
        ...[...varint(2048), 1, ...varint(2000), 0, 0, 0],
      ],
    }],
    { rows: 2000 },
  ),
  "one page that many groups unpack": parquetFile(
    [zipped({ kind: "data", values: 1, body: plain("x".repeat(1_000_000)) })],
    { rows: 1, codec: GZIP, groups: 1000 },
  ),
  "a page that unpacks to more than its header says": parquetFile(
    [{
      ...zipped({ kind: "data", values: 1, body: plain("x".repeat(1_000_000)) }),
      unpacked: 100,
    }],
    { rows: 1, codec: GZIP },
  ),
};

for (const [what, bytes] of Object.entries(bombs)) {
  Deno.test(`a parquet file is refused at once for ${what}`, async () => {
    assert(bytes.length < 120_000, `${bytes.length} bytes`);
    const before = Deno.memoryUsage().rss;
    const start = performance.now();
    await assertRejects(() => textsOf(bytes), DataError, 'Cannot read "a.parquet": ');
    const taken = performance.now() - start;
    assert(taken < 2000, `${taken} ms`);
    const grown = Deno.memoryUsage().rss - before;
    assert(grown < 400e6, `${grown} bytes`);
  });
}
