/**
 * Runs one stage in this process, without the engine: for tests of what a stage computes.
 *
 * @module
 */
import { basename, join } from "node:path";
import { createHash } from "node:crypto";
import { type Measurements, readMeasurements } from "../../analysis/tidy/measurements.ts";
import { canonical } from "../../pipeline/key/canonical.ts";
import type { Artifact, Backend, Run, Stage, StageProgress } from "../../pipeline/stage.ts";

/** Where and how to run; every field but `directory` has a default. */
export interface RunStageOptions {
  /** An existing folder; outputs are written to `directory/<output>`. */
  readonly directory: string;
  readonly inputs?: Readonly<Record<string, Artifact | readonly Artifact[]>>;
  readonly backend?: Backend;
  readonly mirror?: string;
  readonly checkpoints?: string;
  /** Gets what the stage reports; what it throws ends the stage. */
  readonly progress?: (progress: StageProgress) => void;
  readonly stopping?: AbortSignal;
}

/** What a stage run left behind. */
export interface StageRun {
  /** Output name to absolute path. */
  readonly outputs: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, number>>;
  readonly pins: Readonly<Record<string, string>>;
}

/**
 * Validates `params` with the stage's schema and runs what the engine would: `stages/NAME.run.ts`.
 */
export async function runStage<P>(
  stage: Stage<P>,
  params: unknown,
  options: RunStageOptions,
): Promise<StageRun> {
  const outputs: Record<string, string> = {};
  for (const [name, spec] of Object.entries(stage.outputs)) {
    const path = join(options.directory, name);
    if (spec.kind === "folder") Deno.mkdirSync(path, { recursive: true });
    outputs[name] = path;
  }
  const all = (name: string): readonly Artifact[] => {
    if (!(name in stage.inputs)) throw new TypeError(`${stage.name} declares no input "${name}"`);
    const bound = options.inputs?.[name] ?? [];
    return Array.isArray(bound) ? bound : [bound as Artifact];
  };
  const metrics: Record<string, number> = {};
  const pins: Record<string, string> = {};
  const { run } = await import(
    new URL(`../../stages/${stage.name}.run.ts`, import.meta.url).href
  ) as { run: Run<P> };
  await run({
    // In the order in which the engine hands them over.
    params: canonical(stage.params.parse(params)) as P,
    input(name) {
      const [only, ...rest] = all(name);
      if (only === undefined || rest.length > 0) {
        throw new TypeError(`${stage.name} takes exactly one "${name}", got ${all(name).length}`);
      }
      return only;
    },
    inputs: all,
    output(name) {
      const path = outputs[name];
      if (path === undefined) throw new TypeError(`${stage.name} declares no output "${name}"`);
      return path;
    },
    backend: options.backend ?? "wasm",
    mirror: options.mirror,
    checkpoints: options.checkpoints,
    stopping: options.stopping ?? new AbortController().signal,
    progress: options.progress ?? (() => {}),
    metric(name, value) {
      metrics[name] = value;
    },
    pin(name, value) {
      pins[name] = value;
    },
  });
  const coordinates = new Set(
    Object.keys(stage.inputs).flatMap((name) => all(name).flatMap(({ at }) => Object.keys(at))),
  );
  for (const [name, { measures }] of Object.entries(stage.outputs)) {
    if (measures !== undefined) holdToDeclared(outputs[name]!, { measures, coordinates });
  }
  return { outputs, metrics, pins };
}

/** Holds a measurements file to what its output declares: tables, and of each all columns. */
function holdToDeclared(
  path: string,
  { measures, coordinates }: {
    measures: NonNullable<Stage["outputs"][string]["measures"]>;
    coordinates: ReadonlySet<string>;
  },
): void {
  for (const [table, columns] of Object.entries(readMeasurements(path, "an output"))) {
    const declared = measures[table] ?? [];
    const written = Object.keys(columns).filter((column) =>
      !declared.includes("*") || !coordinates.has(column)
    );
    const expected = declared.filter((column) => column !== "*");
    if (written.sort().join() === expected.sort().join()) continue;
    throw new TypeError(
      `table "${table}" must have the columns that its output declares, found ${written}`,
    );
  }
}

/** The tables of a stage's measurements. */
export function measurements(path: string): Measurements {
  return readMeasurements(path, "an output");
}

/** One table of a stage's measurements, a record for each row. */
export function measuredRows(
  path: string,
  table: string,
): Record<string, string | number | null>[] {
  const columns = measurements(path)[table] ?? {};
  const length = Object.values(columns)[0]?.length ?? 0;
  return Array.from(
    { length },
    (_, row) =>
      Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[row]!])),
  );
}

/** Wraps a file, or a folder's files, as an input artifact. */
export function artifact(path: string, at: Readonly<Record<string, string>> = {}): Artifact {
  const files = new Map<string, string>();
  const hash = createHash("sha256");
  if (Deno.statSync(path).isDirectory) {
    const walk = (folder: string, prefix: string) => {
      for (const entry of [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)) {
        const name = prefix + entry.name;
        if (entry.isDirectory) walk(join(folder, entry.name), `${name}/`);
        else files.set(name, join(folder, entry.name));
      }
    };
    walk(path, "");
    for (const [name, file] of files) hash.update(`${name}\0`).update(Deno.readFileSync(file));
  } else {
    hash.update(basename(path)).update(Deno.readFileSync(path));
  }
  return { at, sha256: hash.digest("hex"), path, files };
}
