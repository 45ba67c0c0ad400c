/**
 * What to say where a run took results of other platforms.
 *
 * @module
 */
import { counted } from "../amounts.ts";
import { platformName } from "../key/ingredients.ts";
import type { Results } from "../run/publish.ts";
import type { Options } from "./options.ts";
import type { Session } from "./session.ts";

/** One sentence, if the run was asked to accept such and did; `undefined` otherwise. */
export async function acceptedNote(
  { store, platform }: Session,
  results: Results,
  { acceptPlatform }: Options,
): Promise<string | undefined> {
  if (acceptPlatform.length === 0) return undefined;
  const own = platformName(platform.ingredients);
  const others: string[] = [];
  for (const { key } of results.values()) {
    const name = platformName((await store.trace(key))?.ingredients ?? {});
    if (name !== undefined && name !== own) others.push(name);
  }
  if (others.length === 0) return undefined;
  return `${counted(others.length, "result")} of ${[...new Set(others)].join(", ")} accepted`;
}
