import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { basename, dirname } from "node:path";
import { writeWholeText } from "../../pipeline/cli/write_whole.ts";
import type { Event } from "../../pipeline/event.ts";
import { entriesBelow } from "../../pipeline/files.ts";
import { isLocked } from "../../pipeline/store/mutex.ts";
import { traceFile } from "../../pipeline/store/traces.ts";
import { type Asked, CacheServer } from "../rig/cache_server.ts";
import { execute } from "../rig/execute.ts";
import { type TestProject, toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";
import { unsound } from "../rig/toy_store.ts";

const SLOW = ["reproduce", "--profile", "slow"];

/** Reads a process's output to its end, and its status. */
async function finish(child: Deno.ChildProcess) {
  const { code, signal, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, signal, stdout: text(stdout), stderr: text(stderr) };
}

/** What a run leaves for people: the lock and everything published. */
function results(project: TestProject): Record<string, string> {
  const found: Record<string, string> = { lock: project.read("lock/toy.slow.lock") };
  const walk = (folder: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(project.path(folder))) {
      // The trace page says when and how long things took.
      if (name === "store" || name === "trace") continue;
      if (isDirectory) walk(`${folder}/${name}`);
      else found[`${folder}/${name}`] = project.read(`${folder}/${name}`);
    }
  };
  walk("outputs");
  return found;
}

Deno.test("killed at 50 random moments, the next run finishes with the same bits", async () => {
  using undisturbed = toyProject();
  const begun = performance.now();
  assertEquals((await undisturbed.run(SLOW)).code, 0);
  const wholeMs = performance.now() - begun;
  const expected = results(undisturbed);
  using project = toyProject();
  // A golden-ratio sequence: moments spread over the whole run, the same in every test run.
  let killed = 0;
  for (let n = 1; killed < 50 && n <= 300; n++) {
    const child = project.start(SLOW);
    const moment = ((n * 0.6180339887) % 1) * wholeMs;
    const timer = setTimeout(() => {
      try {
        child.kill("SIGKILL");
      } catch { /* it has ended */ }
    }, moment);
    if ((await finish(child)).signal === "SIGKILL") killed++;
    clearTimeout(timer);
    // Start over now and then, so that kills fall on early work too.
    if (n % 4 === 0) {
      for (const folder of ["outputs", "lock"]) {
        for (const { name } of Deno.readDirSync(project.path(folder))) {
          if (name !== "deno.lock") {
            Deno.removeSync(project.path(`${folder}/${name}`), { recursive: true });
          }
        }
      }
    }
  }
  assertEquals(killed, 50);
  assertEquals((await project.run(SLOW)).code, 0);
  assertEquals(results(project), expected);
  assertEquals([...Deno.readDirSync(project.path("outputs/store/scratch"))], []);
});

Deno.test("Ctrl-C ends a stage of 100 s at once, keeps finished work and says how to go on", async () => {
  using project = toyProject();
  const slow = ["reproduce", "--set", "steps.delayMs=100000"];
  const child = project.start(slow);
  await waitFor(project, 2);
  const begun = performance.now();
  child.kill("SIGINT");
  const { code, stdout } = await finish(child);
  const seconds = (performance.now() - begun) / 1000;
  assertEquals(code, 130);
  assert(seconds < 60, `it took ${seconds} s to end`);
  assertStringIncludes(stdout, "the same command continues");
  assertEquals(await project.executed("--only", "steps"), [
    "steps/ann/1",
    "steps/ann/2",
    "steps/bob/1",
    "steps/bob/2",
  ]);
});

for (const end of ["SIGINT", "SIGKILL"] as const) {
  Deno.test(`gc keeps what a run finished that ${end} ended, until a whole run of it has finished`, async () => {
    using project = toyProject();
    const child = project.start(["reproduce", "--set", "steps.delayMs=100000"]);
    await waitFor(project, 2);
    child.kill(end);
    await finish(child);
    const collect = async (...args: string[]) => {
      const { code, stdout, stderr } = await project.run(["gc", "--delete", ...args]);
      assertEquals(code, 0, stdout + stderr);
      return stdout;
    };
    const claims = () => [...Deno.readDirSync(project.path("outputs/store/claims"))].length;
    assertStringIncludes(await collect(), "kept: 2 results");
    assertEquals(claims(), 1);
    const part = ["--only", "word/ann"];
    assertEquals(await project.executed(...part), []);
    assertEquals(claims(), 1, "a part of a run leaves them");
    assertStringIncludes(await collect(), "kept: 2 results");
    assertEquals((await project.executed()).length, 5);
    assertEquals(claims(), 0);
  });
}

