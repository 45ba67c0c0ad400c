/**
 * Pins: what was first seen of files of which nobody publishes a checksum, one sorted line each in
 * `lock/pins.lock`. Whoever sees something else later is refused. They guard downloads and are no
 * ingredient of a key: a result made before its file was pinned stays valid.
 *
 * ```text
 * reviews/test.txt  sha256:9c02… 1204 bytes
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError, StageError } from "../errors.ts";
import { readText } from "../files.ts";
import { writeAtomically } from "./sealed.ts";

/** Where pins are kept, below the project's root. */
export const PINS_FILE = "lock/pins.lock";

const TITLE = "# What was first seen of files that have no published checksum; anything else is " +
  "refused. Written by reproduce.";

/** The pins of a project. */
export class Pins {
  readonly #root: string;
  readonly #keep: boolean;

  /**
   * @param root Project root.
   * @param options.keep Whether what is new is pinned; else it is let pass.
   */
  constructor(root: string, { keep }: { readonly keep: boolean }) {
    this.#root = root;
    this.#keep = keep;
  }

  /**
   * Holds what a stage saw against what is pinned.
   *
   * @throws {StageError} If it is pinned as something else.
   */
  check(name: string, value: string): void {
    compare(readPins(this.#root), name, value);
  }

  /**
   * Pins what an instance saw for the first time; returns what to say of it, one line for each name
   * that was not pinned.
   *
   * @throws {StageError} If something else was pinned meanwhile; nothing is then.
   */
  add(seen: ReadonlyMap<string, string>): string[] {
    if (seen.size === 0) return [];
    const folder = join(this.#root, "lock");
    Deno.mkdirSync(folder, { recursive: true });
    // The file itself is replaced when it is written, so a lock on it would exclude nobody.
    using lock = Deno.openSync(folder, { read: true });
    lock.lockSync(true);
    const pins = readPins(this.#root);
    const fresh: string[] = [];
    for (const [name, value] of seen) {
      compare(pins, name, value);
      if (!pins.has(name)) fresh.push(name);
      pins.set(name, value);
    }
    if (!this.#keep) {
      return fresh.map((name) =>
        `${name} is not pinned: a run without --locked and --set would pin it as ${seen.get(name)}`
      );
    }
    if (fresh.length > 0) writeAtomically(join(this.#root, PINS_FILE), format(pins));
    return fresh.map((name) => `${name} is pinned as ${seen.get(name)}; review it with git diff`);
  }
}

/** The pins of the project at a folder, by name. */
export function readPins(root: string): Map<string, string> {
  const pins = new Map<string, string>();
  const text = readText(join(root, PINS_FILE)) ?? "";
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "" || line.startsWith("#")) continue;
    const [, name, value] = /^(\S+(?: \S+)*) {2}(\S+(?: \S+)*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined || pins.has(name)) {
      throw new ConfigError(
        `${PINS_FILE}:${
          index + 1
        }: must be a name, two spaces and what was seen, each name once; ` +
          "restore the file",
      );
    }
    pins.set(name, value);
  }
  return pins;
}

function compare(pins: ReadonlyMap<string, string>, name: string, value: string): void {
  const pinned = pins.get(name);
  if (pinned === undefined || pinned === value) return;
  throw new StageError(
    `Cannot take ${name}: ${PINS_FILE} has it pinned as ${pinned}, found ${value}; if the change ` +
      "is right, delete its line there and run again",
  );
}

function format(pins: ReadonlyMap<string, string>): string {
  const lines = [...pins].map(([name, value]) => `${name}  ${value}`).sort();
  return [TITLE, ...lines, ""].join("\n");
}
