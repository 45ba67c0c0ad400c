import { assertAlmostEquals, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { parse } from "@std/yaml";
import { type Corpus, openCorpus } from "../../data/corpus.ts";
import {
  decodeTokens,
  encodeTokens,
  readTokenFile,
  type TokenSplit,
} from "../../data/token_file.ts";
import { bytesOf } from "../../data/text_bytes.ts";
import { tokenizeCorpus, type Tokenized } from "../../data/tokenize.ts";
import { download } from "../../stages/download.ts";
import { tokenize } from "../../stages/tokenize.ts";
import { StageError } from "../../pipeline/errors.ts";
import { samplesFolder } from "../data/samples.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const sources = parse(
  Deno.readTextFileSync(new URL("../../data/sources.yaml", import.meta.url)),
) as Record<string, unknown>;
const samples = samplesFolder();

interface ReferenceSplit {
  documents: number;
  tokens: number;
  percentiles: number[];
  clipped: number;
  ids: string;
  labels: string;
  first: string;
}
interface Reference {
  vocabularySize: number;
  vocabulary: string;
  head: string[];
  tail: string[];
  splits: Record<string, ReferenceSplit>;
}
const reference = JSON.parse(
  Deno.readTextFileSync(
    new URL("../reference/tokenizer/tokenize_reference.json", import.meta.url),
  ),
) as Record<"ag_news" | "imdb" | "imdb_replaced" | "arxiv", Reference>;

async function fresh<T>(body: (directory: string) => Promise<T>): Promise<T> {
  const directory = temporaryFolder();
  return await body(directory);
}

/** Downloads a source into `directory`. */
async function raw(name: string, directory: string) {
  const run = await runStage(download, { source: sources[name] }, {
    directory,
    ...(samples === undefined ? {} : { mirror: samples }),
  });
  return artifact(run.outputs.raw!);
}

/** Lays a small raw folder out by hand. */
function handmade(directory: string, files: Record<string, string>, description: object) {
  const folder = join(directory, "raw");
  Deno.mkdirSync(folder, { recursive: true });
  const source = { name: "mine", title: "Mine", kind: "sample", note: "" };
  const all = { ...files, "source.json": JSON.stringify({ source, layout: {}, ...description }) };
  for (const [name, text] of Object.entries(all)) Deno.writeTextFileSync(join(folder, name), text);
  return artifact(folder);
}

const twoFiles = {
  format: "csv",
  classes: ["no", "yes"],
  layout: { label: 0, text: [1, 2], first_label: 1 },
  files: [{ name: "train.csv", split: "train" }, { name: "test.csv", split: "test" }],
};

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The digest the Python script takes of ids. */
function idsDigest({ offsets, ids }: TokenSplit): string {
  const lines: string[] = [];
  for (let i = 0; i + 1 < offsets.length; i++) {
    lines.push(ids.subarray(offsets[i]!, offsets[i + 1]!).join(" "));
  }
  return sha256(lines.join("\n"));
}

function compareSplit(split: TokenSplit, expected: ReferenceSplit) {
  assertEquals(split.ids.subarray(0, split.offsets[1]!).join(" ").slice(0, 60), expected.first);
  assertEquals(split.labels.length, expected.documents);
  assertEquals(split.clipped, expected.clipped);
  assertEquals(sha256(split.labels.join(" ")), expected.labels);
  assertEquals(idsDigest(split), expected.ids);
}

