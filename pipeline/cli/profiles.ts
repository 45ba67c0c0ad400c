/**
 * The profiles of an experiment, from its file alone.
 *
 * @module
 */
import { join } from "node:path";
import { readDocument, valueAt } from "../config/document.ts";
import { experimentPath } from "../config/files.ts";
import type { Project } from "./project.ts";

/** Names of an experiment's profiles; none where its file can't be read. */
export function profilesOf({ root }: Project, experiment: string): string[] {
  const name = experimentPath(experiment);
  try {
    const profiles = valueAt(readDocument(join(root, name), name).value, ["profiles"]);
    return Object.keys(profiles ?? {});
  } catch {
    return [];
  }
}
