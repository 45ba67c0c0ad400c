/**
 * What of Slurm jobs can be tried without Slurm: `tests/servers/slurm_test.ts` has the rest.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { jobNeedsOf } from "../../pipeline/cli/slurm.ts";
import { explain } from "../../pipeline/errors.ts";
import { lookAt } from "../../pipeline/files.ts";
import type { Platform } from "../../pipeline/key/platform.ts";
import type { Instance } from "../../pipeline/plan/graph.ts";
import { scriptOf } from "../../pipeline/run/executor/slurm/script.ts";
import type { Stage } from "../../pipeline/stage.ts";
import { holdForRepair } from "../../pipeline/store/run_lock.ts";
import { CacheServer } from "../rig/cache_server.ts";
import { type DetachedJob, detachedJob } from "../rig/detached_job.ts";
import { type FakeSlurm, fakeSlurm } from "../rig/fake_slurm.ts";
import { type Ended, type TestProject, toyProject, unwrapped } from "../rig/project.ts";

const YAML = "experiments/toy/experiment.yaml";

function withSteps(project: TestProject, entry: string): void {
  project.edit(YAML, "  steps:\n    each", `  steps:\n    ${entry}\n    each`);
}

Deno.test("a mistake in what an experiment says of Slurm is shown at its line", async () => {
  const cases = [
    ["slurm: { options: [-p gpu] }", "a long option of sbatch in one word"],
    ['slurm: { options: ["--array=0-9"] }', "must not be an option that the engine gives itself"],
    // sbatch takes the beginning of a name for the name.
    ['slurm: { options: ["--comm=x"] }', "or the beginning of one"],
    ['slurm: { options: ["--hold"] }', "must not be an option that the engine gives itself"],
    ['slurm: { options: ["--test-only"] }', "must not be an option that the engine gives itself"],
    ["slurm: { partition: a b }", "must be one word"],
    ["slurm: { queue: gpu }", "queue"],
    ["executor: pbs", "must be one of local, slurm"],
  ] as const;
  for (const [entry, message] of cases) {
    using project = toyProject();
    withSteps(project, entry);
    const { code, stderr } = await project.run(["plan"]);
    assertEquals(code, 2, entry);
    assertStringIncludes(unwrapped(stderr), message, entry);
    assert(/experiment\.yaml:13\b/.test(stderr), stderr);
  }
});

function failuresOf({ events }: Ended): string[] {
  return events.flatMap((event) => event.event === "failed" ? [event.message] : []);
}

function notesOf({ events }: Ended): string[] {
  return events.flatMap((event) => event.event === "note" ? [event.message] : []);
}

/** Waits for an event that needs no certain time, as long as a process goes on where one is given. */
async function until(holds: () => boolean, ended?: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  ended?.then(() => hasEnded = true);
  for (let tries = 0; tries < 1200; tries++) {
    if (holds()) return;
    assert(!hasEnded, "the process has ended");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("it did not come about");
}

/** Kills a run once its job is queued. */
async function abandon(project: TestProject, slurm: FakeSlurm, run = ONE): Promise<void> {
  const killed = project.start(run, slurm.variables);
  await until(() => slurm.queue !== "");
  killed.kill("SIGKILL");
  await killed.output();
}

/** Runs the one job that is queued. */
async function runJob(project: TestProject, slurm: FakeSlurm): Promise<void> {
  const [script = ""] = slurm.scripts(project.path("outputs/store/slurm"));
  const { success } = await new Deno.Command("bash", {
    args: [script],
    env: { SLURM_ARRAY_TASK_ID: "0" },
    stdout: "null",
  }).output();
  assert(success);
  slurm.queue = slurm.queue.replace("PENDING", "COMPLETED");
}

/** For how many runs' waiting there are files in a store's folder of batches, the killed ones' too. */
function waitsIn(folder: string): number {
  return [...Deno.readDirSync(folder)].flatMap(({ name }) => [
    ...Deno.readDirSync(`${folder}/${name}`),
  ]).filter(({ name }) => name.includes(".waits.")).length;
}

const ONE = ["reproduce", "--executor", "slurm", "--json", "--only", "word/ann"];

Deno.test("a job whose comment is changed fails at once, is queued once and cancelled", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  slurm.set("comment", "x");
  const ended = await project.run(ONE, slurm.variables);
  assertEquals(ended.code, 1);
  const [message = ""] = failuresOf(ended);
  assertStringIncludes(message, 'that of job 1_0 is "x": its comment was changed by');
  assertEquals(slurm.asked("sbatch").length, 1);
  assertEquals(slurm.asked("scancel"), ["scancel 1_0"]);
});

