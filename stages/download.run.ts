/**
 * Runs stage `download`, which `download.ts` declares.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { atEndpoints, hubsOf } from "../data/archives.ts";
import {
  describeSource,
  type Description,
  descriptionName,
  type FileSource,
  hostsOf,
  type SyntheticSource,
} from "../data/source.ts";
import { syntheticClasses, syntheticCsv } from "../data/synthetic.ts";
import { syntheticText } from "../data/synthetic_text.ts";
import { TransferError, transferFile } from "../data/transfer.ts";
import { StageError } from "../pipeline/errors.ts";
import type { StageContext } from "../pipeline/stage.ts";
import type { DownloadParams } from "./download.ts";

/** Files fetched at the same time. */
const atOnce = 4;
/** Bytes between two reports of progress. */
const progressStep = 1 << 20;

export async function run(context: StageContext<DownloadParams>): Promise<void> {
  const { source } = context.params;
  const description = source.format === "generated"
    ? generate(context, source)
    : await fetchFiles(context, atEndpoints(source, context.params.endpoints));
  const text = `${JSON.stringify(description, null, 2)}\n`;
  Deno.writeTextFileSync(join(context.output("raw"), descriptionName), text);
}

/** The token of each archive that has one, for its host alone. */
function authorizationOf({ source, endpoints }: DownloadParams): Record<string, string> {
  if (source.format === "generated") return {};
  return Object.fromEntries(
    hubsOf(source).flatMap(({ origin, endpoint, token }) => {
      const secret = token && Deno.env.get(token);
      return secret ? [[new URL(endpoints[endpoint] ?? origin).host, `Bearer ${secret}`]] : [];
    }),
  );
}

async function fetchFiles(
  context: StageContext<DownloadParams>,
  source: FileSource,
): Promise<Description> {
  const raw = context.output("raw");
  const { mirror } = context;
  const hosts = hostsOf(source);
  const authorization = authorizationOf(context.params);
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
          authorization,
          partial,
          keepPartial: context.checkpoints !== undefined,
          onBytes(bytes) {
            received.set(file.name, bytes);
            report();
          },
        });
        if (found !== undefined) {
          const bytes = received.get(file.name) ?? 0;
          context.pin(`${source.name}/${file.name}`, `sha256:${found} ${bytes} bytes`);
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
function generate(context: StageContext<DownloadParams>, source: SyntheticSource): Description {
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