Deno.test("a small corpus gets the ids, vocabulary and statistics worked out by hand", async () => {
  await fresh(async (directory) => {
    const input = handmade(directory, {
      "train.csv": '"1","The cat","the CAT sat"\n"2","A dog","a dog the end"\n"2","",""\n',
      "test.csv": '"2","the","unseen dog"\n"1","The cat","the CAT sat"\n',
    }, twoFiles);
    const { outputs } = await runStage(tokenize, { max_length: 5 }, {
      directory,
      inputs: { raw: input },
    });
    // the 3, cat 2, a 2, dog 2: ties by first appearance.
    assertEquals(JSON.parse(Deno.readTextFileSync(outputs.vocabulary!)), {
      padding: 0,
      unknown: 1,
      firstWord: 2,
      words: ["the", "cat", "a", "dog"],
    });
    const file = readTokenFile(outputs.tokens!);
    assertEquals([...file.splits.train!.ids], [2, 3, 2, 3, 1, 4, 5, 4, 5, 2, 1]);
    assertEquals([...file.splits.train!.offsets], [0, 5, 10, 11]);
    assertEquals([...file.splits.train!.labels], [0, 1, 1]);
    assertEquals([...file.splits.test!.ids], [2, 1, 5, 2, 3, 2, 3, 1]);
    assertEquals(file.splits.train!.clipped, 1);
    assertEquals([file.vocabularySize, file.maxLength], [6, 5]);
    const table = (name: string) => measuredRows(outputs.statistics!, name);
    assertEquals(table("duplicates"), [{ splits: "train/test", duplicates: 1 }]);
    assertEquals(table("splits")[0], {
      split: "train",
      documents: 3,
      available: 3,
      tokens: 11,
      mean: 11 / 3,
      median: 5,
      p90: 5.8,
      p95: 5.9,
      p99: 5.98,
      max: 6,
      clipped_share: 1 / 3,
      stamps_own: 0,
      stamps_other: 0,
    });
    assertEquals(table("classes_by_split").slice(0, 2), [
      { split: "train", class: "no", class_documents: 1 },
      { split: "train", class: "yes", class_documents: 2 },
    ]);
    const [train, test] = table("splits");
    const [{ documents, tokens, vocabulary, classes, duplicates }] = table("corpora") as [
      Record<string, number>,
    ];
    assertEquals(
      { documents, tokens, vocabulary, classes, duplicates },
      {
        documents: Number(train!.documents) + Number(test!.documents),
        tokens: Number(train!.tokens) + Number(test!.tokens),
        vocabulary: 6,
        classes: 2,
        duplicates: 1,
      },
    );
  });
});

Deno.test("params that change no token leave every output byte for byte the same", async () => {
  await fresh(async (directory) => {
    const input = await raw("synthetic_short", directory);
    const digests = async (params: unknown) => {
      const { outputs } = await runStage(tokenize, params, { directory, inputs: { raw: input } });
      return ["tokens", "vocabulary", "statistics"].map((name) =>
        createHash("sha256").update(Deno.readFileSync(outputs[name]!)).digest("hex")
      );
    };
    const plain = await digests({});
    for (
      const params of [
        { max_length: 20 },
        { max_vocabulary: 60_000 },
        { lowercase: false },
        { subset: { train: 99_999, seed: 3 } },
        { shares: { train: 0.5, test: 0.5, seed: 9 } },
      ]
    ) assertEquals(await digests(params), plain, JSON.stringify(params));
    const shorter = await digests({ max_length: 19 });
    assertEquals(shorter.map((digest, i) => digest === plain[i]), [false, true, false]);
    const rarer = await digests({ min_frequency: 3 });
    assertEquals(rarer.map((digest, i) => digest === plain[i]), [false, false, false]);
  });
});