Deno.test("what is forced is executed, whatever jobs without force have made or will find", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  // Two jobs wait, and the run that waits for them is killed.
  await abandon(project, slurm);
  slurm.set("runs");
  const executed = async () => {
    const { events } = await project.run([...ONE, "--force", "word/ann"], slurm.variables);
    return events.filter(({ event }) => event === "executed").length;
  };
  assertEquals(await executed(), 1);
  assertEquals(slurm.asked("sbatch").length, 2);
  // The first job of all finds the result, and nobody waits.
  slurm.queue = slurm.queue.replace("PENDING", "COMPLETED");
  assertEquals(await executed(), 1);
  assertEquals(slurm.asked("sbatch").length, 3);
});

Deno.test("what a forced job made while nobody waited does not count for a later --force", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  const forced = [...ONE, "--force", "word/ann"];
  await abandon(project, slurm, forced);
  await runJob(project, slurm);
  assertEquals((await project.run(ONE, slurm.variables)).code, 0);
  slurm.set("runs");
  const { events } = await project.run(forced, slurm.variables);
  assertEquals(events.filter(({ event }) => event === "executed").length, 1);
  assertEquals(slurm.asked("sbatch").length, 2);
});

Deno.test("where Slurm cannot be used a run that asks for it says so once, and makes nothing", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  slurm.set("scontrol.says", "scontrol: error: DNS SRV lookup failed\nscontrol: fatal: Could not");
  const bare = (...programs: string[]) => {
    const folder = Deno.makeTempDirSync({ dir: project.root });
    for (const name of programs) {
      Deno.writeTextFileSync(`${folder}/${name}`, "#!/bin/sh\n", { mode: 0o755 });
    }
    return { PATH: folder };
  };
  const cases = [
    [bare(), '"squeue" must be installed here, and is not'],
    [bare("squeue", "sbatch"), '"scontrol" must be installed here, and is not'],
    [slurm.variables, "its programs must be configured here, and scontrol says"],
  ] as const;
  for (const [variables, message] of cases) {
    const ended = await project.run(["reproduce", "--executor", "slurm", "--json"], variables);
    assertEquals(ended.code, 2, message);
    const text = unwrapped(ended.stdout + ended.stderr).replaceAll(`\\"`, `"`);
    assertEquals(text.split(message).length, 2, text);
    assertStringIncludes(text, "--executor local");
    assertEquals(ended.events.filter(({ event }) => event === "started").length, 0);
  }
});

Deno.test("a controller that does not answer yet is asked again", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  slurm.set("squeue.says", "slurm_load_jobs error: Unable to contact slurm controller");
  slurm.set("runs");
  const run = project.start(ONE, slurm.variables);
  await until(() => slurm.asked("squeue").length >= 2);
  slurm.unset("squeue.says");
  assertEquals((await run.output()).code, 0);
});

Deno.test("a job that will never begin fails with Slurm's reason, and is cancelled", async () => {
  for (const reason of ["PartitionTimeLimit", "BadConstraints", "DependencyNeverSatisfied"]) {
    using project = toyProject();
    const slurm = fakeSlurm(project.root);
    slurm.set("reason", reason);
    const ended = await project.run([...ONE.slice(0, -1), "word/*"], slurm.variables);
    assertEquals(ended.code, 1);
    const failures = failuresOf(ended);
    assertEquals(failures.length, 2);
    for (const message of failures) assertStringIncludes(message, `never will, ${reason};`);
    assertEquals(slurm.asked("scancel"), ["scancel 1_0 1_1"]);
  }
});

Deno.test("why an array waits is said once, unless it is a reason that all jobs have", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  slurm.set("reason", "JobHeldUser");
  const run = project.start([...ONE.slice(0, -1), "word/*"], slurm.variables);
  // Each look comes after the last one's notes.
  const looks = async (more: number) => {
    const before = slurm.asked("squeue").length;
    await until(() => slurm.asked("squeue").length >= before + more);
  };
  await until(() => slurm.queue !== "");
  await looks(2);
  slurm.queue = slurm.queue.replaceAll("JobHeldUser", "Resources");
  await looks(1);
  run.kill("SIGINT");
  const { stdout } = await run.output();
  const text = new TextDecoder().decode(stdout);
  const events = text.trim().split("\n").map((line) => JSON.parse(line));
  const notes = notesOf({ events } as unknown as Ended).filter((note) => note.includes("waits"));
  assertEquals(notes.filter((note) => /^Slurm job \d+ waits/.test(note)), [
    "Slurm job 1 waits: JobHeldUser",
  ]);
});

