/**
 * `verify --page FILE INSTANCE…`: a page on which instances run again in a browser, from the latest run or,
 * named first, an audit file.
 *
 * @module
 */
import { resolve } from "node:path";
import { LockstepError, UsageError } from "../errors.ts";
import { megabytes } from "../amounts.ts";
import { lookAt } from "../files.ts";
import { bundle, bytesOf, lost, type Source } from "../replay/bundle.ts";
import { choicesOf } from "../replay/page/material.ts";
import { replayPage } from "../replay/page/page.ts";
import { inspect } from "../replay/verify.ts";
import type { LatestRun } from "../store/latest.ts";
import type { Trace } from "../store/trace.ts";
import { ancestry, makersOf } from "../views/ancestry.ts";
import { latestRun, sourceIn } from "./bundle.ts";
import { matcher } from "./glob.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore } from "./session.ts";
import { writeWholeText } from "./write_whole.ts";

/**
 * Writes the page.
 *
 * @throws {UsageError} If an instance can't run in a browser, or something is in the way.
 */
export async function writePage(project: Project, options: Options, print: Print): Promise<void> {
  const path = resolve(options.page!);
  if (!options.overwrite && lookAt(path) !== undefined) {
    throw new UsageError(
      `Cannot write ${path}: something is there; give another path, or --overwrite`,
    );
  }
  const [first = "", ...rest] = options.operands;
  const isFile = lookAt(first)?.kind === "a file";
  const store = isFile ? undefined : openStore(project, options, print);
  try {
    const material = isFile
      ? materialIn(first)
      : { run: latestRun({ project, options, store }), source: sourceIn(store!) };
    const page = await pageOf(material, isFile ? rest : options.operands);
    await writeWholeText(path, page.text);
    const { chosen, of } = page, bytes = new TextEncoder().encode(page.text).length;
    if (options.json) {
      print(JSON.stringify({ event: "page", path, bytes, instances: chosen }));
    } else print(`${chosen.length} of ${of} instances, ${megabytes(bytes)}\nwrote ${path}`);
  } finally {
    store?.close();
  }
}

/** A run and where it is read from. */
interface RunMaterial {
  readonly run: Pick<LatestRun, "experiment" | "profile" | "backend" | "set" | "commit" | "keys">;
  readonly source: Source;
}

/** The page of the instances that patterns name, with all they came from. */
async function pageOf(
  { run, source }: RunMaterial,
  patterns: readonly string[],
): Promise<{ text: string; chosen: readonly string[]; of: number }> {
  const names = Object.keys(run.keys).sort();
  const isChosen = matcher(patterns, names, "--page");
  const chosen = names.filter(isChosen);
  if (chosen.length === 0) {
    throw new UsageError(`Cannot write a page: it needs instances, e.g. ${names[0]}`);
  }
  const traces = await tracesOf(run, source);
  for (const name of chosen) requireBrowser(name, traces.get(name)!);
  // What they came from is followed to the first bytes, by digests alone.
  const needed = ancestry(
    chosen.map((name) => traces.get(name)!),
    makersOf(traces.values(), new Map()),
  );
  const keys = Object.entries(run.keys).filter(([name]) => needed.has(traces.get(name)!));
  const bundled = await bundle({ ...run, keys: Object.fromEntries(keys) }, source, {
    ...{ largestBytes: 0, ...choicesOf(chosen) },
  });
  return { text: await replayPage(bytesOf(bundled), chosen), chosen, of: names.length };
}

/**
 * The run in an audit file.
 *
 * @throws {LockstepError} If the file is not sound.
 */
function materialIn(path: string): RunMaterial {
  const { findings, records, index } = inspect(Deno.readFileSync(path));
  if (findings.length > 0 || records === undefined || index === undefined) {
    throw new LockstepError(
      `Cannot write a page from ${path}: it must be sound, and has ${findings.length} findings; run ` +
        `"deno task verify ${path}"`,
    );
  }
  const byKey = new Map([...records.traces.values()].map((trace) => [trace.key, trace]));
  return {
    run: { ...index, keys: index.instances },
    source: {
      trace: (key) => Promise.resolve(byKey.get(key)),
      blob: (digest) => records.blob(digest),
    },
  };
}

async function tracesOf(
  run: RunMaterial["run"],
  source: Source,
): Promise<Map<string, Trace>> {
  const traces = new Map<string, Trace>();
  for (const [instance, key] of Object.entries(run.keys)) {
    const trace = await source.trace(key);
    if (trace === undefined) throw lost(`the trace of ${instance}`);
    traces.set(instance, trace);
  }
  return traces;
}

/** @throws {UsageError} If what an instance computes in a browser says nothing. */
function requireBrowser(instance: string, { ingredients }: Trace): void {
  const why = ingredients["alone"] !== undefined
    ? "it measures time"
    : ingredients["platform.backend"] === "webgpu"
    ? "its bits are those of one graphics adapter"
    : undefined;
  if (why === undefined) return;
  throw new UsageError(
    `Cannot write a page for ${instance}: it must give the same bits everywhere, and ${why}`,
  );
}
