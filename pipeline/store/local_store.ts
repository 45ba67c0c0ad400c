/**
 * A store in a folder of this machine: read-only blobs by SHA-256, the traces that name them, and what
 * its runs work in.
 *
 * A blob is written in a private scratch folder, synced, and renamed into place; the trace comes
 * last. So whatever is interrupted leaves either a complete result or none.
 *
 * ```text
 * store/blobs/3f/a1…          content, read-only
 * store/traces/9c/02….json    what a key produced, sealed; 02….a1….json: what else it produced
 * store/code/                 bundles of stages, kept so as not to bundle again
 * store/scratch/              private folders of running instances
 * store/checkpoints/KEY/      states that interrupted instances saved, kept to resume from
 * store/locks/KEY             held while a process makes KEY
 * store/incoming/             what is being fetched from a shared cache, kept to go on from
 * store/slurm/                orders of jobs of a cluster, and how they ended
 * store/live/                 what goes on, for watchers
 * store/runs/NAME.json        the latest run of an experiment and profile, sealed
 * store/certificates/         what executions past all caches showed of a key, sealed
 * store/tags/NAME.json        a run that is kept, sealed
 * store/claims/               what runs that go on count on
 * store/removal.lock          held while results are put, or looked at to be reused, or removed
 * store/published.json        what is in outputs/, sealed
 * store/endings/NAME.json     what a run is about to write there and to its lock, sealed
 * store/ending.lock           held while a run does
 * store/remembered/           runs with nothing to do, and what that was concluded from, sealed
 * store/trace_page.lock       held while a process writes the trace page
 * store/aside/                damaged files, set aside
 * store/catalog.sqlite        can be deleted at any time
 * ```
 *
 * @module
 */
import { basename, join } from "node:path";
import type { ArtifactStore, BlobState, FoundOutputs, PutTrace } from "./artifact_store.ts";
import { Blobs } from "./blobs.ts";
import { Catalog } from "./catalog.ts";
import { NO_ROOM_BESIDE } from "./catalog_database.ts";
import { LockstepError, refusal } from "../errors.ts";
import { lookAt } from "../files.ts";
import type { Sha256 } from "../key/hash.ts";
import { type Manifest, type Named, type Trace, unlikeResults } from "./trace.ts";
import { fillCatalog, Traces } from "./traces.ts";
import type { Workspace } from "./workspace.ts";

/** The folders that an open store has. */
export const FOLDERS = [
  "blobs",
  "traces",
  "code",
  "scratch",
  "checkpoints",
  "locks",
  "runs",
  "aside",
];

/** Called for every damaged file that is found, and set aside unless the store is for reading. */
export type DamageListener = (path: string, message: string) => void;

/** What a store is opened for. */
export interface StoreOptions {
  /**
   * To read only: damaged files stay where they are, and where the place can't be written to, the
   * catalogue is made in memory.
   */
  readonly reading?: boolean;
  /** Whether it uses the catalogue (default), which processes of other machines must leave alone. */
  readonly catalogued?: boolean;
  readonly onDamage?: DamageListener;
}

/** An open store. */
export class LocalStore implements ArtifactStore, Workspace {
  readonly root: string;
  readonly catalog: Catalog;
  readonly #blobs: Blobs;
  readonly #traces: Traces;
  readonly #onDamage: DamageListener;
  readonly #reading: boolean;
  /** Outputs that were asked for whole, and are not. */
  readonly #missed = new Set<Sha256>();

  /**
   * Opens the store below a folder, making it if needed.
   *
   * @throws {LockstepError} If the folder can't be written to, and is not just to be read.
   */
  constructor(root: string, options: StoreOptions = {}) {
    const { reading = false, catalogued = true, onDamage = () => {} } = options;
    this.root = root;
    this.#reading = reading;
    this.#onDamage = onDamage;
    try {
      for (const folder of FOLDERS) Deno.mkdirSync(join(root, folder), { recursive: true });
      this.catalog = catalogued
        ? new Catalog(
          join(root, "catalog.sqlite"),
          (catalog) => fillCatalog(catalog, this),
          { orInMemory: reading },
        )
        : new Catalog(undefined, () => {});
    } catch (cause) {
      const found = cause instanceof Error ? cause.message : String(cause);
      const [rule, todo] = refusal(found) === "full"
        ? ["have room for what a run writes", "free some,"]
        : found === NO_ROOM_BESIDE
        ? ["be a folder with room that this user can write to", "free some, make it writable,"]
        : ["be a folder this user can write to", "make it writable"];
      throw new LockstepError(
        `Cannot open the store at ${root}: it must ${rule}, found "${found}"; ${todo} or give ` +
          "another place with --outputs",
        { cause },
      );
    }
    this.#blobs = new Blobs(this, this.catalog);
    this.#traces = new Traces(this, this.catalog);
  }

