import { assertEquals, assertThrows } from "@std/assert";
import { inflateSync } from "node:zlib";
import { extract } from "tar-stream";
import { TarReader } from "../../data/tar.ts";
import { textOf } from "../../data/text_bytes.ts";

const archives = JSON.parse(
  Deno.readTextFileSync(new URL("../reference/tokenizer/archives.json", import.meta.url)),
) as Record<string, string>;
const bytesOf = (name: string) =>
  new Uint8Array(inflateSync(Uint8Array.fromBase64(archives[name]!)));

type Member = [name: string, type: string, text: string];

/** An archive's members, taken in pieces of so many bytes. */
function membersOf(bytes: Uint8Array, piece = bytes.length): Member[] {
  const members: Member[] = [];
  let content = new Uint8Array();
  const reader = new TarReader({
    begin({ name, type, size }) {
      members.push([name, type, ""]);
      return content = new Uint8Array(size);
    },
    end: () => members.at(-1)![2] = textOf(content),
  });
  for (let at = 0; at < bytes.length; at += piece) reader.take(bytes.slice(at, at + piece));
  reader.finish();
  return members;
}

/** The same by the package tar-stream. */
async function byPackage(bytes: Uint8Array): Promise<Member[]> {
  const untar = extract();
  const members: Member[] = [];
  untar.end(bytes);
  for await (const entry of untar) {
    const parts = await Array.fromAsync(entry as AsyncIterable<Uint8Array>);
    const { name, type } = entry.header;
    members.push([name, type!, textOf(Uint8Array.from(parts.flatMap((part) => [...part])))]);
  }
  return members;
}

Deno.test("an archive's members are those that tar-stream finds, however it is cut into pieces", async () => {
  const names = Object.keys(archives).filter((name) => name.endsWith(".tar"));
  for (const name of names) {
    const bytes = bytesOf(name);
    const expected = await byPackage(bytes);
    for (const piece of [bytes.length, 1, 7, 511, 512, 513, 1000]) {
      assertEquals(membersOf(bytes, piece), expected, `${name} in pieces of ${piece}`);
    }
  }
});

/** Writes a header's checksum again. */
function withChecksum(bytes: Uint8Array): Uint8Array {
  bytes.fill(0x20, 148, 156);
  const sum = bytes.subarray(0, 512).reduce((sum, byte) => sum + byte, 0);
  bytes.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return bytes;
}

Deno.test("a byte that is changed in a header is noticed, as is what no writer writes", () => {
  const good = bytesOf("good.tar");
  for (let at = 0; at < 512; at++) {
    const bytes = good.slice();
    bytes[at]! ^= 1;
    // Spaces and zeros end the checksum's digits alike.
    if (at >= 154 && at < 156) continue;
    assertThrows(() => membersOf(bytes), Error, "header");
  }
  const digits = good.slice();
  digits[124] = 0x39;
  assertThrows(() => membersOf(withChecksum(digits)), Error, "other than digits");
  const format = good.slice();
  format.fill(0, 257, 265);
  assertThrows(() => membersOf(withChecksum(format)), Error, "neither of POSIX's nor of GNU's");
  assertThrows(() => membersOf(good.subarray(0, 700)), Error, "it ends within a member");
  assertThrows(() => membersOf(good.subarray(0, 100)), Error, "it ends within a member");
});

Deno.test("a size in bytes, as GNU's tar writes it above 8 GiB, is read", () => {
  const bytes = bytesOf("good.tar");
  const size = parseInt(textOf(bytes.slice(124, 135)), 8);
  bytes.fill(0, 124, 136);
  bytes[124] = 0x80;
  bytes[135] = size;
  assertEquals(membersOf(withChecksum(bytes)), membersOf(bytesOf("good.tar")));
});
