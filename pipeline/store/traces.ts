/**
 * The traces of a folder: sealed files named by their key.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { type Catalog, toRow, wrongFields } from "./catalog.ts";
import { entriesBelow, type Entry, lookAt, readText, sameStat } from "../files.ts";
import { LockstepError } from "../errors.ts";
import { canonicalJson } from "../key/canonical.ts";
import { isSha256, type Sha256, sha256 } from "../key/hash.ts";
import { seal, SealError, unseal, writeAtomically } from "./sealed.ts";
import { toOutputs, toTrace, type Trace } from "./trace.ts";
import { makeFolder, type Workspace } from "./workspace.ts";

/** See the module's comment. */
export class Traces {
  readonly #workspace: Workspace;
  readonly #catalog: Catalog;

  constructor(workspace: Workspace, catalog: Catalog) {
    this.#workspace = workspace;
    this.#catalog = catalog;
  }

  path(key: string): string {
    return tracePath(this.#workspace.root, key);
  }

  /** A key's outputs, if it has a trace: from the catalogue where that is up to date. */
  outputs(key: Sha256): Trace["outputs"] | undefined {
    const found = lookAt(this.path(key));
    if (!found) return undefined;
    const row = this.#catalog.trace(key);
    const outputs = row && sameStat(row, found.stat) ? toOutputs(row.outputs) : undefined;
    return outputs ?? this.get(key)?.outputs;
  }

  /** A key's trace; `undefined` if there is none, or it is damaged, when it is set aside. */
  get(key: Sha256): Trace | undefined {
    const path = this.path(key);
    const stat = lookAt(path)?.stat;
    if (!stat) return undefined;
    const trace = readTrace(this.#workspace, key);
    if (!trace) {
      this.#catalog.removeTrace(key);
      return undefined;
    }
    const [row, wanted] = [this.#catalog.trace(key), toRow(trace, stat)];
    if (!row || wrongFields(row, wanted).length > 0) this.#catalog.putTrace(wanted);
    return trace;
  }

  /** Writes a trace as the one of its key. */
  put(trace: Trace): void {
    const path = this.path(trace.key);
    const inWay = lookAt(path);
    if (inWay && inWay.kind !== "a file") {
      this.#workspace.setAside(path, `must be a file, found ${inWay.kind}`);
    }
    makeFolder(this.#workspace, dirname(path));
    writeAtomically(path, seal(trace));
    this.#catalog.putTrace(toRow(trace, lookAt(path)!.stat));
  }

  /** Writes a trace beside the one of its key, under a name that says what was made. */
  putBeside(trace: Trace): void {
    const made = Object.entries(trace.outputs).map(([name, { sha256 }]) => [name, sha256]);
    const all = { outputs: Object.fromEntries(made), metrics: trace.metrics };
    const name = sha256(canonicalJson(all)).slice(0, 16);
    writeAtomically(this.path(trace.key).replace(/json$/, `${name}.json`), seal(trace));
  }

  /** Sets the trace of a key aside. */
  setAside(key: Sha256, message: string): void {
    this.#workspace.setAside(this.path(key), message);
    this.#catalog.removeTrace(key);
  }

  keys(): Sha256[] {
    return traceKeys(this.#workspace.root);
  }
}

/** Where the trace of a key is kept. */
export function tracePath(root: string, key: string): string {
  return `${root}/traces/${key.slice(0, 2)}/${key.slice(2)}.json`;
}

/** Puts the rows of all traces into a new catalogue. */
export function fillCatalog(catalog: Catalog, workspace: Workspace): void {
  for (const key of traceKeys(workspace.root)) {
    const stat = lookAt(tracePath(workspace.root, key))?.stat;
    const trace = readTrace(workspace, key);
    if (trace && stat) catalog.putTrace(toRow(trace, stat));
  }
}

/** The keys of all traces, sorted. */
function traceKeys(root: string): Sha256[] {
  const keys: Sha256[] = [];
  for (const { subfolder, name, isFile } of entriesBelow(join(root, "traces"))) {
    const key = subfolder + name.replace(/\.json$/, "");
    if (isFile && name.endsWith(".json") && isSha256(key)) keys.push(key);
  }
  return keys;
}

/** A key's trace; `undefined` if there is none, or it is damaged, when it is set aside. */
function readTrace(workspace: Workspace, key: Sha256): Trace | undefined {
  const path = tracePath(workspace.root, key);
  try {
    const text = readText(path);
    return text === undefined ? undefined : parseTrace(text, { key, path });
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    workspace.setAside(path, error.message);
    return undefined;
  }
}

/** Whose trace a file below `traces/` holds, by its name, and whether a further one; `undefined` of others. */
export function traceFile(
  { subfolder, name }: Pick<Entry, "subfolder" | "name">,
): { readonly key: Sha256; readonly isOther: boolean } | undefined {
  const [, rest = "", other] = /^([0-9a-f]{62})(\.[0-9a-f]+)?\.json$/.exec(name) ?? [];
  const key = subfolder + rest;
  return isSha256(key) ? { key, isOther: other !== undefined } : undefined;
}

/**
 * The trace in the text of a file.
 *
 * @param key The key that it must have; absent if any will do.
 * @throws {SealError} If it is not what was written for this key.
 */
export function parseTrace(
  text: string,
  { key, path }: { readonly key?: Sha256; readonly path: string },
): Trace {
  const trace = toTrace(unseal(text, path));
  if (!trace) throw new SealError(`Cannot trust ${path}: it must hold a trace, and does not`);
  if (key !== undefined && trace.key !== key) {
    throw new SealError(
      `Cannot trust ${path}: it must hold the trace of its key, found ${trace.key}`,
    );
  }
  return trace;
}