  blobPath(digest: string): string {
    return this.#blobs.path(digest);
  }

  tracePath(key: string): string {
    return this.#traces.path(key);
  }

  outputs(key: Sha256): Promise<FoundOutputs> {
    return Promise.try(() => {
      const outputs = this.#traces.outputs(key);
      if (!outputs) return "absent";
      for (const name in outputs) {
        if (this.#blobs.outputState(outputs[name]!, { whole: false }) === "ok") continue;
        return this.#trace(key)?.received ? outputs : "lost";
      }
      return outputs;
    });
  }

  trace(key: Sha256): Promise<Trace | undefined> {
    return Promise.try(() => this.#trace(key));
  }

  /** A trace that was received counts without its artifacts, until one is asked for in vain. */
  #trace(key: Sha256): Trace | undefined {
    const trace = this.#traces.get(key);
    if (!trace?.received) return trace;
    const isMissed = Object.values(trace.outputs).some(({ sha256 }) => this.#missed.has(sha256));
    if (!isMissed) return trace;
    const { received: _, ...own } = trace;
    return own;
  }

  /** Writes a trace that was received, unless its key has one. */
  keepReceived(trace: Trace): void {
    if (!this.#traces.get(trace.key)) this.#traces.put(trace);
  }

  putTrace(trace: Trace): Promise<PutTrace> {
    return Promise.try(() => {
      const first = this.#traces.get(trace.key);
      const unlike = first ? unlikeResults(first, trace) : [];
      if (first && unlike.length > 0) {
        if (this.#isWhole(first)) {
          this.#traces.putBeside(trace);
          return { outputs: first.outputs, unlike };
        }
        const message = "part of what it names is lost, and was made again with other bits";
        this.#traces.setAside(trace.key, message);
      }
      this.#traces.put(trace);
      return { outputs: trace.outputs, unlike };
    });
  }

  #isWhole({ outputs }: Trace): boolean {
    return Object.values(outputs).every((output) =>
      this.#blobs.outputState(output, { whole: true }) === "ok"
    );
  }

  traceKeys(): Promise<readonly Sha256[]> {
    return Promise.try(() => this.#traces.keys());
  }

  check(digest: Sha256): Promise<BlobState> {
    return Promise.try(() => this.#blobs.check(digest));
  }

  checkOutput(output: Named): Promise<BlobState> {
    return Promise.try(() => this.#blobs.outputState(output, { whole: false }));
  }

  verifyOutput(output: Named): Promise<BlobState> {
    return Promise.try(() => {
      const state = this.#blobs.outputState(output, { whole: true });
      if (state === "ok") this.#missed.delete(output.sha256);
      else this.#missed.add(output.sha256);
      return state;
    });
  }

  putFile(path: string, known?: Sha256): Promise<{ sha256: Sha256; bytes: number }> {
    return Promise.try(() => this.#blobs.putFile(path, known));
  }

  put(content: string | Uint8Array<ArrayBuffer>): Promise<Sha256> {
    return Promise.try(() => this.#blobs.put(content));
  }

  readText(digest: Sha256): Promise<string | undefined> {
    return Promise.try(() => this.#blobs.text(digest));
  }

  manifest(digest: Sha256): Promise<Manifest | undefined> {
    return Promise.try(() => this.#blobs.manifest(digest));
  }

  place(digest: Sha256, path: string): Promise<void> {
    return Promise.try(() => this.#blobs.place(digest, path));
  }

  copy(digest: Sha256, path: string): Promise<void> {
    return Promise.try(() => this.#blobs.copy(digest, path));
  }

  /** Sets the trace of a key aside. */
  setAsideTrace(key: Sha256, message: string): void {
    this.#traces.setAside(key, message);
  }

  setAside(path: string, message: string): void {
    if (this.#reading) return this.#onDamage(path, message);
    const folder = join(this.root, "aside");
    let target = join(folder, basename(path));
    for (let n = 2; lookAt(target); n++) target = join(folder, `${basename(path)}.${n}`);
    try {
      Deno.mkdirSync(folder, { recursive: true });
      Deno.renameSync(path, target);
    } catch (cause) {
      throw new LockstepError(
        `Cannot set ${path} aside as ${target}: ${
          cause instanceof Error ? cause.message : cause
        }; ` +
          `it is to go, since ${message}; move it away`,
        { cause },
      );
    }
    this.#onDamage(path, `${message}; set aside as ${target}`);
  }

  close(): void {
    this.catalog.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
