import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { canonical, canonicalJson, type Json, NotJsonError } from "../../pipeline/key/canonical.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import { ingredientsOf } from "../../pipeline/plan/ingredients.ts";
import { hashFile, sha256, taggedHash } from "../../pipeline/key/hash.ts";
import type { Instance } from "../../pipeline/plan/graph.ts";

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

/** What a value is refused with, and where. */
function refusal(value: unknown): string {
  const error = assertThrows(() => canonical(value), NotJsonError);
  return `${error.path.join(".")}: ${error.message}`;
}

Deno.test("a value that JSON does not hold as it is, is refused where it is", () => {
  const wanted = "must be text, a number, true or false, null, a list or a mapping, found";
  const cases: [unknown, string][] = [
    [new Date(0), `: ${wanted} a Date`],
    [{ a: [new URL("http://x")] }, `a.0: ${wanted} a URL`],
    [{ a: new Map([[1, 2]]) }, `a: ${wanted} a Map`],
    [{ a: new Set() }, `a: ${wanted} a Set`],
    [[new Uint8Array(2)], `0: ${wanted} a Uint8Array`],
    [/x/, `: ${wanted} a RegExp`],
    [Object.create({ inherited: 1 }), `: ${wanted} an Object`],
    [new (class Point {})(), `: ${wanted} a Point`],
    [Object(1), `: ${wanted} a Number`],
    [1n, `: ${wanted} a bigint`],
    [Symbol("x"), `: ${wanted} a symbol`],
    [{ toJSON: () => 1 }, `toJSON: ${wanted} a function`],
    [[undefined], `0: ${wanted} nothing`],
    // deno-lint-ignore no-sparse-arrays
    [[1, , 2], `1: ${wanted} nothing`],
    [{ a: NaN }, "a: must be a finite number, found .nan"],
    [[-Infinity], "0: must be a finite number, found -.inf"],
    ["\ud800", ": must be whole characters, found half of a surrogate pair"],
    [{ "\udc00": 1 }, ": must be whole characters, found half of a surrogate pair"],
    [
      JSON.parse('{"a": {"__proto__": {"x": 1}}}'),
      'a: must have names as its keys, found "__proto__"',
    ],
  ];
  for (const [value, message] of cases) assertEquals(refusal(value), message);
  assertEquals(canonical([-0, { a: undefined }, Object.create(null)]), [0, {}, {}]);
  assert(Object.is((canonical([-0]) as number[])[0], 0), "as JSON has it");
});

Deno.test("a cycle, a deep nest and what expands to very much are refused in bounded time", () => {
  const cycle: unknown[] = [];
  cycle.push({ a: cycle });
  assert(
    refusal(cycle).endsWith("must be nested at most 100 levels deep, never in itself, found more"),
  );
  let deep: unknown = 1;
  for (let level = 0; level < 100; level++) deep = [deep];
  canonical(deep);
  assert(refusal([deep]).endsWith("found more"));
  let bomb: unknown = "x";
  for (let level = 0; level < 50; level++) bomb = [bomb, bomb, bomb, bomb];
  const start = performance.now();
  assert(refusal(bomb).endsWith("values and characters, aliases written out, found more"));
  assert(refusal(new Array(2 ** 32 - 1)).endsWith("found more"));
  assert(performance.now() - start < 20_000);
});

/** Mulberry32: numbers in [0, 1) that are the same on every machine. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Names and leaves that a careless encoding takes for one another. */
const NAMES = [
  "a",
  "b",
  "a.b",
  "a[0]",
  "0",
  "1",
  "10",
  "",
  '"',
  '"a"',
  "é",
  "[0]",
  "{}",
  "a b",
  "\\",
];
const LEAVES = [
  ...[null, "null", "", 0, -0, "0", 1, "1", 1e21, "1e21", 0.1, true, "true", false, "false"],
  ...["[]", "{}", '"', '"1"', "a.b", "é", "\u2028", "x y"],
];

/** A random value: a leaf, a list or a map, some of them empty. */
function randomJson(random: () => number, depth = 0): Json {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const kind = depth === 0 ? 3 : depth > 3 ? 0 : Math.floor(random() * 4);
  if (kind < 2) return pick(LEAVES);
  const size = Math.floor(random() * 4);
  const entry = () => randomJson(random, depth + 1);
  if (kind === 2) return Array.from({ length: size }, entry);
  return Object.fromEntries(Array.from({ length: size }, () => [pick(NAMES), entry()]));
}

/** The same value with the keys of its maps in another order. */
function shuffled(value: Json, random: () => number): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((entry) => shuffled(entry, random));
  return Object.fromEntries(
    Object.entries(value).map((entry) => [random(), entry] as const).sort(([a], [b]) => a - b)
      .map(([, [key, entry]]) => [key, shuffled(entry as Json, random)]),
  );
}

/** The key of an instance with these params and nothing else. */
function keyOfParams(params: Json): string {
  const instance = { params: canonical(params), node: { stage: { inputs: {} } } };
  return keyOf(ingredientsOf(instance as unknown as Instance, {}, {}));
}

/** What a stage sees: the text of its params in the task that its process reads. */
const seen = (params: Json) => JSON.stringify(canonical(params));

Deno.test("equal keys are equal params down to their order: 2,000 values, each in two orders", () => {
  const random = generator(1);
  const seenBy = new Map<string, string>();
  const keyFor = new Map<string, string>();
  for (let index = 0; index < 2000; index++) {
    const value = randomJson(random);
    for (const params of [value, shuffled(value, random)]) {
      const [key, text] = [keyOfParams(params), seen(params)];
      assertEquals(seenBy.get(key) ?? text, text, "one key, two sights");
      assertEquals(keyFor.get(text) ?? key, key, "one sight, two keys");
      seenBy.set(key, text);
      keyFor.set(text, key);
    }
  }
  assert(seenBy.size > 1000, `${seenBy.size} different values`);
});

Deno.test("values that look alike have keys of their own", () => {
  const alike: Json[] = [
    ...[{}, [], "", "{}", "[]", null, "null", 0, "0", false, "false"],
    ...[{ a: {} }, { a: [] }, { a: "" }, { a: "{}" }, { a: null }, { a: { b: 1 } }, { "a.b": 1 }],
    ...[{ a: [1] }, { "a[0]": 1 }, { a: { 0: 1 } }, { a: { "[0]": 1 } }, { a: ["1"] }],
    ...[{ a: 1, b: {} }, { a: 1 }, { '"a"': 1 }, { "": 1 }, { "": { "": 1 } }, { '.""': 1 }],
  ];
  const keys = alike.map(keyOfParams);
  assertEquals(new Set(keys).size, alike.length);
});