Deno.test("what sbatch refuses is reported in its own words, all of them", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  slurm.set(
    "sbatch.says",
    "sbatch: unrecognized option '--nope'\nsbatch: error: Invalid option\nTry \"sbatch --help\" for more\n",
  );
  const [message = ""] = failuresOf(await project.run(ONE, slurm.variables));
  assertStringIncludes(message, `sbatch says "unrecognized option '--nope'; Invalid option"`);
});

Deno.test("a job's failure that says what to do about a full disk says it once", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  const full = explain(new Error("No space left on device (os error 28): write"));
  // In the place of the job, which would have to fill a disk.
  slurm.set("ending", JSON.stringify({ ended: "failed", message: full }));
  const failures = failuresOf(await project.run(ONE, slurm.variables));
  assertEquals(failures, [full]);
});

Deno.test("with --push what jobs made while the run was away is uploaded, and nothing unlike", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  await abandon(project, slurm);
  await runJob(project, slurm);
  await using server = new CacheServer();
  const push = ["--cache", server.url, "--push"];
  assertEquals((await project.run([...ONE, ...push], slurm.variables)).code, 0);
  assertEquals(server.count("PUT", "/ac/"), 1);
  // A job that made something else than the store has.
  await using other = new CacheServer();
  slurm.set(
    "ending",
    JSON.stringify({
      ended: "made",
      pinned: [],
      unlike: [{ what: "output", name: "text", first: "a", again: "b" }],
    }),
  );
  const forced = [...ONE, "--cache", other.url, "--push", "--force", "word/ann"];
  assertEquals((await project.run(forced, slurm.variables)).code, 1);
  assertEquals(other.count("PUT", "/ac/"), 0);
});

Deno.test("a job for which another run waits is not cancelled, and its end is there for both", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  const first = project.start(ONE, slurm.variables);
  await until(() => slurm.queue !== "");
  // It attaches to the job of the first one, and has one of its own that fails.
  slurm.set("reason", "PartitionTimeLimit");
  const both = [...ONE.slice(0, -1), "word/*", "--fail-fast"];
  const second = await project.run(both, slurm.variables);
  assertEquals(second.code, 1);
  assertEquals(slurm.asked("scancel"), ["scancel 2_0"]);
  assertEquals(notesOf(second).filter((note) => note.includes("cancelled")), []);
  // What a run takes note of that looks in between is there for the first one still.
  const place = project.path("outputs/store/slurm");
  const failure = JSON.stringify({ ended: "failed", message: "Cannot make it: asked to fail" });
  const before = waitsIn(place);
  const third = project.start(ONE, slurm.variables);
  await until(() => waitsIn(place) > before);
  for (const script of slurm.scripts(place)) {
    Deno.writeTextFileSync(script.replace("script.sh", "0.ended.json"), failure);
  }
  for (const run of [first, third]) {
    const { stdout } = await run.output();
    assertStringIncludes(new TextDecoder().decode(stdout), "Cannot make it: asked to fail");
  }
  assertEquals(slurm.asked("sbatch").length, 2);
  assertEquals([...Deno.readDirSync(place)], []);
});

Deno.test("jobs that a run leaves since it cannot go on are named, and go on", async () => {
  using project = toyProject();
  const slurm = fakeSlurm(project.root);
  const run = project.start(ONE, slurm.variables);
  await until(() => slurm.queue !== "");
  const place = project.path("outputs/store/slurm");
  await until(() => waitsIn(place) === 1);
  // What no job writes: whatever is wrong with the store, the run cannot go on.
  const [script = ""] = slurm.scripts(place);
  Deno.writeTextFileSync(script.replace("script.sh", "0.ended.json"), "{");
  const { code, stdout } = await run.output();
  assertEquals(code, 1);
  const text = new TextDecoder().decode(stdout);
  assertStringIncludes(
    text,
    "1 Slurm job left to go on; the same command waits for them, scancel 1",
  );
  assertEquals(slurm.asked("scancel"), []);
});