/** Waits until an instance is being executed. */
async function waitForScratch(project: TestProject): Promise<void> {
  const folder = project.path("outputs/store/scratch");
  await until(() => Promise.resolve([...Deno.readDirSync(folder)].length > 0));
}

Deno.test("Ctrl-C ends certify with a message, and leaves nothing", async () => {
  using project = toyProject();
  await project.executed();
  const child = project.start(["certify", "steps/ann/1", "--set", "steps.delayMs=100000"]);
  await waitForScratch(project);
  child.kill("SIGINT");
  const { code, stdout } = await finish(child);
  assertEquals([code, stdout], [130, "interrupted: 0 of 1 are certified\n"]);
  assertEquals([...Deno.readDirSync(project.path("outputs/store/scratch"))], []);
  assertEquals(await unsound(project), []);
});

Deno.test("Ctrl-C ends plan --calibrate with a message, and gc keeps what ended", async () => {
  using project = toyProject();
  const calibrate = ["plan", "--calibrate", "--set", "steps.delayMs=100000"];
  const child = project.start(calibrate);
  await waitFor(project, 2);
  await waitForScratch(project);
  child.kill("SIGINT");
  const { code, stdout } = await finish(child);
  assertEquals(code, 130);
  assertStringIncludes(stdout, "interrupted: what ended is kept");
  const { stdout: kept } = await project.run(["gc", "--delete"]);
  assertStringIncludes(kept, "kept: 2 results");
  assertEquals((await project.executed()).length, 5);
});

for (const name of ["push", "pull"]) {
  Deno.test(`Ctrl-C ends ${name} in the middle with a message, and what it had done stays`, async () => {
    await using server = new CacheServer();
    using project = toyProject();
    using other = toyProject();
    await other.executed(...name === "pull" ? ["--cache", server.url, "--push"] : []);
    const at = name === "pull" ? project : other;
    // It answers all but one request.
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    const isHeld = ({ method, path }: Asked) =>
      path.startsWith("/cas/") && method === (name === "pull" ? "GET" : "PUT");
    server.misbehave = async (request) => {
      if (!isHeld(request)) return undefined;
      resolve();
      await free;
      return new Response(null, { status: 503 });
    };
    const child = at.start([name, "--cache", server.url]);
    await asked;
    child.kill("SIGINT");
    const { code, stderr } = await finish(child);
    release();
    assertEquals([code, stderr], [
      130,
      "interrupted: nothing is half written; run the same command again\n",
    ]);
    server.misbehave = () => undefined;
    assertEquals(await unsound(at), []);
    const again = await at.run([name, "--cache", server.url]);
    assertEquals(again.code, 0, again.stdout + again.stderr);
    const { stdout } = await at.run(["gc", "--delete"]);
    // Also in no record of a run.
    assertStringIncludes(stdout, "kept: 7 results");
    assertEquals(await at.executed("--cache", server.url), []);
  });
}

Deno.test("Ctrl-C in the middle of a file that was asked for leaves nothing of it", async () => {
  const folder = temporaryFolder();
  const module = new URL("../../pipeline/cli/write_whole.ts", import.meta.url).href;
  const interrupt = new URL("../../pipeline/cli/interrupt.ts", import.meta.url).href;
  const code = `
    import { writeWhole } from "${module}";
    import { endWhereInterrupted } from "${interrupt}";
    endWhereInterrupted(console.error);
    await writeWhole(${JSON.stringify(`${folder}/file`)}, async (beside) => {
      Deno.writeTextFileSync(beside, "half");
      console.log("written");
      await new Promise((resolve) => setTimeout(resolve, 100_000));
    });`;
  const args = [
    "run",
    "-A",
    "--quiet",
    "--no-lock",
    `data:application/typescript,${encodeURIComponent(code)}`,
  ];
  const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped", stderr: "piped" })
    .spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  reader.releaseLock();
  child.kill("SIGINT");
  assertEquals((await finish(child)).code, 130);
  assertEquals([...Deno.readDirSync(folder)], []);
});

