/**
 * How fast corpora are read and tokenised, beside the Python script that tests compare with.
 *
 *     deno run -A bench/tokenize.ts [--python python3] [--rounds 5]
 *
 * Reads the sample data (LOCKSTEP_SAMPLES). The two take turns, a new process each time: from files to ids,
 * without the start of the process; medians. In a round that does not count it is checked that both give the
 * same ids, labels and vocabulary. The Python script's ids are a text of which it takes a digest, ours a file.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { readTokenFile, type TokenSplit } from "../data/token_file.ts";
import { samplesFolder } from "../tests/data/samples.ts";
import { median } from "./timing.ts";

/** What a process says of itself: seconds, and bytes. */
interface Measured {
  readonly seconds: number;
  readonly processor: number;
  readonly peak: number;
}
/** What the Python script prints. */
interface Reference {
  readonly vocabulary: string;
  readonly splits: Readonly<
    Record<string, { documents: number; tokens: number; ids: string; labels: string }>
  >;
}

const { python = "python3", rounds = "5" } = parseArgs(Deno.args, {
  string: ["python", "rounds"],
}) as { python?: string; rounds?: string };
const samples = samplesFolder();
if (samples === undefined) Deno.exit(1);
const folder = Deno.makeTempDirSync();
const [tokens, vocabulary] = [join(folder, "tokens"), join(folder, "vocabulary")];
const here = (path: string) => new URL(path, import.meta.url).pathname;

async function output(command: string, args: readonly string[]): Promise<[string, string]> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`Cannot run "${command} ${args.join(" ")}": ${error}`);
  return [out!, error!];
}

async function runOurs(source: string): Promise<Measured> {
  const run = ["run", "-A", here("./tokenize/ours.ts"), source, tokens, vocabulary];
  return JSON.parse((await output(Deno.execPath(), run))[0]);
}

async function runTheirs(reference: readonly string[]): Promise<[Reference, Measured]> {
  const files = reference.map((arg) => arg.includes("/") ? join(samples!, arg) : arg);
  const run = [here("./tokenize/reference.py"), ...files];
  return (await output(python, run)).map((text) => JSON.parse(text)) as [Reference, Measured];
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Checks that the files written hold what the Python script printed. */
function compare(reference: Reference): void {
  const { splits } = readTokenFile(tokens);
  const check = (what: string, ours: string, theirs: string) => {
    if (ours !== theirs) throw new Error(`the ${what} differ`);
  };
  check("vocabularies", sha256(Deno.readTextFileSync(vocabulary)), reference.vocabulary);
  for (const [name, { ids, labels }] of Object.entries(reference.splits)) {
    const split: TokenSplit = splits[name === "all" ? "train" : name]!;
    const lines = Array.from(
      split.labels,
      (_, i) => split.ids.subarray(split.offsets[i]!, split.offsets[i + 1]!).join(" "),
    );
    check(`ids of ${name}`, sha256(lines.join("\n")), ids);
    check(`labels of ${name}`, sha256(split.labels.join(" ")), labels);
  }
}

const corpora: [source: string, reference: string[]][] = [
  ["ag_news_sample", ["ag_news", "ag_news/train.sample31533.csv", "ag_news/test.csv"]],
  ["imdb_labelled", ["imdb", "imdb/aclImdb_labelled.tar.gz", "12500"]],
  ["arxiv_sample", ["arxiv", "arxiv/arxiv11_sample605.jsonl.gz"]],
];
console.log(
  "                                        seconds              of processor           peak MB",
);
console.log(
  "corpus         documents    tokens    ours  Python  ratio    ours  Python  ratio  ours Python",
);
for (const [name, reference] of corpora) {
  await runOurs(name);
  const [printed] = await runTheirs(reference);
  compare(printed);
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let round = 0; round < Number(rounds); round++) {
    ours.push(await runOurs(name));
    theirs.push((await runTheirs(reference))[1]);
  }
  const splits = Object.values(printed.splits);
  const of = (all: readonly Measured[], figure: keyof Measured) =>
    median(all.map((measured) => measured[figure]));
  const beside = (figure: "seconds" | "processor") =>
    [of(ours, figure).toFixed(2), of(theirs, figure).toFixed(2)].map((text) => text.padStart(7))
      .join(" ") + (of(theirs, figure) / of(ours, figure)).toFixed(2).padStart(7);
  const mb = (all: readonly Measured[]) => (of(all, "peak") / 2 ** 20).toFixed(0).padStart(6);
  console.log(
    name.padEnd(14) +
      String(splits.reduce((sum, { documents }) => sum + documents, 0)).padStart(10) +
      String(splits.reduce((sum, { tokens }) => sum + tokens, 0)).padStart(10) +
      ` ${beside("seconds")} ${beside("processor")}${mb(ours)} ${mb(theirs)}`,
  );
}
Deno.removeSync(folder, { recursive: true });
