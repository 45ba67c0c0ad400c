/**
 * `version`, `--version`: what runs here.
 *
 * @module
 */
import { commitOf } from "./git.ts";
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
