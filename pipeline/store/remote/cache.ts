/**
 * A shared cache: a server's blobs and traces, each verified as it arrives. What it answers is never
 * believed for where it comes from, and whatever goes wrong with it fails nothing.
 *
 * @module
 */
import { LockstepError } from "../../errors.ts";
import type { Sha256 } from "../../key/hash.ts";
import { sha256 } from "../../key/hash.ts";
import { download, type Downloaded, type Wanted } from "./download.ts";
import { keyOnBackend } from "../../key/ingredients.ts";
import type { Backend } from "../../stage.ts";
import { type AskedFor, receiveTrace, sendTrace } from "./entry.ts";
import type { Remote } from "./remote.ts";
import { type Answer, LIMITS, type Limits, Requests, requireDone, UNASKED } from "./requests.ts";
import type { Trace } from "../trace.ts";
import { CacheTrouble } from "./trouble.ts";

/** Who hears of what. */
export interface CacheListeners {
  /** A sentence to know that is no failure. */
  readonly onNote: (message: string) => void;
  /** What was refused: where it came from, and why. */
  readonly onRefused: (url: string, message: string) => void;
}

/** How a cache's traces are signed, and whose signatures count. */
export interface Signatures {
  /** The sealed trace in a text that may be signed, whoever signed it. */
  unwrap(text: string): string;
  /** Whether the key that signs, or a trusted one, signed a text. */
  isOurs(text: string): Promise<boolean>;
  /** Signs a sealed trace. Absent where none is to be. */
  sign?(text: string): Promise<string>;
  /** The id of a trusted key that signed a text; absent where any trace is taken that holds together. */
  check?(text: string): Promise<string | undefined>;
  /** Whether what a key signed is taken; of `undefined`, what none did. */
  isTrusted(id: string | undefined): boolean;
}

/** Nothing is signed, and none is asked for. */
const UNSIGNED: Signatures = {
  unwrap: (text) => text,
  isOurs: () => Promise.resolve(false),
  isTrusted: () => true,
};

/** What a cache has of a key; `unknown`: it could not be asked. */
export type FoundTrace = Trace | "none" | "unknown";

/** No trace is that long. */
const MAX_TRACE_BYTES = 16 << 20;
/** How often a trace is fetched that can't be trusted: a byte may flip on the way. */
const MAX_ROUNDS = 2;

/** See the module's comment. */
export class RemoteCache {
  readonly #remote: Remote;
  readonly #requests: Requests;
  readonly #listeners: CacheListeners;
  readonly signatures: Signatures;
  #saidUntrusted = false;
  /** Paths of blobs that it has wrong, and is to be given again. */
  readonly #wrong = new Set<string>();
  /** Whether the server knows how to write only what is not there; found out by asking. */
  #writesOnce = true;

  constructor(
    remote: Remote,
    listeners: CacheListeners,
    { limits = LIMITS, signatures = UNSIGNED }: {
      readonly limits?: Limits;
      readonly signatures?: Signatures;
    } = {},
  ) {
    this.signatures = signatures;
    this.#remote = remote;
    this.#listeners = listeners;
    this.#requests = new Requests(remote, limits, listeners.onNote);
  }

  /** Its address, for people. */
  get name(): string {
    return this.#remote.name;
  }