Deno.test("a subset is stratified, keeps the documents' order and makes its own vocabulary", async () => {
  await fresh(async (directory) => {
    const input = await raw("synthetic_short", directory);
    const run = async (params: unknown) => {
      const { outputs } = await runStage(tokenize, params, { directory, inputs: { raw: input } });
      return readTokenFile(outputs.tokens!).splits;
    };
    const available = () =>
      measuredRows(join(directory, "statistics"), "splits").map((split) => split.available);
    const whole = await run({});
    assertEquals(available(), [2000, 500]);
    await run({ subset: { train: 200 } });
    assertEquals(available(), [2000, 500]);
    const part = await run({ subset: { train: 200, test: 40, seed: 1 } });
    assertEquals(available(), [2000, 500]);
    assertEquals([part.train!.labels.length, part.test!.labels.length], [200, 40]);
    const lengths = ({ offsets }: TokenSplit) =>
      [...offsets.subarray(1)].map((end, i) => end - offsets[i]!);
    // The kept documents' (label, length) pairs must occur in the whole in the same order.
    let at = 0;
    const wholeLengths = lengths(whole.train!);
    for (const [i, length] of lengths(part.train!).entries()) {
      while (
        at < wholeLengths.length &&
        (wholeLengths[at] !== length || whole.train!.labels[at] !== part.train!.labels[i])
      ) at++;
      assertEquals(at < wholeLengths.length, true, `document ${i} is out of order`);
      at++;
    }
  });
});

Deno.test("a vocabulary over all splits counts test words, one over train does not", async () => {
  await fresh(async (directory) => {
    const input = handmade(directory, {
      "train.csv": '"1","a a b","b"\n',
      "test.csv": '"2","leak leak leak","a"\n',
    }, twoFiles);
    const words = async (vocabulary_over: string) => {
      const { outputs } = await runStage(tokenize, { vocabulary_over }, {
        directory,
        inputs: { raw: input },
      });
      return JSON.parse(Deno.readTextFileSync(outputs.vocabulary!)).words;
    };
    assertEquals(await words("train"), ["a", "b"]);
    assertEquals(await words("all"), ["a", "leak", "b"]);
  });
});

Deno.test("malformed corpora are refused with the file and the line", async () => {
  const good = '"1","a","b"\n';
  const cases: [train: string, test: string, message: string][] = [
    [
      `${good}"5","a","b"\n`,
      good,
      '"train.csv": line 2: the label must be 1 to 2 or one of no, yes, found "5"',
    ],
    [`${good}"1","a"\n`, good, '"train.csv": line 2 must have 3 fields like the first, found 2'],
    [good, `${good}\n"1,"a","b"\n`, '"test.csv": the quote opened on line 3 is never closed'],
    [good, "", 'no documents for the split "test"'],
    ["1,a\n", good, "no column 2 in line 1"],
  ];
  for (const [train, test, message] of cases) {
    await fresh(async (directory) => {
      const input = handmade(directory, { "train.csv": train, "test.csv": test }, twoFiles);
      const error = await assertRejects(
        () => runStage(tokenize, {}, { directory, inputs: { raw: input } }),
        StageError,
      );
      assertStringIncludes(error.message, message);
    });
  }
});

Deno.test("texts that name a class in brackets are counted as leaks of the label", async () => {
  await fresh(async (directory) => {
    const input = handmade(directory, {
      "train.csv":
        '"1","arXiv:1 [no] 2009","[ [no] [yes]"\n"2","[no]","[yes"\n"2","yes","[maybe]"\n',
      "test.csv": '"2","a [yes] b","[yes]"\n',
    }, twoFiles);
    const { outputs } = await runStage(tokenize, {}, { directory, inputs: { raw: input } });
    const stamps = measuredRows(outputs.statistics!, "splits")
      .map((each) => [each.split, each.stamps_own, each.stamps_other]);
    assertEquals(stamps, [["train", 1, 2], ["test", 1, 0]]);
  });
});

Deno.test("what a source says is to be removed is removed before anything is counted", async () => {
  await fresh(async (directory) => {
    const input = handmade(directory, {
      "train.csv": '"1","a [no] a","[yes]"\n',
      "test.csv": '"2","a","b"\n',
    }, { ...twoFiles, layout: { ...twoFiles.layout, remove: ["\\[(?:no|yes)\\]"] } });
    const { outputs } = await runStage(tokenize, {}, { directory, inputs: { raw: input } });
    const [train] = measuredRows(outputs.statistics!, "splits");
    assertEquals([train!.stamps_own, train!.stamps_other, train!.tokens], [0, 0, 2]);
  });
});

