import { assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "@std/yaml";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { axesSchema, metricsSchema } from "../../analysis/spec/axes.ts";
import { claimSchema } from "../../analysis/spec/claims.ts";
import { figuresSchema } from "../../analysis/spec/figures.ts";
import { tablesSchema } from "../../analysis/spec/tables.ts";
import { experimentSchema } from "../../pipeline/config/schema.ts";
import { toyProject } from "../rig/project.ts";

const TEMPLATE = fileURLToPath(new URL("../../experiments/_template/", import.meta.url));

Deno.test("new writes a folder from the template, under the name it is given", async () => {
  using project = toyProject();
  project.write(
    "experiments/_template/experiment.yaml",
    "# NAME\nexperiment: NAME\nstages: { word: { params: { text: RENAMED } } }\nprofiles: { smoke: {} }\n",
  );
  project.write("experiments/_template/texts/a.md", "On NAME.\n");
  const ended = await project.run(["new", "my_idea"]);
  assertEquals([ended.code, ended.stderr], [0, ""]);
  assertStringIncludes(ended.stdout, "deno task reproduce --experiment my_idea\n");
  assertEquals(project.read("experiments/my_idea/experiment.yaml").split("\n").slice(0, 2), [
    "# my_idea",
    "experiment: my_idea",
  ]);
  assertStringIncludes(project.read("experiments/my_idea/experiment.yaml"), "RENAMED");
  assertEquals(project.read("experiments/my_idea/texts/a.md"), "On my_idea.\n");
  // It is an experiment by being there; the template is none.
  assertEquals(await project.executed("--experiment", "my_idea"), ["word"]);
  const other = await project.run(["plan", "--experiment", "my_ide"]);
  assertStringIncludes(other.stderr, 'did you mean "my_idea"?');
  assertEquals((await project.run(["plan", "--experiment", "_template"])).code, 2);
  assertEquals([...Deno.readDirSync(project.path("experiments"))].length, 3);
});

Deno.test("new overwrites nothing, and refuses what is no name", async () => {
  using project = toyProject();
  project.write("experiments/_template/experiment.yaml", "experiment: NAME\n");
  Deno.mkdirSync(project.path("experiments/empty"));
  const before = project.read("experiments/toy/experiment.yaml");
  for (
    const [name, why] of [
      ["toy", "nothing may be at experiments/toy, and something is; give another name"],
      ["empty", "nothing may be at experiments/empty, and something is; give another name"],
      ["My-Idea", "its name must be lower-case letters, digits and _, a letter first"],
      ["../out", "its name must be lower-case letters, digits and _, a letter first"],
      ["_template", "its name must be lower-case letters, digits and _, a letter first"],
    ] as const
  ) {
    const ended = await project.run(["new", name]);
    assertEquals([ended.code, ended.stderr], [
      2,
      `Cannot write experiment "${name}": ${why}\n`,
    ]);
  }
  assertEquals((await project.run(["new"])).code, 2);
  assertEquals(project.read("experiments/toy/experiment.yaml"), before);
  Deno.removeSync(project.path("experiments/_template"), { recursive: true });
  assertStringIncludes((await project.run(["new", "idea"])).stderr, "must hold a template");
  assertEquals([...Deno.readDirSync(project.path("experiments"))].length, 2);
});

Deno.test("the template is under 60 lines, and what it says of its analysis is valid", () => {
  const text = Deno.readTextFileSync(join(TEMPLATE, "experiment.yaml"));
  assertEquals(text.trimEnd().split("\n").length < 60, true);
  const file = experimentSchema.parse(parse(text.replaceAll("NAME", "idea"), { schema: "core" }));
  const { axes, metrics, claims, tables } = file.stages["aggregate"]!.params as Record<
    string,
    unknown
  >;
  axesSchema.parse(axes);
  metricsSchema.parse(metrics);
  tablesSchema.parse(tables);
  claimSchema.array().length(1).parse(claims);
  figuresSchema.parse(file.stages["plot"]!.params["figures"]);
  const report = Deno.readTextFileSync(join(TEMPLATE, "report.md"));
  const holes = [...report.matchAll(/\{\{(.+?)\}\}/g)].map(([, hole]) => hole);
  assertEquals(holes, ["claims", "table accuracy", "figure accuracy"]);
});
