import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "node:path";
import { collect } from "../../pipeline/gc/collect.ts";
import { findGarbage, type Request } from "../../pipeline/gc/garbage.ts";
import { statOf } from "../../pipeline/files.ts";
import { isHeld, tryLock } from "../../pipeline/store/mutex.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { holdForRepair } from "../../pipeline/store/run_lock.ts";
import { auditStore } from "../../pipeline/views/audit.ts";
import { CacheServer } from "../rig/cache_server.ts";
import { onDevice } from "../rig/device.ts";
import { projectAt, type ReproducedHere, reproduceHere } from "../rig/in_process.ts";
import { measuringProject } from "../rig/measuring.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

/** One line of `gc --json`. */
interface Line {
  readonly event: "garbage" | "gc";
  readonly kind: string;
  readonly stage?: string;
  readonly path: string;
  readonly bytes: number;
  readonly files: number;
  readonly kept: { readonly results: number };
  readonly roots: { readonly runs: string[]; readonly tags: string[]; readonly locks: string[] };
}

async function gc(project: TestProject, ...args: string[]): Promise<{ items: Line[]; sum: Line }> {
  const { code, stdout, stderr } = await project.run(["gc", "--json", ...args]);
  assertEquals(code, 0, stdout + stderr);
  const lines: Line[] = stdout.trim().split("\n").map((line) => JSON.parse(line));
  return {
    items: lines.filter(({ event }) => event === "garbage"),
    sum: lines.find(({ event }) => event === "gc")!,
  };
}

function reproduce(project: TestProject, ...args: string[]): Promise<ReproducedHere> {
  const stages = ["word", "steps", "gather"];
  return reproduceHere(projectAt(project.root, { stages, experiment: "toy" }), args);
}

async function audited(project: TestProject, args: readonly string[] = []): Promise<void> {
  const { code, stdout, stderr } = await project.run(["audit", ...args]);
  assertEquals(code, 0, stdout + stderr);
}

function walk(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? walk(join(folder, name)) : [join(folder, name)]
  );
}

const KEPT_FOR_READING = /\/(catalog\.sqlite.*|.*\.lock)$/;

/** Every file of a store but its index and its locks, with its size. */
function filesOf(project: TestProject): Map<string, number> {
  const paths = walk(project.path("outputs/store")).filter((path) => !KEPT_FOR_READING.test(path));
  return new Map(paths.map((path) => [path, Deno.statSync(path).size]));
}

/** A store in which a run with another rate replaced the first one, and its lock. */
async function replaced(): Promise<TestProject> {
  const project = toyProject();
  await reproduce(project);
  project.edit("experiments/toy/experiment.yaml", "{ seed: $seed }", "{ seed: $seed, rate: 2 }");
  await reproduce(project);
  return project;
}

Deno.test("gc lists what goes by stage and bytes, removes nothing unless asked, then just that", async () => {
  using project = await replaced();
  const before = filesOf(project);
  const { items } = await gc(project);
  assertEquals(filesOf(project), before);
  // The four states of the first rate and what gathers them; words are the same.
  const stages = items.filter(({ kind }) => kind === "trace").map(({ stage }) => stage).sort();
  assertEquals(stages, ["gather", "steps", "steps", "steps", "steps"]);
  for (const { path, bytes } of items) assertEquals(bytes, before.get(path), path);
  const again = await gc(project, "--delete");
  assertEquals(again.items, items);
  const after = filesOf(project);
  assertEquals(
    [...before.keys()].filter((path) => !after.has(path)).sort(),
    items.map(({ path }) => path).sort(),
  );
  await audited(project);
  assertEquals(await project.executed(), []);
  assertEquals((await gc(project)).items, []);
});

Deno.test("gc keeps what runs, tags and locks need, and whatever that came from", async () => {
  using project = await replaced();
  const tagged = await project.run(["tag", "second"]);
  assertStringIncludes(tagged.stdout, "tag second keeps 7 results of toy.smoke");
  project.edit("experiments/toy/experiment.yaml", "rate: 2", "rate: 3");
  await reproduce(project);
  const { items, sum } = await gc(project, "--delete");
  assertEquals(sum.roots, {
    runs: ["toy.smoke"],
    tags: ["second"],
    locks: ["lock/toy.smoke.lock"],
  });
  assertEquals(items.filter(({ kind }) => kind === "trace").length, 5);
  await audited(project);
  const compared = await project.run(["diff", "second", "toy.smoke"]);
  assertEquals(compared.code, 0, compared.stderr);
  assertStringIncludes(compared.stdout, "params.rate");
  // What the tag keeps is there to be reused.
  project.edit("experiments/toy/experiment.yaml", "rate: 3", "rate: 2");
  assertEquals(await project.executed(), []);
  assertEquals((await project.run(["tag", "second", "--delete"])).code, 0);
  assertEquals((await project.run(["tag"])).stdout, "no tags\n");
  assertEquals((await gc(project)).items.filter(({ kind }) => kind === "trace").length, 5);
});

