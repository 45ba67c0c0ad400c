/**
 * Where artifacts are kept: content by its SHA-256, and under each key the trace of what it produced.
 * The planner and the runner know a store by this alone; {@linkcode LocalStore} is a folder of this
 * machine.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import type { Unlike } from "../event.ts";
import type { Manifest, Named, Trace } from "./trace.ts";

/** State of a stored blob, or of all blobs of an output. */
export type BlobState = "ok" | "missing" | "damaged";

/** A key's outputs; `absent` if it has no trace, `lost` if one of them is missing or damaged. */
export type FoundOutputs = Trace["outputs"] | "absent" | "lost";

/** What a key has once a trace was put. */
export interface PutTrace {
  /** The outputs that are the key's result. */
  readonly outputs: Trace["outputs"];
  /** What is not measured and was something else when the key was made before. */
  readonly unlike: readonly Unlike[];
}

/** See the module's comment. Damaged content is set aside by whatever finds it. */
export interface ArtifactStore {
  /**
   * A key's outputs, found as quickly as the store can, by an index of its own too. That is enough to
   * decide that there is nothing to do; whoever acts on outputs takes them from {@linkcode trace}.
   */
  outputs(key: Sha256): Promise<FoundOutputs>;
  /** A key's trace, read whole; `undefined` if there is none, or it is damaged. */
  trace(key: Sha256): Promise<Trace | undefined>;
  /**
   * Writes a trace: from then on its key counts as done. Where the key was made before with other
   * bits, what was made first stays its result as long as all of it is there, and the other is kept
   * beside it.
   */
  putTrace(trace: Trace): Promise<PutTrace>;
  /** The keys of all traces, sorted. */
  traceKeys(): Promise<readonly Sha256[]>;

  /** The state of a blob, which is not read again where nothing shows that it was written to. */
  check(digest: Sha256): Promise<BlobState>;
  /** The state of all blobs of an output, as {@linkcode check} finds it. */
  checkOutput(output: Named): Promise<BlobState>;
  /** The state of all blobs of an output, each read whole. */
  verifyOutput(output: Named): Promise<BlobState>;

  /** Stores a file, which is the store's from then on. */
  putFile(path: string): Promise<{ sha256: Sha256; bytes: number }>;
  /** Stores a text or some bytes. */
  put(content: string | Uint8Array<ArrayBuffer>): Promise<Sha256>;
  /** A blob as text; `undefined` if it is missing or damaged. */
  readText(digest: Sha256): Promise<string | undefined>;
  /** What a folder output holds; `undefined` if its blob is missing, damaged or no manifest. */
  manifest(digest: Sha256): Promise<Manifest | undefined>;
  /**
   * Makes a blob readable at a path where nothing is yet. It may be the store's own file that is read
   * there, which nobody may write to.
   */
  place(digest: Sha256, path: string): Promise<void>;
  /**
   * Writes a copy of a blob to a path where nothing is yet.
   *
   * @throws {LockstepError} If the bytes do not have the digest; then there is no file.
   */
  copy(digest: Sha256, path: string): Promise<void>;
}

/**
 * A key's outputs by its trace alone, whatever an index says: for whoever acts on them.
 *
 * @param options.whole Whether to read them whole, to find out whether they are intact.
 */
export async function sealedOutputs(
  store: ArtifactStore,
  key: Sha256,
  { whole }: { readonly whole: boolean },
): Promise<FoundOutputs> {
  const trace = await store.trace(key);
  if (!trace) return "absent";
  // What it names is looked at by whoever reads it.
  if (trace.received && !whole) return trace.outputs;
  for (const output of Object.values(trace.outputs)) {
    const state = whole ? await store.verifyOutput(output) : await store.checkOutput(output);
    if (state !== "ok") return "lost";
  }
  return trace.outputs;
}

/** What a store does with content, whatever traces name it. */
export type BlobStore = Omit<ArtifactStore, "outputs" | "trace" | "putTrace" | "traceKeys">;
