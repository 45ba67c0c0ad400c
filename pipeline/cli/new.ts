/**
 * `new NAME`: writes the folder of a small experiment, from the project's template.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { experimentPath, isExperimentName } from "../config/files.ts";
import { UsageError } from "../errors.ts";
import { entriesBelow, lookAt } from "../files.ts";
import { clip } from "../suggestion.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { writeWhole } from "./write_whole.ts";

/** Where the template is; no experiment has such a name. */
const TEMPLATE = "experiments/_template";

/**
 * Copies the template, with the experiment's name where that has NAME.
 *
 * @throws {UsageError} If the name breaks the rules of names or is taken, or there is no template.
 */
export async function writeExperiment(
  { root }: Project,
  { operands }: Options,
  print: Print,
): Promise<void> {
  const [name = ""] = operands;
  const folder = dirname(experimentPath(name));
  const refuse = (why: string) => new UsageError(`Cannot write experiment "${clip(name)}": ${why}`);
  if (!isExperimentName(name)) {
    throw refuse("its name must be lower-case letters, digits and _, a letter first");
  }
  if (lookAt(join(root, folder))) {
    throw refuse(`nothing may be at ${folder}, and something is; give another name`);
  }
  const files = [...entriesBelow(join(root, TEMPLATE))].filter(({ isFile }) => isFile);
  if (files.length === 0) {
    throw refuse(
      `${TEMPLATE} must hold a template, and holds none; restore it from version control`,
    );
  }
  await writeWhole(join(root, folder), (draft) => {
    for (const { subfolder, name: file, path } of files) {
      const target = join(draft, subfolder, file);
      Deno.mkdirSync(dirname(target), { recursive: true });
      Deno.writeTextFileSync(target, Deno.readTextFileSync(path).replaceAll(/\bNAME\b/g, name));
    }
  });
  print(`wrote ${folder}/: edit ${experimentPath(name)}, then run\n`);
  print(`deno task plan --experiment ${name}\ndeno task reproduce --experiment ${name}`);
}
