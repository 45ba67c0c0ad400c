import { assert, assertEquals } from "@std/assert";
import { toyProject } from "../rig/project.ts";

Deno.test("plan --calibrate times one instance of each configuration, and keeps what ends in time", async () => {
  using project = toyProject();
  const set = ["--set", "steps.delayMs=100", "--set", "steps.steps=300"];
  const { code, stdout, stderr } = await project.run([
    "plan",
    "--calibrate",
    "--jobs",
    "2",
    ...set,
  ]);
  assertEquals(code, 0, stderr);
  const tried = stdout.split("\n").filter((line) => line.startsWith("tried"))
    .map((line) => line.split(/ {2}/));
  // Seeds do not make another configuration; names do, for their texts differ.
  assertEquals(tried.map(([, instance, what]) => [instance, what!.replace(/ [\d.]+ s$/, "")]), [
    ["word/ann", "took"],
    ["word/bob", "took"],
    ["steps/ann/1", "would take about"],
    ["steps/bob/1", "would take about"],
  ]);
  for (const [, , what] of tried.slice(2)) {
    const seconds = Number(/([\d.]+) s$/.exec(what!)![1]);
    // 300 steps of 0.1 s; a busy machine makes them longer.
    assert(seconds >= 29 && seconds < 60, what);
  }
  const steps = stdout.split("\n").find((line) => line.startsWith("steps"))!;
  assert(/ 4 .* (5\d s|1 min)/.test(steps), steps);
  // Four of 30 s on two jobs; what gathers them was not tried.
  assert(
    /about (5\d s|1 min \d+ s) on up to 2 jobs, not counting 1 instance about/.test(
      stdout.replaceAll("\n", " "),
    ),
    stdout,
  );
  assertEquals(await project.executed("--only", "word"), [], "what ended is a result");
});

Deno.test("an interrupted calibration leaves the store as a run would", async () => {
  using project = toyProject();
  const set = ["--set", "steps.delayMs=100", "--set", "steps.steps=300"];
  const child = project.start(["plan", "--calibrate", ...set]);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (!(await reader.read()).value?.includes("word/bob"));
  await new Promise((resolve) => setTimeout(resolve, 500));
  child.kill("SIGINT");
  for (;;) if ((await reader.read()).done) break;
  await child.stderr.cancel();
  assertEquals((await child.status).code, 130);
  assertEquals((await project.executed()).length, 5, "all but the words");
  assertEquals((await project.run(["audit"])).code, 0);
});