Deno.test("a stage that is a Slurm job by its file runs here on request, with the same key", async () => {
  using project = toyProject();
  assertEquals((await project.executed()).length, 7);
  withSteps(project, "executor: slurm\n    slurm: { partition: gpu }");
  assertEquals(await project.executed("--executor", "local"), []);
});

Deno.test("what a job needs is in its script, whose words a shell takes as they are", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "lockstep it's 50% " });
  try {
    const script = scriptOf({
      ...{ batch: "b", folder, root: folder, stage: "train", count: 3 },
      needs: {
        resources: { cpus: 4, memoryBytes: 8e9, gpus: 2, timeSeconds: 5401 },
        settings: {
          partition: "gpu",
          modules: ["cuda/12"],
          max_running: 2,
          options: ["--qos=low"],
        },
        alone: true,
      },
    });
    const options = script.split("\n").flatMap((line) => line.match(/^#SBATCH (.*)/)?.[1] ?? []);
    const wanted = [
      ...["--cpus-per-task=4", "--gres=gpu:2", "--partition=gpu", "--qos=low", "--exclusive"],
      // 8e9 bytes are 7629.4 MiB, 5401 seconds 90.02 minutes: never less than was asked for, and time to spare.
      ...[
        "--mem=7630M",
        "--time=93",
        "--array=0-2%2",
        `--output="${folder.replace("%", "%%")}/%a.txt"`,
      ],
    ];
    for (const option of wanted) assert(options.includes(option), `${option}\n${script}`);
    // A shell that has other programs under the same names sees the words.
    const path = `${folder}/script.sh`;
    const fake = `module() { echo "$@"; }; exec() { for word; do echo "$word"; done; }\n`;
    Deno.writeTextFileSync(path, fake + script);
    const { stdout } = await new Deno.Command("bash", {
      args: [path],
      env: { SLURM_ARRAY_TASK_ID: "2" },
    }).output();
    const words = new TextDecoder().decode(stdout).trim().split("\n");
    assertEquals(words[0], "load cuda/12");
    assertEquals(words.slice(-3), [folder, "b", "2"]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

/** A project with a training queued that nobody waits for. */
async function withDetached(project: TestProject): Promise<DetachedJob> {
  assertEquals(await project.executed("--only", "word"), ["word/ann", "word/bob"]);
  return await detachedJob(project, "steps/ann/1");
}

Deno.test("gc leaves what a job counts on that nobody waits for, and what it made", async () => {
  using project = toyProject();
  const job = await withDetached(project);
  const { key } = JSON.parse(job.order);
  project.write(`outputs/store/logs/${key}.log`, "of its first beginning\n");
  const [yaml, run] = [project.read(YAML), project.read("stages/steps.run.ts")];
  // A whole run of the same name, which needs nothing of what the job does.
  project.edit(YAML, "text: Ann", "text: Zoe");
  project.edit("stages/steps.run.ts", '" " +', '"  " +');
  assertEquals((await project.executed()).length, 6);
  const collect = async () => {
    const ended = await project.run(["gc", "--delete", "--include", "interrupted"]);
    assertEquals(ended.code, 0, ended.stderr);
    assertStringIncludes(ended.stdout, "1 Slurm job");
  };
  await collect();
  assertEquals(project.read(`outputs/store/logs/${key}.log`), "of its first beginning\n");
  const { code, stderr } = await job.start().output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  assertEquals(job.ending()?.ended, "made");
  await collect();
  project.write(YAML, yaml);
  project.write("stages/steps.run.ts", run);
  assertEquals(await project.executed("--only", "steps/ann/1"), []);
});

Deno.test("gc leaves what a running job counts on even when its order is gone", async () => {
  using project = toyProject();
  const [yaml, run] = [project.read(YAML), project.read("stages/steps.run.ts")];
  project.edit(
    "stages/steps.run.ts",
    "  for (; state.step < steps; ) {",
    `  while (![...Deno.readDirSync(context.checkpoints!)].some(({ name }) => name === "go")) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (; state.step < steps; ) {`,
  );
  const job = await withDetached(project);
  const { key } = JSON.parse(job.order);
  const child = job.start();
  const ended = child.output();
  const folder = project.path(`outputs/store/checkpoints/${key}`);
  await until(() => lookAt(folder) !== undefined, ended);
  Deno.removeSync(job.path("0.json"));
  project.write("stages/steps.run.ts", run);
  project.edit(YAML, "text: Ann", "text: Zoe");
  assertEquals((await project.executed()).length, 6);
  assertEquals((await project.run(["gc", "--delete"])).code, 0);
  Deno.writeTextFileSync(join(folder, "go"), "");
  const { code, stderr } = await ended;
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  assertEquals(job.ending()?.ended, "made");
  project.write(YAML, yaml);
  assertStringIncludes((await project.run(["audit", "--json"])).stdout, '"findings":0');
});

Deno.test("a store whose path sbatch cannot be given is refused before anything is queued", async () => {
  using project = toyProject();
  for (const [name, found] of [['a"b', '"'], ["a\nb", "\n"], ["a\\b", "\\"]] as const) {
    for (const more of [[], ["--dry-run"]]) {
      const ended = await project.run(
        ["reproduce", "--executor", "slurm", "--outputs", project.path(name), ...more],
        { PATH: project.root },
      );
      assertEquals(ended.code, 2, ended.stderr);
      const said = unwrapped(ended.stderr);
      assertStringIncludes(said, "Cannot use Slurm for the store at");
      assertStringIncludes(said, `and has ${JSON.stringify(found)}; give another place`);
      assertEquals(lookAt(join(project.path(name), "store/slurm")), undefined);
    }
  }
});

Deno.test("a job ends when the time of its stage is over, to the second, and says so as here", async () => {
  using project = toyProject();
  project.edit(
    YAML,
    "profiles:\n",
    "profiles:\n  endless:\n    stages: { steps: { params: { steps: 900, delayMs: 1000 } } }\n",
  );
  withSteps(project, "resources: { time: 1s }");
  const args = ["--profile", "endless"];
  assertEquals((await project.executed(...args, "--only", "word")).length, 2);
  const job = await detachedJob(project, "steps/ann/1", ...args);
  assertStringIncludes(Deno.readTextFileSync(job.path("script.sh")), "#SBATCH --time=3\n");
  assertEquals((await job.start().output()).code, 1);
  const here = await project.run(["reproduce", "--json", ...args, "--only", "steps/ann/1"]);
  const [message] = here.events.flatMap((event) => event.event === "failed" ? [event.message] : []);
  assertStringIncludes(message!, "1 s; run again, and it goes on from its last state");
  assertEquals(job.ending(), { ended: "failed", message: message! });
});

Deno.test("a program has a day as a job too, unless its stage has another time", () => {
  const stage = { command: {} } as unknown as Stage;
  const node = { name: "s", stage, each: [], inputs: {}, resources: {}, slurm: {} };
  const { resources } = jobNeedsOf(
    { node } as unknown as Instance,
    { backend: "wasm" } as Platform,
  );
  assertEquals(resources.timeSeconds, 86_400);
});

Deno.test("a job that comes upon a repair of the store waits for its end", async () => {
  using project = toyProject();
  const job = await withDetached(project);
  const store = { root: project.path("outputs/store"), setAside: () => {} };
  const repair = holdForRepair(store);
  const child = job.start();
  const said = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await said.read();
  assertEquals(job.ending(), undefined);
  repair.release();
  assertStringIncludes(value ?? "", '"audit --repair" is at work on the store: this job waits');
  const { code } = await child.status;
  assertEquals([code, job.ending()?.ended], [0, "made"]);
  await Promise.all([said.cancel(), child.stdout.cancel()]);
});

Deno.test("a job whose order is damaged says so in words", async () => {
  using project = toyProject();
  const job = await withDetached(project);
  const other = JSON.stringify({ ...JSON.parse(job.order), key: "0".repeat(64) });
  const cases = [[job.order.slice(0, 100), "be JSON"], [other, "ingredients of its key"]] as const;
  for (const [text, rule] of cases) {
    Deno.writeTextFileSync(job.path("0.json"), text);
    const { code, stderr } = await job.start().output();
    assertEquals([code, new TextDecoder().decode(stderr)], [1, ""]);
    const ending = job.ending();
    assert(ending?.ended === "failed");
    assertStringIncludes(
      ending.message,
      `Cannot take the order of a Slurm job: ${job.path("0.json")}`,
    );
    assertStringIncludes(ending.message, rule);
    const collected = await project.run(["gc", "--delete"]);
    assertEquals(collected.code, 1);
    assertStringIncludes(unwrapped(collected.stderr), rule);
  }
});
