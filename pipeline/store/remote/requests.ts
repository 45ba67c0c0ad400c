/**
 * Sends calls to a server: with time limits, again after what passes, and not at all for a while
 * where the server can't be reached.
 *
 * @module
 */
import type { Sha256 } from "../../key/hash.ts";
import { Breaker } from "./breaker.ts";
import { Places } from "./places.ts";
import { putFile } from "./put_file.ts";
import type { Call, Remote } from "./remote.ts";
import { CacheTrouble } from "./trouble.ts";
import { Watchdog } from "./watchdog.ts";

/** How long a server may take, and how often it is asked. */
export interface Limits {
  /** Until an answer begins. */
  readonly answerMs: number;
  /** In each such time some bytes must come, see {@linkcode Watchdog}. */
  readonly stallMs: number;
  readonly attempts: number;
  /** Before the second attempt; four times as long before each further one. */
  readonly pauseMs: number;
  /** So many failures in a row end it for a while. */
  readonly failures: number;
  readonly restMs: number;
  /** Calls at a time. */
  readonly parallel: number;
}

/** What holds unless a test wants others. */
export const LIMITS: Limits = {
  answerMs: 5_000,
  stallMs: 10_000,
  attempts: 4,
  pauseMs: 50,
  failures: 8,
  restMs: 30_000,
  parallel: 8,
};

/** An answer whose body comes in pieces. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly pieces: AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** What could not be asked, or not be answered: nothing is known of it. */
export const UNASKED = Symbol("unasked");

/** A time-out counts as several failures, since each costs seconds, and so does a refusal of the user. */
const HEAVY = 4;

/** What is sent from memory, over connections that are used again: it goes even on a slow line in time. */
const SMALL_BYTES = 64 << 10;

/** See the module's comment. */
export class Requests {
  readonly #remote: Remote;
  readonly #limits: Limits;
  readonly #places: Places;
  /** Whoever may read may not write, as a rule. */
  readonly #breakers: Readonly<Record<"read" | "write", Breaker>>;
  readonly #onNote: (message: string) => void;
  /** Of what it was said that the server fails at it. */
  readonly #said = new Set<"read" | "write">();

  /** @param onNote Is given one sentence at the first answer that could not be had. */
  constructor(remote: Remote, limits: Limits, onNote: (message: string) => void) {
    this.#remote = remote;
    this.#limits = limits;
    this.#places = new Places(limits.parallel);
    this.#onNote = onNote;
    const breaker = (kind: "read" | "write", what: string) =>
      new Breaker({ ...limits, onOpen: (reason) => this.#say(kind, what, reason) });
    this.#breakers = {
      read: breaker("read", "is left out for a while, and what is missing is made here"),
      write: breaker("write", "takes no results for a while"),
    };
  }

  /** Says what is wrong with the server, once. */
  #say(kind: "read" | "write", what: string, reason: string): void {
    if (this.#said.has(kind)) return;
    this.#said.add(kind);
    this.#onNote(`the cache ${this.#remote.name} ${what}: ${reason}`);
  }

  /** Does something with a server's answers, again where what goes wrong may pass. */
  async attempt<T>(kind: "read" | "write", work: () => Promise<T>): Promise<T | typeof UNASKED> {
    const breaker = this.#breakers[kind];
    return await this.#places.use(async () => {
      const { attempts, pauseMs } = this.#limits;
      for (let attempt = 1;; attempt++) {
        if (breaker.isOpen) return UNASKED;
        try {
          const done = await work();
          breaker.answered();
          return done;
        } catch (error) {
          if (!(error instanceof CacheTrouble)) throw error;
          const { message } = error;
          breaker.failed(message, error.kind === "passing" ? 1 : HEAVY);
          if (attempt === attempts) {
            const what = kind === "read"
              ? "could not be asked, and what is missing is made here"
              : "did not take a result";
            this.#say(kind, what, message);
            return UNASKED;
          }
          await new Promise((resolve) => setTimeout(resolve, pauseMs * 4 ** (attempt - 1)));
        }
      }
    });
  }

  /**
   * Sends a call without content, and hands its answer over while it comes; `undefined` where the
   * server has no such thing.
   *
   * @throws {CacheTrouble}
   */
  async ask<T>(call: Call, use: (answer: Answer) => Promise<T>): Promise<T | undefined> {
    const { url, headers, ...rest } = await this.#remote.sign(call);
    // What is on the way is compared byte by byte.
    headers.set("accept-encoding", "identity");
    const dog = new Watchdog(this.#limits);
    try {
      const response = await fetch(url, { ...rest, headers, signal: dog.signal })
        .catch((error) => dog.bark(error));
      try {
        refuseRedirect(response);
        if (isNone(response.status)) return undefined;
        requireDone(response.status);
        dog.answered();
        const { status, headers } = response;
        return await use({ status, headers, pieces: dog.watch(response.body ?? []) });
      } finally {
        await response.body?.cancel().catch(() => {});
      }
    } finally {
      dog.close();
    }
  }

  /** Sends some bytes; returns the answer's status. @throws {CacheTrouble} */
  async put(
    path: string,
    { content, sha256, headers = {} }: {
      readonly content: Uint8Array<ArrayBuffer>;
      readonly sha256: Sha256;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ): Promise<number> {
    const call = await this.#remote.sign({ method: "PUT", path, sha256, headers });
    const dog = new Watchdog(this.#limits);
    try {
      dog.sent();
      const response = await fetch(call.url, { ...call, body: content, signal: dog.signal })
        .catch((error) => dog.bark(error));
      await response.body?.cancel().catch(() => {});
      refuseRedirect(response);
      return response.status;
    } finally {
      dog.close();
    }
  }

  /** Sends a file: a small one at once, another in pieces. @throws {CacheTrouble} */
  async putFile(
    path: string,
    { file, bytes, sha256 }: {
      readonly file: string;
      readonly bytes: number;
      readonly sha256: Sha256;
    },
  ): Promise<void> {
    if (bytes <= SMALL_BYTES) {
      return requireDone(await this.put(path, { content: await Deno.readFile(file), sha256 }));
    }
    const call = await this.#remote.sign({ method: "PUT", path, sha256 });
    const dog = new Watchdog(this.#limits);
    try {
      requireDone(await putFile(call, { path: file, bytes }, dog));
    } finally {
      dog.close();
    }
  }
}

/** @throws {CacheTrouble} If an answer is a redirect that was not followed. */
function refuseRedirect({ status, headers }: Response): void {
  if (status < 300 || status >= 400) return;
  // The rest of the address may be signed.
  const to = URL.parse(headers.get("location") ?? "")?.origin ?? "another address";
  throw new CacheTrouble(`it redirects to ${to} (status ${status})`, "refused");
}

function isNone(status: number): boolean {
  return status === 404 || status === 410;
}

/** @throws {CacheTrouble} If a status is not that of something done. */
export function requireDone(status: number): void {
  if (status >= 200 && status < 300) return;
  if (status === 401 || status === 403) {
    throw new CacheTrouble(`it refuses this user (status ${status})`, "refused");
  }
  throw new CacheTrouble(`it answered with status ${status}`, "passing");
}
