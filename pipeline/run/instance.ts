/**
 * Makes one instance: places its inputs, runs its stage, takes its outputs into the store.
 *
 * @module
 */
import { dirname, join } from "node:path";
import type { Bundle } from "../key/bundle_format.ts";
import { describeMachine } from "../key/machine.ts";
import { InputChangedError, StageError } from "../errors.ts";
import { lookAt, openFolders } from "../files.ts";
import type { Instance } from "../plan/graph.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Platform } from "../key/platform.ts";
import type { Access, Stage } from "../stage.ts";
import type { BlobStore } from "../store/artifact_store.ts";
import { type Manifest, manifestText, type OutputRecord, type Trace } from "../store/trace.ts";
import { writeCommandFiles } from "../store/command_code.ts";
import { checkpointPath, makeFolder, type Workspace } from "../store/workspace.ts";
import type { Executor, Metrics, Reach, Task, TaskInput, Watch } from "./executor.ts";
import type { Scratch } from "./scratch.ts";
import type { Share } from "./share.ts";
import { requirePlatform } from "./same_platform.ts";

/** Everything an instance is made from. */
export interface Order {
  readonly instance: Instance;
  readonly key: Sha256;
  readonly bundle: Bundle;
  readonly platform: Platform;
  /** The outputs of an upstream instance. */
  readonly outputs: (upstream: Instance) => Trace["outputs"];
  /** A private, empty folder. */
  readonly folder: string;
  readonly scratch: Pick<Scratch, "module" | "cache">;
  /** Mirror folder or base URL. */
  readonly mirror: string | undefined;
  readonly share: Share;
}

/** The upstream instances of which an output is missing or damaged; damaged blobs are set aside. */
export async function damagedInputs(
  instance: Instance,
  outputs: Order["outputs"],
  store: BlobStore,
): Promise<Set<Instance>> {
  const damaged = new Set<Instance>();
  for (const { instance: from, output } of Object.values(instance.inputs).flat()) {
    if (await store.verifyOutput(outputs(from)[output]!) !== "ok") damaged.add(from);
  }
  return damaged;
}

/** Where an instance's inputs come from and its outputs go. */
export interface Places {
  readonly store: BlobStore;
  readonly workspace: Workspace;
}

/** What a stage left in its folder. */
export interface Made {
  /** Output name to path. */
  readonly paths: Task["outputs"];
  readonly metrics: Metrics;
}

/**
 * Runs the stage.
 *
 * @throws {StageError} If the stage fails.
 * @throws {InputChangedError} If an input's content changed meanwhile: the result counts for nothing.
 */
export async function makeInstance(
  order: Order,
  { store, workspace }: Places,
  { executor, watch, signal }: {
    readonly executor: Executor;
    readonly watch: Omit<Watch, "platform">;
    readonly signal: AbortSignal;
  },
): Promise<Made> {
  const { instance } = order;
  const { stage } = instance.node;
  const { task, reach } = await prepare(order, { store, workspace });
  const metrics = await executor.execute(task, {
    reach,
    cache: order.scratch.cache,
    share: order.share,
    watch: { ...watch, platform: (found) => requirePlatform(stage, order.platform, found) },
    signal,
  });
  for (const from of await damagedInputs(instance, order.outputs, store)) {
    throw new InputChangedError(
      `Cannot keep a result of "${stage.name}": its inputs must not change while it runs, and an ` +
        `output of ${from.name} did; run again, which makes that again first`,
    );
  }
  return { paths: task.outputs, metrics };
}

/**
 * Stores what a stage wrote.
 *
 * @throws {StageError} If it left an output unwritten.
 */
export async function takeOutputs(
  { instance: { node: { stage } }, folder }: Order,
  { paths }: Made,
  store: BlobStore,
): Promise<Trace["outputs"]> {
  // What a stage made read-only can be taken out all the same.
  openFolders(join(folder, "outputs"));
  const outputs: Record<string, OutputRecord> = {};
  for (const [name, { kind, exactness }] of Object.entries(stage.outputs)) {
    const path = paths[name]!;
    outputs[name] = {
      ...await takeOutput(path, { kind, stage: stage.name, name }, store),
      kind,
      exactness,
    };
  }
  return outputs;
}

