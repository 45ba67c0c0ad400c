import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { canonicalJson } from "../../pipeline/key/canonical.ts";
import { hashFile, sha256, taggedHash } from "../../pipeline/key/hash.ts";

Deno.test("canonical JSON does not depend on the order of keys", () => {
  assertEquals(
    canonicalJson({ b: [1, 2], a: { d: null, c: "é" } }),
    '{"a":{"c":"é","d":null},"b":[1,2]}',
  );
  assertEquals(canonicalJson({ x: -0, y: undefined }), '{"x":0}');
});

Deno.test("canonical JSON refuses what JSON can't hold", () => {
  assertThrows(() => canonicalJson({ x: NaN }), TypeError, "numbers must be finite");
  assertThrows(() => canonicalJson([Infinity]), TypeError, "numbers must be finite");
  assertThrows(() => canonicalJson((() => 1) as never), TypeError, "must be JSON");
});

Deno.test("digests are those other implementations give", () => {
  // FIPS 180-2, appendix B.1; and `printf 'lockstep/key/1\n{"a":"1"}' | sha256sum`.
  assertEquals(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assertEquals(
    taggedHash("key/1", { a: "1" }),
    "b2e6b4d9754b05a1631168ed25203f7d72252d00112f899b57e6375c658738c8",
  );
});

Deno.test("a record under another tag has another digest", () => {
  assertNotEquals(taggedHash("key/1", { a: "1" }), taggedHash("key/2", { a: "1" }));
});

Deno.test("a file is hashed in pieces to the same digest as its bytes", () => {
  const path = Deno.makeTempFileSync();
  try {
    const bytes = new Uint8Array((1 << 20) * 2 + 17).map((_, index) => index * 31);
    Deno.writeFileSync(path, bytes);
    assertEquals(hashFile(path), sha256(bytes));
  } finally {
    Deno.removeSync(path);
  }
});
