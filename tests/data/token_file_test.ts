import { assertEquals, assertThrows } from "@std/assert";
import { decodeTokens, encodeTokens, type TokenFile } from "../../data/token_file.ts";

function corpus(vocabularySize: number): TokenFile {
  const Ids = vocabularySize <= 0x10000 ? Uint16Array : Uint32Array;
  return {
    vocabularySize,
    maxLength: 3,
    classes: ["politik", "größe"],
    splits: {
      train: {
        labels: Uint16Array.of(0, 1, 1),
        offsets: Uint32Array.of(0, 2, 3, 6),
        ids: Ids.of(2, 3, 1, vocabularySize - 1, 2, 2),
        clipped: 1,
      },
      test: {
        labels: Uint16Array.of(1),
        offsets: Uint32Array.of(0, 1),
        ids: Ids.of(1),
        clipped: 0,
      },
    },
  };
}

Deno.test("a token file gives back what was written, for narrow and wide ids", () => {
  for (const size of [5, 0x10000, 0x10001, 200_000]) {
    assertEquals(decodeTokens(encodeTokens(corpus(size))), corpus(size));
  }
});

Deno.test("a token file's first bytes are as documented", () => {
  const bytes = encodeTokens(corpus(5));
  assertEquals(new TextDecoder().decode(bytes.subarray(0, 8)), "LSTOKEN1");
  const view = new DataView(bytes.buffer);
  const headerBytes = view.getUint32(8, true);
  assertEquals(view.getUint32(12, true), 2);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(16, 16 + headerBytes)));
  assertEquals(Object.keys(header), ["vocabularySize", "maxLength", "classes", "splits"]);
  const labels = 16 + Math.ceil(headerBytes / 8) * 8;
  assertEquals([0, 2, 4].map((at) => view.getUint16(labels + at, true)), [0, 1, 1]);
  assertEquals([0, 4, 8, 12].map((at) => view.getUint32(labels + 8 + at, true)), [0, 2, 3, 6]);
  assertEquals(bytes.length % 8, 0);
});

Deno.test("a token file is read from an unaligned view", () => {
  const bytes = encodeTokens(corpus(5));
  const shifted = new Uint8Array(bytes.length + 3);
  shifted.set(bytes, 3);
  assertEquals(decodeTokens(shifted.subarray(3)), corpus(5));
});

Deno.test("a token file cut anywhere is refused with an offset", () => {
  const bytes = encodeTokens(corpus(5));
  for (let end = 0; end < bytes.length; end++) {
    assertThrows(() => decodeTokens(bytes.slice(0, end)), SyntaxError, "malformed at byte");
  }
  const longer = new Uint8Array(bytes.length + 8);
  longer.set(bytes);
  assertThrows(() => decodeTokens(longer), SyntaxError, `byte ${bytes.length}: 8 bytes too many`);
});

Deno.test("a token file with a wrong label, offset or id is refused at that byte", () => {
  const bytes = encodeTokens(corpus(5));
  const view = new DataView(bytes.buffer);
  const labels = 16 + Math.ceil(view.getUint32(8, true) / 8) * 8;
  const cases: [at: number, width: 2 | 4, value: number, message: string][] = [
    [labels + 2, 2, 2, `byte ${labels + 2}: label 2 of 2`],
    [labels + 8 + 4, 4, 0, `byte ${labels + 12}: a document of 0 tokens`],
    [labels + 8 + 4, 4, 4, "a document of 4 tokens, not 1 to 3"],
    [labels + 24 + 6, 2, 5, `byte ${labels + 30}: id 5 of a vocabulary of 5`],
  ];
  for (const [at, width, value, message] of cases) {
    const broken = bytes.slice();
    const target = new DataView(broken.buffer);
    if (width === 2) target.setUint16(at, value, true);
    else target.setUint32(at, value, true);
    assertThrows(() => decodeTokens(broken), SyntaxError, message);
  }
});
