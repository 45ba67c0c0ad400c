import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import {
  normal,
  permutation,
  type StreamKey,
  streamKey,
  threefry,
  uniform,
  words,
} from "../../models/random.ts";

Deno.test("threefry gives the known answers published with Random123", () => {
  const vectors: [StreamKey, StreamKey, string][] = [
    [[0, 0, 0, 0], [0, 0, 0, 0], "9c6ca96a e17eae66 fc10ecd4 5256a7d8"],
    [
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      "2a881696 57012287 f6c7446e a16a6732",
    ],
    [
      [0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89],
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      "59cd1dbb b8879579 86b5d00c ac8b6d84",
    ],
  ];
  for (const [key, counter, expected] of vectors) {
    const out = new Uint32Array(4);
    threefry(key, counter, out);
    assertEquals([...out].map((word) => word.toString(16).padStart(8, "0")).join(" "), expected);
  }
});

Deno.test("streams differ by seed, by name, by length and past the sixteenth byte", () => {
  const keys = [
    streamKey(0, "init/encoder.0.wq"),
    streamKey(1, "init/encoder.0.wq"),
    streamKey(2 ** 32, "init/encoder.0.wq"),
    streamKey(0, "init/encoder.0.wk"),
    streamKey(0, "init/encoder.1.wq"),
    streamKey(0, ""),
    streamKey(0, "\0"),
  ].map(String);
  assertEquals(new Set(keys).size, keys.length);
  assertEquals(streamKey(3, "shuffle/epoch.3"), streamKey(3, "shuffle/epoch.3"));
});

Deno.test("a stream's words do not depend on how many are drawn", () => {
  const key = streamKey(5, "test");
  assertEquals([...words(key, 3)], [...words(key, 100).subarray(0, 3)]);
});

Deno.test("a seed that is no whole number is refused", () => {
  assertThrows(() => streamKey(0.5, "x"), RangeError, "must be an integer");
  assertThrows(() => streamKey(-1, "x"), RangeError, "must be an integer");
});

Deno.test("uniform numbers fill their interval evenly", () => {
  const drawn = uniform(streamKey(1, "u"), 200_000, { low: -2, high: 6 });
  const bins = new Array<number>(16).fill(0);
  for (const x of drawn) bins[Math.floor((x + 2) * 2)]!++;
  const expected = drawn.length / 16;
  const chiSquare = bins.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
  assert(chiSquare < 37.7, `chi-square ${chiSquare} with 15 degrees: below 0.1 % likely`);
});

Deno.test("normal numbers have the moments of N(0, deviation²)", () => {
  const drawn = normal(streamKey(1, "n"), 200_001, { deviation: 2 });
  const moment = (power: number) => drawn.reduce((sum, x) => sum + (x / 2) ** power, 0) / 200_001;
  assertAlmostEquals(moment(1), 0, 0.01);
  assertAlmostEquals(moment(2), 1, 0.015);
  assertAlmostEquals(moment(3), 0, 0.04);
  assertAlmostEquals(moment(4), 3, 0.1);
});

Deno.test("permutations hold every number once and reach every order of four", () => {
  const order = permutation(streamKey(0, "shuffle/epoch.0"), 1000);
  assertEquals([...order].sort((a, b) => a - b), Array.from({ length: 1000 }, (_, i) => i));
  const seen = new Map<string, number>();
  for (let i = 0; i < 24_000; i++) {
    const key = permutation(streamKey(i, "p"), 4).join("");
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  assertEquals(seen.size, 24);
  const chiSquare = [...seen.values()].reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0);
  assert(chiSquare < 49.7, `chi-square ${chiSquare} with 23 degrees: below 0.1 % likely`);
});