Deno.test("replacements are made everywhere, in order, before words are split", async () => {
  await fresh(async (directory) => {
    const input = handmade(directory, {
      "train.csv": '"1","A - b.","c -- d... $& e - - f"\n',
      "test.csv": '"2","x - - y","B"\n',
    }, twoFiles);
    const words = async (replace: [string, string][]) => {
      const params = { replace, min_frequency: 1, vocabulary_over: "all" };
      const { outputs } = await runStage(tokenize, params, { directory, inputs: { raw: input } });
      const { words } = JSON.parse(Deno.readTextFileSync(outputs.vocabulary!));
      const { train } = readTokenFile(outputs.tokens!).splits;
      return Array.from(train!.ids, (id) => words[id - 2]).join(" ");
    };
    // As Python's str.replace: `"e - - f".replace(" - ", " ")` is "e - f".
    assertEquals(
      await words([[".", ""], [" - ", " "], [" -- ", ""], ["$&", "$&$1"]]),
      "a b cd $&$1 e - f",
    );
    // Case is folded afterwards.
    assertEquals(await words([["b", "x"], ["A", "b"]]), "b - x. c -- d... $& e - - f");
  });
});

Deno.test("documents without a split are dealt out, each class in proportion", async () => {
  await fresh(async (directory) => {
    const lines = Array.from(
      { length: 100 },
      (_, i) => JSON.stringify({ text: `w${i}`, label: i % 2 ? "b" : "a" }),
    );
    const input = handmade(directory, { "all.jsonl": `${lines.join("\n")}\n` }, {
      format: "jsonl",
      files: [{ name: "all.jsonl", split: "all" }],
    });
    const { outputs } = await runStage(tokenize, { min_frequency: 1 }, {
      directory,
      inputs: { raw: input },
    });
    const { splits, classes } = readTokenFile(outputs.tokens!);
    assertEquals(classes, ["a", "b"]);
    for (const [name, size] of [["train", 80], ["validation", 10], ["test", 10]] as const) {
      assertEquals(splits[name]!.labels.length, size);
      assertEquals(splits[name]!.labels.filter((label) => label === 0).length, size / 2);
    }
  });
});

Deno.test({
  name: "AG News gets the ids, vocabulary and lengths that the Python script gives it",
  ignore: samples === undefined,
  async fn() {
    await fresh(async (directory) => {
      const input = await raw("ag_news_sample", directory);
      const { outputs } = await runStage(tokenize, {}, { directory, inputs: { raw: input } });
      const { words } = JSON.parse(Deno.readTextFileSync(outputs.vocabulary!));
      assertEquals(words.slice(0, 5), reference.ag_news.head);
      assertEquals(words.slice(-5), reference.ag_news.tail);
      assertEquals(sha256(words.join("\n")), reference.ag_news.vocabulary);
      const file = readTokenFile(outputs.tokens!);
      assertEquals(file.vocabularySize, reference.ag_news.vocabularySize);
      const table = (name: string) => measuredRows(outputs.statistics!, name);
      for (const [name, expected] of Object.entries(reference.ag_news.splits)) {
        compareSplit(file.splits[name]!, expected);
        const own = table("splits").find(({ split }) => split === name)!;
        assertEquals(own.tokens, expected.tokens);
        for (const [i, key] of ["median", "p90", "p95", "p99"].entries()) {
          assertAlmostEquals(Number(own[key]), expected.percentiles[i]!, 1e-9);
        }
      }
      const tested = table("classes_by_split").filter(({ split }) => split === "test");
      assertEquals(tested.map((each) => each.class_documents), [1900, 1900, 1900, 1900]);
      assertEquals(table("corpora")[0]!.majority_share, 0.25);
    });
  },
});

