import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type TestProject, toyProject } from "../rig/project.ts";

/** A project whose steps print what they do. */
function printing(): TestProject {
  const project = toyProject();
  project.edit(
    "stages/steps.run.ts",
    "context.progress(",
    'console.log("step " + state.step);\n    context.progress(',
  );
  return project;
}

Deno.test("logs prints what an instance printed when it last ran", async () => {
  using project = printing();
  const early = await project.run(["logs", "steps/ann/1"]);
  assertEquals(early.code, 1);
  assertStringIncludes(early.stderr, "it has not been run here");
  await project.executed();
  assertEquals((await project.run(["logs", "steps/ann/1"])).stdout, "step 1\nstep 2\nstep 3\n");
  assertEquals((await project.run(["logs", "steps/ann/1", "--json"])).events as unknown[], [
    { event: "log", instance: "steps/ann/1", text: "step 1\nstep 2\nstep 3" },
  ]);
  const none = await project.run(["logs", "word/ann"]);
  assertEquals(none.stdout, "word/ann printed nothing when it last ran\n");
  assertStringIncludes((await project.run(["logs"])).stderr, "needs an instance, e.g. steps/ann/1");
});

Deno.test("after a failure logs prints what the failed attempt printed, also once the code is mended", async () => {
  using project = printing();
  await project.executed();
  project.edit(
    "stages/steps.run.ts",
    "const checkpoint =",
    'console.log("odd"); oops();\n  const checkpoint =',
  );
  const failed = await project.run(["reproduce"]);
  assertEquals(failed.code, 1);
  assertStringIncludes((await project.run(["logs", "steps/ann/1"])).stdout, "odd\n");
  project.edit("stages/steps.run.ts", "oops();", "");
  assertStringIncludes((await project.run(["logs", "steps/ann/1"])).stdout, "odd\n");
});

Deno.test("logs --follow prints on while the instance runs, and ends with it", async () => {
  using project = printing();
  await project.executed("--only", "word");
  const run = project.start([
    ...["reproduce", "--only", "steps/ann/1"],
    ...["--set", "steps.steps=8", "--set", "steps.delayMs=400"],
  ]);
  const isRunning = () => {
    try {
      return [...Deno.readDirSync(project.path("outputs/store/logs"))].length > 0;
    } catch {
      return false;
    }
  };
  while (!isRunning()) await new Promise((resolve) => setTimeout(resolve, 50));
  const followed = await project.run(["logs", "steps/ann/1", "--follow"]);
  assertEquals((await run.output()).code, 0);
  assert(followed.stdout.endsWith("step 7\nstep 8\n"), followed.stdout);
});