Deno.test("what a killed process left beside a file is removed by the next, and a live one's is not", async () => {
  const folder = temporaryFolder(), path = `${folder}/file`;
  const module = new URL("../../pipeline/cli/write_whole.ts", import.meta.url).href;
  const code = `
    import { writeWhole } from "${module}";
    await writeWhole(${JSON.stringify(path)}, async (beside) => {
      Deno.writeTextFileSync(beside, "half");
      console.log("written");
      await new Promise((resolve) => setTimeout(resolve, 100_000));
    });`;
  const url = `data:application/typescript,${encodeURIComponent(code)}`;
  const args = ["run", "-A", "--quiet", "--no-lock", url];
  const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped", stderr: "piped" })
    .spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  reader.releaseLock();
  const names = () => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const others = names();
  assertEquals(others.length, 2);
  // A user's, of another name.
  Deno.writeTextFileSync(`${folder}/.file.mine.writing`, "mine");
  await writeWholeText(path, "one");
  assertEquals(names(), [...others, ".file.mine.writing", "file"].sort());
  child.kill("SIGKILL");
  await finish(child);
  await writeWholeText(path, "two");
  assertEquals(names(), [".file.mine.writing", "file"]);
  assertEquals(Deno.readTextFileSync(path), "two");
});

Deno.test("what an interrupted run finished goes where it is asked for", async () => {
  using project = toyProject();
  const child = project.start(["reproduce", "--set", "steps.delayMs=100000"]);
  await waitFor(project, 2);
  child.kill("SIGKILL");
  await finish(child);
  const { stdout } = await project.run(["gc", "--delete", "--include", "interrupted"]);
  assertStringIncludes(stdout, "kept: 0 results");
  assertEquals([...Deno.readDirSync(project.path("outputs/store/claims"))], []);
});

Deno.test("a checkpoint folder in which nothing was saved does not stay behind", async () => {
  using project = toyProject();
  const folder = project.path("outputs/store/checkpoints");
  const keys = () => [...Deno.readDirSync(folder)].map(({ name }) => name);
  assertEquals((await project.run(["reproduce", "--set", "steps.fail=true"])).code, 1);
  assertEquals(keys(), [], "after a failure");
  const slow = ["--set", "steps.delayMs=100000", "--jobs", "1"];
  const killed = project.start(["reproduce", ...slow]);
  const held = async () => {
    return (await Promise.all(keys().map((key) => isLocked(`${folder}/${key}`, ".owner"))))
      .includes(true);
  };
  await until(held);
  killed.kill("SIGKILL");
  await finish(killed);
  await until(async () => !(await held()));
  assertEquals(keys().length, 1);
  // One that holds a state is another matter: its key resumes from it.
  project.write(`outputs/store/checkpoints/${"0".repeat(64)}/state.json`, "{}");
  await project.executed();
  assertEquals(keys(), ["0".repeat(64)], "after a kill and another run");
});

Deno.test("the state of before a result is not where --force goes on from", async () => {
  using project = toyProject();
  const only = ["reproduce", "--json", "--only", "steps/ann/1"];
  const first = await project.run(only);
  const [made] = first.events.flatMap((event) =>
    event.event === "executed" && event.instance === "steps/ann/1" ? [event] : []
  );
  // As a run leaves it that is killed after it wrote the trace. The other value shows whether it is read.
  const state = `outputs/store/checkpoints/${made!.key}/state.json`;
  project.write(state, '{"step":3,"value":999}');
  const before = Date.parse("2026-01-01T00:00:00Z") / 1000;
  Deno.utimeSync(project.path(state), before, before);
  const again = await project.run([...only, "--force", "steps/ann/1"]);
  const metrics = again.events.flatMap((event) =>
    event.event === "executed" ? [event.metrics] : []
  );
  assertEquals(metrics, [made!.metrics]);
  assertEquals(again.code, 0, again.stdout);
});

/** The processes that a process started. */
function childrenOf(pid: number): number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((child) => {
    try {
      // "PID (NAME) STATE PARENT …": the name may hold anything.
      const stat = Deno.readTextFileSync(`/proc/${child}/stat`);
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid;
    } catch {
      return false;
    }
  });
}

