/**
 * `export INSTANCE --to PATH`: copies an artifact out of the store, verified on the way. With `--format` it
 * describes a run instead.
 *
 * @module
 */
import { dirname, join, relative, resolve } from "node:path";
import { LockstepError, UsageError } from "../errors.ts";
import { readLatest } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import type { OutputRecord, Trace } from "../store/trace.ts";
import { suggestion } from "../suggestion.ts";
import { instanceOf } from "./instance.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore } from "./session.ts";
import { openExperiment } from "./wiring.ts";
import { putAmong, writeWhole } from "./write_whole.ts";

/**
 * Copies an output of an instance as its latest run made it.
 *
 * @throws {UsageError} If no output is named where there are several, or something is in the way.
 */
export async function exportArtifact(
  project: Project,
  options: Options,
  print: Print,
): Promise<void> {
  if (options.format !== "artifact") {
    const { exportRun } = await import("./export_run.ts");
    return await exportRun(project, options, print);
  }
  const wiring = await openExperiment(project, options);
  const { name: instance } = instanceOf(wiring, options);
  const { to } = options;
  if (to === undefined) throw new UsageError(`Cannot export ${instance}: it needs --to PATH`);
  const store = openStore(project, options, print);
  try {
    const key = store && readLatest(wiring.name, store)?.keys[instance];
    const trace = key && await store?.trace(key);
    if (!store || !trace) {
      throw new LockstepError(
        `Cannot export ${instance}: its result must be in the store, and is not; run ` +
          `"deno task reproduce --only ${instance}" first`,
      );
    }
    const [output, record] = outputOf(trace, options);
    if (trace.received && await store.checkOutput(record) !== "ok") {
      throw new LockstepError(
        `Cannot export ${instance}: its result came from ${trace.received.from}, and the artifact was ` +
          'not fetched; run "deno task pull" with the same experiment and profile first',
      );
    }
    const files = await filesOf(record, to, store);
    if (!options.overwrite) refuseOverwriting(files, instance);
    await writeWhole(to, (beside) => copy(files, { from: resolve(to), beside, store }), putAmong);
    const { sha256, bytes } = record;
    if (options.json) {
      print(JSON.stringify({ event: "exported", instance, output, path: to, sha256, bytes }));
    } else print(`${output} of ${instance}: ${bytes} bytes, sha256\n${sha256}\nwrote ${to}`);
  } finally {
    store?.close();
  }
}

function outputOf(trace: Trace, { output: wanted }: Options): [string, OutputRecord] {
  const names = Object.keys(trace.outputs);
  if (wanted === undefined && names.length > 1) {
    throw new UsageError(
      `Cannot export ${trace.instance}: it has several outputs; choose one with --output: ` +
        names.join(", "),
    );
  }
  const name = wanted ?? names[0] ?? "";
  const record = trace.outputs[name];
  if (record) return [name, record];
  throw new UsageError(
    `Cannot export "${name}" of ${trace.instance}: no such output${suggestion(name, names)}`,
  );
}

/** Paths to write and what belongs there. */
async function filesOf(
  record: OutputRecord,
  to: string,
  store: LocalStore,
): Promise<Map<string, Trace["key"]>> {
  const target = resolve(to);
  if (record.kind === "file") return new Map([[target, record.sha256]]);
  const manifest = await store.manifest(record.sha256);
  if (!manifest) {
    throw new LockstepError(
      `Cannot export to ${to}: the output's list of files is missing or damaged; run the same ` +
        '"deno task reproduce" again, which makes it again',
    );
  }
  return new Map(
    Object.entries(manifest).map(([name, { sha256 }]) => [join(target, name), sha256]),
  );
}

function refuseOverwriting(files: ReadonlyMap<string, unknown>, instance: string): void {
  for (const path of files.keys()) {
    try {
      Deno.lstatSync(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      throw error;
    }
    throw new UsageError(
      `Cannot export ${instance} to ${path}: something is there; give another path or --overwrite`,
    );
  }
}

/** Copies blobs to where they belong, but beside it. */
async function copy(
  files: ReadonlyMap<string, Trace["key"]>,
  { from, beside, store }: {
    readonly from: string;
    readonly beside: string;
    readonly store: LocalStore;
  },
): Promise<void> {
  if (files.size === 0) Deno.mkdirSync(beside);
  for (const [path, digest] of files) {
    const target = join(beside, relative(from, path));
    Deno.mkdirSync(dirname(target), { recursive: true });
    await store.copy(digest, target);
  }
}
