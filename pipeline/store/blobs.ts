/**
 * The blobs of a folder: read-only files named by the SHA-256 of their content.
 *
 * @module
 */
import { dirname } from "node:path";
import { createHash } from "node:crypto";
import type { BlobState } from "./artifact_store.ts";
import { type Catalog } from "./catalog.ts";
import { lookAt, MAX_TEXT_BYTES, readText, sameStat } from "../files.ts";
import { LockstepError } from "../errors.ts";
import { hashFile, type Sha256, sha256 } from "../key/hash.ts";
import { syncFolder, writeAtomically } from "./sealed.ts";
import { type Manifest, type Named, toManifest } from "./trace.ts";
import { makeFolder, type Workspace } from "./workspace.ts";

/** See the module's comment. */
export class Blobs {
  readonly #workspace: Workspace;
  readonly #catalog: Catalog;

  constructor(workspace: Workspace, catalog: Catalog) {
    this.#workspace = workspace;
    this.#catalog = catalog;
  }

  path(digest: string): string {
    return `${this.#workspace.root}/blobs/${digest.slice(0, 2)}/${digest.slice(2)}`;
  }

  /**
   * The state of a blob, without reading it where its stat is what it was when it was last hashed. A
   * damaged one is set aside.
   *
   * @param bytes The size it must have, if that is known: then one of another size is not read.
   */
  check(digest: Sha256, bytes?: number): BlobState {
    return this.#state(digest, { bytes, whole: false });
  }

  #state(digest: Sha256, o: { bytes: number | undefined; whole: boolean }): BlobState {
    const path = this.path(digest);
    const found = lookAt(path);
    if (!found) return "missing";
    if (found.kind !== "a file") {
      return this.#damaged(digest, `must be a file, found ${found.kind}`);
    }
    const { stat } = found;
    const problem = sizeProblem(stat.size, o.bytes);
    if (problem !== undefined) return this.#damaged(digest, problem);
    const known = o.whole ? undefined : this.#catalog.blob(digest);
    if (known && sameStat(known, stat)) return "ok";
    const content = hashFile(path);
    if (content !== digest) return this.#damaged(digest, `has content ${content}`);
    this.#catalog.putBlob(digest, stat);
    return "ok";
  }

  #damaged(digest: Sha256, what: string): BlobState {
    this.#workspace.setAside(this.path(digest), `blob ${digest} ${what}`);
    this.#catalog.removeBlob(digest);
    return "damaged";
  }

  /** The state of all blobs of an output; `whole`: by reading them. */
  outputState(output: Named, { whole }: { readonly whole: boolean }): BlobState {
    if (output.kind === "file") {
      return this.#state(output.sha256, { bytes: output.bytes, whole });
    }
    const state = this.#state(output.sha256, { bytes: undefined, whole });
    if (state !== "ok") return state;
    const manifest = this.manifest(output.sha256);
    if (!manifest) return "damaged";
    for (const { sha256, bytes } of Object.values(manifest)) {
      const found = this.#state(sha256, { bytes, whole });
      if (found !== "ok") return found;
    }
    return "ok";
  }

  /** A blob as text; `undefined` if it is missing, or its bytes are others, when it is set aside. */
  text(digest: Sha256): string | undefined {
    try {
      const text = readText(this.path(digest));
      if (text === undefined || sha256(text) === digest) return text;
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
    }
    // Either damaged or no text.
    this.#state(digest, { bytes: undefined, whole: true });
    return undefined;
  }

  /** What a folder output holds; `undefined` if its blob is missing, damaged or no manifest. */
  manifest(digest: Sha256): Manifest | undefined {
    const text = this.text(digest);
    return text === undefined ? undefined : toManifest(text);
  }

  /**
   * Takes a finished file. A blob that is already there is replaced, which mends a damaged one.
   *
   * @param known Its digest, if it was hashed while it was written.
   */
  putFile(path: string, known?: Sha256): { sha256: Sha256; bytes: number } {
    // A copy of an input is read-only, as that is.
    Deno.chmodSync(path, 0o644);
    using file = Deno.openSync(path, { read: true, write: true });
    file.syncSync();
    const digest = known ?? hashFile(path);
    Deno.chmodSync(path, 0o444);
    const target = this.path(digest);
    makeFolder(this.#workspace, dirname(target));
    const inWay = lookAt(target);
    if (inWay && inWay.kind !== "a file") {
      this.#damaged(digest, `must be a file, found ${inWay.kind}`);
    }
    Deno.renameSync(path, target);
    syncFolder(dirname(target));
    const { stat } = lookAt(target)!;
    this.#catalog.putBlob(digest, stat);
    return { sha256: digest, bytes: stat.size };
  }

  /** Stores a text or some bytes and returns their digest. */
  put(content: string | Uint8Array<ArrayBuffer>): Sha256 {
    const digest = sha256(content);
    const path = this.path(digest);
    if (this.#state(digest, { bytes: undefined, whole: true }) !== "ok") {
      makeFolder(this.#workspace, dirname(path));
      writeAtomically(path, content, 0o444);
      this.#catalog.putBlob(digest, lookAt(path)!.stat);
    }
    return digest;
  }

  /** Links a blob to a path, or copies it where links fail. */
  place(digest: Sha256, path: string): void {
    try {
      Deno.linkSync(this.path(digest), path);
    } catch {
      this.copy(digest, path);
    }
  }

  /**
   * Writes a copy of a blob to a path where nothing is yet.
   *
   * @throws {LockstepError} If the bytes do not have the digest; then there is no file.
   */
  copy(digest: Sha256, path: string): void {
    const hash = createHash("sha256");
    const source = this.path(digest);
    if (lookAt(source)?.kind !== "a file") throw lost(digest, source);
    {
      using from = Deno.openSync(source);
      using to = Deno.openSync(path, { write: true, createNew: true });
      const buffer = new Uint8Array(1 << 20);
      for (let read = from.readSync(buffer); read !== null; read = from.readSync(buffer)) {
        hash.update(buffer.subarray(0, read));
        for (let done = 0; done < read;) done += to.writeSync(buffer.subarray(done, read));
      }
    }
    if (hash.digest("hex") === digest) return;
    Deno.removeSync(path);
    this.#state(digest, { bytes: undefined, whole: true });
    throw lost(digest, source);
  }
}

/**
 * Why content of some size need not be read: it is not what it should be.
 *
 * @param bytes The size it must have; of code and manifests, which are read whole, it is not known.
 */
export function sizeProblem(found: number, bytes: number | undefined): string | undefined {
  if (bytes === undefined) {
    return found > MAX_TEXT_BYTES
      ? `must have at most ${MAX_TEXT_BYTES} bytes, found ${found}`
      : undefined;
  }
  return found === bytes ? undefined : `must have ${bytes} bytes, found ${found}`;
}

function lost(digest: Sha256, path: string): LockstepError {
  return new LockstepError(
    `Cannot copy blob ${digest}: ${path} must be a file with that content, and is not; run the same ` +
      "command again, which makes it again",
  );
}