Deno.test({
  name: "a stage that computes without yielding dies with its killed driver, and frees its locks",
  ignore: Deno.build.os !== "linux",
  async fn() {
    using project = toyProject();
    project.edit("stages/steps.run.ts", "  for (; state.step", "  for (;;);\n  for (; state.step");
    const driver = project.start(["reproduce", "--only", "steps/ann/1"]);
    const checkpoints = project.path("outputs/store/checkpoints");
    const locks = project.path("outputs/store/locks");
    const held = async () => {
      const paths = [[locks, ""], [checkpoints, "/.owner"]].flatMap(([folder, file]) => {
        try {
          return [...Deno.readDirSync(folder!)].map(({ name }) => `${folder}/${name}${file}`);
        } catch {
          return [];
        }
      });
      const states = await Promise.all(
        paths.map((path) => isLocked(dirname(path), basename(path))),
      );
      return paths.filter((_, index) => states[index]);
    };
    await until(async () => (await held()).some((path) => path.endsWith(".owner")));
    const stages = childrenOf(driver.pid);
    assertEquals(stages.length, 1);
    // It computes by now: what it did before took no time.
    await new Promise((resolve) => setTimeout(resolve, 300));
    driver.kill("SIGKILL");
    await finish(driver);
    const begun = performance.now();
    await until(async () => !isAlive(stages[0]!) && (await held()).length === 0);
    const seconds = (performance.now() - begun) / 1000;
    assert(seconds < 60, `it took ${seconds} s`);
  },
});

function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

Deno.test("a stage that idles lives as long as its driver", async () => {
  // Whatever threads a runtime keeps for a while are gone by then.
  const { error, text } = await execute(`
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    Deno.writeTextFileSync(context.output("text"), "lived");`);
  assertEquals([error, text], [undefined, "lived"]);
});

/** Makes the steps save nothing but on request, as a training between two checkpoints. */
function savesWhenAsked(project: TestProject): void {
  project.edit(
    "stages/steps.run.ts",
    `    Deno.writeTextFileSync(checkpoint + ".tmp", JSON.stringify(state));
    Deno.renameSync(checkpoint + ".tmp", checkpoint);`,
    `    if (context.stopping.aborted) {
      Deno.writeTextFileSync(checkpoint, JSON.stringify(state));
      throw context.stopping.reason;
    }
    Deno.writeTextFileSync(context.checkpoints + "/begun", "");`,
  );
}

Deno.test("Ctrl-C lets a stage save its state, and from a terminal reaches the driver alone", async () => {
  using project = toyProject();
  savesWhenAsked(project);
  const slow = ["--set", "steps.steps=1000", "--set", "steps.delayMs=20"];
  const driver = project.start(["reproduce", "--only", "steps/ann/1", ...slow]);
  const folder = project.path("outputs/store/checkpoints");
  const keys = () => [...Deno.readDirSync(folder)].map(({ name }) => name);
  await waitFor(project, 1);
  await until(() => Promise.resolve(keys().some((key) => isThere(`${folder}/${key}/begun`))));
  if (Deno.build.os === "linux") {
    const stages = childrenOf(driver.pid);
    assertEquals(stages.length, 1);
    assert(groupOf(stages[0]!) !== groupOf(driver.pid), "a terminal signals its foreground group");
  }
  const begun = performance.now();
  driver.kill("SIGINT");
  assertEquals((await finish(driver)).code, 130);
  assert(performance.now() - begun < 10_000);
  const state = JSON.parse(project.read(`outputs/store/checkpoints/${keys()[0]}/state.json`));
  assert(state.step > 0 && state.step < 1000, `it saved step ${state.step}`);
});

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

function groupOf(pid: number): string {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]!;
}

Deno.test("a stage that does not hear of the end is ended: at once, or after a grace if it might", async () => {
  const hear = "context.stopping.aborted;";
  for (const [body, low, high] of [["", 0, 4], [hear, 4, 60]] as const) {
    const controller = new AbortController();
    let begun = 0;
    const { error } = await execute(
      `${body} console.log("up"); await new Promise((resolve) => setTimeout(resolve, 1e6));`,
      {
        signal: controller.signal,
        watch: {
          log() {
            begun = performance.now();
            controller.abort(new Error("enough"));
          },
        },
      },
    );
    const seconds = (performance.now() - begun) / 1000;
    assertEquals(error?.message, "enough");
    assert(seconds >= low && seconds < high, `${body} it took ${seconds} s`);
  }
});

Deno.test("an end that is asked for while a stage's process starts is not missed", async () => {
  const controller = new AbortController();
  const ending = execute("await new Promise((resolve) => setTimeout(resolve, 20_000));", {
    signal: controller.signal,
  });
  controller.abort(new Error("enough"));
  assertEquals((await ending).error?.message, "enough");
});

