import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseSize, parseTime, sizeText } from "../../pipeline/amounts.ts";
import type { Event } from "../../pipeline/event.ts";
import { CacheServer } from "../rig/cache_server.ts";
import { toyProject, unwrapped } from "../rig/project.ts";

const YAML = "experiments/toy/experiment.yaml";
const EACH = "    each: [name, seed]\n";

/** A toy project whose stage `steps` has these resources, and line 15, at which they are. */
function withResources(resources: string, profile = "") {
  const project = toyProject();
  project.edit(YAML, EACH, `${EACH}    resources: ${resources}\n`);
  if (profile !== "") {
    project.edit(
      YAML,
      "  smoke: {}\n",
      `  smoke: { stages: { steps: { resources: ${profile} } } }\n`,
    );
  }
  const line = project.read(YAML).split("\n").findIndex((text) => text.includes("resources:")) + 1;
  return Object.assign(project, { line });
}

/** How many instances of `steps` ran at once. */
function mostAtOnce(events: readonly Event[]): number {
  let running = 0, most = 0;
  for (const event of events) {
    if (!("instance" in event) || !event.instance.startsWith("steps")) continue;
    if (event.event === "started") most = Math.max(most, ++running);
    if (event.event === "executed") running--;
  }
  return most;
}

Deno.test("sizes and times are read as people write them, and nothing else is", () => {
  const sizes: Record<string, number | undefined> = {
    "512": 512,
    "500kB": 500_000,
    "1.5GB": 1_500_000_000,
    "16GiB": 17_179_869_184,
    "2 MiB": 2_097_152,
    "8G": undefined,
    "GB": undefined,
    "-1GB": undefined,
    "toString": undefined,
  };
  for (const [text, bytes] of Object.entries(sizes)) assertEquals(parseSize(text), bytes, text);
  assertEquals(sizeText(15_690_000_000), "15.6 GB");
  assertEquals(sizeText(12), "12 B");
  const times: Record<string, number | undefined> = {
    "90m": 5400,
    "2h30m": 9000,
    "1d": 86_400,
    "45s": 45,
    "": undefined,
    "90": undefined,
    "30m2h": undefined,
    "1:30": undefined,
  };
  for (const [text, seconds] of Object.entries(times)) assertEquals(parseTime(text), seconds, text);
});

Deno.test("resources that are none are refused at their line, with what they must be", async () => {
  const cases = [
    ["{ cpus: 0 }", "resources.cpus: must be at least 1, found 0"],
    ["{ memory: 8G }", "resources.memory: must be a size such as 512MB, 8GB or 16GiB"],
    ["{ gpus: half }", 'resources.gpus: must be a number, found "half"'],
    ["{ time: 1:30 }", "resources.time: must be a time such as 90m, 2h30m or 1d, 20d at most"],
    ["{ cpu: 2 }", 'unknown key "cpu"; did you mean "cpus"?'],
  ] as const;
  for (const [resources, message] of cases) {
    using project = withResources(resources);
    const { code, stderr } = await project.run(["plan"]);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, `${YAML}:${project.line}: stages.steps.`);
    assertStringIncludes(unwrapped(stderr), message);
  }
});

Deno.test("what takes more than the machine has is refused before anything runs, in one message", async () => {
  using project = withResources("{ cpus: 3, memory: 3GB }");
  for (const command of ["reproduce", "plan"]) {
    const { code, stderr, stdout } = await project.run(
      [command, "--jobs", "1", "--cpus", "2", "--memory", "2GB"],
    );
    assertEquals([code, stdout], [2, ""]);
    const place = `${YAML}:${project.line}: stages.steps.resources`;
    assertEquals(stderr.trim().split("\n"), [
      `${place}.memory: must be no more than this machine has, 2 GB, found 3 GB; ask for less, or ` +
      "say by --memory that it has more",
      `${place}.cpus: must be no more than this machine has, 2, found 3; ask for less, or say by ` +
      "--cpus that it has more",
    ]);
  }
  const { code, stderr } = await project.run(["reproduce", "--cpus", "3", "--memory", "3GB"]);
  assertEquals(code, 0, stderr);
  // What is up to date takes nothing.
  assertEquals((await project.run(["reproduce", "--cpus", "1"])).code, 0);
});

