/**
 * Plans an experiment of this project, edited, without running anything.
 *
 * @module
 */
import { assert, assertRejects } from "@std/assert";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../pipeline/errors.ts";
import { type Experiment, loadExperiment } from "../../pipeline/config/experiment.ts";
import { readFiles } from "../../pipeline/config/files.ts";
import { buildGraph, type Graph } from "../../pipeline/plan/graph.ts";
import { checkInstances, surroundingsOf } from "../../pipeline/plan/surroundings.ts";
import type { Preview, Stage } from "../../pipeline/stage.ts";
import { temporaryFolder } from "./temporary.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Texts to be replaced: below `experiments/`, a file, what it has and what it gets instead. */
export type Edits = readonly (readonly [file: string, from: string, to: string])[];

/** What a plan of an edited experiment refuses it with. */
export async function refused(name: string, edits: Edits, profile = "smoke"): Promise<string> {
  const root = temporaryFolder();
  copy(join(ROOT, "experiments", name), join(root, "experiments", name));
  copy(join(ROOT, "data/sources.yaml"), join(root, "data/sources.yaml"));
  for (const [file, from, to] of edits) {
    const path = join(root, "experiments", name, file);
    const text = Deno.readTextFileSync(path);
    assert(text.includes(from), `${file} must have ${from}`);
    Deno.writeTextFileSync(path, text.replace(from, to));
  }
  return (await assertRejects(() => plan(name, profile, root), ConfigError)).message;
}

/** `experiments/NAME/FILE:LINE`, where a text begins. */
export function lineOf(name: string, file: string, text: string): string {
  const path = `experiments/${name}/${file}`;
  const [before, after] = Deno.readTextFileSync(join(ROOT, path)).split(text);
  assert(after !== undefined, `${file} must have ${text}`);
  return `${path}:${before!.split("\n").length}`;
}

/** Reads an experiment, builds its graph and has its stages check it. */
export async function plan(name: string, profile: string, root = ROOT): Promise<void> {
  const experiment = await loadedFrom(name, profile, root);
  await checkInstances(buildGraph(experiment), experiment);
}

/** An experiment of this project, as it is, with its instances. */
export async function planned(
  name: string,
  profile: string,
): Promise<{ readonly experiment: Experiment; readonly graph: Graph }> {
  const experiment = await loadedFrom(name, profile, ROOT);
  return { experiment, graph: buildGraph(experiment) };
}

/** What the stages of an experiment of this project say of themselves in a plan. */
export async function previews(name: string, profile: string): Promise<Preview[]> {
  const { experiment, graph } = await planned(name, profile);
  const said = graph.map((instance) =>
    instance.node.stage.preview?.(instance.params, surroundingsOf(instance, experiment))
  );
  return (await Promise.all(said)).filter((each) => each !== undefined);
}

async function loadedFrom(name: string, profile: string, root: string): Promise<Experiment> {
  const options = { root, profile, set: [], stages: await loaded, mirror: undefined };
  return loadExperiment(readFiles(name, root), options);
}

/** Every stage of the project, by its name. */
const loaded: Promise<ReadonlyMap<string, Stage>> = (async () => {
  const files = [...Deno.readDirSync(join(ROOT, "stages"))].map(({ name }) => name)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".run.ts"));
  const modules = await Promise.all(
    files.map((name) => import(`../../stages/${name}`) as Promise<Record<string, unknown>>),
  );
  const found = modules.flatMap((module) => Object.values(module)).filter((value) =>
    typeof value === "object" && value !== null && "outputs" in value && "params" in value
  ) as Stage[];
  return new Map(found.map((stage) => [stage.name, stage]));
})();

function copy(from: string, to: string): void {
  if (Deno.statSync(from).isFile) {
    Deno.mkdirSync(dirname(to), { recursive: true });
    return Deno.copyFileSync(from, to);
  }
  for (const { name } of Deno.readDirSync(from)) copy(join(from, name), join(to, name));
}