Deno.test("gc keeps the measured results that a lock names by their recipes, and no others", async () => {
  using project = measuringProject();
  assertEquals((await project.executed()).length, 19);
  const set = async (times: number) => {
    const ended = await project.run(["reproduce", "--set", `time.times=${times}`]);
    assertEquals(ended.code, 0, ended.stderr);
  };
  await set(4);
  await set(5);
  const { items } = await gc(project, "--delete");
  // Six times, their list, its chart and the report are of the second run, which neither record nor lock names.
  assertEquals(items.filter(({ kind }) => kind === "trace").length, 9);
  await audited(project);
  assertEquals(await project.executed(), []);
});

Deno.test("a tag has a plain name, is of a run that there is, and replaces none unless asked", async () => {
  using project = toyProject();
  const none = await project.run(["tag", "first"]);
  assertStringIncludes(none.stderr, "Cannot tag toy.smoke: a run of it must be recorded");
  await reproduce(project);
  for (const name of ["../a", ".a", "a b", "a.json", "a/b"]) {
    const ended = await project.run(["tag", name]);
    assertEquals(ended.code, 2, name);
    assertStringIncludes(ended.stderr, `Cannot tag a run as "${name}"`);
  }
  assertEquals((await project.run(["tag", "first"])).code, 0);
  assertStringIncludes((await project.run(["tag", "first"])).stderr, "there is such a tag");
  assertEquals((await project.run(["tag", "first", "--overwrite"])).code, 0);
  assertStringIncludes(
    (await project.run(["tag", "frist", "--delete"])).stderr,
    'there is none; did you mean "first"?',
  );
  const path = project.path("outputs/store/tags/first.json");
  Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replace("smoke", "smokf"));
  assertStringIncludes((await project.run(["audit"])).stdout, path);
  const refused = await project.run(["gc", "--delete"]);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.stderr, "Cannot tell what is to be kept");
});

Deno.test("no tag has the name of a run, of an experiment that there is, or HEAD, which diff would take for it", async () => {
  using project = toyProject();
  await reproduce(project);
  for (const name of ["toy.smoke", "toy.paper", "HEAD"]) {
    for (const more of [[], ["--overwrite"]]) {
      const ended = await project.run(["tag", name, ...more]);
      assertEquals(ended.code, 2, name);
      assertStringIncludes(ended.stderr, `Cannot tag a run as "${name}"`);
    }
  }
  assertEquals((await project.run(["tag"])).stdout, "no tags\n");
});

Deno.test("of the runs that --latest leaves out, what is published stays and the audit is sound", async () => {
  using project = await replaced();
  await reproduce(project, "--profile", "slow", "--set", "steps.delayMs=0");
  // As after a clone without locks: nothing else keeps the older run.
  Deno.removeSync(project.path("lock/toy.smoke.lock"));
  const page = project.read("outputs/toy.smoke/report/page.txt");
  const { items } = await gc(project, "--latest", "1", "--delete");
  const stages = new Set(items.filter(({ kind }) => kind === "trace").map(({ stage }) => stage));
  assertEquals(stages, new Set(["steps", "gather"]));
  assertEquals(project.read("outputs/toy.smoke/report/page.txt"), page);
  const { stdout } = await project.run(["audit"]);
  // The lock was removed by this test.
  assertEquals(stdout.match(/^(altered|missing|orphaned)/gm), ["missing"], stdout);
  const executed = await reproduce(project);
  assertEquals(executed.executed.length, 4);
  await audited(project);
});

