/**
 * `metrics [RUN]`: a row for each instance that recorded metrics, with its coordinates.
 *
 * @module
 */
import { basename, join } from "node:path";
import { statOf } from "../files.ts";
import { LockstepError } from "../errors.ts";
import type { Coordinates } from "../config/references.ts";
import { readLatest } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { lockName } from "../store/lockfile.ts";
import type { Side } from "../views/diff/sides.ts";
import { matcher } from "./glob.ts";
import { tableLines } from "./metrics_table.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { findRun } from "./runs.ts";
import { openStore } from "./session.ts";
import { openExperiment } from "./wiring.ts";

/** An instance that recorded metrics. */
export interface MetricsRow {
  readonly instance: string;
  readonly stage: string;
  /** Empty for an instance that the experiment does not have any more. */
  readonly at: Coordinates;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Prints the metrics of the run that is named, of the latest run, or of the lock if there was none.
 *
 * @throws {LockstepError} If there is neither.
 */
export async function showMetrics(
  project: Project,
  options: Options,
  print: Print,
): Promise<void> {
  const store = openStore(project, options, print);
  try {
    const named = withNames(options);
    const operand = options.operands[0] ?? defaultRun(project, named, store);
    const side = await findRun(operand, { project, options, store });
    const rows = await rowsOf(side, project, named);
    if (options.json) {
      for (const row of rows) print(JSON.stringify({ event: "metrics", ...row }));
    } else if (options.format === "json") print(JSON.stringify(rows, null, 2));
    else if (options.format === "csv") print(await csv(rows));
    else {
      print(side.label);
      for (const line of tableLines(rows)) print(line);
    }
  } finally {
    store?.close();
  }
}

/** The options with experiment and profile as the run's name has them: `lock/fusion.small.lock`. */
function withNames(options: Options): Options {
  const name = basename(options.operands[0] ?? "");
  const [, experiment, profile] = /^([a-z]\w*)\.([a-z]\w*)/.exec(name) ?? [];
  return experiment === undefined || profile === undefined
    ? options
    : { ...options, experiment, profile };
}

function defaultRun(project: Project, options: Options, store: LocalStore | undefined): string {
  const experiment = options.experiment ?? project.experiment;
  const { profile } = options;
  const name = `${experiment}.${profile}`;
  // A run that was interrupted before anything ended has a record that names nothing.
  if (store && Object.keys(readLatest(name, store)?.keys ?? {}).length > 0) return name;
  const backend = options.backend === "auto" ? "wasm" : options.backend;
  const lock = join(project.root, lockName({ experiment, profile, backend }));
  if (statOf(lock)) return lock;
  throw new LockstepError(
    `Cannot list the metrics of ${name}: it has not been run here, and has no lock; run "deno task ` +
      `reproduce --experiment ${experiment} --profile ${profile}" first`,
  );
}

/** Rows in the order of the graph; what the experiment does not have any more comes last. */
async function rowsOf(side: Side, project: Project, options: Options): Promise<MetricsRow[]> {
  const { all } = await openExperiment(project, options);
  const known = new Map(all.map((instance) => [instance.name, instance]));
  const names = [...new Set([...known.keys(), ...side.lock.keys()])]
    .filter((name) => side.lock.has(name));
  const isWanted = options.only.length > 0 ? matcher(options.only, names, "--only") : () => true;
  return names.filter(isWanted).flatMap((instance) => {
    const { metrics } = side.lock.get(instance)!;
    if (Object.keys(metrics).length === 0) return [];
    const stage = known.get(instance)?.node.name ?? instance.split("/")[0]!;
    return [{ instance, stage, at: known.get(instance)?.at ?? {}, metrics }];
  });
}

/** One table of all rows, a column for each axis and each metric. */
async function csv(rows: readonly MetricsRow[]): Promise<string> {
  const { stringify } = await import("@std/csv");
  const axes = [...new Set(rows.flatMap(({ at }) => Object.keys(at)))];
  const metrics = [...new Set(rows.flatMap(({ metrics }) => Object.keys(metrics)))];
  const columns = ["instance", "stage", ...axes, ...metrics];
  return stringify(
    [
      columns,
      ...rows.map((row) => [
        row.instance,
        row.stage,
        ...axes.map((axis) => row.at[axis] ?? ""),
        ...metrics.map((metric) => row.metrics[metric] ?? ""),
      ]),
    ],
    { headers: false },
  ).trimEnd();
}