  /**
   * The trace of a key, verified.
   *
   * @param onBackend Whether the key is that of a backend, under which a result on any adapter may be.
   */
  async trace(key: Sha256, onBackend?: Backend): Promise<FoundTrace> {
    const path = `ac/${key}`;
    for (let round = 1;; round++) {
      const text = await this.#requests.attempt(
        "read",
        () => this.#requests.ask({ method: "GET", path }, (answer) => readText(answer)),
      );
      if (text === UNASKED) return "unknown";
      if (text === undefined) return "none";
      const signedBy = await this.signatures.check?.(text);
      if (!this.signatures.isTrusted(signedBy)) return this.#untrusted();
      try {
        return receiveTrace(this.signatures.unwrap(text), {
          ...{ key, from: this.name, ...(onBackend === undefined ? {} : { onBackend }) },
          ...(signedBy === undefined ? {} : { signedBy }),
        });
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
        if (round < MAX_ROUNDS) continue;
        this.#refuse(path, error.message);
        return "none";
      }
    }
  }

  /** Fetches a blob into the file at a path, verified. Returns whether it is there now. */
  async fetchBlob(wanted: Wanted, path: string): Promise<boolean> {
    const found: Downloaded = await download(this.#requests, wanted, path);
    if (typeof found === "object") {
      const path = `cas/${wanted.sha256}`;
      this.#wrong.add(path);
      this.#refuse(path, found.refused);
    }
    return found === "here";
  }

  /** Puts a blob there, unless it is there. Returns whether it is there now. */
  async putBlob(
    { sha256: digest, bytes }: { readonly sha256: Sha256; readonly bytes: number },
    file: string,
  ): Promise<"there" | "put" | "failed"> {
    const path = `cas/${digest}`;
    const { name, maxBytes = Infinity } = this.#remote;
    if (bytes > maxBytes) {
      this.#listeners.onNote(
        `the cache ${name} takes no file of more than ${maxBytes} bytes, and ${digest} has ${bytes}; ` +
          'the results that name it stay here ("deno task trace DIGEST" says which)',
      );
      return "failed";
    }
    const put = await this.#requests.attempt("write", async () => {
      const length = await this.#requests.ask(
        { method: "HEAD", path },
        ({ headers }) => Promise.resolve(Number(headers.get("content-length") ?? NaN)),
      );
      if (length === bytes && !this.#wrong.has(path)) return "there";
      await this.#requests.putFile(path, { file, bytes, sha256: digest });
      this.#wrong.delete(path);
      return "put";
    });
    return put === UNASKED ? "failed" : put;
  }

  /**
   * Puts a trace there, whose blobs have to be there. The first one of a key stays, unless it does not
   * hold together, or this one is signed and no key of ours signed that one.
   */
  async putTrace(trace: Trace): Promise<"there" | "put" | "failed"> {
    const backend = trace.ingredients["platform.backend"] as Backend | undefined;
    const shared = backend && keyOnBackend(trace.ingredients, backend);
    // Of an adapter's results a machine without it does not know the keys.
    if (shared !== undefined && shared !== trace.key) {
      const put = await this.#putUnder(shared, trace, backend);
      if (put === "failed") return put;
    }
    return await this.#putUnder(trace.key, trace);
  }

  async #putUnder(
    key: Sha256,
    trace: Trace,
    onBackend?: Backend,
  ): Promise<"there" | "put" | "failed"> {
    const path = `ac/${key}`;
    const asked = { key, from: "", ...(onBackend === undefined ? {} : { onBackend }) };
    const { sign, unwrap, isOurs } = this.signatures;
    const text = await (sign?.(sendTrace(trace)) ?? sendTrace(trace));
    const put = await this.#requests.attempt("write", async () => {
      const there = await this.#requests.ask({ method: "GET", path }, (answer) => readText(answer));
      if (there !== undefined) {
        if (holdsTogether(unwrap(there), asked) && (!sign || await isOurs(there))) return "there";
      }
      const once: Record<string, string> = there === undefined && this.#writesOnce
        ? { "if-none-match": "*" }
        : {};
      const content = new TextEncoder().encode(text);
      const status = await this.#requests.put(path, {
        ...{ content, sha256: sha256(content), headers: once },
      });
      // Another was first.
      if (status === 412) return "there";
      if (status === 501 && this.#writesOnce) {
        this.#writesOnce = false;
        throw new CacheTrouble("it does not know If-None-Match", "passing");
      }
      requireDone(status);
      await this.#requireThere(path, text);
      return "put";
    });
    return put === UNASKED ? "failed" : put;
  }

  /**
   * A login page of a network says yes to whatever is sent to anybody: what has been put must be there.
   *
   * @throws {CacheTrouble} If it is not, or another's is.
   */
  async #requireThere(path: string, text: string): Promise<void> {
    const there = await this.#requests.ask({ method: "GET", path }, (answer) => readText(answer));
    if (there === text) return;
    const found = there === undefined ? "does not have it" : "has something else in its place";
    throw new CacheTrouble(`it said that it took a result, and ${found}`, "passing");
  }

  /** A cache may be full of what others signed: it is said once. */
  #untrusted(): "none" {
    if (!this.#saidUntrusted) {
      this.#saidUntrusted = true;
      this.#listeners.onNote(
        `the cache ${this.name} has results that none of the trusted keys signed; they are left there`,
      );
    }
    return "none";
  }

  #refuse(path: string, message: string): void {
    this.#listeners.onRefused(`${this.name}/${path}`, message);
  }
}

/** Whether a text is a trace such as was asked for. */
function holdsTogether(text: string, asked: AskedFor): boolean {
  try {
    return receiveTrace(text, asked) !== undefined;
  } catch (error) {
    if (error instanceof LockstepError) return false;
    throw error;
  }
}

/** @throws {CacheTrouble} If it is longer than any trace. */
async function readText({ pieces }: Answer): Promise<string> {
  const decoder = new TextDecoder();
  let text = "", bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > MAX_TRACE_BYTES) {
      throw new CacheTrouble(`a trace must have at most ${MAX_TRACE_BYTES} bytes`, "passing");
    }
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
