/**
 * Tags: records of runs that are kept under a name, with all that they made.
 *
 * @module
 */
import { join } from "node:path";
import { sortedEntries } from "../files.ts";
import { latestNames, type LatestRun, readLatest, toLatestRun } from "./latest.ts";
import { readSealed, writeSealed } from "./sealed.ts";
import { makeFolder, type Workspace } from "./workspace.ts";

/** Names that are files on every system and no path. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Whether a text may be a tag's name. */
export function isTagName(name: string): boolean {
  return NAME.test(name) && !name.endsWith(".json");
}

/** Where tags are kept. */
export function tagsFolder({ root }: Pick<Workspace, "root">): string {
  return join(root, "tags");
}

function tagPath(name: string, workspace: Pick<Workspace, "root">): string {
  return join(tagsFolder(workspace), `${name}.json`);
}

/** The names of all tags, sorted. */
export function tagNames(workspace: Pick<Workspace, "root">): string[] {
  return sortedEntries(tagsFolder(workspace)).map(({ name }) => name)
    .filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
}

/** The run that a tag keeps; `undefined` if there is no such tag, or it is damaged. */
export function readTag(name: string, workspace: Workspace): LatestRun | undefined {
  return readSealed(tagPath(name, workspace), {
    parse: toLatestRun,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
}

/** The run that a name is of: recorded as `fusion.smoke`, or kept by a tag; `undefined` if there is none. */
export function readNamed(
  name: string,
  workspace: Workspace,
): { readonly record: LatestRun; readonly tag?: string } | undefined {
  if (latestNames(workspace).includes(name)) {
    const record = readLatest(name, workspace);
    return record && { record };
  }
  const record = isTagName(name) ? readTag(name, workspace) : undefined;
  return record && { record, tag: name };
}

/** Keeps a run under a name. */
export function writeTag(name: string, run: LatestRun, workspace: Workspace): void {
  makeFolder(workspace, tagsFolder(workspace));
  writeSealed(tagPath(name, workspace), run);
}

/** Removes a tag. */
export function removeTag(name: string, workspace: Pick<Workspace, "root">): void {
  Deno.removeSync(tagPath(name, workspace));
}
