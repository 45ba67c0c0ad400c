import { assert } from "@std/assert";
import { parse } from "@std/yaml";
import { join } from "node:path";
import { loadExperiment } from "../../../pipeline/config/experiment.ts";
import { readFiles } from "../../../pipeline/config/files.ts";
import { buildGraph } from "../../../pipeline/plan/graph.ts";
import { checkInstances } from "../../../pipeline/plan/surroundings.ts";
import type { Stage } from "../../../pipeline/stage.ts";

const ROOT = join(import.meta.dirname!, "../../..");

/** Every stage of the project, by its name. */
async function stagesOf(): Promise<Map<string, Stage>> {
  const files = [...Deno.readDirSync(join(ROOT, "stages"))].map(({ name }) => name)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".run.ts"));
  const modules = await Promise.all(
    files.map((name) => import(`../../../stages/${name}`) as Promise<Record<string, unknown>>),
  );
  const found = modules.flatMap((module) => Object.values(module)).filter((value) =>
    typeof value === "object" && value !== null && "outputs" in value && "params" in value
  ) as Stage[];
  return new Map(found.map((stage) => [stage.name, stage]));
}

Deno.test("every profile of every paper names what there is, so that it can be planned", async () => {
  const stages = await stagesOf();
  for (const name of ["fusion", "intensity", "averaging"]) {
    const text = Deno.readTextFileSync(join(ROOT, "experiments", name, "experiment.yaml"));
    const { profiles } = parse(text) as { profiles: Record<string, unknown> };
    assert(Object.keys(profiles).length > 1);
    for (const profile of Object.keys(profiles)) {
      const files = readFiles(name, ROOT);
      const own = { root: ROOT, profile, set: [], stages, mirror: undefined };
      const experiment = loadExperiment(files, own);
      await checkInstances(buildGraph(experiment), experiment);
    }
  }
});
