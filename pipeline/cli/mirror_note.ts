/**
 * What to say where a run takes its files from another place than the last one did.
 *
 * @module
 */
import { resolve } from "node:path";
import type { Options } from "./options.ts";
import type { Session } from "./session.ts";

/**
 * One sentence, if the last run had another mirror and something that reads it is to run;
 * `undefined` otherwise. It changes nothing: whoever wants the same mirror has to name it.
 */
export function mirrorNote(
  { latest, decisions }: Session,
  { mirror: now }: Options,
  root: string,
): string | undefined {
  if (!latest || placeOf(latest.mirror, root) === placeOf(now, root)) return undefined;
  const downloads = [...decisions].some(([{ node, params }, { action }]) =>
    action !== "cached" && node.stage.access?.(params).mirror
  );
  if (!downloads) return undefined;
  const before = latest.mirror === undefined
    ? "no files from a mirror"
    : `its files from ${latest.mirror} (--mirror ${latest.mirror})`;
  const here = now === undefined ? "does not" : `takes them from ${now}`;
  return `the last run took ${before}; this one ${here}`;
}

/** A mirror as an absolute path or a URL. */
function placeOf(mirror: string | undefined, root: string): string | undefined {
  return mirror === undefined || /^https?:\/\//.test(mirror) ? mirror : resolve(root, mirror);
}
