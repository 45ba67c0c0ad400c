/**
 * A copy of what a self-audit alters: experiments, locks and as much of the results as is quick to copy.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";
import { lookAt } from "../files.ts";
import { filesBelow } from "./alterations.ts";
import type { Copy, Where } from "./stored.ts";

/** Larger files are left out: the audit of the copy misses them before anything is altered. */
const MAX_FILE_BYTES = 4 << 20;
const MAX_BYTES = 256 << 20;

/** What of a store nobody can make anything of elsewhere. */
const OWN = /^store\/(scratch|locks|live|aside|checkpoints|remembered|logs)\//;

/** Copies a project and its results to a temporary folder; disposing removes it. */
export function copyOf(from: Where): Copy & Disposable {
  const place = Deno.makeTempDirSync({ prefix: "lockstep-selfaudit-" });
  const remove = () => Deno.removeSync(place, { recursive: true });
  // Where an interruption ends the process.
  globalThis.addEventListener("unload", remove);
  const root = join(place, "project"), outputs = join(place, "outputs");
  for (const name of ["experiments", "lock", "data"]) {
    for (const path of filesBelow(join(from.root, name))) copyFile(path, from.root, root);
  }
  let bytes = 0;
  for (const path of filesBelow(from.outputs)) {
    const size = lookAt(path)?.kind === "a file" ? lookAt(path)!.stat.size : Infinity;
    if (size > MAX_FILE_BYTES || OWN.test(relative(from.outputs, path))) continue;
    if (bytes + size > MAX_BYTES) continue;
    bytes += size;
    copyFile(path, from.outputs, outputs);
  }
  return {
    ...{ root, outputs, from },
    [Symbol.dispose]() {
      globalThis.removeEventListener("unload", remove);
      remove();
    },
  };
}

function copyFile(path: string, from: string, to: string): void {
  const target = join(to, relative(from, path));
  Deno.mkdirSync(dirname(target), { recursive: true });
  Deno.copyFileSync(path, target);
}
