import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { sourceSchema, type TextGeneratorParams } from "../../data/source.ts";
import { chainBits, syntheticText } from "../../data/synthetic_text.ts";

const generator: TextGeneratorParams = { characters: 200_000, symbols: 8, order: 2, seed: 3 };

function text(changed: Partial<TextGeneratorParams> = {}): string {
  return [...syntheticText({ ...generator, ...changed })].join("");
}

/** Mean bits of a letter given the `order` letters before it, by counting. */
function conditionalBits(text: string, order: number): number {
  const counts = new Map<string, Map<string, number>>();
  for (let i = order; i < text.length; i++) {
    const context = text.slice(i - order, i);
    const found = counts.get(context) ?? new Map<string, number>();
    counts.set(context, found.set(text[i]!, (found.get(text[i]!) ?? 0) + 1));
  }
  let bits = 0;
  for (const found of counts.values()) {
    const all = [...found.values()].reduce((sum, count) => sum + count, 0);
    for (const count of found.values()) bits -= count * Math.log2(count / all);
  }
  return bits / (text.length - order);
}

Deno.test("a synthetic text has the letters asked for, and its length", () => {
  assertEquals(text().length, 200_000);
  assertEquals([...new Set(text())].sort().join(""), "abcdefgh");
  assertEquals(text({ characters: 5000 }), text().slice(0, 5000));
  assert(text({ seed: 4 }) !== text());
});

Deno.test("a letter has 1.75 bits given as many letters as the chain's order, and more given fewer", () => {
  for (const order of [1, 2]) {
    // Counting finds at most contexts · 3 / (2 n ln 2) ≈ 0.0007 bits too little.
    assertAlmostEquals(conditionalBits(text({ order }), order), chainBits, 0.01);
    assert(conditionalBits(text({ order }), order - 1) > chainBits + 0.3);
  }
});

Deno.test("a record of a synthetic text is checked", () => {
  const record = { name: "s", title: "S", kind: "synthetic", format: "generated", generator };
  assert(sourceSchema.safeParse(record).success);
  for (const changed of [{ symbols: 3 }, { order: 0 }, { characters: 0 }, { length: [1, 2] }]) {
    const wrong = { ...record, generator: { ...generator, ...changed } };
    assert(!sourceSchema.safeParse(wrong).success, JSON.stringify(changed));
  }
});
