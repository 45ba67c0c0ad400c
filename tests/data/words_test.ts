import { assertEquals } from "@std/assert";
import { eachWord, WordNumbers } from "../../data/words.ts";

function words(text: string): string[] {
  const found: string[] = [];
  eachWord(text, (word) => found.push(word));
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
  // "late" is seen first, but counted only after "b" and "c".
  numbers.add("late", false);
  for (const word of "b c a a late late c b rare".split(" ")) numbers.add(word, true);
  numbers.add("unseen", false);
  const { words, ids } = numbers.vocabulary({ minFrequency: 2, maxSize: 100 });
  assertEquals(words, ["b", "c", "a", "late"]);
  const all = ["late", "b", "c", "a", "rare", "unseen"];
  assertEquals(all.map((word) => ids[numbers.add(word, false)]), [5, 2, 3, 4, 1, 1]);
  assertEquals(numbers.vocabulary({ minFrequency: 2, maxSize: 4 }).words, ["b", "c"]);
  assertEquals(numbers.vocabulary({ minFrequency: 1, maxSize: 2 }).words, []);
});
