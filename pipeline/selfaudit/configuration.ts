/**
 * Edits every file of an experiment, in a copy, and compares who reacts with who is handed something else,
 * and with whom the edited place can be about.
 *
 * @module
 */
import { join, normalize } from "node:path";
import { readFiles } from "../config/files.ts";
import { ConfigError } from "../errors.ts";
import { changes } from "../key/ingredients.ts";
import type { Instance } from "../plan/graph.ts";
import { EDIT_KINDS, type FileEdit } from "./documents.ts";
import { lookAtInstances, type Looked, type Subject } from "./handed.ts";
import { Count, draw, numbers, type Tally } from "./tally.ts";

/** How much of it is tried. */
export interface Extent {
  readonly seed: number;
  /** At most so many alterations of each kind. */
  readonly times: number;
  readonly progress: (what: string) => void;
}

/** Tries edits of the files of an experiment; `subject.root` is a copy, which is as it was afterwards. */
export async function auditConfiguration(subject: Subject, extent: Extent): Promise<Tally[]> {
  const before = await lookAtInstances(subject);
  const files = filesOf(subject);
  const tallies: Tally[] = [];
  for (const { kind, edits } of EDIT_KINDS) {
    const all = [...files].flatMap(([file, text]) => edits(file, text));
    const next = numbers(extent.seed, kind);
    const count = new Count(kind);
    for (const edit of draw(all, { count: extent.times, next })) {
      extent.progress(`${kind}: ${edit.what}`);
      await tryEdit(edit, { subject, before, files, count });
    }
    tallies.push(count);
  }
  return tallies;
}

/** The texts of an experiment's files, by their paths below the root. */
function filesOf({ root, experiment }: Subject): Map<string, string> {
  const { document, included } = readFiles(experiment, root);
  return new Map([document, ...included.values()].map(({ name, text }) => [normalize(name), text]));
}

async function tryEdit(
  edit: FileEdit,
  { subject, before, files, count }: {
    readonly subject: Subject;
    readonly before: ReadonlyMap<string, Looked>;
    readonly files: ReadonlyMap<string, string>;
    readonly count: Count;
  },
): Promise<void> {
  const path = join(subject.root, edit.file);
  Deno.writeTextFileSync(path, edit.text());
  try {
    const now = await lookAtInstances(subject);
    const names = [...before.keys()].filter((name) => now.has(name));
    const mayReact = scopeOf(edit, subject);
    const isAnother = (name: string, of: "handed" | "key") =>
      before.get(name)![of] !== now.get(name)![of];
    count.take(edit.what, {
      all: names,
      // Who is handed something else must react, and that may be those alone whom the place is about.
      due: (name) => isAnother(name, "handed") && mayReact(before.get(name)!.instance),
      reacted: (name) => isAnother(name, "key"),
      name: (name) => name,
      cause: (name) => causeOf(before.get(name)!, now.get(name)!, isAnother(name, "handed")),
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    count.tried++;
    count.refused++;
  } finally {
    Deno.writeTextFileSync(path, files.get(edit.file)!);
  }
}

function causeOf(before: Looked, now: Looked, isHandedOther: boolean): string {
  const moved = changes(before.ingredients, now.ingredients).map(({ ingredient }) => ingredient);
  const why = isHandedOther ? "which the place is not about" : "which is handed the same";
  return `${why}: ${moved.slice(0, 3).join(", ") || "no ingredient moved"}`;
}

/** Whom a place in the experiment's own file can be about; what it includes may be about all. */
function scopeOf(
  { file, path }: FileEdit,
  { experiment, profile }: Subject,
): (instance: Instance) => boolean {
  if (file !== `experiments/${experiment}/experiment.yaml`) return () => true;
  if (path[0] !== "profiles") return scopeOfLayer(path);
  // Of a map of profiles, the order; of another profile, nothing.
  return path[1] === profile ? scopeOfLayer(path.slice(2)) : () => false;
}

function scopeOfLayer([field, ...rest]: FileEdit["path"]): (instance: Instance) => boolean {
  if (field === "stages" && rest[1] === "params") return ({ node }) => node.name === rest[0];
  if (field === "axes" && rest.length > 2) {
    const [axis = "", value, stage] = rest;
    return ({ node, at }) => node.name === stage && String(at[axis]) === String(value);
  }
  return () => true;
}
