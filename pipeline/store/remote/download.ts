/**
 * Brings a blob from a server into a file: hashed while it comes, so that no more than a piece of it is
 * in memory, and continued where it was cut off, also by an earlier process.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import { MAX_TEXT_BYTES } from "../../files.ts";
import type { Sha256 } from "../../key/hash.ts";
import { type Answer, type Requests, UNASKED } from "./requests.ts";
import { CacheTrouble } from "./trouble.ts";

/** What is to come. */
export interface Wanted {
  readonly sha256: Sha256;
  /** Its size; of manifests and code it is not known, and they have to be texts. */
  readonly bytes: number | undefined;
}

/** How it ended. `refused`: with why; then nothing of it is left. */
export type Downloaded = "here" | "none" | "unasked" | { readonly refused: string };

/** After so much a connection that breaks is continued and not counted as a failure. */
const PROGRESS_BYTES = 1 << 20;
/** How often content is fetched that turns out to be another: a byte may flip on the way. */
const MAX_ROUNDS = 2;

/** Fetches into the file at a path, which may have the beginning of it already. */
export async function download(
  requests: Requests,
  wanted: Wanted,
  path: string,
): Promise<Downloaded> {
  using file = Deno.openSync(path, { read: true, write: true, create: true });
  const incoming = new Incoming(file, wanted);
  for (let round = 1;; round++) {
    if (!incoming.isFull) {
      const found = await requests.attempt("read", () => receive(requests, wanted, incoming));
      if (found === UNASKED) return "unasked";
      if (found === "none") return "none";
    }
    const problem = incoming.problem();
    if (problem === undefined) return "here";
    incoming.restart();
    if (round === MAX_ROUNDS) return { refused: problem };
  }
}

/** @throws {CacheTrouble} */
async function receive(
  requests: Requests,
  { sha256 }: Wanted,
  incoming: Incoming,
): Promise<"some" | "none"> {
  for (;;) {
    const from = incoming.resumeAt();
    const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
    try {
      const found = await requests.ask(
        { method: "GET", path: `cas/${sha256}`, headers },
        (answer) => incoming.take(answer),
      );
      return found ?? "none";
    } catch (error) {
      if (!(error instanceof CacheTrouble) || incoming.length - from < PROGRESS_BYTES) throw error;
    }
  }
}

/** A file that fills. */
class Incoming {
  readonly #file: Deno.FsFile;
  readonly #wanted: Wanted;
  #hash: Hash = createHash("sha256");
  length = 0;

  constructor(file: Deno.FsFile, wanted: Wanted) {
    this.#file = file;
    this.#wanted = wanted;
    const buffer = new Uint8Array(1 << 20);
    for (let read = file.readSync(buffer); read !== null; read = file.readSync(buffer)) {
      this.#hash.update(buffer.subarray(0, read));
      this.length += read;
    }
  }

  get isFull(): boolean {
    return this.length === this.#wanted.bytes;
  }

  /** Where to go on: only what is known to be longer can be continued. */
  resumeAt(): number {
    const { bytes } = this.#wanted;
    if (bytes === undefined || this.length >= bytes) this.restart();
    return this.length;
  }

  restart(): void {
    this.#file.truncateSync();
    this.#file.seekSync(0, Deno.SeekMode.Start);
    this.#hash = createHash("sha256");
    this.length = 0;
  }

  /** @throws {CacheTrouble} If it ends too early. */
  async take({ status, headers, pieces }: Answer): Promise<"some"> {
    const { bytes } = this.#wanted;
    const isContinued = status === 206 &&
      headers.get("content-range")?.startsWith(`bytes ${this.length}-`) === true;
    if (!isContinued) this.restart();
    const max = bytes ?? MAX_TEXT_BYTES;
    for await (const piece of pieces) {
      this.#hash.update(piece);
      this.length += piece.length;
      // Whatever else comes, it is not this.
      if (this.length > max) return "some";
      for (let done = 0; done < piece.length;) done += this.#file.writeSync(piece.subarray(done));
    }
    if (bytes !== undefined && this.length < bytes) {
      throw new CacheTrouble(`it sent ${this.length} of ${bytes} bytes`, "passing");
    }
    return "some";
  }

  /** Why the content is not what was wanted. */
  problem(): string | undefined {
    const { sha256, bytes } = this.#wanted;
    if (this.length > (bytes ?? MAX_TEXT_BYTES)) {
      return `it must have ${bytes === undefined ? "at most " : ""}${
        bytes ?? MAX_TEXT_BYTES
      } bytes, and has more`;
    }
    const found = this.#hash.copy().digest("hex");
    return found === sha256 ? undefined : `its content has digest ${found}`;
  }
}
