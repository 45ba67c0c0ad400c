/**
 * Instances as jobs of a real Slurm, of three nodes on this machine. They take minutes, so they run by
 * `deno task test:servers` alone, which installs and requires it.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { Event } from "../../pipeline/event.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import { type Ended, type TestProject, toyProject, unwrapped } from "../rig/project.ts";
import { isInstalled } from "../rig/servers/processes.ts";
import { type RunningSlurm, startSlurm } from "../rig/servers/slurm.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const isRequired = Deno.env.get("LOCKSTEP_REQUIRE_SERVERS") !== undefined;
if (!isRequired) console.warn('skipped: tests on Slurm; "deno task test:servers" runs them');

/** What a test has: a cluster, and a project whose trainings say where they begin. */
interface Given {
  readonly cluster: RunningSlurm;
  readonly project: TestProject;
  /** `reproduce --executor slurm`. */
  reproduce(...args: string[]): Promise<Ended>;
  start(...args: string[]): Deno.ChildProcess;
  /** How many stages' processes were started. */
  stages(): number;
  /** All jobs that Slurm knows of, `1_0 RUNNING n1`. */
  jobs(): Promise<string[]>;
}

function onSlurm(what: string, fn: (given: Given) => Promise<void>): void {
  Deno.test({
    name: `Slurm: ${what}`,
    ignore: !isRequired,
    async fn() {
      assert(isInstalled("slurmctld"), "slurmctld must be installed, and is not");
      await using cluster = await startSlurm();
      // Slurm replaces %a in paths, and a script's words end at spaces.
      const folder = join(temporaryFolder(), "it's a%a b");
      Deno.mkdirSync(folder);
      using project = toyProject(folder);
      prepare(project);
      const started = join(folder, "started");
      const variables = {
        ...cluster.variables,
        PATH: `${writeStarter(folder, started)}:${Deno.env.get("PATH")}`,
      };
      const args = ["reproduce", "--executor", "slurm", "--json"];
      await fn({
        cluster,
        project,
        reproduce: (...more) => project.run([...args, ...more], variables),
        start: (...more) => project.start([...args, ...more], variables),
        stages: () =>
          Deno.readTextFileSync(started).split("\n").filter((line) => line.includes("host.ts"))
            .length,
        async jobs() {
          const text = await cluster.slurm("squeue", ...[
            ...["--array", "--noheader", "--states=all", "--format=%F_%K %T %N"],
          ]);
          return text.split("\n").map((line) => line.trim()).filter((line) => line !== "").sort();
        },
      });
    },
  });
}

/** Writes a program that starts stages' processes, as the one of its name does, and counts them. */
function writeStarter(folder: string, counted: string): string {
  const path = join(folder, "bin");
  Deno.mkdirSync(path);
  Deno.writeTextFileSync(
    join(path, "setpriv"),
    `#!/bin/sh\necho "$*" >> '${counted.replaceAll("'", `'\\''`)}'\nexec /usr/bin/setpriv "$@"\n`,
    { mode: 0o755 },
  );
  return path;
}

/** Trainings that can be caught: 60 steps of 0.2 s, with a line of where each begins. */
function prepare(project: TestProject): void {
  project.edit(
    "stages/steps.run.ts",
    "  for (; state.step < steps; ) {",
    '  console.log("begins at step " + state.step);\n  for (; state.step < steps; ) {',
  );
  project.edit(
    "experiments/toy/experiment.yaml",
    "profiles:\n",
    `profiles:
  long:
    grid: { name: [ann], seed: [1] }
    stages: { steps: { params: { steps: 60, delayMs: 200 } } }
  endless:
    stages: { steps: { params: { delayMs: 200, steps: 3000 } } }
  quick:
    grid: { name: [ann], seed: [1] }
    stages: { steps: { params: { steps: 60 } } }
`,
  );
}

/** Waits until something holds. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what} did not come about`);
}

/** Below a store, the one file that a pattern's groups find. */
function below(project: TestProject, folder: string): string[] {
  const path = project.path(`outputs/store/${folder}`);
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => join(path, name));
  } catch {
    return [];
  }
}

/** Waits until a training has saved a state after some steps. */
function untilStep(project: TestProject, step: number): Promise<void> {
  return until(`step ${step}`, () =>
    below(project, "checkpoints").some((folder) => {
      try {
        return JSON.parse(Deno.readTextFileSync(join(folder, "state.json"))).step >= step;
      } catch {
        return false;
      }
    }));
}

