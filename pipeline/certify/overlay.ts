/**
 * A store in which what is written is kept apart: it reads what another store has, and that never sees
 * what an execution leaves here.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import type { BlobState, BlobStore } from "../store/artifact_store.ts";
import type { LocalStore } from "../store/local_store.ts";
import type { Named } from "../store/trace.ts";

/** Blobs of a store of its own, then those of the one beneath. It knows no traces. */
export class Overlay implements BlobStore {
  readonly #own: LocalStore;
  readonly #beneath: LocalStore;

  constructor(own: LocalStore, beneath: LocalStore) {
    this.#own = own;
    this.#beneath = beneath;
  }

  async check(digest: Sha256): Promise<BlobState> {
    return (await this.#holding(digest)).check(digest);
  }

  async checkOutput(output: Named): Promise<BlobState> {
    return (await this.#holding(output.sha256)).checkOutput(output);
  }

  async verifyOutput(output: Named): Promise<BlobState> {
    return (await this.#holding(output.sha256)).verifyOutput(output);
  }

  putFile(path: string): ReturnType<BlobStore["putFile"]> {
    return this.#own.putFile(path);
  }

  put(content: string | Uint8Array<ArrayBuffer>): Promise<Sha256> {
    return this.#own.put(content);
  }

  async readText(digest: Sha256): Promise<string | undefined> {
    return (await this.#holding(digest)).readText(digest);
  }

  async manifest(digest: Sha256): ReturnType<BlobStore["manifest"]> {
    return (await this.#holding(digest)).manifest(digest);
  }

  async place(digest: Sha256, path: string): Promise<void> {
    // A copy, not a link: an execution elsewhere must not reach the store's own file.
    await this.copy(digest, path);
  }

  async copy(digest: Sha256, path: string): Promise<void> {
    await (await this.#holding(digest)).copy(digest, path);
  }

  /** Where the bytes of a blob are. */
  async pathOf(digest: Sha256): Promise<string> {
    const store = await this.#holding(digest);
    // What is in a shared cache is fetched first.
    await store.check(digest);
    return store.blobPath(digest);
  }

  async #holding(digest: Sha256): Promise<LocalStore> {
    return await this.#own.check(digest) === "ok" ? this.#own : this.#beneath;
  }
}
