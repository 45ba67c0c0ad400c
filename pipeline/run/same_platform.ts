/**
 * Holds the process that computes to the platform that its key names.
 *
 * @module
 */
import { StageError } from "../errors.ts";
import type { Platform } from "../key/platform.ts";
import type { Stage } from "../stage.ts";
import type { ProcessPlatform } from "./executor.ts";

/**
 * Refuses a process that computes on something else than its key says.
 *
 * @throws {StageError}
 */
export function requirePlatform(
  stage: Pick<Stage, "name" | "numeric">,
  { adapter }: Pick<Platform, "adapter">,
  found: ProcessPlatform,
): void {
  const needed: ProcessPlatform = {
    deno: Deno.version.deno,
    ...(stage.numeric && adapter ? { adapter } : {}),
  };
  if (same(needed, found)) return;
  throw new StageError(
    `Cannot run stage "${stage.name}": its process must compute on the platform of its key, ` +
      `${describe(needed, found)}, and is on ${describe(found, needed)}; run again, on one Deno ` +
      "and one graphics driver",
  );
}

function same(a: ProcessPlatform, b: ProcessPlatform): boolean {
  return a.deno === b.deno && a.adapter?.name === b.adapter?.name &&
    a.adapter?.features.join() === b.adapter?.features.join();
}

/** One of two platforms, with features that only it has. */
function describe({ deno, adapter }: ProcessPlatform, other: ProcessPlatform): string {
  if (adapter === undefined) return `Deno ${deno}${other.adapter ? " without an adapter" : ""}`;
  const own = adapter.features.filter((name) => !other.adapter?.features.includes(name));
  const features = own.length > 0 && other.adapter ? ` with ${own.join(", ")}` : "";
  return `Deno ${deno} with adapter ${adapter.name}${features}`;
}