/** Puts into the folder of an instance what its stage finds there, and says what it may reach. */
async function prepare(
  order: Order,
  { store, workspace }: Places,
): Promise<{ task: Task; reach: Reach }> {
  const { instance: { node: { stage }, params }, folder, platform } = order;
  const access: Access = stage.access?.(params) ?? {};
  const written = join(folder, "outputs");
  Deno.mkdirSync(written);
  const { command } = stage;
  const module = command ? join(folder, "files") : order.scratch.module(order.bundle);
  if (command) writeCommandFiles(workspace, order.bundle.code, module);
  const inputs = await placeInputs(order, store);
  const outputs: Record<string, string> = {};
  for (const [name, { kind }] of Object.entries(stage.outputs)) {
    outputs[name] = join(written, name);
    if (kind === "folder") Deno.mkdirSync(outputs[name]);
  }
  const checkpoints = stage.checkpoints ? checkpointPath(workspace, order.key) : undefined;
  if (checkpoints !== undefined) makeFolder(workspace, checkpoints);
  const mirror = access.mirror ? order.mirror : undefined;
  const remote = mirror !== undefined && /^https?:/.test(mirror);
  const own = checkpoints === undefined ? [] : [checkpoints];
  const task: Task = {
    stage: stage.name,
    module,
    folder,
    params,
    inputs,
    many: Object.keys(stage.inputs).filter((name) => stage.inputs[name]?.many),
    outputs,
    ...(command ? { command } : {}),
    ...(stage.numeric ? { backend: platform.backend } : {}),
    ...(mirror !== undefined ? { mirror } : {}),
    ...(checkpoints !== undefined ? { checkpoints } : {}),
  };
  const reach: Reach = {
    read: [folder, dirname(module), ...own, ...(mirror !== undefined && !remote ? [mirror] : [])],
    write: [written, ...own],
    hosts: [...(access.hosts ?? []), ...(remote ? [new URL(mirror).host] : [])],
    secrets: access.secrets ?? [],
  };
  return { task, reach };
}

/** Places input blobs in the scratch folder: the only place the stage may read. */
async function placeInputs(
  order: Order,
  store: BlobStore,
): Promise<Record<string, TaskInput[]>> {
  const folder = join(order.folder, "inputs");
  Deno.mkdirSync(folder);
  const { stage } = order.instance.node;
  let count = 0;
  const place = async (digest: Sha256): Promise<string> => {
    const path = join(folder, String(count++));
    await store.place(digest, path);
    return path;
  };
  const inputs: Record<string, TaskInput[]> = {};
  for (const name of Object.keys(stage.inputs)) {
    const bound: TaskInput[] = inputs[name] = [];
    for (const { instance: from, output } of order.instance.inputs[name] ?? []) {
      const record = order.outputs(from)[output]!;
      const at = Object.fromEntries(
        Object.entries(from.at).map(([axis, value]) => [axis, String(value)]),
      );
      if (stage.command) {
        // A program sees these names: they must follow from its key.
        const own = stage.inputs[name]!.many ? `${name}/${bound.length}` : name;
        const path = join(folder, own);
        await placeWhole(record, path, store);
        bound.push({ at, sha256: record.sha256, path, files: [] });
        continue;
      }
      const held = record.kind === "folder" ? await store.manifest(record.sha256) ?? {} : {};
      const files: [string, string][] = [];
      for (const [path, { sha256 }] of Object.entries(held)) {
        files.push([path, await place(sha256)]);
      }
      bound.push({ at, sha256: record.sha256, path: await place(record.sha256), files });
    }
  }
  return inputs;
}

/** Places an artifact as what it is, a file or a folder. */
async function placeWhole(
  { kind, sha256 }: OutputRecord,
  path: string,
  store: BlobStore,
): Promise<void> {
  Deno.mkdirSync(dirname(path), { recursive: true });
  if (kind === "file") return await store.place(sha256, path);
  Deno.mkdirSync(path);
  for (const [name, { sha256: digest }] of Object.entries(await store.manifest(sha256) ?? {})) {
    const file = join(path, name);
    Deno.mkdirSync(dirname(file), { recursive: true });
    await store.place(digest, file);
  }
}

async function takeOutput(
  path: string,
  output: { kind: "file" | "folder"; stage: string; name: string },
  store: BlobStore,
): Promise<{ sha256: Sha256; bytes: number }> {
  const found = lookAt(path)?.kind;
  const wanted = output.kind === "file" ? "a file" : "a folder";
  if (found !== wanted) {
    throw new StageError(
      `Cannot finish an instance of "${output.stage}": its stage must write output ` +
        `"${output.name}" as ${wanted}, and ${found ? `wrote ${found}` : "wrote none"}`,
    );
  }
  if (output.kind === "folder") {
    const entries: [string, Manifest[string]][] = [];
    for (const file of walk(path, "")) entries.push([file, await store.putFile(join(path, file))]);
    const bytes = entries.reduce((sum, [, entry]) => sum + entry.bytes, 0);
    return { sha256: await store.put(manifestText(Object.fromEntries(entries))), bytes };
  }
  return await store.putFile(path);
}

function* walk(folder: string, prefix: string): Generator<string> {
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const entry of entries) {
    const path = prefix + entry.name;
    const whole = join(folder, entry.name);
    const refuse = (rule: string) =>
      new StageError(`Cannot store output file ${path}: it must ${rule}`);
    if (!lookAt(whole)) throw refuse("have a name in UTF-8, and has another");
    if (entry.isDirectory) yield* walk(whole, `${path}/`);
    else if (entry.isFile) yield path;
    else throw refuse("be a file, and is neither that nor a folder");
  }
}

/** What a trace says about where it was made, for people. */
export function madeOn(platform: Platform, stage: Stage): Record<string, string> {
  const { backend, reason } = platform;
  return {
    computer: describeMachine(),
    ...(stage.numeric ? { backend: `${backend} (${reason})` } : {}),
  };
}