/** The processes of jobs of a project's store. */
function jobProcesses(project: TestProject): number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((pid) => {
    try {
      const words = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
      return words.some((word) => word.endsWith("slurm/job.ts")) &&
        words.includes(project.path("outputs/store"));
    } catch {
      return false;
    }
  });
}

/** Where the last training began, as it printed. */
function beganAt(project: TestProject): number {
  const [log] = below(project, "logs").map((path) => Deno.readTextFileSync(path))
    .filter((text) => text.includes("begins at step"));
  return Number(/begins at step (\d+)/.exec(log ?? "")?.[1]);
}

/** The state that a training of 60 steps ends in, made on this machine alone. */
async function expectedState(): Promise<string> {
  using local = toyProject();
  prepare(local);
  const ended = await local.run(["reproduce", "--profile", "quick"]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  return local.read("outputs/toy.quick/report/page.txt");
}

function eventsOf<T extends Event["event"]>(
  { events }: Ended,
  name: T,
): Extract<Event, { event: T }>[] {
  return events.filter((event): event is Extract<Event, { event: T }> => event.event === name);
}

function assertGood(ended: Ended): void {
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
}

/** How a run that was started has ended. */
async function endOf(child: Deno.ChildProcess): Promise<Ended> {
  const { code, stdout, stderr } = await child.output();
  const [text, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  const events = text!.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return { code, stdout: text!, stderr: errors!, events };
}

onSlurm("a whole run has the bits that it has here", async ({ project, reproduce, jobs }) => {
  using local = toyProject();
  prepare(local);
  assertGood(await local.run(["reproduce", "--json"]));
  const ended = await reproduce();
  assertGood(ended);
  assertEquals(eventsOf(ended, "executed").length, 7);
  for (const name of ["lock/toy.smoke.lock", "outputs/toy.smoke/report/page.txt"]) {
    assertEquals(project.read(name), local.read(name));
  }
  // Those that were ready together and are alike are one array.
  assertEquals(new Set((await jobs()).map((line) => line.split("_")[0])).size, 3);
  assertEquals(below(project, "slurm"), []);
  const again = await reproduce();
  assertEquals(eventsOf(again, "summary")[0]?.executed, 0);
  const audit = await project.run(["audit", "--json"]);
  assertStringIncludes(audit.stdout, '"findings":0');
});

onSlurm("what fails is reported in words, with its last lines", async (given) => {
  const { cluster, project, reproduce } = given;
  const yaml = "experiments/toy/experiment.yaml";
  const text = project.read(yaml);
  const failed = async () => {
    const ended = await reproduce("--profile", "long");
    assertEquals(ended.code, 1, ended.stdout + ended.stderr);
    const [failure] = eventsOf(ended, "failed");
    return { message: failure!.message, output: failure!.output.join("\n") };
  };
  // A stage's own failure is what it is on this machine.
  project.write(yaml, text.replace("steps: 60, delayMs: 200", "fail: true"));
  assertEquals((await failed()).message, "Cannot grow: asked to fail");
  project.write(yaml, text);

  const cases: readonly [
    what: string,
    slurm: string,
    meanwhile: () => Promise<unknown>,
    message: RegExp,
  ][] = [
    [
      "killed",
      "{}",
      async () => {
        await untilStep(project, 3);
        for (const pid of jobProcesses(project)) Deno.kill(pid, "SIGKILL");
      },
      /was killed, which is what running out of memory can look like too; run again, and it goes on/,
    ],
    ["out of memory", '{ options: ["--mem=60M"] }', async () => {}, /took more memory than it may/],
    ["cancelled", "{}", async () => {
      // Those before it have left a log and a state: it is to get beyond that.
      for (const path of below(project, "logs")) Deno.removeSync(path);
      await until("a beginning", () => beganAt(project) >= 0);
      await untilStep(project, beganAt(project) + 3);
      await cluster.slurm("scancel", "--state=RUNNING", `--user=${Deno.uid()}`);
    }, /was cancelled, by scancel or an administrator; run again, and it goes on/],
    [
      "refused",
      "{ partition: nowhere }",
      async () => {},
      /sbatch says ".*Batch job submission failed: /,
    ],
    ["out of time", '{ options: ["--time=1"] }', async () => {}, /ran longer than its time limit/],
  ];
  for (const [what, slurm, meanwhile, message] of cases) {
    const long = what === "out of time" ? text.replace("delayMs: 200", "delayMs: 2000") : text;
    project.write(yaml, long.replace("  steps:\n", `  steps:\n    slurm: ${slurm}\n`));
    const [{ message: found, output }] = await Promise.all([failed(), meanwhile()]);
    assert(message.test(found), `${what}: ${found}`);
    if (what !== "refused") assertStringIncludes(output, "Slurm job ", what);
    if (what === "killed" || what === "cancelled") assertStringIncludes(output, "begins at step");
  }
  // What each left, the next goes on from, to the bits of a run without faults.
  project.write(yaml, text.replace("delayMs: 200", "delayMs: 0"));
  const ended = await reproduce("--profile", "long");
  assertGood(ended);
  assert(beganAt(project) >= 3, `it began at step ${beganAt(project)}`);
  assertEquals(project.read("outputs/toy.long/report/page.txt"), await expectedState());
});

onSlurm("a training that is queued again goes on from its checkpoint", async (given) => {
  const { cluster, project, start, stages } = given;
  const running = start("--profile", "long");
  await untilStep(project, 5);
  // By an administrator.
  const id = (await cluster.slurm("squeue", "--noheader", "--states=R", "--format=%A")).trim();
  await cluster.slurm("scontrol", "requeue", id);
  await until(
    "another place in the queue",
    async () =>
      (await cluster.slurm("squeue", "--noheader", "--states=PD", "--format=%A")).trim() === id,
  );
  const first = beganAt(project);
  // Slurm lets it wait for two minutes: begun while it ends still, the old end would count for the new run.
  const beginAgain = async (before: number) => {
    await until("the end of its processes", async () =>
      jobProcesses(project).length === 0 &&
      await cluster.slurm("squeue", "--noheader", "--states=CG") === "");
    await cluster.slurm("scontrol", "update", `JobId=${id}`, "StartTime=now");
    await until("another beginning", () => beganAt(project) > before);
  };
  await beginAgain(first);
  // To make room for another job.
  await untilStep(project, beganAt(project) + 5);
  const second = beganAt(project);
  const script = project.path("urgent.sh");
  Deno.writeTextFileSync(script, "#!/bin/sh\nsleep 2\n");
  await cluster.slurm("sbatch", ...[
    ...["--partition=urgent", "--nodes=3", "--exclusive", "--output=/dev/null", script],
  ]);
  await until(
    "another place in the queue",
    async () =>
      (await cluster.slurm(
        "squeue",
        "--noheader",
        "--states=PD",
        "--partition=batch",
        "--format=%A",
      )).trim() === id,
  );
  await beginAgain(second);
  const ended = await endOf(running);
  assertGood(ended);
  const executed = eventsOf(ended, "executed").map(({ instance }) => instance);
  assertEquals(executed, ["word/ann", "steps/ann/1", "gather"]);
  assertEquals(stages(), 5);
  assertEquals(project.read("outputs/toy.long/report/page.txt"), await expectedState());
});

onSlurm(
  "a node that is drained or lost costs nothing",
  async ({ cluster, project, start, jobs, stages }) => {
    // Long enough to go on until it has begun elsewhere too.
    project.edit("experiments/toy/experiment.yaml", "delayMs: 200 }", "delayMs: 600 }");
    const running = start("--profile", "long");
    await untilStep(project, 3);
    const node = (await cluster.slurm("squeue", "--noheader", "--states=R", "--format=%N")).trim();
    await cluster.slurm("scontrol", "update", `NodeName=${node}`, "State=DRAIN", "Reason=test");
    await untilStep(project, 8);
    // The controller takes the job for lost and begins it elsewhere, while it goes on.
    cluster.stopNode(node);
    await until("another node", async () => {
      const [id] = (await jobs()).filter((line) => line.includes("PENDING"));
      if (id === undefined) {
        return (await jobs()).some((line) => /RUNNING/.test(line) && !line.endsWith(node));
      }
      await cluster.slurm("scontrol", "update", `JobId=${id.split(" ")[0]}`, "StartTime=now");
      return false;
    });
    const ended = await endOf(running);
    assertGood(ended);
    assertEquals(stages(), 3, "each stage was begun once");
    assertEquals(project.read("outputs/toy.long/report/page.txt"), await expectedState());
  },
);

onSlurm("a controller that is gone for a while costs nothing", async (given) => {
  const { cluster, project, start, stages } = given;
  const running = start("--profile", "long");
  await until("a script", () =>
    below(project, "slurm").some((folder) => {
      try {
        return Deno.readTextFileSync(join(folder, "script.sh")).includes("job-name=steps");
      } catch {
        return false;
      }
    }));
  // Perhaps it never hears of the job, or has forgotten it: Slurm then gives its number again.
  await cluster.stopController();
  await new Promise((resolve) => setTimeout(resolve, 6000));
  await cluster.startController();
  await untilStep(project, 20);
  await cluster.stopController();
  await untilStep(project, 40);
  await cluster.startController();
  const ended = await endOf(running);
  assertGood(ended);
  const notes = eventsOf(ended, "note").map(({ message }) => message).join("\n");
  assertStringIncludes(notes, "Slurm does not answer");
  const executed = eventsOf(ended, "executed").map(({ instance }) => instance);
  assertEquals(executed, ["word/ann", "steps/ann/1", "gather"]);
  assertEquals(stages(), 3, "each stage was begun once");
  assertEquals(project.read("outputs/toy.long/report/page.txt"), await expectedState());
});

onSlurm(
  "a run that was killed is taken up by the next, which queues nothing twice",
  async (given) => {
    const { project, start, reproduce, jobs, stages } = given;
    const killed = start("--profile", "long");
    await untilStep(project, 3);
    killed.kill("SIGKILL");
    await endOf(killed).catch(() => {});
    const before = await jobs();
    const second = start("--profile", "long");
    await untilStep(project, 12);
    // Asked to end, where nobody can be asked: the jobs go on.
    second.kill("SIGINT");
    const detached = await endOf(second);
    assertEquals(detached.code, 130);
    const notes = eventsOf(detached, "note").map(({ message }) => message).join("\n");
    assert(/1 Slurm job left to go on; .* scancel \d+ cancels/.test(notes), notes);
    assertEquals(eventsOf(detached, "waiting").map(({ instance }) => instance), ["steps/ann/1"]);
    assertEquals((await jobs()).length, before.length);
    const last = await reproduce("--profile", "long");
    assertGood(last);
    assertEquals(stages(), 3, "each stage was begun once");
    // word, steps and gather.
    assertEquals((await jobs()).length, 3);
    assertEquals(project.read("outputs/toy.long/report/page.txt"), await expectedState());
  },
);

onSlurm("jobs that a controller has forgotten are queued again", async (given) => {
  const { cluster, project, start, jobs, stages } = given;
  const running = start("--profile", "long");
  await untilStep(project, 8);
  await cluster.stopController();
  await cluster.startController({ forgets: true });
  const ended = await endOf(running);
  assertGood(ended);
  assert(beganAt(project) >= 8, `it began at step ${beganAt(project)}`);
  // The training again, and what gathers it: of those before, nothing is known.
  assertEquals((await jobs()).length, 2, String(await jobs()));
  assertEquals(stages(), 4);
  assertEquals(project.read("outputs/toy.long/report/page.txt"), await expectedState());
});

onSlurm("two runs at a time queue each instance once", async ({ start, jobs, stages }) => {
  const both = [start("--profile", "long"), start("--profile", "long")];
  for (const ended of await Promise.all(both.map(endOf))) assertGood(ended);
  assertEquals([(await jobs()).length, stages()], [3, 3]);
});

onSlurm("an input that is damaged before a job begins is made again first", async (given) => {
  const { cluster, project, start } = given;
  assertGood(await given.reproduce("--profile", "quick", "--only", "word"));
  const nodes = (state: string) =>
    cluster.slurm("scontrol", "update", "NodeName=n[1-3]", `State=${state}`, "Reason=test");
  await nodes("DRAIN");
  const running = start("--profile", "quick");
  await until("a job", async () => (await given.jobs()).some((line) => line.includes("PENDING")));
  const blob = below(project, "blobs").flatMap((folder) =>
    [...Deno.readDirSync(folder)].map(({ name }) => join(folder, name))
  ).find((path) => Deno.readTextFileSync(path) === "Ann")!;
  Deno.chmodSync(blob, 0o644);
  Deno.writeTextFileSync(blob, "Bob");
  await nodes("RESUME");
  const ended = await endOf(running);
  assertGood(ended);
  const executed = eventsOf(ended, "executed").map(({ instance }) => instance);
  assertEquals(executed, ["word/ann", "steps/ann/1", "gather"]);
  assertEquals(project.read("outputs/toy.quick/report/page.txt"), await expectedState());
});

onSlurm("a node that is not what the key says is refused, with what differs", async (given) => {
  const { cluster, project, start } = given;
  await cluster.slurm("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=test");
  const running = start("--profile", "quick", "--only", "word");
  await until("a job", async () => (await given.jobs()).some((line) => line.includes("PENDING")));
  const path = join(below(project, "slurm")[0]!, "0.json");
  const order = JSON.parse(Deno.readTextFileSync(path));
  order.ingredients.deno = "1.2.3";
  order.key = keyOf(order.ingredients);
  Deno.writeTextFileSync(path, JSON.stringify(order));
  await cluster.slurm("scontrol", "update", "NodeName=n[1-3]", "State=RESUME");
  const [failure] = eventsOf(await endOf(running), "failed");
  assertStringIncludes(
    failure!.message,
    `its key says that "deno" is 1.2.3, and here it is ${Deno.version.deno}`,
  );
});

onSlurm("the first failure ends the other jobs where that is asked for", async (given) => {
  const { project, reproduce, jobs } = given;
  project.edit(
    "experiments/toy/experiment.yaml",
    "grid:\n  name: [ann, bob]",
    "  seed:\n    1: { steps: { fail: true } }\n    2: {}\ngrid:\n  name: [ann]",
  );
  const ended = await reproduce("--profile", "endless", "--fail-fast");
  assertEquals(ended.code, 1);
  assertEquals(eventsOf(ended, "stopped").map(({ instance }) => instance), ["steps/ann/2"]);
  await until(
    "the end of the jobs",
    async () => (await jobs()).every((line) => /COMPLETED|FAILED|CANCELLED/.test(line)),
  );
  assert((await jobs()).some((line) => line.includes("CANCELLED")), String(await jobs()));
});

onSlurm("Ctrl-C on a terminal asks whether to cancel", async ({ cluster, project, jobs }) => {
  const command = `${Deno.execPath()} run -A --quiet main.ts reproduce ` +
    "--executor slurm --profile long";
  const terminal = new Deno.Command("script", {
    args: ["--quiet", "--return", "--command", command, "/dev/null"],
    cwd: project.root,
    env: { ...cluster.variables, NO_COLOR: "1", TERM: "xterm" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let shown = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of terminal.stdout) shown += decoder.decode(piece, { stream: true });
  })();
  const typing = terminal.stdin.getWriter();
  const type = (text: string) => typing.write(new TextEncoder().encode(text));
  await untilStep(project, 3);
  await type("\x03");
  await until("a question", () => unwrapped(shown).includes("1 Slurm job left: let them go on"));
  await type("c\n");
  await reading;
  await typing.close().catch(() => {});
  await terminal.status;
  assertStringIncludes(unwrapped(shown), "1 Slurm job cancelled");
  await until(
    "the end of the job",
    async () => (await jobs()).every((line) => /COMPLETED|CANCELLED/.test(line)),
  );
});

onSlurm(
  "a stage stays here whose file says so, and a dry run writes the scripts",
  async (given) => {
    const { project, reproduce, jobs } = given;
    project.edit(
      "experiments/toy/experiment.yaml",
      "stages:\n  word:\n",
      `slurm: { account: lab, modules: [tools], options: ["--qos=low"] }
stages:
  word:
    executor: local
`,
    );
    project.edit(
      "experiments/toy/experiment.yaml",
      "  steps:\n    each",
      "  steps:\n    slurm: { partition: urgent, max_running: 2, modules: [] }\n    each",
    );
    const dry = await reproduce("--dry-run");
    assertGood(dry);
    assertEquals(await jobs(), []);
    const scripts = new Map(
      below(project, "slurm/dry-run").map((path) => [
        path.split("/").at(-1)!,
        Deno.readTextFileSync(path).split("\n"),
      ]),
    );
    assertEquals([...scripts.keys()].sort(), ["gather.sh", "steps.sh"]);
    const wanted = ["--account=lab", "--partition=urgent", "--array=0-3%2", "--qos=low"];
    for (const option of wanted) {
      assert(
        scripts.get("steps.sh")!.includes(`#SBATCH ${option}`),
        option,
      );
    }
    assert(scripts.get("gather.sh")!.includes("module load 'tools' || exit 1"));
    const ended = await reproduce("--only", "word");
    assertGood(ended);
    assertEquals([eventsOf(ended, "executed").length, await jobs()], [2, []]);
    // Here, whatever the file says.
    const local = await project.run(["reproduce", "--executor", "local", "--json"]);
    assertEquals([local.code, eventsOf(local, "executed").length], [0, 5]);
  },
);
