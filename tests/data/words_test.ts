import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { Counter } from "../../models/random.ts";
import { ChunkedArray, GrowingArray } from "../../data/growing.ts";
import { DataError } from "../../data/lines.ts";
import { bytesOf, textOf } from "../../data/text_bytes.ts";
import { WordNumbers } from "../../data/vocabulary.ts";

/** Adds a text and gives its words' numbers. */
function add(numbers: WordNumbers, text: string, { count = true } = {}) {
  const into = new ChunkedArray(8);
  numbers.read(bytesOf(text));
  const length = numbers.add({ count, limit: Infinity, into });
  const found = Array.from(into.drain(), (piece) => [...piece]).flat();
  assertEquals(found.length, length);
  return found;
}

/** The words of each text. */
function words(texts: readonly string[], lowercase = false): string[][] {
  const numbers = new WordNumbers({ lowercase });
  const found = texts.map((text) => add(numbers, text));
  const { words, ids } = numbers.vocabulary({ minFrequency: 1, maxSize: 1e9 });
  return found.map((all) => all.map((number) => words[ids[number]! - 2]!));
}

Deno.test("words are split as Python's str.split does, at every character it calls space", () => {
  // From Python: [c for c in map(chr, range(0x110000)) if c.isspace()], in hexadecimal.
  const spaces =
    "9 a b c d 1c 1d 1e 1f 20 85 a0 1680 2000 2001 2002 2003 2004 2005 2006 2007 2008 2009 200a " +
    "2028 2029 202f 205f 3000";
  const expected = new Set(spaces.split(" ").map((code) => parseInt(code, 16)));
  const numbers = new WordNumbers({ lowercase: false });
  const check = (code: number, before: number) => {
    const found = add(numbers, `${"x".repeat(before)}${String.fromCharCode(code)}y`).length;
    const wanted = expected.has(code) ? 2 : 1;
    if (found !== wanted) assertEquals(found, wanted, `U+${code.toString(16)} after ${before}`);
  };
  for (let code = 0; code < 0x10000; code++) check(code, 1);
  // Behind words of every length, since bytes are looked at sixteen at a time.
  for (const code of expected) {
    for (let before = 1; before <= 33; before++) {
      for (const near of [code - 1, code, code + 1, code + 64]) check(near, before);
    }
  }
  assertEquals(words(["", " \n a  b\tc "]), [[], ["a", "b", "c"]]);
});

Deno.test("ids go by frequency, equally frequent words by when they were first counted", () => {
  const numbers = new WordNumbers({ lowercase: false });
  // "late" is seen first, but counted only after "b" and "c".
  add(numbers, "late", { count: false });
  add(numbers, "b c a a late");
  add(numbers, "late c b rare");
  add(numbers, "unseen", { count: false });
  const { words, ids } = numbers.vocabulary({ minFrequency: 2, maxSize: 100 });
  assertEquals(words, ["b", "c", "a", "late"]);
  const all = add(numbers, "late b c a rare unseen", { count: false });
  assertEquals(all.map((number) => ids[number]), [5, 2, 3, 4, 1, 1]);
  assertEquals(numbers.vocabulary({ minFrequency: 2, maxSize: 4 }).words, ["b", "c"]);
  assertEquals(numbers.vocabulary({ minFrequency: 1, maxSize: 2 }).words, []);
});

Deno.test("hundreds of thousands of words, some long, some alike, are each found again", () => {
  const numbers = new WordNumbers({ lowercase: false });
  const word = (i: number) =>
    `${i % 3 ? "" : "x".repeat(i % 300)}${(i * 2654435761) % 2 ** 32}\ud83d`;
  const all = Array.from({ length: 200_000 }, (_, i) => word(i));
  const expected = new Map<string, number>();
  for (let round = 0; round < 2; round++) {
    for (const word of all) {
      if (!expected.has(word)) expected.set(word, expected.size);
      const [found] = add(numbers, ` ${word} `);
      if (found !== expected.get(word)) assertEquals(found, expected.get(word));
    }
  }
  assertEquals(numbers.size, expected.size);
  const { words } = numbers.vocabulary({ minFrequency: 1, maxSize: 1e6 });
  assertEquals(new Set(words), new Set(expected.keys()));
});

Deno.test("a chunked array gives back integers of every size, in order", () => {
  for (const chunkLength of [5, 7, 64]) {
    const array = new ChunkedArray(chunkLength);
    const values = [0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455, 268435456];
    values.push(0x7fffffff, 0x80000000, 0xffffffff);
    for (let round = 0; round < 2; round++) {
      assertEquals(Array.from(array.drain()), []);
      for (const value of values) array.append(Uint32Array.of(value));
      array.append(Uint32Array.from(values));
      assertEquals(array.length, 2 * values.length);
      const given = Array.from(array.drain(), (piece) => [...piece]).flat();
      assertEquals(given, [...values, ...values]);
    }
  }
});

Deno.test("a text of more words than are found at once gives them all", () => {
  for (const count of [1, 4095, 4096, 4097, 8192, 10_000]) {
    for (const end of ["", " ", "\u3000"]) {
      for (const word of [(i: number) => `W${i % 5000}`, () => "a"]) {
        const all = Array.from({ length: count }, (_, i) => word(i));
        const [found] = words([` ${all.join(" ")}${end}`], true);
        assertEquals(found!.join(" "), all.join(" ").toLowerCase());
      }
    }
  }
});

