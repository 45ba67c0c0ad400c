/**
 * The store: read-only blobs by SHA-256, and the traces that name them.
 *
 * A blob is written in a private scratch folder, synced, and renamed into place; the trace comes
 * last. So whatever is interrupted leaves either a complete result or none.
 *
 * ```text
 * store/blobs/3f/a1…          content, read-only
 * store/traces/9c/02….json    what a key produced, sealed
 * store/code/                 bundles of stages, kept so as not to bundle again
 * store/scratch/              private folders of running instances
 * store/checkpoints/KEY/      states that interrupted instances saved, kept to resume from
 * store/locks/KEY             held while a process makes KEY
 * store/live/                 what goes on, for watchers
 * store/runs/NAME.json        the latest run of an experiment and profile, sealed
 * store/published.json        what stands in outputs/, sealed
 * store/trace_page.lock       held while a process writes the trace page
 * store/aside/                damaged files, set aside
 * store/catalog.sqlite        can be deleted at any time
 * ```
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { Catalog, sameStat, type Stat, statOf, type TraceRow } from "./catalog.ts";
import { isRefused, LockstepError } from "../errors.ts";
import { hashFile, isSha256, type Sha256, sha256 } from "../key/hash.ts";
import { seal, syncFolder, unseal, writeAtomically } from "./sealed.ts";
import type { Manifest, Named, Trace } from "./trace.ts";

const FOLDERS = ["blobs", "traces", "code", "scratch", "checkpoints", "locks", "runs", "aside"];

/** State of a stored blob. */
export type BlobState = "ok" | "missing" | "damaged";

/** Called for every damaged file that is found, and set aside unless the store is for reading. */
export type DamageListener = (path: string, message: string) => void;

/** What a store is opened for. */
export interface StoreOptions {
  /**
   * To read only: damaged files stay where they are, and where the place can't be written to, the
   * catalogue is made in memory.
   */
  readonly reading?: boolean;
  readonly onDamage?: DamageListener;
}

/** An open store. */
export class Store {
  readonly root: string;
  readonly catalog: Catalog;
  readonly #onDamage: DamageListener;
  readonly #reading: boolean;

  /**
   * Opens the store below a folder, making it if needed.
   *
   * @throws {LockstepError} If the folder can't be written to, and is not just to be read.
   */
  constructor(root: string, { reading = false, onDamage = () => {} }: StoreOptions = {}) {
    this.root = root;
    this.#reading = reading;
    this.#onDamage = onDamage;
    try {
      for (
        const folder of FOLDERS
      ) {
        Deno.mkdirSync(join(root, folder), { recursive: true });
      }
      this.catalog = openCatalog(join(root, "catalog.sqlite"), reading);
      if (this.catalog.isNew) this.#rebuildCatalog();
    } catch (cause) {
      throw new LockstepError(
        `Cannot open the store at ${root}: it must be a folder this user can write to, found ` +
          `"${cause instanceof Error ? cause.message : cause}"; make it writable or give another ` +
          `place with --outputs`,
        { cause },
      );
    }
  }

  blobPath(digest: string): string {
    return `${this.root}/blobs/${digest.slice(0, 2)}/${digest.slice(2)}`;
  }

  tracePath(key: string): string {
    return `${this.root}/traces/${key.slice(0, 2)}/${key.slice(2)}.json`;
  }

  checkpointPath(key: string): string {
    return join(this.root, "checkpoints", key);
  }

  /**
   * Moves a finished file into the store and returns its digest. A blob that is already there is
   * replaced, which also mends one that was damaged.
   */
  takeFile(path: string): { sha256: Sha256; bytes: number } {
    using file = Deno.openSync(path, { read: true, write: true });
    file.syncSync();
    const digest = hashFile(path);
    Deno.chmodSync(path, 0o444);
    const target = this.blobPath(digest);
    Deno.mkdirSync(dirname(target), { recursive: true });
    Deno.renameSync(path, target);
    syncFolder(dirname(target));
    const stat = statOf(target)!;
    this.catalog.putBlob(digest, stat);
    return { sha256: digest, bytes: stat.size };
  }

  /** Stores a text and returns its digest. */
  takeText(text: string): Sha256 {
    const digest = sha256(text);
    const path = this.blobPath(digest);
    if (this.check(digest) !== "ok") {
      Deno.mkdirSync(dirname(path), { recursive: true });
      writeAtomically(path, text, 0o444);
      this.catalog.putBlob(digest, statOf(path)!);
    }
    return digest;
  }

  /**
   * The state of a blob, without reading it where its size and time are those it had when it was
   * last hashed. A damaged one is set aside, but not in a store for reading.
   */
  check(digest: Sha256): BlobState {
    const stat = statOf(this.blobPath(digest));
    if (!stat) return "missing";
    const known = this.catalog.blob(digest);
    if (known && sameStat(known, stat)) return "ok";
    return this.verify(digest);
  }

