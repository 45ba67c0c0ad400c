/**
 * Makes one instance: lays its inputs out, runs its stage, takes its outputs into the store.
 *
 * @module
 */
import { join } from "node:path";
import type { Bundle } from "../../key/bundle.ts";
import { describeMachine } from "../../key/machine.ts";
import { keepCode, writeModules } from "../../store/code.ts";
import { InputChangedError, StageError } from "../../errors.ts";
import type { Instance } from "../../plan/graph.ts";
import type { Sha256 } from "../../key/hash.ts";
import type { Platform } from "../../key/platform.ts";
import type { Access, Stage } from "../../stage.ts";
import type { Store } from "../../store/store.ts";
import { manifestText, type OutputRecord, type Trace } from "../../store/trace.ts";
import type { Executor, Task, TaskInput, Watch } from "../executor.ts";
import { requirePlatform } from "../same_platform.ts";

/** Everything an instance is made from. */
export interface Order {
  readonly instance: Instance;
  readonly key: Sha256;
  readonly bundle: Bundle;
  readonly platform: Platform;
  /** The outputs of an upstream instance. */
  readonly outputs: (upstream: Instance) => Trace["outputs"];
  /** A private, empty folder. */
  readonly scratch: string;
  /** Mirror folder or base URL. */
  readonly mirror: string | undefined;
}

/** The upstream instances of which an output is missing or damaged; damaged blobs are set aside. */
export function damagedInputs(
  instance: Instance,
  outputs: Order["outputs"],
  store: Store,
): Set<Instance> {
  const damaged = new Set<Instance>();
  for (const { instance: from, output } of Object.values(instance.inputs).flat()) {
    for (const digest of store.digestsOf(outputs(from)[output]!)) {
      if (store.verify(digest) !== "ok") damaged.add(from);
    }
  }
  return damaged;
}

/**
 * Runs the stage and stores what it wrote.
 *
 * @throws {StageError} If the stage fails or leaves an output unwritten.
 * @throws {InputChangedError} If an input's content changed meanwhile: the result counts for nothing.
 */
export async function makeInstance(
  order: Order,
  store: Store,
  { executor, watch, signal }: {
    readonly executor: Executor;
    readonly watch: Omit<Watch, "platform">;
    readonly signal: AbortSignal;
  },
): Promise<{ outputs: Trace["outputs"]; metrics: Record<string, number> }> {
  const { instance, scratch } = order;
  const { stage } = instance.node;
  const access: Access = stage.access?.(instance.params) ?? {};
  const written = join(scratch, "outputs");
  Deno.mkdirSync(written);
  const module = writeModules(store, order.bundle, scratch);
  const inputs = linkInputs(order, store);
  const paths: Record<string, string> = {};
  for (const [name, spec] of Object.entries(stage.outputs)) {
    paths[name] = join(written, name);
    if (spec.kind === "folder") Deno.mkdirSync(paths[name]);
  }
  const write = [written];
  let checkpoints: string | undefined;
  if (stage.checkpoints) {
    checkpoints = store.checkpointPath(order.key);
    Deno.mkdirSync(checkpoints, { recursive: true });
    write.push(checkpoints);
  }
  const mirror = access.mirror ? order.mirror : undefined;
  const remote = mirror !== undefined && /^https?:/.test(mirror);
  const task: Task = {
    stage: stage.name,
    module,
    params: instance.params,
    inputs,
    many: Object.keys(stage.inputs).filter((name) => stage.inputs[name]?.many),
    outputs: paths,
    ...(stage.numeric ? { backend: order.platform.backend } : {}),
    ...(mirror !== undefined ? { mirror } : {}),
    ...(checkpoints !== undefined ? { checkpoints } : {}),
  };
  const metrics = await executor.execute(task, {
    reach: {
      read: [
        scratch,
        ...(checkpoints ? [checkpoints] : []),
        ...(mirror && !remote ? [mirror] : []),
      ],
      write,
      hosts: [...(access.hosts ?? []), ...(remote ? [new URL(mirror!).host] : [])],
    },
    watch: { ...watch, platform: (found) => requirePlatform(stage, order.platform, found) },
    signal,
  });
  for (const from of damagedInputs(instance, order.outputs, store)) {
    throw new InputChangedError(
      `Cannot keep the result of ${instance.name}: its inputs must not change while it runs, and ` +
        `an output of ${from.name} did; run again, which makes it anew`,
    );
  }
  const outputs: Record<string, OutputRecord> = {};
  for (const [name, spec] of Object.entries(stage.outputs)) {
    outputs[name] = {
      ...takeOutput(paths[name]!, { kind: spec.kind, stage: stage.name, name }, store),
      kind: spec.kind,
      exactness: spec.exactness,
    };
  }
  keepCode(store, order.bundle);
  return { outputs, metrics };
}

/** Links input blobs into the scratch folder: the only place the stage may read. */
function linkInputs(order: Order, store: Store): Record<string, TaskInput[]> {
  const folder = join(order.scratch, "inputs");
  Deno.mkdirSync(folder);
  let count = 0;
  const link = (digest: Sha256): string => {
    const path = join(folder, String(count++));
    try {
      Deno.linkSync(store.blobPath(digest), path);
    } catch {
      Deno.copyFileSync(store.blobPath(digest), path);
    }
    return path;
  };
  const inputs: Record<string, TaskInput[]> = {};
  for (const name of Object.keys(order.instance.node.stage.inputs)) {
    inputs[name] = (order.instance.inputs[name] ?? []).map(({ instance: from, output }) => {
      const record = order.outputs(from)[output]!;
      const at = Object.fromEntries(
        Object.entries(from.at).map(([axis, value]) => [axis, String(value)]),
      );
      const files = record.kind === "folder"
        ? Object.entries(store.manifest(record.sha256)).map(([path, entry]) =>
          [path, link(entry.sha256)] as const
        )
        : [];
      return { at, sha256: record.sha256, path: link(record.sha256), files };
    });
  }
  return inputs;
}

function takeOutput(
  path: string,
  output: { kind: "file" | "folder"; stage: string; name: string },
  store: Store,
): { sha256: Sha256; bytes: number } {
  if (output.kind === "folder") {
    const manifest: Record<string, { sha256: Sha256; bytes: number }> = {};
    for (const file of walk(path, "")) manifest[file] = store.takeFile(join(path, file));
    const text = manifestText(manifest);
    const bytes = Object.values(manifest).reduce((sum, entry) => sum + entry.bytes, 0);
    return { sha256: store.takeText(text), bytes };
  }
  const info = (() => {
    try {
      return Deno.lstatSync(path);
    } catch {
      return undefined;
    }
  })();
  if (!info?.isFile) {
    throw new StageError(
      `Cannot finish an instance of "${output.stage}": its stage must write output ` +
        `"${output.name}" as a file, and ${info ? "wrote something else" : "wrote none"}`,
    );
  }
  return store.takeFile(path);
}

function* walk(folder: string, prefix: string): Generator<string> {
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const entry of entries) {
    const path = prefix + entry.name;
    if (entry.isDirectory) yield* walk(join(folder, entry.name), `${path}/`);
    else if (entry.isFile) yield path;
    else throw new StageError(`Cannot store output file ${path}: it must be a file, not a link`);
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
