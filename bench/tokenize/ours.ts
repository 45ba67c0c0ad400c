/**
 * Tokenises a corpus of the sample data into a file, and prints what that took.
 *
 *     deno run -A bench/tokenize/ours.ts SOURCE TOKENS VOCABULARY
 *
 * Documents that come without a split are all of the split "train", as for the Python script.
 *
 * @module
 */
import { parse } from "@std/yaml";
import { join } from "node:path";
import { cpuUsage } from "node:process";
import { type Corpus, openCorpus } from "../../data/corpus.ts";
import { describeSource, sourceSchema } from "../../data/source.ts";
import { writeTokenFile } from "../../data/token_file.ts";
import { tokenizeCorpus } from "../../data/tokenize.ts";
import { samplesFolder } from "../../tests/data/samples.ts";

const [name = "", tokensPath = "", vocabularyPath = ""] = Deno.args;
const sources = parse(
  Deno.readTextFileSync(new URL("../../data/sources.yaml", import.meta.url)),
) as Record<string, unknown>;
const source = sourceSchema.parse(sources[name]);
if (source.format === "generated") throw new Error(`"${name}" has no files`);
const files = new Map(
  source.files.map((file) => [file.name, join(samplesFolder()!, file.mirror!)]),
);

/** A corpus whose documents without a split are of "train", and one more is of "test". */
function allTrain(corpus: Corpus): Corpus {
  return {
    ...corpus,
    drawsSplits: false,
    async *documents() {
      for await (const documents of corpus.documents()) {
        yield documents.map((document) => ({ ...document, split: "train" }));
      }
      yield [{ split: "test", label: 0, text: Uint8Array.of(0x78) }];
    },
  };
}

/** The most memory that this process has had, in bytes; NaN where the system does not say. */
function peakBytes(): number {
  if (Deno.build.os !== "linux") return NaN;
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync("/proc/self/status"))?.[1]);
}

const begun = performance.now();
const before = cpuUsage();
const corpus = await openCorpus(describeSource(source), files);
const { tokens, words } = await tokenizeCorpus(corpus.drawsSplits ? allTrain(corpus) : corpus, {
  maxLength: 512,
  minFrequency: 2,
  maxVocabulary: 50_000,
  vocabularyOver: "train",
  lowercase: true,
  shares: { train: 0.8, validation: 0.1, test: 0.1, seed: 0 },
});
writeTokenFile(tokensPath, tokens);
Deno.writeTextFileSync(vocabularyPath, words.join("\n"));
const { user, system } = cpuUsage(before);
console.log(JSON.stringify({
  seconds: (performance.now() - begun) / 1000,
  processor: (user + system) / 1e6,
  peak: peakBytes(),
}));
