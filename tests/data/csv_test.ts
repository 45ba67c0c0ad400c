import { assert, assertEquals, assertRejects } from "@std/assert";
import { parse } from "@std/csv";
import { Counter } from "../../models/random.ts";
import { csvRecords, plainFields } from "../../data/csv.ts";
import { DataError, decodeText, textLines } from "../../data/lines.ts";
import { bytesOf, textOf } from "../../data/text_bytes.ts";

/** A text's bytes in chunks, each of which overwrites the last, as a file's do. */
async function* chunksOf(text: string, size = 3): AsyncGenerator<Uint8Array, void, undefined> {
  const bytes = new TextEncoder().encode(text);
  const room = new Uint8Array(size);
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size);
    room.set(part);
    yield await Promise.resolve(room.subarray(0, part.length));
  }
}

async function records(text: string, separator?: string, size = 3) {
  const lines = textLines(chunksOf(text, size), "a.csv");
  const records: { line: number; fields: string[] }[] = [];
  for await (const batch of csvRecords(lines, { name: "a.csv", separator })) {
    records.push(...batch.map(({ line, fields }) => ({ line, fields: fields.map(textOf) })));
  }
  return records;
}

Deno.test("CSV records keep quoted separators, doubled quotes and newlines, and know their lines", async () => {
  const text = '\ufeff"1","a, ""b""","two\nlines"\r\n\r\n2,plain,\n"3","ö €",""';
  for (let size = 1; size < 60; size++) {
    assertEquals(await records(text, ",", size), [
      { line: 1, fields: ["1", 'a, "b"', "two\nlines"] },
      { line: 4, fields: ["2", "plain", ""] },
      { line: 5, fields: ["3", "ö €", ""] },
    ]);
  }
});

Deno.test("CSV with another separator is split there", async () => {
  assertEquals(await records("a\tb,c\n", "\t"), [{ line: 1, fields: ["a", "b,c"] }]);
});

Deno.test("malformed CSV is refused with the line it starts on", async () => {
  const cases: [text: string, message: string][] = [
    ['1,a\n\n2,"x" y\n', "line 3 is not CSV"],
    ['1,a\n2,b"c"\n', "line 2 is not CSV"],
    ['1,"a\nb\n2,c\n', "the quote opened on line 1 is never closed"],
  ];
  for (const [text, message] of cases) await assertRejects(() => records(text), DataError, message);
});

Deno.test("text that is not UTF-8 is refused with the bytes it must be among", async () => {
  const chunks = [Uint8Array.of(0x61, 0x62), Uint8Array.of(0xff, 0x63)];
  await assertRejects(
    () => Array.fromAsync(decodeText(ReadableStream.from(chunks), "a.txt")),
    DataError,
    '"a.txt": not UTF-8 somewhere from byte 0 to 4',
  );
});

Deno.test("a line that is not UTF-8 is refused by its number, wherever chunks end", async () => {
  const bytes = new TextEncoder().encode("\ufeffgröße\nß\n?b\nc\n");
  bytes[bytes.indexOf(0x3f)] = 0xc3;
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, i) => bytes.slice(i * size, (i + 1) * size),
    );
    await assertRejects(
      () => Array.fromAsync(textLines(ReadableStream.from(chunks), "a.txt")),
      DataError,
      '"a.txt": line 3 is not UTF-8',
    );
  }
});

Deno.test("a character cut by a chunk's end is decoded whole, one cut by the file's end refused", async () => {
  const text = await Array.fromAsync(decodeText(chunksOf("ß€😀", 1), "a.txt"));
  assertEquals(text.join(""), "ß€😀");
  const cut = [Uint8Array.of(0xe2, 0x82)];
  await assertRejects(
    () => Array.fromAsync(decodeText(ReadableStream.from(cut), "a.txt")),
    DataError,
  );
});

Deno.test("records that are parsed the short way get the fields @std/csv gives them", () => {
  const draw = new Counter(3, "csv");
  const pieces = ['"', '"', '""', ",", ",", "a", " b", "\n", "\r", "é", '"c"', ""];
  let plain = 0;
  for (let i = 0; i < 20_000; i++) {
    const text = Array.from({ length: 1 + draw.below(9) }, () => pieces[draw.below(pieces.length)]!)
      .join("");
    // A record as it is cut out of a file: not empty, newlines between quotes only, no CR before.
    if (text === "" || text.includes("\r\n") || /^[^"]*(?:"[^"]*"[^"]*)*\n/.test(text)) continue;
    const fields = plainFields(bytesOf(text), ",");
    if (fields === undefined) continue;
    plain += 1;
    assertEquals([fields.map(textOf)], parse(text), JSON.stringify(text));
  }
  assert(plain > 2000, `only ${plain} of the records`);
});