Deno.test("what a stage finishes within the grace is kept", async () => {
  const controller = new AbortController();
  const { error, metrics } = await execute(
    `console.log("up", context.stopping.aborted);
    const working = setInterval(() => {}, 10);
    await new Promise((resolve) => context.stopping.addEventListener("abort", resolve));
    clearInterval(working);
    context.metric("value", 1);`,
    { signal: controller.signal, watch: { log: () => controller.abort() } },
  );
  assertEquals([error, metrics], [undefined, { value: 1 }]);
});

Deno.test("--fail-fast: what runs saves its state and ends, and nothing new starts", async () => {
  using project = toyProject();
  savesWhenAsked(project);
  project.edit(
    "stages/steps.run.ts",
    "  if (fail) throw",
    "  if (fail) await new Promise((resolve) => setTimeout(resolve, 3000));\n  if (fail) throw",
  );
  const set = ["steps.steps=1000", "steps.delayMs=20", "name.bob.steps.fail=true"];
  const { events, code } = await project.run([
    ...["reproduce", "--json", "--fail-fast", "--jobs", "3"],
    ...set.flatMap((each) => ["--set", each]),
  ]);
  assertEquals(code, 1);
  const of = (kind: Event["event"]) =>
    events.flatMap((event) => event.event === kind && "instance" in event ? [event.instance] : []);
  assertEquals(of("executed").sort(), ["word/ann", "word/bob"]);
  const [failed = "none", ...others] = of("failed");
  assert(failed.startsWith("steps/bob/") && others.length === 0, failed);
  const kinds = events.map(({ event }) => event);
  assert(kinds.lastIndexOf("started") < kinds.indexOf("failed"), kinds.join(" "));
  assertEquals(of("started").filter((name) => name.startsWith("steps/")).length, 3);
  // Two were at work, and one was not begun.
  assertEquals(of("stopped").length, 3);
  for (const event of events) if (event.event === "stopped") assertEquals(event.because, failed);
  assertEquals(of("skipped"), ["gather"]);
  const summary = events.at(-1);
  assertEquals(summary?.event === "summary" && summary.failed, 5);
  const states = [...Deno.readDirSync(project.path("outputs/store/checkpoints"))]
    .filter(({ name }) => isThere(project.path(`outputs/store/checkpoints/${name}/state.json`)));
  assertEquals(
    states.length,
    of("started").filter((name) => name.startsWith("steps/ann/")).length,
  );
});

/** Waits for something to hold, 10 s at most. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let n = 0; n < 6000; n++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("It did not come about in 10 s");
}

/** Waits until the store holds that many traces, whole ones. */
async function waitFor(project: TestProject, traces: number): Promise<void> {
  const folder = project.path("outputs/store/traces");
  await until(() => Promise.resolve([...entriesBelow(folder)].filter(traceFile).length >= traces));
}

Deno.test("two runs at once on one store execute each instance once, and both succeed", async () => {
  using project = toyProject();
  const runs = await Promise.all(
    [1, 2].map(() => finish(project.start([...SLOW, "--json", "--jobs", "2"]))),
  );
  assertEquals(runs.map(({ code }) => code), [0, 0]);
  const executed = runs.flatMap(({ stdout }) =>
    stdout.split("\n").filter((line) => line.includes('"executed","instance"'))
      .map((line) => JSON.parse(line).instance as string)
  );
  assertEquals(executed.sort(), [
    "gather",
    "steps/ann/1",
    "steps/ann/2",
    "steps/bob/1",
    "steps/bob/2",
    "word/ann",
    "word/bob",
  ]);
});

Deno.test("a lock file left by a dead process holds nobody up", async () => {
  using project = toyProject();
  const first = await project.run(["reproduce", "--json"]);
  const keys = first.events.flatMap((event) => event.event === "executed" ? [event.key] : []);
  for (const key of keys) {
    project.write(`outputs/store/locks/${key}`, '{"pid":1,"boot":"another"}');
  }
  assertEquals((await project.executed("--force", "**")).length, keys.length);
});

Deno.test("folder, time zone, locale and jobs change no bit", async () => {
  using one = toyProject();
  using other = toyProject();
  await one.run(["reproduce", "--jobs", "1"], { TZ: "UTC", LANG: "C" });
  await other.run(["reproduce", "--jobs", "4"], { TZ: "Asia/Kathmandu", LANG: "tr_TR.UTF-8" });
  assertEquals(other.read("lock/toy.smoke.lock"), one.read("lock/toy.smoke.lock"));
});
