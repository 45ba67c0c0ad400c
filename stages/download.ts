/**
 * Stage `download`: brings a source's raw files in, verified, or generates a synthetic corpus.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { z } from "zod";
import {
  describeSource,
  type Description,
  descriptionName,
  type FileSource,
  type Source,
  sourceSchema,
  type SyntheticSource,
} from "../data/source.ts";
import { syntheticClasses, syntheticCsv } from "../data/synthetic.ts";
import { syntheticText } from "../data/synthetic_text.ts";
import { TransferError, transferFile } from "../data/transfer.ts";
import { StageError } from "../pipeline/errors.ts";
import { defineStage, type StageContext } from "../pipeline/stage.ts";

const params = z.strictObject({
  /** A record of data/sources.yaml, or one of the same form. */
  source: sourceSchema,
  /** What to take, the first that the mirror folder holds, where it does not hold the source. */
  fallbacks: z.array(sourceSchema).default([]),
});

type Params = z.infer<typeof params>;

/** Files fetched at the same time. */
const atOnce = 4;
/** Bytes between two reports of progress. */
const progressStep = 1 << 20;

/**
 * Output `raw` holds the source's files as verified, and `source.json`, which tells how to read
 * them. A file is taken from the mirror if it is there, else from its URLs. URLs and mirror paths
 * do not reach the output: a moved file leaves everything after this stage as it was.
 */
export const download = defineStage<Params>({
  name: "download",
  params,
  inputs: {},
  outputs: { raw: { kind: "folder", exactness: "exact" } },
  checkpoints: true,
  access: ({ source }) =>
    source.format === "generated" ? {} : { hosts: hostsOf(source), mirror: true },
  settle: (params, { mirror }) => ({ source: settleSource(params, mirror), fallbacks: [] }),
  async run(context) {
    const { source } = context.params;
    const description = source.format === "generated"
      ? generate(context, source)
      : await fetchFiles(context, source);
    const text = `${JSON.stringify(description, null, 2)}\n`;
    Deno.writeTextFileSync(join(context.output("raw"), descriptionName), text);
  },
});

/**
 * The source, unless a mirror folder lacks some of its files and has all of a fallback's. What was
 * taken is told by the artifacts: their `kind` and `note` are the record's.
 */
function settleSource({ source, fallbacks }: Params, mirror: string | undefined): Source {
  if (mirror === undefined || URL.canParse(mirror)) return source;
  const held = (candidate: Source) =>
    candidate.format === "generated" ||
    candidate.files.every(({ mirror: path }) => path !== undefined && exists(join(mirror, path)));
  return [source, ...fallbacks].find(held) ?? source;
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Hosts of a source's URLs and those they may redirect to. */
function hostsOf(source: FileSource): string[] {
  const hosts = source.files.flatMap(({ urls }) => urls.map((url) => new URL(url).host));
  return [...new Set([...hosts, ...source.redirect_hosts])].sort();
}

async function fetchFiles(
  context: StageContext<Params>,
  source: FileSource,
): Promise<Description> {
  const raw = context.output("raw");
  const { mirror } = context;
  const hosts = hostsOf(source);
  if (mirror !== undefined && URL.canParse(mirror)) hosts.push(new URL(mirror).host);
  const received = new Map<string, number>();
  const expected = source.files.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  let reported = 0;
  const report = () => {
    let done = 0;
    for (const bytes of received.values()) done += bytes;
    if (done < reported + progressStep && done !== expected) return;
    reported = done;
    context.progress({ done, total: Math.max(done, expected), unit: "bytes" });
  };
  const waiting = [...source.files.entries()];
  const errors: { index: number; error: unknown }[] = [];
  const worker = async () => {
    while (errors.length === 0) {
      const next = waiting.shift();
      if (next === undefined) return;
      const [index, file] = next;
      const path = join(raw, ...file.name.split("/"));
      Deno.mkdirSync(dirname(path), { recursive: true });
      const partial = context.checkpoints === undefined
        ? `${path}.part`
        : join(context.checkpoints, `${index}.part`);
      try {
        const found = await transferFile(file, path, {
          mirror,
          hosts,
          partial,
          keepPartial: context.checkpoints !== undefined,
          onBytes(bytes) {
            received.set(file.name, bytes);
            report();
          },
        });
        if (found !== undefined) {
          console.warn(
            `No checksum is published for "${file.name}" of ${source.name}: took what came, ${
              received.get(file.name) ?? 0
            } bytes with sha256 ${found}; this run's lock pins it`,
          );
        }
      } catch (error) {
        errors.push({ index, error });
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  // Of several failures the first in the record's order, so that a message does not depend on luck.
  const [failure] = errors.sort((a, b) => a.index - b.index);
  if (failure?.error instanceof TransferError) {
    throw new StageError(failure.error.message, { cause: failure.error });
  }
  if (failure !== undefined) throw failure.error;
  return describeSource(source);
}

/** Writes a synthetic corpus: documents in AG News' layout, or one text. */
function generate(context: StageContext<Params>, source: SyntheticSource): Description {
  const { generator, name, title, kind, note } = source;
  if ("symbols" in generator) {
    const text = [...syntheticText(generator)].join("");
    Deno.writeTextFileSync(join(context.output("raw"), "text.txt"), text);
    return {
      source: { name, title, kind, note },
      format: "characters",
      layout: {},
      files: [{ name: "text.txt", split: "all" }],
    };
  }
  const splits = ["train", "test"] as const;
  for (const split of splits) {
    const text = [...syntheticCsv(generator, split)].join("");
    Deno.writeTextFileSync(join(context.output("raw"), `${split}.csv`), text);
  }
  return {
    source: { name, title, kind, note },
    format: "csv",
    classes: syntheticClasses(generator),
    layout: { label: 0, text: [1, 2], first_label: 1 },
    files: splits.map((split) => ({ name: `${split}.csv`, split })),
  };
}
