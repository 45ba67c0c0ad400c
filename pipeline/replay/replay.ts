/**
 * Runs a recorded instance again, outside of the engine: the code that its trace names, on the params
 * and inputs that its trace names, in a worker that has files in memory and nothing else. All of it is
 * bytes in memory, so that it runs in Deno without permissions and in a browser alike.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { PACKAGES_FOLDER } from "../key/bundle_format.ts";
import { canonical, type Json } from "../key/canonical.ts";
import { fusesMultiplyAdd } from "../key/fused.ts";
import { isSha256, type Sha256, sha256 } from "../key/hash.ts";
import type { Task, TaskInput } from "../run/executor.ts";
import type { Backend, StageProgress } from "../stage.ts";
import { isRecordOf, isText } from "../store/shape.ts";
import { codeOf, type Manifest, manifestText, toManifest, type Trace } from "../store/trace.ts";
import { inWorker, STAGE_MODULE, type WrittenFiles } from "./in_worker.ts";
import { paramsOf } from "./params.ts";
import type { Assignment } from "./worker/worker.ts";

/** What there is to run instances again with. */
export interface Material {
  /** The bytes of a digest, if they are at hand; whoever gives them has hashed them. */
  blob(digest: string): Uint8Array<ArrayBuffer> | undefined;
  /** Whether a digest is that of a folder. */
  isFolder(digest: string): boolean;
}

