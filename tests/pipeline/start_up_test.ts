import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { mainText, toyProject, writeStage } from "../rig/project.ts";

Deno.test("a stage that the experiment does not name is not loaded, unless to find the name of one that is missing", async () => {
  using project = toyProject();
  writeStage(project, {
    name: "spare",
    declaration: `console.error("spare is loaded");
export type Params = unknown;
export const spare = defineStage({ name: "spare", params: z.unknown(), inputs: {}, outputs: {} });`,
    run: "export const run = (_: StageContext<Params>) => Promise.resolve();",
  });
  project.write("main.ts", mainText(["word", "steps", "gather", "spare"]));
  const plan = await project.run(["plan"]);
  assertEquals([plan.code, plan.stderr], [0, ""]);
  project.edit("experiments/toy/experiment.yaml", "  gather:", "  gather:\n    stage: spar");
  const { code, stderr } = await project.run(["plan"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "spare is loaded");
  assertStringIncludes(stderr, 'no stage definition "spar"; did you mean "spare"?');
});

/** All that a module of the project loads at once. */
async function loadedBy(module: string): Promise<Set<string>> {
  const root = new URL("../../", import.meta.url);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL(module, root).href],
    stderr: "null",
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as {
    modules: {
      specifier: string;
      dependencies?: { isDynamic?: boolean; code?: { specifier: string } }[];
    }[];
  };
  const loaded = new Set<string>();
  const load = (specifier: string): void => {
    if (loaded.has(specifier)) return;
    loaded.add(specifier);
    const found = modules.find((module) => module.specifier === specifier);
    for (const { isDynamic, code } of found?.dependencies ?? []) {
      if (!isDynamic && code) load(code.specifier);
    }
  };
  load(new URL(module, root).href);
  return loaded;
}

Deno.test("a run loads what bundles stages only where one changed", async () => {
  const loaded = await loadedBy("pipeline/cli/reproduce.ts");
  assert([...loaded].some((name) => name.endsWith("store/code.ts")), "the walk found the modules");
  const bundling = /esbuild|terser|resolve\.exports|lexer|key\/(package_)?bundle\.ts|packages\.ts/;
  assertEquals([...loaded].filter((name) => bundling.test(name)), []);
});

Deno.test("a remembered run is said again without a package and without Node's modules", async () => {
  for (const name of ["main", "recall", "terminal"]) {
    const loaded = await loadedBy(`pipeline/cli/${name}.ts`);
    assert(loaded.size > 1, "the walk found the modules");
    assertEquals([...loaded].filter((specifier) => !specifier.startsWith("file:")), []);
  }
});
