import { assert, assertEquals } from "@std/assert";
import { drawNormals, drawWords } from "../../../analysis/statistics/draws.ts";

Deno.test("words are Philox-2x32-10, as Random123 computes it", () => {
  // From kat_vectors of Random123: counter (0, 0), key 0.
  assertEquals([...drawWords(2, { seed: 0 })], [0xff1dae59, 0x6cd10df2]);
  // By exact whole-number arithmetic, far along another stream.
  const drawn = drawWords(20_001, { seed: 7, stream: 3 });
  for (const block of [0, 1, 9_999]) {
    assertEquals(
      [...drawn.subarray(2 * block, 2 * block + 2)],
      exact(block, { seed: 7, stream: 3 }),
    );
  }
  assertEquals(drawn.length, 20_001);
});

function exact(block: number, { seed, stream }: { seed: number; stream: number }): number[] {
  let [c0, c1, key] = [BigInt(block), BigInt(stream), BigInt(seed)];
  for (let round = 0; round < 10; round++) {
    const product = 0xd256d193n * c0;
    [c0, c1] = [(product >> 32n) ^ key ^ c1, product & 0xffffffffn];
    key = (key + 0x9e3779b9n) & 0xffffffffn;
  }
  return [Number(c0), Number(c1)];
}

Deno.test("normal numbers have the moments and tails of the normal distribution", () => {
  const n = 200_000;
  const drawn = drawNormals(n, { seed: 1 });
  const other = drawNormals(n, { seed: 1, stream: 1 });
  const mean = (of: (value: number, index: number) => number) =>
    drawn.reduce((total, value, index) => total + of(value, index), 0) / n;
  const slack = (variance: number) => 4 * Math.sqrt(variance / n);
  assert(Math.abs(mean((x) => x)) < slack(1));
  assert(Math.abs(mean((x) => x * x) - 1) < slack(2));
  assert(Math.abs(mean((x) => x ** 4) - 3) < slack(96));
  assert(Math.abs(mean((x) => x > 1.959964 ? 1 : 0) - 0.025) < slack(0.025 * 0.975));
  assert(Math.abs(mean((x, index) => x * other[index]!)) < slack(1), "streams are independent");
});
