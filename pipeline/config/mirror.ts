/**
 * Where downloads are looked for before their URLs.
 *
 * @module
 */
import { resolve } from "node:path";
import { ConfigError } from "../errors.ts";
import { clip } from "../suggestion.ts";
import { type Locate } from "./document.ts";

/** What names a mirror; the first that is there counts. */
export interface MirrorNames {
  /** `--mirror`, or its environment variable. */
  readonly option: string | undefined;
  /** The profile's, else the experiment's own. */
  readonly file: string | undefined;
}

/**
 * The mirror of a run, as an absolute path or a base URL; `undefined` if none is named.
 *
 * @param root Project root, from which a relative path starts.
 * @throws {ConfigError} If it is neither a folder nor a URL.
 */
export function resolveMirror(
  root: string,
  { option, file }: MirrorNames,
  locate: Locate,
): string | undefined {
  const named = option ?? file;
  if (named === undefined) return undefined;
  if (/^https?:\/\//.test(named) && URL.canParse(named)) return named;
  const path = resolve(root, named);
  if (isFolder(path)) return path;
  throw new ConfigError(
    option !== undefined
      ? `Cannot use --mirror ${clip(option)}: it must be a folder or a URL, and is neither`
      : locate(["mirror"], `must be a folder or a URL, found "${clip(named)}"`),
  );
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
