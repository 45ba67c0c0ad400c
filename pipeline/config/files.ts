/**
 * The files of an experiment: its own and those that it includes.
 *
 * @module
 */
import { dirname, isAbsolute, join, normalize } from "node:path";
import { ConfigError } from "../errors.ts";
import { lookAt, sortedEntries } from "../files.ts";
import { clip, suggestion } from "../suggestion.ts";
import { at, type Document, readDocument } from "./document.ts";
import { broken, violations } from "./issues.ts";
import { type ExperimentFile, experimentName, experimentSchema } from "./schema.ts";

/** An experiment as its files have it. */
export interface ExperimentFiles {
  readonly document: Document;
  readonly file: ExperimentFile;
  /** By the name under which `$name` refers to them. */
  readonly included: ReadonlyMap<string, Document>;
}

/** Where an experiment's file is below the project's root. */
export function experimentPath(name: string): string {
  return `experiments/${name}/experiment.yaml`;
}

/**
 * Reads and validates `experiments/NAME/experiment.yaml` and what it includes.
 *
 * @throws {ConfigError} At the first file that breaks a rule, listing all that it breaks.
 */
export function readFiles(name: string, root: string): ExperimentFiles {
  const relative = experimentPath(name);
  const known = experimentNames(root);
  if (!known.includes(name)) {
    throw new ConfigError(
      `Cannot find ${clip(relative)}: no experiment "${clip(name)}"${suggestion(name, known)}`,
    );
  }
  const document = readDocument(join(root, relative), relative);
  const file = validate(document);
  if (file.experiment !== name) {
    const rule = `must be the folder's name, "${name}", found "${file.experiment}"`;
    throw new ConfigError(at(document, ["experiment"], rule));
  }
  const included = new Map<string, Document>();
  for (const [key, path] of Object.entries(file.include)) {
    const shown = normalize(join(dirname(relative), path));
    const refuse = (what: string) => new ConfigError(at(document, ["include", key], what));
    if (isAbsolute(path) || shown.startsWith("../")) {
      throw refuse(`must be a file of the project, found "${clip(path)}"`);
    }
    if (shown === relative) throw refuse("must be another file than the experiment's own");
    included.set(
      key,
      readDocument(join(root, shown), shown, (why) => refuse(`${clip(path)} ${why}`)),
    );
  }
  return { document, file, included };
}

function validate(document: Document): ExperimentFile {
  // Once: to compile the schema's checks would take longer than they do.
  const parsed = experimentSchema.safeParse(document.value, { jitless: true });
  if (parsed.success) return parsed.data;
  const found = violations(experimentSchema, document.value, parsed.error);
  throw broken(found, ({ path, message }) => at(document, path, message));
}

/** Names of the experiments in a project, sorted: of the folders that hold an `experiment.yaml`. */
export function experimentNames(root: string): string[] {
  return sortedEntries(join(root, "experiments")).map(({ name }) => name)
    .filter((name) => isExperimentName(name) && lookAt(join(root, experimentPath(name))));
}

/** Whether an experiment may have a name. */
export function isExperimentName(name: string): boolean {
  return experimentName.safeParse(name).success;
}