Deno.test("checkpoints and set-aside files go only where they are asked for, logs with their results", async () => {
  using project = await replaced();
  const store = project.path("outputs/store");
  const key = (digit: string) => digit.repeat(64);
  const put = (name: string) => project.write(`outputs/store/${name}`, "something");
  put(`checkpoints/${key("a")}/state.json`);
  put("aside/table.csv");
  put(`logs/${key("b")}.log`);
  put(`logs/${key("a")}.log`);
  put(`scratch/scratch-of-a-dead-process/0/outputs/text`);
  put(`remembered/3.json`);
  put(`incoming/${key("e")}`);
  put(`incoming/${key("f")}`);
  put(`blobs/ab/${"c".repeat(62)}`);
  put(`blobs/ab/${"c".repeat(62)}.99.tmp`);
  put(`code/${key("d")}`);
  const there = () =>
    walk(store).filter((path) => /aaaa|table|bbbb|dead|remembered|cccc|dddd|eeee|ffff/.test(path));
  const all = there();
  await gc(project);
  assertEquals(there(), all);
  // A process is fetching one of them.
  const fetching = await tryLock(join(store, "locks"), `incoming-${key("f")}`);
  assert(isHeld(fetching));
  const { items, sum } = await gc(project, "--delete");
  const paths = items.map(({ path }) => path);
  assertEquals(paths, [...new Set(paths)], "each is listed once");
  assertEquals(sum, { ...sum, onRequest: { files: 2, bytes: 18 } } as Line);
  fetching.release();
  assertEquals(there().map((path) => path.slice(store.length + 1)).sort(), [
    "aside/table.csv",
    `checkpoints/${key("a")}/state.json`,
    `incoming/${key("f")}`,
    `logs/${key("a")}.log`,
  ]);
  await gc(project, "--delete", "--include", "checkpoints", "--include", "aside");
  assertEquals(there().map((path) => path.slice(store.length + 1)), [`logs/${key("a")}.log`]);
  await gc(project, "--delete");
  assertEquals(there(), []);
  await audited(project);
  assertEquals(await project.executed(), []);
});

/** Hands over an open store, as `gc` opens it. */
async function withStore<T>(
  project: TestProject,
  latest: number,
  use: (request: Request) => Promise<T>,
): Promise<T> {
  const store = new LocalStore(project.path("outputs/store"), { reading: true });
  try {
    return await use({ root: project.root, store, latest, include: [] });
  } finally {
    store.close();
  }
}

function copyFolder(from: string, to: string): void {
  const { success } = new Deno.Command("cp", { args: ["-a", from, to] }).outputSync();
  assert(success);
}

for (const latest of [Infinity, 0]) {
  const which = latest === 0 ? "that drops every run" : "of what no run needs";
  Deno.test(`killed after any of its removals, a collection ${which} leaves a sound store`, async () => {
    using project = await replaced();
    // It would keep the second run, whatever is left out.
    if (latest === 0) Deno.removeSync(project.path("lock/toy.smoke.lock"));
    const original = `${project.root}.original`;
    copyFolder(project.path("outputs"), original);
    try {
      const { items } = await withStore(project, latest, findGarbage);
      assert(items.length > 10, String(items.length));
      for (let kill = 0; kill <= items.length; kill++) {
        Deno.removeSync(project.path("outputs"), { recursive: true });
        copyFolder(original, project.path("outputs"));
        await withStore(project, latest, async (request) => {
          let left = kill;
          const remove = (path: string) => {
            if (left-- === 0) throw new Error("killed");
            Deno.removeSync(path, { recursive: true });
          };
          await collect(request, remove).catch((error) => assertEquals(error.message, "killed"));
          const outputs = project.path("outputs");
          const { findings } = await auditStore(project.root, outputs, request.store);
          const unsound = findings.filter(({ problem, what }) =>
            problem !== "leftover" && what !== "lock"
          );
          assertEquals(unsound, [], `after ${kill} of ${items.length}`);
        });
      }
      const { executed } = await reproduce(project);
      assertEquals(executed.length, latest === 0 ? 6 : 0, String(executed));
    } finally {
      Deno.removeSync(original, { recursive: true });
    }
  });
}

Deno.test("gc beside a repair is refused, and removes nothing", async () => {
  using project = await replaced();
  const before = filesOf(project);
  const held = holdForRepair({ root: project.path("outputs/store"), setAside() {} });
  try {
    const refused = await project.run(["gc", "--delete"]);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, '"audit --repair" is at work on it');
  } finally {
    held.release();
  }
  assertEquals(filesOf(project), before);
});

