/**
 * The keys of what a lock names.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import type { Lock } from "../store/lockfile.ts";
import { recipesOf } from "../store/recipe.ts";
import { inputsOf, type Trace } from "../store/trace.ts";
import type { TraceFile } from "./reached.ts";

/**
 * The keys of a lock's lines; of a line with a recipe, those of the newest result on each machine that was
 * made by it, from what is kept if there is such a one: a recipe says of timings what made them, not which.
 */
export function lockedKeys(lock: Lock, traces: readonly TraceFile[]): Sha256[] {
  const keys = [...lock.values()].flatMap(({ key }) => key === undefined ? [] : [key]);
  if (keys.length === lock.size) return keys;
  const kept = new Set(
    [...lock.values()].flatMap(({ outputs }) =>
      Object.values(outputs).flatMap(({ sha256 }) => sha256 ?? [])
    ),
  );
  const left = madeByRecipes(lock, traces);
  const take = (name: string, { key, outputs }: Trace) => {
    keys.push(key);
    left.delete(name);
    for (const { sha256 } of Object.values(outputs)) kept.add(sha256);
  };
  while (left.size > 0) {
    const before = left.size;
    for (const [name, found] of left) {
      const follows = found.find((trace) =>
        inputsOf(trace).every(([, digest]) => kept.has(digest))
      );
      if (follows) take(name, follows);
    }
    if (left.size < before) continue;
    const [name, [newest]] = left.entries().next().value!;
    take(name, newest!);
  }
  return keys;
}

/** By instance and machine: what was made by the recipe of the lock's line, the newest first. */
function madeByRecipes(lock: Lock, traces: readonly TraceFile[]): Map<string, Trace[]> {
  const named = traces.flatMap(({ trace, isOther }) =>
    trace && !isOther && lock.has(trace.instance) ? [trace] : []
  ).sort((a, b) => a.started > b.started ? -1 : 1);
  // Made at any time: the number lets an instance be there more than once.
  const recipeOf = recipesOf(
    new Map(named.map((trace, index) => [`${trace.instance}/${index}`, trace])),
  );
  const made = named.filter((trace) => {
    const { recipe } = lock.get(trace.instance)!;
    return recipe !== undefined && recipeOf(trace) === recipe;
  });
  return Map.groupBy(
    made,
    ({ instance, ingredients }) => JSON.stringify([instance, ingredients["machine"]]),
  );
}
