/**
 * How fast corpora are read and tokenised, beside the Python script that tests compare with.
 *
 *     deno run -A bench/tokenize.ts [PYTHON]
 *
 * Reads the sample data (LOCKSTEP_SAMPLES); each figure is the best of three runs, one at a time,
 * file to ids in memory. The Python script also takes digests of what it made, which is little.
 *
 * @module
 */
import { parse } from "@std/yaml";
import { join } from "node:path";
import { openCorpus } from "../data/corpus.ts";
import { describeSource, sourceSchema } from "../data/source.ts";
import { tokenizeCorpus } from "../data/tokenize.ts";
import { samplesFolder } from "../tests/data/samples.ts";

const samples = samplesFolder();
if (samples === undefined) Deno.exit(1);
const python = Deno.args[0] ?? "python3";
const sources = parse(
  Deno.readTextFileSync(new URL("../data/sources.yaml", import.meta.url)),
) as Record<string, unknown>;
const script = new URL("../tests/reference/tokenizer/tokenize_reference.py", import.meta.url);

const options = {
  maxLength: 512,
  minFrequency: 2,
  maxVocabulary: 50_000,
  vocabularyOver: "train",
  lowercase: true,
  shares: { train: 0.8, validation: 0.1, test: 0.1, seed: 0 },
} as const;

async function bestOfThree(run: () => Promise<void>): Promise<number> {
  let best = Infinity;
  for (let i = 0; i < 3; i++) {
    const start = performance.now();
    await run();
    best = Math.min(best, performance.now() - start);
  }
  return best / 1000;
}

const corpora: [source: string, reference: string[]][] = [
  ["ag_news_sample", ["ag_news", "ag_news/train.sample31533.csv", "ag_news/test.csv"]],
  ["imdb_labelled", ["imdb", "imdb/aclImdb_labelled.tar.gz", "12500"]],
  ["arxiv_sample", ["arxiv", "arxiv/arxiv11_sample605.jsonl.gz"]],
];
console.log("corpus           documents      tokens   here s  tokens/s   Python s  ratio");
for (const [name, [reader = "", ...reference]] of corpora) {
  const source = sourceSchema.parse(sources[name]);
  if (source.format === "generated") continue;
  const files = new Map(source.files.map((file) => [file.name, join(samples, file.mirror!)]));
  let documents = 0;
  let tokens = 0;
  const here = await bestOfThree(async () => {
    const corpus = await openCorpus(describeSource(source), files);
    const { statistics } = await tokenizeCorpus(corpus, options);
    const splits = Object.values(statistics.splits);
    documents = splits.reduce((sum, split) => sum + split.documents, 0);
    tokens = splits.reduce((sum, split) => sum + split.tokens, 0);
  });
  const args = [reader, ...reference.map((arg) => arg.includes("/") ? join(samples, arg) : arg)];
  const there = await bestOfThree(async () => {
    const command = new Deno.Command(python, { args: [script.pathname, ...args], stdout: "null" });
    const { success } = await command.output();
    if (!success) throw new Error(`Cannot run "${python} ${script.pathname}"`);
  });
  console.log(
    [
      name.padEnd(16),
      String(documents).padStart(9),
      String(tokens).padStart(11),
      here.toFixed(2).padStart(8),
      String(Math.round(tokens / here)).padStart(9),
      there.toFixed(2).padStart(10),
      (there / here).toFixed(2).padStart(6),
    ].join(" "),
  );
}
