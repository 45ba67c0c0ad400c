import { assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { parse } from "@std/yaml";
import { StageError } from "../../pipeline/errors.ts";
import { readTokenFile, type TokenSplit } from "../../data/token_file.ts";
import { download } from "../../stages/download.ts";
import { tokenize } from "../../stages/tokenize.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { samplesFolder } from "./samples.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const samples = samplesFolder();
const sources = parse(
  Deno.readTextFileSync(new URL("../../data/sources.yaml", import.meta.url)),
) as Record<string, unknown>;

interface Reference {
  unit: string;
  shares: [number, number, number];
  symbols: number[];
  sizes: number[];
  ids: string[];
}
const reference = JSON.parse(
  Deno.readTextFileSync(
    new URL("../reference/tokenizer/characters_reference.json", import.meta.url),
  ),
) as Record<string, Reference>;

async function run(
  source: unknown,
  params: unknown,
  mirror: string,
): Promise<{ splits: Record<string, TokenSplit>; size: number; vocabulary: unknown }> {
  const directory = temporaryFolder();
  const raw = await runStage(download, { source }, { directory, mirror });
  const inputs = { raw: artifact(raw.outputs.raw!) };
  const { outputs } = await runStage(tokenize, params, { directory, inputs });
  const file = readTokenFile(outputs.tokens!);
  return {
    splits: { ...file.splits },
    size: file.vocabularySize,
    vocabulary: JSON.parse(Deno.readTextFileSync(outputs.vocabulary!)),
  };
}

/** Runs on a text given here. */
async function runText(text: string, params: unknown) {
  const mirror = temporaryFolder();
  Deno.writeTextFileSync(join(mirror, "a.txt"), text);
  const source = {
    name: "mine",
    title: "Mine",
    kind: "sample",
    format: "characters",
    files: [{ name: "a.txt", mirror: "a.txt" }],
  };
  return await run(source, params, mirror);
}

Deno.test("a text is numbered by symbol value and cut where shares of its length fall", async () => {
  const shares = { train: 0.5, validation: 0.25, test: 0.25 };
  const { splits, vocabulary } = await runText("cabß€cabc", { unit: "character", shares });
  assertEquals(vocabulary, { unit: "character", symbols: [97, 98, 99, 0xdf, 0x20ac] });
  assertEquals([...splits.train!.ids], [2, 0, 1, 3]);
  assertEquals([...splits.validation!.ids], [4, 2]);
  assertEquals([...splits.test!.ids], [0, 1, 2]);
  const bytes = await runText("ß", { unit: "byte", shares: { train: 0.5, validation: 0.5 } });
  assertEquals(bytes.vocabulary, { unit: "byte", symbols: [0x9f, 0xc3] });
  assertEquals(Object.keys(bytes.splits), ["train", "validation"]);
});

Deno.test("a byte order mark at the start of each file is no symbol of the text", async () => {
  const mirror = temporaryFolder();
  for (const name of ["a.txt", "b.txt"]) {
    Deno.writeTextFileSync(join(mirror, name), `\ufeff${name[0]}\ufeff`);
  }
  const source = {
    name: "mine",
    title: "Mine",
    kind: "sample",
    format: "characters",
    files: ["a.txt", "b.txt"].map((name) => ({ name, mirror: name })),
  };
  const shares = { train: 0.5, validation: 0.5 };
  const { vocabulary, splits } = await run(source, { unit: "character", shares }, mirror);
  // One inside a file is a zero-width no-break space, and stays.
  assertEquals(vocabulary, { unit: "character", symbols: [97, 98, 0xfeff] });
  assertEquals([splits.train!.ids, splits.validation!.ids].map((ids) => [...ids]), [[0, 2], [
    1,
    2,
  ]]);
  const bytes = await run(source, { unit: "byte", shares }, mirror);
  assertEquals(bytes.splits.train!.ids.length + bytes.splits.validation!.ids.length, 14);
});

Deno.test("a subset keeps each split's start and the whole text's symbols", async () => {
  const shares = { train: 0.5, validation: 0.5 };
  const { splits, size } = await runText("abcdefgh", {
    unit: "byte",
    shares,
    subset: { train: 2 },
  });
  assertEquals([...splits.train!.ids], [0, 1]);
  assertEquals(splits.train!.clipped, 1);
  assertEquals([...splits.validation!.ids], [4, 5, 6, 7]);
  assertEquals(size, 8);
});

Deno.test("a text cannot be read as documents, nor be empty, nor be too short for its shares", async () => {
  await assertRejects(() => runText("abc", {}), StageError, "unit must be byte or character");
  await assertRejects(() => runText("", { unit: "byte" }), StageError, "it holds no text");
  await assertRejects(
    () => runText("abc", { unit: "byte" }),
    StageError,
    'Cannot split a text of 3 symbols: none is left for "validation"',
  );
});

for (const [name, expected] of Object.entries(reference)) {
  if (name === "origin") continue;
  Deno.test({
    name: `${name} gets the symbols, sizes and ids that the Python script gives it`,
    ignore: samples === undefined,
    async fn() {
      const [train, validation, test] = expected.shares;
      const { unit } = expected;
      const source = sources[name === "enwik8_characters" ? "enwik8_prefix" : name];
      const params = { unit, shares: { train, validation, test } };
      const { splits, vocabulary } = await run(source, params, samples!);
      assertEquals(vocabulary, { unit, symbols: expected.symbols });
      const found = ["train", "validation", "test"].flatMap((name) => splits[name] ?? []);
      assertEquals(found.map(({ ids }) => ids.length), expected.sizes);
      const digests = found.map(({ ids }) =>
        createHash("sha256").update(new Uint8Array(ids.slice().buffer)).digest("hex")
      );
      assertEquals(digests, expected.ids);
    },
  });
}

Deno.test({
  name: "tinyshakespeare has 65 symbols and 1,003,854 of them to train on; text8 has 27",
  ignore: samples === undefined,
  fn() {
    assertEquals(reference.tinyshakespeare!.symbols.length, 65);
    assertEquals(reference.tinyshakespeare!.sizes, [1_003_854, 111_540]);
    assertEquals(reference.text8_prefix!.symbols.length, 27);
  },
});