Deno.test("results that came from a cache are kept without what was not fetched of them", async () => {
  await using server = new CacheServer();
  using first = toyProject();
  using second = toyProject();
  const cache = ["--cache", server.url];
  await first.executed(...cache, "--push");
  assertEquals(await second.executed(...cache), []);
  const { items, sum } = await gc(second, "--delete");
  assertEquals(items.filter(({ kind }) => kind !== "code"), []);
  assertEquals(sum.kept.results, 7);
  await audited(second);
  // What is not here is not described; what was fetched of it is.
  const early = await second.run(["export", "--format", "sbom", "--to", "bom.json"]);
  assertStringIncludes(early.stderr, 'run "deno task pull" with the same experiment');
  assertEquals((await second.run(["pull", ...cache])).code, 0);
  assertEquals((await gc(second, "--delete")).items, []);
  assertEquals((await second.run(["export", "--format", "sbom", "--to", "bom.json"])).code, 0);
});

Deno.test("where a lock is empty or without its head, nothing is removed", async () => {
  using project = await replaced();
  const lock = project.read("lock/toy.smoke.lock");
  const before = filesOf(project);
  for (
    const damaged of ["", lock.slice(0, lock.indexOf("\n") + 1), lock.slice(lock.indexOf("\n") + 1)]
  ) {
    project.write("lock/toy.smoke.lock", damaged);
    const { code, stderr } = await project.run(["gc", "--delete"]);
    assertEquals(code, 1, stderr);
    assertStringIncludes(stderr, "lock/toy.smoke.lock must be intact, and is not");
    assertEquals(filesOf(project), before);
  }
});

Deno.test("a folder's list that is lost is not taken for an empty folder", async () => {
  using project = await replaced();
  const lock = project.read("lock/toy.smoke.lock");
  const digest = /steps\/ann\/1 .* log=exact:([0-9a-f]{64})/.exec(lock)![1]!;
  Deno.removeSync(project.path(`outputs/store/blobs/${digest.slice(0, 2)}/${digest.slice(2)}`));
  const before = filesOf(project);
  const refused = await project.run(["gc", "--delete"]);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.stderr, "the list of a folder that steps/ann/1 made or ran");
  assertEquals(filesOf(project), before);
});

Deno.test({
  name: "on a full disk gc makes room, and a run goes on",
  // Only root can mount.
  ignore: Deno.uid() !== 0,
  async fn() {
    using project = toyProject();
    Deno.mkdirSync(project.path("outputs"));
    await onDevice(
      project.path("outputs"),
      ["-t", "tmpfs", "-o", "size=8m", "tmpfs"],
      async (folder) => {
        await project.executed();
        await project.executed("--set", "steps.rate=2");
        await project.executed("--set", "steps.rate=3");
        const full = join(folder, "full");
        {
          using file = Deno.openSync(full, { write: true, create: true });
          assertThrows(() => {
            for (;;) file.writeSync(new Uint8Array(4096));
          });
        }
        const tagged = await project.run(["tag", "second"]);
        assertEquals(tagged.code, 1, tagged.stdout);
        assertStringIncludes(tagged.stderr, "No space left on the device");
        const { items } = await gc(project, "--delete");
        assert(items.length > 0);
        for (const { path } of items) assertEquals(statOf(path), undefined);
        Deno.removeSync(full);
        await audited(project);
        assertEquals((await project.run(["tag"])).stdout, "no tags\n");
        assertEquals((await project.executed("--set", "steps.rate=2")).length, 5);
      },
    );
  },
});

Deno.test({
  name: "on a read-only store gc says what could go, and one message where it is to go",
  ignore: Deno.uid() !== 0,
  async fn() {
    using project = await replaced();
    const { items } = await gc(project);
    const before = filesOf(project);
    await onDevice(project.path("outputs"), ["--bind", project.path("outputs")], async (folder) => {
      await new Deno.Command("mount", { args: ["-o", "remount,ro,bind", folder] }).output();
      assertEquals((await gc(project)).items, items);
      for (const args of [["gc", "--delete"], ["tag", "second"]]) {
        const refused = await project.run(args);
        assertEquals(refused.code, 1);
        assertStringIncludes(refused.stderr, "The system refused");
        assertEquals(refused.stderr.trim().split("\n").length, 1);
      }
    });
    assertEquals(filesOf(project), before);
  },
});
