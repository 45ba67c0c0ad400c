/**
 * `diff A B`: finds the two runs, compares them and shows the result.
 *
 * @module
 */
import { diffRuns, type RunDiff } from "../views/diff.ts";
import type { Side } from "../views/diff/sides.ts";
import type { Comparison, ValueDiff } from "../views/diff/comparison.ts";
import { diffJson } from "../views/diff/leaves.ts";
import { diffPage } from "../views/diff/page.ts";
import type { LocalStore } from "../store/local_store.ts";
import type { OutputRecord } from "../store/trace.ts";
import { printDiff } from "./diff_text.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { findRun } from "./runs.ts";
import { openStore } from "./session.ts";
import { writeWholeText } from "./write_whole.ts";

/**
 * Compares two runs.
 *
 * @throws {UsageError} If an operand names no run.
 */
export async function diff(
  project: Project,
  options: Options,
  print: Print,
): Promise<void> {
  // A comparison of two lock files needs no store and makes none.
  const store = openStore(project, options, print);
  try {
    const [a = "", b = ""] = options.operands;
    const before = await findRun(a, { project, options, store });
    const now = await findRun(b, { project, options, store });
    const runs = diffRuns(before, now);
    const comparison: Comparison = {
      before,
      now,
      runs,
      values: store ? await diffValues(runs, before, now, store) : [],
    };
    printDiff(comparison, options, print);
    if (options.page === undefined) return;
    await writeWholeText(options.page, diffPage(comparison));
    if (!options.json) print(`wrote ${options.page}`);
  } finally {
    store?.close();
  }
}

/** Larger artifacts are data, not findings. */
const MAX_JSON_BYTES = 8_000_000;

/** Compares the JSON files among the outputs that differ, where the store has both versions. */
async function diffValues(
  runs: RunDiff,
  before: Side,
  now: Side,
  store: LocalStore,
): Promise<ValueDiff[]> {
  const values: ValueDiff[] = [];
  for (const { instance, outputs } of runs.both) {
    for (const output of outputs) {
      const textOf = async (side: Side) => {
        // The lock's digest, not the trace's: under one key there may be two results.
        const record = side.traces.get(instance)?.outputs[output];
        const digest = side.lock.get(instance)?.outputs[output]?.sha256;
        if (record?.kind !== "file" || digest === undefined) return undefined;
        return await jsonText(store, { ...record, sha256: digest });
      };
      const [old, current] = [await textOf(before), await textOf(now)];
      const found = old === undefined || current === undefined ? undefined : diffJson(old, current);
      if (found) values.push({ instance, output, ...found });
    }
  }
  return values;
}

async function jsonText(
  store: LocalStore,
  { sha256, bytes }: OutputRecord,
): Promise<string | undefined> {
  if (bytes > MAX_JSON_BYTES) return undefined;
  const text = await store.readText(sha256);
  return text !== undefined && /^[{[]/.test(text) ? text : undefined;
}
