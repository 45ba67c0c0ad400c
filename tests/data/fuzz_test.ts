/**
 * Damages good files at random and checks that reading them either works or fails with a
 * `DataError`, soon, and leaves nothing behind. LOCKSTEP_FUZZ_CASES sets the cases per format.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { gzipSync, inflateSync } from "node:zlib";
import { tokenizeCharacters } from "../../data/characters.ts";
import { openCorpus } from "../../data/corpus.ts";
import { Counter } from "../../models/random.ts";
import { DataError } from "../../data/lines.ts";
import type { Description } from "../../data/source.ts";
import { tokenizeCorpus } from "../../data/tokenize.ts";
import { decodeTokens, encodeTokens } from "../../data/token_file.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const cases = Number(Deno.env.get("LOCKSTEP_FUZZ_CASES") ?? 500);

function fixture<T>(name: string): T {
  return JSON.parse(
    Deno.readTextFileSync(new URL(`../reference/tokenizer/${name}`, import.meta.url)),
  );
}
const archives = fixture<Record<string, string>>("archives.json");
const parquet = fixture<{ files: Record<string, string> }>("parquet.json").files;

const csv = new TextEncoder().encode(
  '"1","a ""b""","c, d"\n"2","two\nlines","e"\r\n\n"1","größe","f"\n'.repeat(8),
);
const jsonl = new TextEncoder().encode(
  '{"text":"a b \\u00e9","label":0}\n{"text":"größe","label":1}\n\n{"label":1,"text":"c"}\n'.repeat(
    8,
  ),
);
const archive = (name: string) => inflateSync(Uint8Array.fromBase64(archives[name]!));

/** Snippets that a format's reader gives a meaning to. */
const splices = [
  '"',
  '""',
  "\n",
  "\r\n",
  ",",
  "{",
  "}",
  "\\u",
  "\0",
  "\xff",
  "../",
  "PK\x01\x02",
  "PK\x05\x06",
];

function damage(bytes: Uint8Array, draw: Counter): Uint8Array {
  let result = bytes.slice();
  for (let edits = 1 + draw.below(4); edits > 0; edits--) {
    const at = draw.below(result.length + 1);
    switch (draw.below(6)) {
      case 0:
        if (at < result.length) result[at]! ^= 1 << draw.below(8);
        break;
      case 1:
        if (at < result.length) result[at] = [0, 0xff, 0x7f, 0x80][draw.below(4)]!;
        break;
      case 2:
        result = result.slice(0, at);
        break;
      case 3: {
        const end = Math.min(result.length, at + draw.below(64));
        result = concat(result.slice(0, at), result.slice(end));
        break;
      }
      case 4: {
        const end = Math.min(result.length, at + draw.below(64));
        result = concat(result.slice(0, end), result.slice(at));
        break;
      }
      default: {
        const snippet = splices[draw.below(splices.length)]!;
        const inserted = Uint8Array.from(snippet, (character) => character.charCodeAt(0));
        result = concat(concat(result.slice(0, at), inserted), result.slice(at));
      }
    }
  }
  return result;
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

interface Target {
  readonly name: string;
  readonly bytes: readonly Uint8Array[];
  readonly description: Pick<Description, "format" | "layout">;
}
const members = { documents: "c/{split}/{class}/*.txt" };
const fields = { label: "label", text: ["text"], first_label: 0 };
const targets: Target[] = [
  {
    name: "a.csv",
    bytes: [csv],
    description: { format: "csv", layout: { label: 0, text: [1, 2], first_label: 1 } },
  },
  { name: "a.jsonl", bytes: [jsonl], description: { format: "jsonl", layout: fields } },
  {
    name: "a.jsonl.gz",
    bytes: [gzipSync(jsonl)],
    description: { format: "jsonl", layout: fields },
  },
  {
    name: "a.tar",
    bytes: [archive("pax.tar"), archive("gnu.tar")],
    description: { format: "tar", layout: members },
  },
  {
    name: "a.tar.gz",
    bytes: [archive("good.tar.gz")],
    description: { format: "tar", layout: members },
  },
  {
    name: "a.zip",
    bytes: [archive("good.zip"), archive("stored.zip")],
    description: { format: "zip", layout: members },
  },
  {
    name: "a.parquet",
    bytes: ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"].map((name) =>
      Uint8Array.fromBase64(parquet[name]!)
    ),
    description: { format: "parquet", layout: fields },
  },
  {
    name: "b.zip",
    bytes: [archive("good.zip")],
    description: { format: "characters", layout: { member: "c/train/*/*" } },
  },
];

const options = {
  maxLength: 16,
  minFrequency: 1,
  maxVocabulary: 100,
  vocabularyOver: "all",
  lowercase: true,
  shares: { train: 0.5, validation: 0, test: 0.5, seed: 0 },
} as const;

async function read({ name, description }: Target, path: string): Promise<void> {
  const whole: Description = {
    ...description,
    source: { name: "f", title: "F", kind: "sample", note: "" },
    ...(description.layout.first_label === undefined ? {} : { classes: ["x", "y", "z"] }),
    files: [{ name, split: "all" }],
  };
  const files = new Map([[name, path]]);
  if (description.format === "characters") {
    await tokenizeCharacters(whole, files, { ...options, unit: "character" });
  } else {
    await tokenizeCorpus(await openCorpus(whole, files), options);
  }
}

for (const target of targets) {
  Deno.test(`${cases} damaged files of ${target.description.format} (${target.name}) are read or refused`, async () => {
    const directory = temporaryFolder();
    const path = join(directory, target.name);
    let refused = 0;
    let slowest = 0;
    for (const bytes of target.bytes) {
      Deno.writeFileSync(path, bytes);
      await read(target, path);
    }
    for (let i = 0; i < cases; i++) {
      const draw = new Counter(2026, target.name, i);
      const bytes = target.bytes[draw.below(target.bytes.length)]!;
      Deno.writeFileSync(path, damage(bytes, draw));
      const start = performance.now();
      try {
        await read(target, path);
      } catch (error) {
        assert(error instanceof DataError, `case ${i}: ${(error as Error).stack}`);
        assert(error.message.startsWith("Cannot "), error.message);
        refused += 1;
      }
      slowest = Math.max(slowest, performance.now() - start);
      assertEquals([...Deno.readDirSync(directory)].map(({ name }) => name), [target.name]);
    }
    // Damage must have been noticed often, or the fuzzer is too gentle to show anything.
    assert(refused > cases / 5, `only ${refused} of ${cases} refused`);
    assert(slowest < 5000, `a case took ${slowest} ms`);
  });
}

Deno.test(`${cases} damaged token files are read or refused`, () => {
  const good = encodeTokens({
    vocabularySize: 9,
    maxLength: 4,
    classes: ["x", "y"],
    splits: {
      train: {
        labels: Uint16Array.of(0, 1),
        offsets: Uint32Array.of(0, 3, 7),
        ids: Uint16Array.of(2, 3, 4, 5, 6, 7, 8),
        clipped: 0,
      },
      test: {
        labels: Uint16Array.of(1),
        offsets: Uint32Array.of(0, 1),
        ids: Uint16Array.of(1),
        clipped: 0,
      },
    },
  });
  let refused = 0;
  for (let i = 0; i < cases; i++) {
    try {
      decodeTokens(new Uint8Array(damage(good, new Counter(2026, "tokens", i))));
    } catch (error) {
      assert(error instanceof SyntaxError, `case ${i}: ${(error as Error).stack}`);
      refused += 1;
    }
  }
  assert(refused > cases / 2, `only ${refused} of ${cases} refused`);
});
