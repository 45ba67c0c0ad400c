import { assertEquals } from "@std/assert";
import { WordNumbers } from "../../data/vocabulary.ts";
import { eachWord } from "../../data/words.ts";

function words(text: string): string[] {
  const found: string[] = [];
  eachWord(text, (start, end) => found.push(text.slice(start, end)));
  return found;
}

Deno.test("words are split as Python's str.split does, at every character it calls space", () => {
  // From Python: [c for c in map(chr, range(0x110000)) if c.isspace()], in hexadecimal.
  const spaces =
    "9 a b c d 1c 1d 1e 1f 20 85 a0 1680 2000 2001 2002 2003 2004 2005 2006 2007 2008 2009 200a " +
    "2028 2029 202f 205f 3000";
  const expected = new Set(spaces.split(" ").map((code) => parseInt(code, 16)));
  for (let code = 0; code < 0x10000; code++) {
    const found = words(`x${String.fromCharCode(code)}y`).length;
    assertEquals(found, expected.has(code) ? 2 : 1, `U+${code.toString(16)}`);
  }
  assertEquals(words(""), []);
  assertEquals(words(" \n a  b\tc "), ["a", "b", "c"]);
});

Deno.test("ids go by frequency, equally frequent words by when they were first counted", () => {
  const numbers = new WordNumbers();
  const add = (word: string, count: boolean) =>
    numbers.add(word, { start: 0, end: word.length, count });
  // "late" is seen first, but counted only after "b" and "c".
  add("late", false);
  for (const word of "b c a a late late c b rare".split(" ")) add(word, true);
  add("unseen", false);
  const { words, ids } = numbers.vocabulary({ minFrequency: 2, maxSize: 100 });
  assertEquals(words, ["b", "c", "a", "late"]);
  const all = ["late", "b", "c", "a", "rare", "unseen"];
  assertEquals(all.map((word) => ids[add(word, false)]), [5, 2, 3, 4, 1, 1]);
  assertEquals(numbers.vocabulary({ minFrequency: 2, maxSize: 4 }).words, ["b", "c"]);
  assertEquals(numbers.vocabulary({ minFrequency: 1, maxSize: 2 }).words, []);
});

Deno.test("hundreds of thousands of words, some long, some alike, are each found again", () => {
  const numbers = new WordNumbers();
  const word = (i: number) =>
    `${i % 3 ? "" : "x".repeat(i % 300)}${(i * 2654435761) % 2 ** 32}\ud83d`;
  const all = Array.from({ length: 200_000 }, (_, i) => word(i));
  const expected = new Map<string, number>();
  for (let round = 0; round < 2; round++) {
    for (const word of all) {
      if (!expected.has(word)) expected.set(word, expected.size);
      const text = `<${word}>`;
      const found = numbers.add(text, { start: 1, end: text.length - 1, count: true });
      if (found !== expected.get(word)) assertEquals(found, expected.get(word));
    }
  }
  assertEquals(numbers.size, expected.size);
  const { words } = numbers.vocabulary({ minFrequency: 1, maxSize: 1e6 });
  assertEquals(new Set(words), new Set(expected.keys()));
});