const python = {
  maxLength: 512,
  minFrequency: 2,
  maxVocabulary: 50_000,
  vocabularyOver: "train",
  lowercase: true,
  shares: { train: 1, validation: 0, test: 0, seed: 0 },
} as const;

/** The first 250 reviews of each class and split, and how many there are of each. */
function firstReviews(corpus: Corpus): { corpus: Corpus; seen: Map<string, number> } {
  const seen = new Map<string, number>();
  const first: Corpus = {
    ...corpus,
    async *documents() {
      for await (const documents of corpus.documents()) {
        yield documents.filter(({ split, label }) => {
          const key = `${split} ${label}`;
          const count = seen.get(key) ?? 0;
          seen.set(key, count + 1);
          return count < 250;
        });
      }
    },
  };
  return { corpus: first, seen };
}

async function reviews(directory: string) {
  const input = await raw("imdb_labelled", directory);
  const description = JSON.parse(Deno.readTextFileSync(input.files.get("source.json")!));
  return firstReviews(await openCorpus(description, input.files));
}

function compareReviews({ words, tokens }: Tokenized, expected: Reference) {
  assertEquals(sha256(words.join("\n")), expected.vocabulary);
  const { splits } = decodeTokens(encodeTokens(tokens));
  for (const name of ["train", "test"]) compareSplit(splits[name]!, expected.splits[name]!);
}

Deno.test({
  name: "IMDB holds 12,500 reviews per class and split, and 1,000 get the Python script's ids",
  ignore: samples === undefined,
  async fn() {
    await fresh(async (directory) => {
      const { corpus, seen } = await reviews(directory);
      const tokenized = await tokenizeCorpus(corpus, python);
      assertEquals(Object.fromEntries(seen), {
        "train 0": 12500,
        "train 1": 12500,
        "test 0": 12500,
        "test 1": 12500,
      });
      compareReviews(tokenized, reference.imdb);
    });
  },
});

Deno.test({
  name: "1,000 reviews cleaned as paper C's experiment says get the ids of the authors' cleaning",
  ignore: samples === undefined,
  async fn() {
    const experiment = new URL("../../experiments/averaging/experiment.yaml", import.meta.url);
    const { stages } = parse(Deno.readTextFileSync(experiment)) as {
      stages: { tokenize: { params: object } };
    };
    const params = tokenize.params.parse(stages.tokenize.params);
    if (params.unit !== "word") throw new TypeError("the experiment's unit must be word");
    await fresh(async (directory) => {
      const { corpus } = await reviews(directory);
      const tokenized = await tokenizeCorpus(corpus, {
        ...python,
        maxLength: params.max_length,
        minFrequency: params.min_frequency,
        maxVocabulary: params.max_vocabulary,
        vocabularyOver: params.vocabulary_over,
        replace: params.replace,
      });
      compareReviews(tokenized, reference.imdb_replaced);
    });
  },
});

Deno.test({
  name: "605 arXiv papers get the Python script's vocabulary and ids",
  ignore: samples === undefined,
  async fn() {
    await fresh(async (directory) => {
      const input = await raw("arxiv_sample", directory);
      const description = JSON.parse(Deno.readTextFileSync(input.files.get("source.json")!));
      const corpus = await openCorpus(description, input.files);
      const tokenized = await tokenizeCorpus({
        ...corpus,
        drawsSplits: false,
        async *documents() {
          for await (const documents of corpus.documents()) {
            yield documents.map((document) => ({ ...document, split: "train" as const }));
          }
          // A split "test" there must be; its words are not counted.
          yield [{ split: "test", label: 0, text: bytesOf("x") }];
        },
      }, python);
      assertEquals(sha256(tokenized.words.join("\n")), reference.arxiv.vocabulary);
      const { train } = decodeTokens(encodeTokens(tokenized.tokens)).splits;
      compareSplit(train!, reference.arxiv.splits.all!);
    });
  },
});
