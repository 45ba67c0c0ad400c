import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { type GeneratorParams, sourceSchema } from "../../data/source.ts";
import {
  syntheticBounds,
  syntheticClasses,
  syntheticCsv,
  syntheticDocument,
} from "../../data/synthetic.ts";

const generator: GeneratorParams = {
  documents: { train: 6000, test: 10 },
  topics: 2,
  filler_words: 50,
  length: [12, 20],
  signal: 250,
  hinted: 200,
  noise: 40,
  seed: 5,
};

function documents(changed: Partial<GeneratorParams> = {}) {
  const used = { ...generator, ...changed };
  return Array.from(
    { length: used.documents.train },
    (_, index) => syntheticDocument(used, { split: "train", index }),
  );
}

/** The rule of data/synthetic.ts, written again: topic words, and the family of early markers. */
function classify(words: readonly string[]): number {
  const topic = Number(words.find((word) => word.startsWith("t"))?.slice(1).split("_")[0]);
  const order = words.find((word) => word.startsWith("a") || word.startsWith("b"))?.startsWith("b");
  return 2 * topic + (order ? 1 : 0);
}

Deno.test("without noise, topic words and the order of markers give the class of every document", () => {
  for (const { label, words } of documents({ noise: 0 })) assertEquals(classify(words), label);
});

Deno.test("the best rule is right as often as the documented bound says", () => {
  const right = documents().filter(({ label, words }) => classify(words) === label).length;
  // Four standard deviations of a share of 0.97 over 6,000.
  assertAlmostEquals(right / 6000, syntheticBounds(generator).best, 0.009);
  assertAlmostEquals(syntheticBounds(generator).best, 0.97, 1e-12);
  assertAlmostEquals(syntheticBounds(generator).bagOfWords, 0.586, 1e-12);
});

Deno.test("turning a document's order around leaves its bag of words as likely as before", () => {
  // Counts of every word by order of the unhinted documents, compared by chi-squared.
  const counts = new Map<string, [number, number]>();
  for (const { label, words } of documents({ noise: 0, hinted: 0 })) {
    for (const word of words) {
      let pair = counts.get(word);
      if (pair === undefined) counts.set(word, pair = [0, 0]);
      pair[label % 2]! += 1;
    }
  }
  let statistic = 0;
  for (const [a, b] of counts.values()) statistic += (a - b) ** 2 / (a + b);
  const freedom = counts.size;
  // Mean `freedom`, standard deviation sqrt(2 freedom); five of them.
  assert(statistic < freedom + 5 * Math.sqrt(2 * freedom), `${statistic} for ${freedom}`);
});

Deno.test("markers of both families occur equally often in every document", () => {
  for (const { words } of documents()) {
    const count = (family: string) => words.filter((word) => word.startsWith(family)).length;
    assertEquals(count("a"), count("b"));
    assert(count("a") >= 1);
    assert(count("t") >= 1);
  }
});

Deno.test("a synthetic corpus repeats by seed, and its documents are the same whatever their number", () => {
  const text = (seed: number, train: number) =>
    [...syntheticCsv({ ...generator, seed, documents: { train, test: 1 } }, "train")].join("");
  assertEquals(text(5, 20), text(5, 20));
  assert(text(5, 20) !== text(6, 20));
  assert(text(5, 30).startsWith(text(5, 20)));
  assertEquals(syntheticClasses(generator).length, 4);
});

Deno.test("documents of extreme params still hold both markers and a topic word", () => {
  for (const [length, signal] of [[[4, 4], 400], [[4, 5], 0], [[500, 500], 400]] as const) {
    const small = { train: 200, test: 1 };
    for (
      const { label, words } of documents({
        length: [...length],
        signal,
        noise: 0,
        documents: small,
      })
    ) {
      assertEquals(classify(words), label);
      assert(words.length >= length[0] && words.length <= length[1]);
    }
  }
});

Deno.test("a generator whose length range is reversed is refused", () => {
  const record = { name: "s", title: "S", kind: "synthetic", format: "generated" };
  const source = (length: number[]) => ({ ...record, generator: { ...generator, length } });
  assertEquals(sourceSchema.safeParse(source([12, 20])).success, true);
  assertEquals(sourceSchema.safeParse(source([20, 12])).success, false);
});
