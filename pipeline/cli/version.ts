/**
 * `version`, `--version`: what runs here.
 *
 * @module
 */
import { join, resolve } from "node:path";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";

/** Prints the project's commit, and the versions of Deno and V8. */
export function showVersion({ root }: Project, options: Options, print: Print): void {
  const commit = commitOf(root);
  const { deno, v8 } = Deno.version;
  if (options.json) {
    print(JSON.stringify({ event: "version", commit: commit ?? null, deno, v8 }));
  } else print(`lockstep ${commit?.slice(0, 10) ?? "(no git commit)"}, deno ${deno}, V8 ${v8}`);
}

/**
 * The commit that is checked out, from git's files: to start git takes longer than all else here.
 * `undefined` outside of a repository.
 */
export function commitOf(root: string): string | undefined {
  const folder = gitFolder(join(root, ".git"));
  const head = folder && read(join(folder, "HEAD"));
  const branch = /^ref: (.*)$/.exec(head ?? "")?.[1];
  if (!folder || branch === undefined) return head;
  // A worktree has a HEAD of its own and shares branches with the repository.
  const common = resolve(folder, read(join(folder, "commondir")) ?? ".");
  return read(join(common, branch)) ??
    new RegExp(`^([0-9a-f]{40,}) ${RegExp.escape(branch)}$`, "m")
      .exec(read(join(common, "packed-refs")) ?? "")?.[1];
}

/** The folder of git's files: `.git`, or the one that a file of that name points to. */
function gitFolder(path: string): string | undefined {
  const pointed = /^gitdir: (.*)$/.exec(read(path) ?? "")?.[1];
  return pointed === undefined ? path : resolve(path, "..", pointed);
}

function read(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).trim();
  } catch {
    return undefined;
  }
}
