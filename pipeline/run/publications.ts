/**
 * The record of what is in `outputs/`: which run wrote which file there.
 *
 * @module
 */
import { join } from "node:path";
import type { Sha256 } from "../key/hash.ts";
import type { Content } from "../store/outputs_folder.ts";
import { publishPathProblem } from "../store/paths.ts";
import { readSealed, writeSealed } from "../store/sealed.ts";
import { isCount, isDigest, isRecord, isRecordOf, isText } from "../store/shape.ts";
import type { Workspace } from "../store/workspace.ts";

/** A file below `outputs/` and where it came from. */
export interface Publication extends Content {
  /** `fusion.smoke`. */
  readonly run: string;
  readonly instance: string;
  readonly key: Sha256;
}

/** Path below `outputs/` to what was written there. */
export type Publications = Readonly<Record<string, Publication>>;

/** Where the record is kept. */
export function publicationsPath(workspace: Pick<Workspace, "root">): string {
  return join(workspace.root, "published.json");
}

/** What is in `outputs/`, as it was written there. */
export function readPublications(workspace: Workspace): Publications {
  return readSealed(publicationsPath(workspace), {
    parse: (value) => isPublications(value) ? value : undefined,
    onDamage: (path, message) => workspace.setAside(path, message),
  }) ?? {};
}

/** Records what is in `outputs/`. */
export function writePublications(publications: Publications, workspace: Workspace): void {
  writeSealed(publicationsPath(workspace), publications);
}

/** Whether a parsed value is such a record. */
export function isPublications(value: unknown): value is Publications {
  return isRecordOf(value, isPublication) &&
    Object.keys(value).every((path) => publishPathProblem(path) === undefined);
}

function isPublication(value: unknown): boolean {
  return isRecord(value) && isText(value["run"]) && isText(value["instance"]) &&
    isDigest(value["key"]) && isDigest(value["sha256"]) && isCount(value["bytes"]);
}
