/**
 * A copy of this project in a temporary folder, with a profile of its own that trains in no time.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openProject, type TestProject } from "./project.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Copies code and experiments.
 *
 * @param profile YAML of a profile, indented as in the file, to add to paper A's experiment.
 */
export function copyOfThisProject(profile: string): TestProject {
  const root = Deno.makeTempDirSync({ prefix: "lockstep-copy-" });
  const copy = (from: string, to: string) => {
    if (Deno.statSync(from).isFile) return Deno.copyFileSync(from, to);
    Deno.mkdirSync(to, { recursive: true });
    for (const { name } of Deno.readDirSync(from)) copy(join(from, name), join(to, name));
  };
  for (
    const name of [
      "deno.json",
      "main.ts",
      "pipeline",
      "stages",
      "analysis",
      "doctor",
      "models",
      "data",
      "types",
    ]
  ) {
    copy(join(ROOT, name), join(root, name));
  }
  copy(join(ROOT, "experiments"), join(root, "experiments"));
  Deno.mkdirSync(join(root, "lock"));
  copy(join(ROOT, "lock/deno.lock"), join(root, "lock/deno.lock"));
  const project = openProject(root);
  project.write(
    "experiments/fusion/experiment.yaml",
    project.read("experiments/fusion/experiment.yaml") + profile,
  );
  return project;
}
