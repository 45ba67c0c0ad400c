/**
 * `schema`: writes the JSON Schema of experiment files, for editors.
 *
 * @module
 */
import { join } from "node:path";
import { editorSchema } from "../config/schema.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { loadStages } from "./wiring.ts";
import { writeWholeText } from "./write_whole.ts";

/** Writes `experiments/schema.json`. */
export async function writeSchema(project: Project, _: Options, print: Print): Promise<void> {
  const text = `${JSON.stringify(editorSchema(await loadStages(project)), null, 2)}\n`;
  await writeWholeText(join(project.root, "experiments/schema.json"), text);
  print("wrote experiments/schema.json");
}