Deno.test("only the first words up to the limit are kept, all are counted", () => {
  const numbers = new WordNumbers({ lowercase: false });
  const into = new ChunkedArray();
  numbers.read(bytesOf("a b c c c"));
  assertEquals(numbers.add({ count: true, limit: 2, into }), 5);
  assertEquals(Array.from(into.drain(), (piece) => [...piece]).flat(), [0, 1]);
  assertEquals(numbers.vocabulary({ minFrequency: 1, maxSize: 9 }).words, ["c", "a", "b"]);
});

Deno.test("kept numbers become their words' ids, those of no word the unknown word's", () => {
  const numbers = new WordNumbers({ lowercase: false });
  // Words enough that numbers take one, two and three bytes.
  const texts = Array.from(
    { length: 300 },
    (_, i) => Array.from({ length: i * 2 }, (_, j) => `w${(i * j * 7919) % 20_000}`),
  );
  const into = new ChunkedArray(4096);
  for (const text of texts) {
    numbers.read(bytesOf(text.join(" ")));
    const length = numbers.add({ count: true, limit: 500, into });
    if (length === 0) into.append(Uint32Array.of(0xffffffff));
  }
  const { words, ids } = numbers.vocabulary({ minFrequency: 3, maxSize: 1e6 });
  const found = Array.from(numbers.idsOf(into, ids), (piece) => [...piece]).flat();
  const known = new Map(words.map((word, i) => [word, i + 2]));
  const expected = texts.flatMap((text) =>
    text.length === 0 ? [1] : text.slice(0, 500).map((word) => known.get(word) ?? 1)
  );
  // Joined, since to show where long arrays differ takes more memory than there is.
  assertEquals(found.join(" ") === expected.join(" "), true);
  assertEquals([...numbers.idsOf(into, ids)], [], "they are given once");
});

Deno.test("a table of words that is full is one clear error", () => {
  const numbers = new WordNumbers({ lowercase: true, maxBytes: 1 << 20 });
  const error = assertThrows(
    () => {
      for (let i = 0; i < 1e6; i++) add(numbers, `w${i}`);
    },
    DataError,
    "Cannot number the words: the table of words must take at most 1048576 bytes, and ",
  );
  assertMatch(error.message, / \d{4,} different words fill it; take fewer documents by "subset"$/);
});

/** Characters that lower-casing, whitespace or UTF-8 treat in a way of their own. */
const odd = [
  ..."aZbB09 .,\t\n\r\0\x1c\x85\xa0",
  ..."éÉßẞİıſKÅΣσςАяﬀǅŉ",
  ..."\u1680\u180e\u2000\u200a\u200b\u2028\u202f\u205f\u2060\u3000\ufeff\ufffd",
  ..."字😀𐐀𐐨",
  "\ud83d",
  "\ude00",
  "\ud801",
];

Deno.test("random texts give the words that splitting the lower-cased string gives", () => {
  // All that Python's str.split splits at, as the first test here finds it.
  // deno-lint-ignore no-control-regex
  const space = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
  const draw = new Counter(1, "words");
  const texts = Array.from({ length: 5000 }, (_, i) => {
    const characters = i % 3 === 0 ? odd.slice(0, 15) : odd;
    return Array.from({ length: draw.below(60) }, () => characters[draw.below(characters.length)]!)
      .join("");
  });
  for (const lowercase of [false, true]) {
    const found = words(texts, lowercase);
    for (const [i, text] of texts.entries()) {
      const expected = (lowercase ? text.toLowerCase() : text).split(space).filter(Boolean);
      assertEquals(found[i], expected, JSON.stringify(text));
    }
  }
});

Deno.test("ways of writing a word are counted as one, which takes the place of the first", () => {
  const numbers = new WordNumbers({ lowercase: true });
  add(numbers, "ÉTÉ b a a b été \u212A k k", { count: true });
  add(numbers, "ÉTé", { count: false });
  const { words, ids } = numbers.vocabulary({ minFrequency: 2, maxSize: 100 });
  // Three times U+212A, the Kelvin sign, and k; then été, b and a twice each.
  assertEquals(words, ["k", "été", "b", "a"]);
  const all = add(numbers, "été ÉTÉ K b", { count: false });
  assertEquals(all.map((number) => ids[number]), [3, 3, 2, 4]);
});

Deno.test("texts have the same hash only if they are the same, whatever was read before", () => {
  const numbers = new WordNumbers({ lowercase: true });
  const hash = (text: string) => {
    numbers.read(bytesOf(text));
    const found = new GrowingArray();
    numbers.hash(found);
    add(numbers, text);
    return found.values().join(" ");
  };
  const texts = [
    "",
    "\0",
    "\0\0",
    "a",
    "A",
    "a\0",
    "ab",
    "b".repeat(7),
    "b".repeat(8),
    "b".repeat(9),
  ];
  const swapped = ["12345678abcdefgh", "abcdefgh12345678", "12345678".repeat(3)];
  const all = [...texts, ...swapped].map(hash);
  assertEquals(new Set(all).size, all.length);
  assertEquals([...texts, ...swapped].map(hash), all);
});

Deno.test("bytes of any string give the string back, halves of surrogate pairs too", () => {
  const draw = new Counter(2, "bytes");
  const seen = new Map<string, string>();
  for (let i = 0; i < 5000; i++) {
    const text = Array.from({ length: draw.below(6) }, () => odd[draw.below(odd.length)]!).join("");
    const encoded = bytesOf(text);
    assertEquals(textOf(encoded), text);
    const key = encoded.toHex();
    assertEquals(seen.get(key) ?? text, text);
    seen.set(key, text);
  }
});
