/**
 * Checkpoints in a folder: the newest and the one before it, each sealed with the digest of its
 * content. One that is not what was written is set aside, and the one before it is taken.
 *
 * A file is a line, `lockstep/checkpoint/1 sha256 DIGEST bytes LENGTH`, and the content.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";

const NEWEST = "checkpoint";
const PREVIOUS = "checkpoint.previous";
const PARTIAL = "checkpoint.partial";

/** Bytes that hold the first line, whatever the content's length. */
const HEAD_BYTES = 128;

/**
 * Makes `content` the folder's newest checkpoint. At any time, also after a power cut, the folder
 * has a whole one, if it had one before: the file is synced under a temporary name, then renamed.
 */
export function writeCheckpoint(folder: string, content: Uint8Array): void {
  const [newest, previous, partial] = [NEWEST, PREVIOUS, PARTIAL].map((name) =>
    join(folder, name)
  ) as [string, string, string];
  const head = `lockstep/checkpoint/1 sha256 ${digestOf(content)} bytes ${content.length}\n`;
  // What else may be in its place, a FIFO say, must not be written to.
  remove(partial);
  {
    using file = Deno.openSync(partial, { write: true, createNew: true });
    for (const part of [new TextEncoder().encode(head), content]) {
      for (let done = 0; done < part.length;) done += file.writeSync(part.subarray(done));
    }
    file.syncSync();
  }
  if (exists(newest)) {
    remove(previous);
    Deno.renameSync(newest, previous);
  }
  Deno.renameSync(partial, newest);
}

/**
 * The newest checkpoint that is whole and can be decoded; `undefined` if there is none. Those before
 * it are renamed and reported by `console.warn`.
 *
 * @param decode Throws if the content does not fit.
 */
export function readCheckpoint<T>(
  folder: string,
  decode: (content: Uint8Array) => T,
): T | undefined {
  for (const name of [NEWEST, PREVIOUS]) {
    const path = join(folder, name);
    if (!exists(path)) continue;
    try {
      return decode(unsealed(path));
    } catch (error) {
      if (!(error instanceof Error) || isOfMachine(error)) throw error;
      const aside = setAside(path);
      console.warn(
        `Cannot resume from ${name}: ${error.message}; set aside as ${aside}, resuming from an ` +
          "earlier checkpoint or from the start",
      );
    }
  }
  return undefined;
}

/** The content of a checkpoint file. */
function unsealed(path: string): Uint8Array {
  // Opening a FIFO waits for ever, a link leads elsewhere.
  if (!Deno.lstatSync(path).isFile) throw new SyntaxError("it must be a file");
  using file = Deno.openSync(path);
  const start = read(file, HEAD_BYTES);
  const line = new TextDecoder("latin1").decode(start).split("\n", 1)[0]!;
  const [, digest, length] =
    /^lockstep\/checkpoint\/1 sha256 ([0-9a-f]{64}) bytes (0|[1-9][0-9]{0,15})$/.exec(line) ?? [];
  if (digest === undefined) throw new SyntaxError("its first line must give its digest and length");
  const size = line.length + 1 + Number(length);
  const { size: found } = file.statSync();
  if (found !== size) throw new SyntaxError(`it must have ${size} bytes, found ${found}`);
  file.seekSync(line.length + 1, Deno.SeekMode.Start);
  const content = read(file, Number(length));
  const actual = digestOf(content);
  if (actual !== digest) throw new SyntaxError(`it must have sha256 ${digest}, found ${actual}`);
  return content;
}

/** As many of the next bytes as there are, at most `count`. */
function read(file: Deno.FsFile, count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  let done = 0;
  for (let got; done < count && (got = file.readSync(bytes.subarray(done))) !== null;) done += got;
  return bytes.subarray(0, done);
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Whether an error is about this process, not about the file: it may be fit. */
function isOfMachine(error: Error): boolean {
  return error instanceof Deno.errors.NotCapable ||
    error.message === "Array buffer allocation failed";
}

/** Renames a file to one that does not exist; gives its name. */
function setAside(path: string): string {
  let aside = `${path}.bad`;
  for (let n = 2; exists(aside); n++) aside = `${path}.bad.${n}`;
  Deno.renameSync(path, aside);
  return aside.slice(path.lastIndexOf("checkpoint"));
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function remove(path: string): void {
  if (exists(path)) Deno.removeSync(path, { recursive: true });
}
