/**
 * The files of a command as one text, which is its code: what a key counts, a store keeps and a program
 * finds.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { isPlainPath, lookAt, readBytes } from "../files.ts";
import { canonicalJson } from "../key/canonical.ts";
import type { Bundle } from "../key/bundle_format.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import type { Command, Violation } from "../stage.ts";
import { keepText, readCode } from "./code.ts";
import type { LocalStore } from "./local_store.ts";
import type { Trace } from "./trace.ts";
import type { Workspace } from "./workspace.ts";

/** Scripts are far smaller; data belong into an input. */
const MAX_BYTES = 64 << 20;

/** Whatever was set: a file's mode is in no key. */
const READ_AND_RUN = 0o555;

/**
 * Reads a command's files, and keeps their text unless the store can't be written to.
 *
 * @returns The bundle, or what is wrong where in the command.
 */
export function commandBundle(
  { command, root, store }: {
    readonly command: Command;
    readonly root: string;
    readonly store: LocalStore;
  },
): Bundle | Violation {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const sources: Record<string, Sha256> = {};
  let bytes = 0;
  for (const [index, name] of command.files.entries()) {
    const path = ["files", index];
    const shown = `${command.folder}/${name}`;
    const found = throughLinks(join(root, command.folder), name);
    if (found !== "a file") {
      return { path, message: `${shown} must be a file, found ${found ?? "nothing"}` };
    }
    if (command.files.indexOf(name) < index) return { path, message: `"${name}" is listed twice` };
    const file = join(root, shown);
    bytes += lookAt(file)!.stat.size;
    if (bytes > MAX_BYTES) {
      return { path, message: `all files together must have at most ${MAX_BYTES} bytes` };
    }
    if (name === command.program && ((Deno.statSync(file).mode ?? 0o111) & 0o111) === 0) {
      return { path, message: `${shown} is the program: it must be executable (chmod +x)` };
    }
    const content = readBytes(file)!;
    if (name === command.program && content[0] === 0x23 && content[1] === 0x21) {
      return { path, message: `${shown} is a script: name what runs it as the program` };
    }
    files.set(name, content);
    sources[shown] = sha256(content);
  }
  const text = packed(files);
  const bundle = { code: sha256(text), sources };
  keepText(bundle.code, text, store);
  return bundle;
}

/**
 * The code of the command that a trace is of, from the files of its names that a project has; none if one
 * is not there.
 */
export function commandCode(
  { run, sources }: Pick<Trace, "run" | "sources">,
  root: string,
): { readonly code: Sha256 } | undefined {
  const folder = `experiments/${run.split(".")[0]}`;
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const path of Object.keys(sources)) {
    const name = path.slice(folder.length + 1);
    if (!path.startsWith(`${folder}/`) || !isPlainPath(name)) return undefined;
    if (throughLinks(join(root, folder), name) !== "a file") return undefined;
    files.set(name, readBytes(join(root, path))!);
  }
  return { code: sha256(packed(files)) };
}

/** The text that files are kept as. */
function packed(files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Uint8Array<ArrayBuffer> {
  const all = Object.fromEntries([...files].map(([name, content]) => [name, written(content)]));
  return new TextEncoder().encode(`${canonicalJson(all)}\n`);
}

/** A file's content: its text, where it is one. */
type Written = { readonly text: string } | { readonly base64: string };

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function written(content: Uint8Array<ArrayBuffer>): Written {
  try {
    return { text: UTF_8.decode(content) };
  } catch {
    return { base64: content.toBase64() };
  }
}

/** What is at a path below a folder; the first link on the way, if there is one. */
function throughLinks(folder: string, name: string): string | undefined {
  const parts = name.split("/");
  for (let end = 1; end < parts.length; end++) {
    const above = lookAt(join(folder, ...parts.slice(0, end)))?.kind;
    if (above !== "a folder") return above;
  }
  return lookAt(join(folder, name))?.kind;
}

/**
 * Writes the files of a command into a new folder, the very bytes that were hashed.
 *
 * @throws {LockstepError} If what is kept is not what the digest names.
 */
export function writeCommandFiles(workspace: Workspace, code: Sha256, folder: string): void {
  const files = JSON.parse(UTF_8.decode(readCode(workspace, code))) as Record<string, Written>;
  Deno.mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    const bytes = "text" in content
      ? new TextEncoder().encode(content.text)
      : Uint8Array.fromBase64(content.base64);
    Deno.writeFileSync(path, bytes);
    Deno.chmodSync(path, READ_AND_RUN);
  }
}
