/**
 * Writes JSON lines of any size, to measure memory with: the sample's 605 papers again and again, one word in 200
 * made a word of its own by letters drawn behind it, so that the vocabulary grows as a larger corpus's would.
 *
 *     deno run -A bench/tokenize/many_papers.ts FILE GIGABYTES
 *
 * @module
 */
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Counter } from "../../models/random.ts";
import { samplesFolder } from "../../tests/data/samples.ts";

const [path = "", gigabytes = "1.7"] = Deno.args;
const sample = Deno.readFileSync(join(samplesFolder()!, "arxiv/arxiv11_sample605.jsonl.gz"));
const papers = new TextDecoder().decode(gunzipSync(sample)).trimEnd().split("\n")
  .map((line) => JSON.parse(line) as { text: string; label: number });
const draw = new Counter(0, "many papers");
using file = Deno.openSync(path, { write: true, create: true, truncate: true });
const encoder = new TextEncoder();
let written = 0;
let documents = 0;
while (written < Number(gigabytes) * 1e9) {
  const { text, label } = papers[documents++ % papers.length]!;
  const words = text.split(" ");
  for (let at = draw.below(400); at < words.length; at += 1 + draw.below(400)) {
    words[at] += draw.below(36 ** 4).toString(36);
  }
  const line = encoder.encode(`${JSON.stringify({ text: words.join(" "), label })}\n`);
  for (let at = 0; at < line.length;) at += file.writeSync(line.subarray(at));
  written += line.length;
}
console.log(`${documents} papers, ${written} bytes`);
