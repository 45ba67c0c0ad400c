/**
 * `verify --page FILE INSTANCE…`: a page on which instances run again in a browser.
 *
 * @module
 */
import { resolve } from "node:path";
import { LockstepError, UsageError } from "../errors.ts";
import { lookAt } from "../files.ts";
import { bundle, bytesOf } from "../replay/bundle.ts";
import { replayPage } from "../replay/page/page.ts";
import { megabytes } from "../replay/text.ts";
import type { LatestRun } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { writeAtomically } from "../store/sealed.ts";
import type { Trace } from "../store/trace.ts";
import { ancestry, makersOf } from "../views/ancestry.ts";
import { latestRun, sourceIn } from "./bundle.ts";
import { matcher } from "./glob.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore } from "./session.ts";

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
  const store = openStore(project, options, print);
  try {
    const run = latestRun({ project, options, store });
    const names = Object.keys(run.keys).sort();
    const isChosen = matcher(options.operands, names, "--page");
    const chosen = names.filter(isChosen);
    const traces = await tracesOf(run, store!);
    for (const name of chosen) requireBrowser(name, traces.get(name)!);
    // What they came from is followed to the first bytes, by digests alone.
    const needed = ancestry(
      chosen.map((name) => traces.get(name)!),
      makersOf(traces.values(), new Map()),
    );
    const keys = Object.entries(run.keys).filter(([name]) => needed.has(traces.get(name)!));
    const choice = (_: Trace, name: string) => isChosen(name);
    const material = bytesOf(
      await bundle({ ...run, keys: Object.fromEntries(keys) }, sourceIn(store!), {
        ...{ largestBytes: 0, chosen: choice, code: choice },
      }),
    );
    const page = await replayPage(material, chosen);
    writeAtomically(path, page);
    const bytes = new TextEncoder().encode(page).length;
    if (options.json) {
      print(JSON.stringify({ event: "page", path, bytes, instances: chosen }));
    } else {
      print(`${chosen.length} of ${names.length} instances, ${megabytes(bytes)}\nwrote ${path}`);
    }
  } finally {
    store?.close();
  }
}

async function tracesOf(run: LatestRun, store: LocalStore): Promise<Map<string, Trace>> {
  const traces = new Map<string, Trace>();
  for (const [instance, key] of Object.entries(run.keys)) {
    const trace = await store.trace(key);
    if (trace === undefined) {
      throw new LockstepError(
        `Cannot write a page: the trace of ${instance} must be in the store, and is missing or damaged; ` +
          'run "deno task audit --repair"',
      );
    }
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