Deno.test("what must run after all, for its result is gone from the cache, is refused if it takes too much", async () => {
  await using server = new CacheServer();
  const cache = ["--cache", server.url];
  using first = withResources("{ cpus: 3 }");
  await first.executed("--cpus", "3", ...cache, "--push");
  const states = [...server.content].filter(([path, content]) =>
    path.startsWith("/cas/") && new TextDecoder().decode(content).startsWith("Ann ")
  );
  server.content.delete(states[0]![0]);
  using second = withResources("{ cpus: 3 }");
  second.edit(YAML, "  gather:\n", "  gather:\n    params: { title: Other }\n");
  const child = second.start(["reproduce", "--json", "--cpus", "1", ...cache]);
  // It must end of itself.
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const { code, stdout } = await child.output();
  clearTimeout(timer);
  const events = new TextDecoder().decode(stdout).trim().split("\n").map((line) =>
    JSON.parse(line)
  );
  const failed = events.flatMap((event: Event) => event.event === "failed" ? [event] : []);
  assertEquals([code, failed.length], [1, 1]);
  assertStringIncludes(
    failed[0]!.message,
    `${YAML}:${second.line}: stages.steps.resources.cpus: must be no more than this machine has, 1, found 3`,
  );
});

Deno.test("instances run at once as far as processors and memory suffice, and --jobs allows", async () => {
  const cases: [resources: string, args: string[], most: number][] = [
    ["{ cpus: 2 }", ["--jobs", "4", "--cpus", "5"], 2],
    ["{ memory: 2GB }", ["--jobs", "4", "--memory", "5GB"], 2],
    ["{}", ["--jobs", "1", "--cpus", "4"], 1],
  ];
  for (const [resources, args, most] of cases) {
    using project = withResources(resources);
    project.edit(YAML, "params: { seed: $seed }", "params: { seed: $seed, delayMs: 60 }");
    const { code, events, stderr } = await project.run(["reproduce", "--json", ...args]);
    assertEquals(code, 0, stderr);
    const found = mostAtOnce(events);
    assert(found <= most, `${found} ran at once, with ${resources} and ${args}`);
    assertEquals(events.filter(({ event }) => event === "executed").length, 7);
  }
});

Deno.test("a profile says otherwise value by value, and no key moves", async () => {
  using project = withResources("{ cpus: 1, memory: 1MB }");
  await project.executed("--jobs", "2");
  project.edit(
    YAML,
    "  smoke: {}\n",
    "  smoke: { stages: { steps: { resources: { cpus: 64 } } } }\n",
  );
  assertEquals(await project.executed("--jobs", "2"), []);
  const { code, stderr } = await project.run(["reproduce", "--force", "steps", "--cpus", "63"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "profiles.smoke.stages.steps.resources.cpus: must be no more");
  const tooMuch = ["reproduce", "--force", "steps", "--cpus", "64", "--memory", "1kB"];
  assertStringIncludes(
    (await project.run(tooMuch)).stderr,
    " stages.steps.resources.memory: must be",
  );
});

Deno.test("an instance that takes longer than its time ends, and fails alone", async () => {
  using project = withResources("{ time: 1s }");
  project.edit(YAML, "params: { seed: $seed }", "params: { seed: $seed, delayMs: 600000 }");
  const { code, events } = await project.run(["reproduce", "--json", "--only", "steps/ann/1"]);
  assertEquals(code, 1);
  const failed = events.flatMap((event) => event.event === "failed" ? [event.message] : []);
  assertEquals(failed, [
    "Cannot finish steps/ann/1: it may take no longer than the time of its stage's resources, 1 s; " +
    "run again, and it goes on from its last state",
  ]);
});

Deno.test("an estimate counts on no more at once than processors allow", async () => {
  using project = withResources("{ cpus: 4 }");
  await project.executed("--jobs", "4", "--cpus", "16");
  const estimated = async (cpus: string) => {
    const args = ["plan", "--json", "--jobs", "4", "--cpus", cpus, "--force", "steps"];
    const lines = (await project.run(args)).stdout.trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    const { estimateSeconds } = lines.find(({ event }) => event === "plan-summary");
    const steps = lines.filter(({ instance = "" }) => instance.startsWith("steps/"));
    return { all: estimateSeconds, steps: steps.map(({ estimateSeconds }) => estimateSeconds) };
  };
  const one = await estimated("4"), four = await estimated("16");
  const sum = one.steps.reduce((sum: number, seconds: number) => sum + seconds, 0);
  assertEquals(one.steps.length, 4);
  assert(one.all >= sum, `${one.all} s for ${sum} s of work, one at a time`);
  assert(four.all < one.all, `${four.all} s for four at a time, ${one.all} s for one`);
});
