/**
 * What stages print, kept in the store: one log per key, of the last attempt at it, written as it
 * comes. Of a long one the beginning and the end are kept.
 *
 * @module
 */
import { join } from "node:path";
import { readText } from "../files.ts";

/** The beginning of a log that is kept. */
const HEAD_BYTES = 2 << 20;
/** The end is in two parts of which the older goes when the newer is full. */
const PART_BYTES = 1 << 20;
/** Is at the end of the beginning once something after it is gone. */
const GAP = "\n… the middle of this log is left out …\n";
/** How much of its end a failure shows. */
const SHOWN_LINES = 20;
const SHOWN_CHARACTERS = 400;

/** The log of a key below a store's folder; its end, if it is long, is in files beside it. */
export function logPath(storeRoot: string, key: string): string {
  return join(storeRoot, "logs", `${key}.log`);
}

/** The files of a log, in order. */
function partsOf(path: string): readonly [head: string, older: string, newer: string] {
  return [path, `${path}.1`, `${path}.2`];
}

/**
 * What an instance printed the last time it ran, also while it runs; `undefined` if nothing. Reads
 * only.
 */
export function readLog(storeRoot: string, key: string): string | undefined {
  const parts = partsOf(logPath(storeRoot, key)).map(readText).filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("");
}

/** The end of a text that comes in pieces, as lines that can be shown. */
export class Tail {
  readonly #count: number;
  #end = "";

  constructor(count: number) {
    this.#count = count;
  }

  take(text: string): void {
    this.#end = (this.#end + text).slice(-this.#count * SHOWN_CHARACTERS);
  }

  /** The last lines with anything in them, each cut to a length that can be shown. */
  lines(): string[] {
    return this.#end.split("\n").filter((line) => line.trim() !== "").slice(-this.#count)
      .map((line) =>
        line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS)}…`
      );
  }
}

/** A log that is being written. Whatever keeps it from being written does not stop the stage. */
export class Log {
  readonly key: string;
  readonly #parts: ReturnType<typeof partsOf>;
  #file: Deno.FsFile | undefined;
  /** How often another file was begun. */
  #turns = 0;
  #bytes = 0;
  readonly #tail = new Tail(SHOWN_LINES);

  /** Begins the log of a key again. */
  constructor(storeRoot: string, key: string) {
    this.key = key;
    this.#parts = partsOf(logPath(storeRoot, key));
    for (const part of this.#parts) quietly(() => Deno.removeSync(part));
  }

  write(text: string): void {
    this.#tail.take(text);
    quietly(() => {
      const file = this.#file ??= this.#open();
      const bytes = new TextEncoder().encode(text);
      for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
      this.#bytes += bytes.length;
      if (this.#bytes >= (this.#turns === 0 ? HEAD_BYTES : PART_BYTES)) this.#turn();
    });
  }

  /** The last lines of what was written. */
  lastLines(): string[] {
    return this.#tail.lines();
  }

  close(): void {
    quietly(() => this.#file?.close());
    this.#file = undefined;
  }

  #open(): Deno.FsFile {
    const path = this.#parts[this.#turns === 0 ? 0 : 2];
    Deno.mkdirSync(join(path, ".."), { recursive: true });
    return Deno.openSync(path, { append: true, create: true });
  }

  /** Goes on in the next file. */
  #turn(): void {
    this.close();
    const [head, older, newer] = this.#parts;
    if (this.#turns > 0) Deno.renameSync(newer, older);
    if (this.#turns === 2) Deno.writeTextFileSync(head, GAP, { append: true });
    this.#turns++;
    this.#bytes = 0;
  }
}

function quietly(work: () => void): void {
  try {
    work();
  } catch { /* nobody reads it then */ }
}