/** What a repeated instance left. */
export interface Replayed {
  /** By output: a folder's digest is that of its manifest. */
  readonly outputs: Readonly<Record<string, ReplayedOutput>>;
  readonly metrics: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** An output as it was made again. */
export interface ReplayedOutput {
  readonly sha256: Sha256;
  /** Path within the output to content; a file's path is empty. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** What to do meanwhile. */
export interface ReplayOptions {
  readonly onProgress?: (progress: StageProgress) => void;
  /** The backend to compute on in place of the recorded one: the bits are others then. */
  readonly backend?: Backend;
  /** How long the worker may say nothing, in milliseconds; by default half an hour. */
  readonly maxSilence?: number;
}

/** What an instance lacks to run again here; empty if it can. */
export function missingFor(
  trace: Trace,
  material: Material,
  backend = trace.ingredients["platform.backend"],
): string[] {
  const missing: string[] = [];
  const own = trace.ingredients["platform.backend"];
  if (own === "webgpu") missing.push("a backend with the same bits everywhere");
  if (backend === "wasm+fma" && !fusesMultiplyAdd()) missing.push("fused multiply-add");
  const need = (digest: string, what: string) => {
    if (material.blob(digest) === undefined) missing.push(`${what} ${digest}`);
    else if (material.isFolder(digest)) {
      for (const [path, entry] of Object.entries(manifestIn(digest, material))) {
        if (material.blob(entry.sha256) === undefined) {
          missing.push(`${what}/${path} ${entry.sha256}`);
        }
      }
    }
  };
  const { code, packages } = codeOf(trace);
  need(code, "code");
  if (packages !== undefined) need(packages, "packages");
  for (const { name, digest } of inputsIn(trace)) need(digest, `input ${name}`);
  return missing;
}

/**
 * Runs a recorded instance again.
 *
 * @throws {LockstepError} If something is missing or the stage fails.
 */
export async function replay(
  trace: Trace,
  material: Material,
  options: ReplayOptions = {},
): Promise<Replayed> {
  const missing = missingFor(trace, material, options.backend);
  if (missing.length > 0) {
    throw new LockstepError(`Cannot run ${trace.instance} again: it needs ${missing.join(", ")}`);
  }
  const begun = performance.now();
  const { files, metrics } = await inWorker({
    modules: codeIn(trace, material),
    assignment: assignmentOf(trace, material, options.backend),
    ...(options.maxSilence === undefined ? {} : { maxSilence: options.maxSilence }),
  }, options.onProgress ?? (() => {}));
  const seconds = (performance.now() - begun) / 1000;
  return { outputs: outputsIn(trace, files), metrics, seconds };
}

/** The texts of a stage's modules. */
function codeIn(trace: Trace, material: Material): Map<string, string> {
  const { code, packages } = codeOf(trace);
  const text = (digest: string) => new TextDecoder().decode(material.blob(digest));
  const modules = new Map([[STAGE_MODULE, text(code)]]);
  const held = packages === undefined ? {} : manifestIn(packages, material);
  for (const [name, { sha256 }] of Object.entries(held)) {
    modules.set(`${PACKAGES_FOLDER}/${name}`, text(sha256));
  }
  return modules;
}

function manifestIn(digest: string, material: Material): Manifest {
  return toManifest(new TextDecoder().decode(material.blob(digest))) ?? {};
}

/** An input as the ingredients have it. */
export interface NamedInput {
  readonly name: string;
  readonly digest: Sha256;
  /** Of what is gathered: what made it, and the coordinates. */
  readonly label?: string;
}

/** The inputs of a trace, in the order in which a stage gets them. */
export function inputsIn({ ingredients }: Pick<Trace, "ingredients">): NamedInput[] {
  return Object.entries(ingredients).flatMap(([ingredient, digest]) => {
    const [, name, label] = /^inputs\.([a-z0-9_]+)(?:\[(.*)\])?$/s.exec(ingredient) ?? [];
    if (name === undefined || !isSha256(digest)) return [];
    return [{ name, digest, ...(label === undefined ? {} : { label }) }];
  }).sort((a, b) =>
    a.name === b.name ? (a.label ?? "") < (b.label ?? "") ? -1 : 1 : a.name < b.name ? -1 : 1
  );
}

/** The coordinates in a label, `evaluate.metrics{"seed":"0"}`; `undefined` if it has none. */
export function coordinatesOf(label: string): Record<string, string> | undefined {
  try {
    const at: unknown = JSON.parse(label.slice(label.indexOf("{")));
    return isRecordOf(at, isText) ? at as Record<string, string> : undefined;
  } catch {
    return undefined;
  }
}

function assignmentOf(
  trace: Trace,
  material: Material,
  backend = trace.ingredients["platform.backend"] as Backend | undefined,
): Assignment {
  const { stage, ingredients } = trace;
  const files: [string, Uint8Array<ArrayBuffer>][] = [];
  const place = (digest: string): string => {
    const path = `/inputs/${files.length}`;
    // A copy: with a part of an archive all of it would be sent.
    files.push([path, material.blob(digest)!.slice()]);
    return path;
  };
  const inputs: Record<string, TaskInput[]> = {};
  const many = new Set<string>();
  for (const { name, digest, label } of inputsIn(trace)) {
    const held = material.isFolder(digest) ? Object.entries(manifestIn(digest, material)) : [];
    const at = label === undefined ? {} : coordinatesOf(label) ?? {};
    if (label !== undefined) many.add(name);
    (inputs[name] ??= []).push({
      ...{ at, sha256: digest, path: place(digest) },
      files: held.map(([path, entry]) => [path, place(entry.sha256)]),
    });
  }
  for (const [name, value] of Object.entries(ingredients)) {
    if (!name.startsWith("inputs.") || value !== "none") continue;
    inputs[name.slice("inputs.".length)] = [];
    many.add(name.slice("inputs.".length));
  }
  const outputs = Object.keys(trace.outputs).map((name) => [name, `/outputs/${name}`] as const);
  const task: Task = {
    ...{
      stage,
      module: "",
      folder: "/",
      checkpoints: "/checkpoints",
      params: canonical(paramsOf(ingredients)) as Json,
      inputs,
    },
    ...{ many: [...many], outputs: Object.fromEntries(outputs) },
    ...(backend === undefined ? {} : { backend }),
  };
  const made = outputs.filter(([name]) => trace.outputs[name]!.kind === "folder");
  return {
    task,
    files,
    folders: ["/", "/inputs", "/outputs", "/checkpoints", ...made.map(([, path]) => path)],
  };
}

function outputsIn(
  trace: Trace,
  files: WrittenFiles,
): Record<string, ReplayedOutput> {
  const outputs: Record<string, ReplayedOutput> = {};
  for (const [name, { kind }] of Object.entries(trace.outputs)) {
    const root = `/outputs/${name}`;
    if (kind === "file") {
      const content = files.find(([path]) => path === root)?.[1];
      if (content === undefined) continue;
      outputs[name] = { sha256: sha256(content), files: new Map([["", content]]) };
    } else {
      const held = files.filter(([path]) => path.startsWith(`${root}/`))
        .map(([path, content]) => [path.slice(root.length + 1), content] as const);
      const manifest = held.map(([path, content]) =>
        [path, { sha256: sha256(content), bytes: content.length }] as const
      );
      const text = manifestText(Object.fromEntries(manifest));
      outputs[name] = { sha256: sha256(text), files: new Map(held) };
    }
  }
  return outputs;
}
