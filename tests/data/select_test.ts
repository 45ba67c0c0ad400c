import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { Counter } from "../../models/random.ts";
import { apportion, stratifiedParts, stratifiedSubset } from "../../data/select.ts";

Deno.test("apportioning gives whole parts that sum to the total, within one of the quota", () => {
  assertEquals(apportion(10, [1, 1, 1]), [4, 3, 3]);
  assertEquals(apportion(7, [0, 5, 2]), [0, 5, 2]);
  assertEquals(apportion(3, [0, 0]), [0, 0]);
  const draw = new Counter(1, "apportion");
  for (let i = 0; i < 200; i++) {
    const weights = Array.from({ length: 1 + draw.below(12) }, () => 1 + draw.below(500));
    const sum = weights.reduce((a, b) => a + b, 0);
    const total = draw.below(1000);
    const parts = apportion(total, weights);
    assertEquals(parts.reduce((a, b) => a + b, 0), total);
    for (const [j, part] of parts.entries()) {
      assert(Math.abs(part - total * weights[j]! / sum) < 1, `${parts} for ${weights}`);
    }
  }
});

Deno.test("a subset has the classes' shares, repeats by seed and differs over seeds", () => {
  const labels = Array.from({ length: 1000 }, (_, i) => i % 10 < 7 ? 0 : 1);
  const chosen = stratifiedSubset(labels, 100, { seed: 3, stream: "train" });
  const count = (label: number) => labels.filter((l, i) => l === label && chosen[i]).length;
  assertEquals([count(0), count(1)], [70, 30]);
  assertEquals(stratifiedSubset(labels, 100, { seed: 3, stream: "train" }), chosen);
  assertNotEquals(stratifiedSubset(labels, 100, { seed: 4, stream: "train" }), chosen);
  assertNotEquals(stratifiedSubset(labels, 100, { seed: 3, stream: "test" }), chosen);
  assertEquals(stratifiedSubset(labels, 5000, { seed: 3, stream: "train" }).every(Boolean), true);
});

Deno.test("parts are dealt per class by the shares, every document to one part", () => {
  const labels = Array.from({ length: 500 }, (_, i) => i % 5);
  const parts = stratifiedParts(labels, [0.8, 0.1, 0.1], { seed: 0, stream: "shares" });
  for (let label = 0; label < 5; label++) {
    const sizes = [0, 1, 2].map((part) =>
      labels.filter((l, i) => l === label && parts[i] === part).length
    );
    assertEquals(sizes, [80, 10, 10]);
  }
});

Deno.test("drawn integers are evenly spread and streams do not follow each other", () => {
  const draw = new Counter(7, "spread");
  const bins = new Array<number>(16).fill(0);
  for (let i = 0; i < 16_000; i++) bins[draw.below(16)]! += 1;
  // Chi-squared with 15 degrees of freedom stays below 37.7 in 99.9 of 100 cases.
  const statistic = bins.reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0);
  assert(statistic < 37.7, `${statistic}`);
  const first = new Set(Array.from({ length: 1000 }, (_, i) => new Counter(0, "doc", i).next()));
  assert(first.size > 995, `${first.size}`);
});