  /** The state of a blob by reading it whole; what is done about a damaged one is as above. */
  verify(digest: Sha256): BlobState {
    const path = this.blobPath(digest);
    const stat = statOf(path);
    if (!stat) return "missing";
    const found = hashFile(path);
    if (found === digest) {
      this.catalog.putBlob(digest, stat);
      return "ok";
    }
    this.setAside(path, `blob ${digest} has content ${found}`);
    this.catalog.removeBlob(digest);
    return "damaged";
  }

  /** The digests behind an output: the file's, or the manifest's and each file's. */
  digestsOf(output: Named): Sha256[] {
    if (output.kind === "file") return [output.sha256];
    if (this.check(output.sha256) !== "ok") return [output.sha256];
    const files = Object.values(this.manifest(output.sha256)).map((entry) => entry.sha256);
    return [output.sha256, ...files];
  }

  /** The state of a whole output. */
  checkOutput(output: Named): BlobState {
    for (const digest of this.digestsOf(output)) {
      const state = this.check(digest);
      if (state !== "ok") return state;
    }
    return "ok";
  }

  manifest(digest: Sha256): Manifest {
    return JSON.parse(Deno.readTextFileSync(this.blobPath(digest)));
  }

  /** A key's outputs, if it has a trace: from the catalogue where that is up to date. */
  outputs(key: Sha256): Trace["outputs"] | undefined {
    const stat = statOf(this.tracePath(key));
    if (!stat) return undefined;
    const row = this.catalog.trace(key);
    if (row && sameStat(row, stat)) return JSON.parse(row.outputs);
    return this.trace(key)?.outputs;
  }

  /** A key's trace; `undefined` if there is none, or it is damaged, when it is set aside. */
  trace(key: Sha256): Trace | undefined {
    const path = this.tracePath(key);
    let trace: Trace;
    const stat = statOf(path);
    if (!stat) return undefined;
    try {
      trace = unseal(Deno.readTextFileSync(path), path) as Trace;
      if (trace.key !== key) throw new LockstepError(`trace of ${trace.key} under the name ${key}`);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      this.setAside(path, error.message);
      this.catalog.removeTrace(key);
      return undefined;
    }
    const row = this.catalog.trace(key);
    if (!row || !sameStat(row, stat)) this.catalog.putTrace(toRow(trace, stat));
    return trace;
  }

  /** Writes a trace: the moment from which its key counts as done. */
  putTrace(trace: Trace): void {
    const path = this.tracePath(trace.key);
    Deno.mkdirSync(dirname(path), { recursive: true });
    writeAtomically(path, seal(trace));
    this.catalog.putTrace(toRow(trace, statOf(path)!));
  }

  /** The keys of all traces, sorted. */
  *traceKeys(): Generator<Sha256> {
    for (const [first, name] of filesBelow(join(this.root, "traces"))) {
      const key = first + name.replace(/\.json$/, "");
      if (isSha256(key)) yield key;
    }
  }

  /** Moves a damaged file out of the way, keeping it for a look; who only reads just tells. */
  setAside(path: string, message: string): void {
    if (this.#reading) return this.#onDamage(path, message);
    const folder = join(this.root, "aside");
    Deno.mkdirSync(folder, { recursive: true });
    let target = join(folder, basename(path));
    for (let n = 2; statOf(target); n++) target = join(folder, `${basename(path)}.${n}`);
    Deno.renameSync(path, target);
    this.#onDamage(path, `${message}; set aside as ${target}`);
  }

  close(): void {
    this.catalog.close();
  }

  #rebuildCatalog(): void {
    this.catalog.transaction(() => {
      for (const key of this.traceKeys()) this.trace(key);
    });
  }
}

/** The catalogue at a path; for who only reads one in memory where that place can't be written to. */
function openCatalog(path: string, reading: boolean): Catalog {
  try {
    return new Catalog(path);
  } catch (error) {
    if (reading && isRefused(error)) return new Catalog();
    throw error;
  }
}

/** Entries of a folder's subfolders, sorted, as `[subfolder, name]`. */
export function* filesBelow(folder: string): Generator<[string, string]> {
  const names = (path: string) => [...Deno.readDirSync(path)].map((entry) => entry.name).sort();
  for (const first of names(folder)) {
    if (!Deno.statSync(join(folder, first)).isDirectory) yield ["", first];
    else for (const name of names(join(folder, first))) yield [first, name];
  }
}

function toRow(trace: Trace, stat: Stat): TraceRow {
  return {
    key: trace.key,
    instance: trace.instance,
    stage: trace.stage,
    run: trace.run,
    started: trace.started,
    seconds: trace.seconds,
    outputs: JSON.stringify(trace.outputs),
    ...stat,
  };
}
