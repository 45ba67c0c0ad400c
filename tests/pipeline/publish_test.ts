import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "node:path";
import { ConfigError } from "../../pipeline/errors.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import type { Graph } from "../../pipeline/plan/graph.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { noteEnding } from "../../pipeline/run/ending.ts";
import type { Publications } from "../../pipeline/run/publications.ts";
import { checkPublishPaths } from "../../pipeline/run/publish.ts";
import { seal, unseal } from "../../pipeline/store/sealed.ts";
import { manifestText } from "../../pipeline/store/trace.ts";
import { projectAt, reproduceHere } from "../rig/in_process.ts";
import { type TestProject, toyProject, unwrapped } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const PAGE = "outputs/toy.smoke/report/page.txt", RECORD = "outputs/store/published.json";

/** What lies in `store/aside/`: content of files, targets of links, names of other things. */
function aside(project: TestProject): string[] {
  const folder = project.path("outputs/store/aside");
  return [...Deno.readDirSync(folder)].map(({ name, isFile, isSymlink }) => {
    const path = join(folder, name);
    return isSymlink ? Deno.readLinkSync(path) : isFile ? Deno.readTextFileSync(path) : name;
  }).sort();
}

Deno.test("no file of a user in outputs/ is overwritten, whatever the record of what is published", async () => {
  using project = toyProject();
  project.write(PAGE, "before any run");
  await project.executed();
  const result = project.read(PAGE);
  assertEquals(aside(project), ["before any run"]);
  const acts: [mine: string, act: () => void][] = [
    ["the record is gone", () => Deno.removeSync(project.path(RECORD))],
    ["the record is garbled", () => project.write(RECORD, "{}")],
    ["the record says the run wrote mine", () => {
      const record = JSON.parse(JSON.stringify(unseal(project.read(RECORD), RECORD)));
      record["toy.smoke/report/page.txt"].bytes = 1;
      project.write(RECORD, seal(record));
    }],
  ];
  for (const [mine, act] of acts) {
    act();
    project.write(PAGE, mine);
    assertEquals((await project.run(["reproduce"])).code, 0);
    assertEquals(project.read(PAGE), result);
    assert(aside(project).includes(mine), mine);
  }
  // Nor if another result is to be there.
  Deno.removeSync(project.path(RECORD));
  project.write(PAGE, "mine");
  project.edit("lib/grow.ts", '"of "', '"out of "');
  await project.executed();
  assert(project.read(PAGE) !== result && aside(project).includes("mine"));
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a lost record of what was published is one finding, and is repaired", async () => {
  using project = toyProject();
  await project.executed();
  Deno.removeSync(project.path(RECORD));
  const ended = await project.run(["audit", "--json"]);
  assertEquals(ended.code, 1);
  const found = ended.stdout.trim().split("\n").map((line) => JSON.parse(line))
    .filter(({ event }) => event === "finding")
    .map(({ problem, what, path }) => [problem, what, path]);
  assertEquals(found, [["missing", "record", project.path(RECORD)]]);
  const files = published(project);
  const repaired = await project.run(["audit", "--repair"]);
  assertEquals(repaired.code, 0, repaired.stdout + repaired.stderr);
  assertEquals([aside(project), published(project)], [[], files]);
  // Before any run nobody wrote a record: what is there is somebody else's.
  using other = toyProject();
  other.write("outputs/mine.txt", "mine");
  Deno.mkdirSync(other.path("outputs/store"));
  const { stdout } = await other.run(["audit"]);
  assertStringIncludes(stdout, "no run wrote it");
});

Deno.test("what a run wrote itself is replaced without a word", async () => {
  using project = toyProject();
  await project.executed();
  project.edit("lib/grow.ts", '"of "', '"out of "');
  const ended = await project.run(["reproduce", "--json"]);
  assertEquals(ended.events.filter(({ event }) => event === "damaged"), []);
  assertEquals(aside(project), []);
});

/** What is published, without the trace page. */
function published(project: TestProject): string[] {
  const below = (folder: string): string[] =>
    [...Deno.readDirSync(project.path(folder))].flatMap(({ name, isDirectory }) =>
      isDirectory ? below(`${folder}/${name}`) : [`${folder}/${name}`]
    );
  return below("outputs").filter((path) => !/^outputs\/(store|trace)\//.test(path)).sort();
}

Deno.test("each experiment and profile has a folder of its own, and no run touches another's", async () => {
  using project = toyProject();
  project.edit(
    "experiments/toy/experiment.yaml",
    "  slow:\n",
    "  small:\n    grid: { seed: [3] }\n  slow:\n",
  );
  await project.executed();
  const smoke = published(project);
  const result = project.read(PAGE);
  assertEquals((await project.run(["reproduce", "--profile", "small"])).code, 0);
  const small = ["parts/3ann.txt", "parts/3bob.txt", "report/page.txt"]
    .map((path) => `outputs/toy.small/${path}`);
  assertEquals(published(project), [...small, ...smoke]);
  assertEquals(project.read(PAGE), result);
  project.write(
    "experiments/other/experiment.yaml",
    "experiment: other\nstages:\n  word: { params: { text: Eve } }\nprofiles:\n  smoke: {}\n",
  );
  project.edit(
    "stages/word.ts",
    'exactness: "exact" }',
    'exactness: "exact", publish: () => "word.txt" }',
  );
  assertEquals((await project.run(["reproduce", "--experiment", "other"])).code, 0);
  assertEquals(published(project), ["outputs/other.smoke/word.txt", ...small, ...smoke]);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("nothing is written through a symbolic link", async () => {
  using project = toyProject();
  const outside = temporaryFolder();
  const victim = join(outside, "page.txt");
  Deno.writeTextFileSync(victim, "not yours");
  Deno.mkdirSync(project.path("outputs/toy.smoke/report"), { recursive: true });
  Deno.symlinkSync(victim, project.path(PAGE));
  await project.executed();
  assertEquals(Deno.readTextFileSync(victim), "not yours");
  assert(Deno.lstatSync(project.path(PAGE)).isFile);
  assertEquals(aside(project), [victim]);
  // A folder that leads elsewhere is refused, before anything is written.
  const result = project.read(PAGE);
  for (const name of ["toy.smoke/report", "trace"]) {
    Deno.removeSync(project.path(`outputs/${name}`), { recursive: true });
    Deno.removeSync(project.path("outputs/toy.smoke/parts"), { recursive: true });
    Deno.symlinkSync(outside, project.path(`outputs/${name}`));
    const refused = await project.run(["reproduce"]);
    assertEquals(refused.code, 2);
    assertEquals(refused.stderr.trim().split("\n").length, 1, refused.stderr);
    assertStringIncludes(refused.stderr, `symbolic link to ${outside}; remove the link`);
    assertEquals([...Deno.readDirSync(outside)].map((entry) => entry.name), ["page.txt"]);
    assertEquals(Deno.readTextFileSync(victim), "not yours");
    Deno.removeSync(project.path(`outputs/${name}`));
    await project.executed();
  }
  assertEquals(project.read(PAGE), result);
});

Deno.test("a folder or a pipe in a file's place, and a file in a folder's, is set aside", async () => {
  using project = toyProject();
  await project.executed();
  const result = project.read(PAGE);
  Deno.removeSync(project.path(PAGE));
  project.write(`${PAGE}/mine.txt`, "in a folder");
  Deno.removeSync(project.path("outputs/toy.smoke/parts"), { recursive: true });
  project.write("outputs/toy.smoke/parts", "in a folder's place");
  await project.executed();
  assertEquals(project.read(PAGE), result);
  assertEquals(aside(project), ["in a folder's place", "page.txt"]);
  Deno.removeSync(project.path(PAGE));
  assert(new Deno.Command("mkfifo", { args: [project.path(PAGE)] }).outputSync().success);
  assertStringIncludes((await project.run(["audit"])).stdout, "it must be a file, found a pipe");
  await project.executed();
  assertEquals(project.read(PAGE), result);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a path to publish at that leads out of outputs/, into the store or is hidden is refused", () => {
  const graph = (path: string) =>
    [{
      name: "gather",
      params: {},
      node: { stage: { outputs: { page: { publish: () => path } } } },
    }] as unknown as Graph;
  for (const path of ["a", "a/b.txt", "a b/ü…", "store/a", "trace/index.html"]) {
    checkPublishPaths(graph(path), "x.smoke");
  }
  const refused = ["", ".", "..", "../x", "/etc/x", "a/../../x", "a//b", "a/", "./a", "../store/x"];
  const worse = [
    "../trace/index.html",
    "/store",
    ".x",
    "a/.git/x",
    "a\0b",
    "a\nb",
    "a\\b",
    "a".repeat(300),
  ];
  for (const path of [...refused, ...worse]) {
    assertThrows(
      () => checkPublishPaths(graph(path), "x.smoke"),
      ConfigError,
      "which gather writes",
    );
  }
});

Deno.test("a declared path that may not be used is refused before anything runs", async () => {
  using project = toyProject();
  project.edit("stages/gather.ts", '"report/page.txt"', '"../../page.txt"');
  for (const command of ["plan", "reproduce"]) {
    const ended = await project.run([command]);
    assertEquals(ended.code, 2);
    assertEquals(
      ended.stderr,
      'Cannot publish "outputs/toy.smoke/../../page.txt", which gather writes: the path must be ' +
        'relative, without ".", ".." or an empty part\n',
    );
    assertEquals(ended.stdout, "");
  }
});

/** Has the trace of `gather` say that its folder holds a file at this path, as a foreign store may. */
async function forgeFolder(project: TestProject, path: string): Promise<void> {
  const store = new LocalStore(project.path("outputs/store"));
  for (const key of await store.traceKeys()) {
    const trace = (await store.trace(key))!;
    if (trace.instance !== "gather") continue;
    const content = await store.put("evil");
    const folder = await store.put(manifestText({ [path]: { sha256: content, bytes: 4 } }));
    const parts = { ...trace.outputs["parts"]!, sha256: folder };
    const forged = { ...trace, outputs: { ...trace.outputs, parts } };
    Deno.writeTextFileSync(store.tracePath(key), seal(forged));
  }
  store.close();
}

Deno.test("a path in a foreign store's manifest leads nowhere either", async () => {
  using project = toyProject();
  await project.executed();
  const result = project.read("outputs/toy.smoke/parts/1ann.txt");
  await forgeFolder(project, "../../../evil.txt");
  // It is no manifest: the result is made again, and found to differ from what the trace said.
  const again = await project.run(["reproduce", "--json"]);
  const kinds = again.events.map(({ event }) => event);
  assert(kinds.includes("executed") && kinds.includes("nondeterministic"), again.stdout);
  assertEquals(await project.executed(), []);
  assertEquals(project.read("outputs/toy.smoke/parts/1ann.txt"), result);
  await forgeFolder(project, ".profile");
  const hidden = await project.run(["reproduce"]);
  assertEquals(hidden.code, 2);
  assertEquals(
    hidden.stderr,
    'Cannot publish "outputs/toy.smoke/parts/.profile", which gather writes: the path must have no ' +
      "hidden part\n",
  );
  assertEquals([...Deno.readDirSync(project.path("outputs/toy.smoke/parts"))].length, 4);
});

Deno.test("a record of what is published can't have a file outside removed", async () => {
  using project = toyProject();
  await project.executed();
  project.write("victim.txt", "mine");
  const record = JSON.parse(JSON.stringify(unseal(project.read(RECORD), RECORD)));
  const entry = { ...record["toy.smoke/report/page.txt"], sha256: sha256("mine"), bytes: 4 };
  project.write(RECORD, seal({ ...record, "../victim.txt": entry }));
  const ended = await project.run(["reproduce"]);
  assertEquals(ended.code, 0, ended.stderr);
  assertEquals(project.read("victim.txt"), "mine");
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("the audit finds a published file that no trace made", async () => {
  using project = toyProject();
  await project.executed();
  project.write("outputs/toy.smoke/report/extra.txt", "mine");
  const record = JSON.parse(JSON.stringify(unseal(project.read(RECORD), RECORD)));
  const entry = { ...record["toy.smoke/report/page.txt"], sha256: sha256("mine"), bytes: 4 };
  project.write(RECORD, seal({ ...record, "toy.smoke/report/extra.txt": entry }));
  const found = await project.run(["audit"]);
  assertEquals(found.code, 1);
  assertStringIncludes(unwrapped(found.stdout), `no trace says that ${entry.key} made it`);
  assertEquals((await project.run(["audit", "--repair"])).code, 0);
  assertEquals((await project.run(["audit"])).code, 0);
  assert(aside(project).includes("mine"));
});

/** What is in a folder, as paths. */
function below(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? below(join(folder, name)).map((path) => `${name}/${path}`) : [name]
  ).sort();
}

Deno.test("each run has a folder of its own, and it never holds files of two", async () => {
  using project = toyProject();
  project.edit(
    "experiments/toy/experiment.yaml",
    "smoke: {}",
    "smoke: {}\n  brief: { grid: { seed: [1] } }",
  );
  await project.executed();
  await project.executed("--profile", "brief");
  const parts = (
    ...names: string[]
  ) => [...names.map((name) => `parts/${name}.txt`), "report/page.txt"];
  const all = parts("1ann", "1bob", "2ann", "2bob"), brief = parts("1ann", "1bob");
  assertEquals(below(project.path("outputs/toy.smoke")), all);
  assertEquals(below(project.path("outputs/toy.brief")), brief);
  // What --set changes replaces what the file as it is gave, also where it does not get to the end.
  const failing = ["--set", "grid.name=[bob]", "--set", "name.bob.steps.fail=true"];
  assertEquals((await project.run(["reproduce", ...failing])).code, 1);
  assertEquals(below(project.path("outputs/toy.smoke")), []);
  assertEquals(below(project.path("outputs/toy.brief")), brief);
  await project.executed();
  assertEquals(below(project.path("outputs/toy.smoke")), all);
  // A part of the same run adds to what is there.
  project.edit("stages/gather.ts", '"report/page.txt"', '"report/all.txt"');
  await project.executed("--only", "gather");
  assertEquals(below(project.path("outputs/toy.smoke")).length, all.length + 1);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a run that ends while it publishes leaves no finding, and what it wrote is no user's", async () => {
  using project = toyProject();
  const toy = projectAt(project.root, { stages: ["word", "steps", "gather"], experiment: "toy" });
  await reproduceHere(toy);
  await reproduceHere(toy, ["--set", "steps.rate=2"]);
  const second = project.read(PAGE);
  const path = "toy.smoke/report/page.txt";
  const is = (unseal(project.read(RECORD), RECORD) as Publications)[path]!;
  await reproduceHere(toy);
  const first = project.read(PAGE);
  const record = project.read(RECORD);
  // As if it had been killed once the page was written.
  const published = unseal(record, RECORD) as Publications;
  const workspace = { root: project.path("outputs/store"), setAside: unexpected };
  noteEnding("toy.smoke", { files: { ...published, [path]: is }, gone: [] }, workspace);
  project.write(PAGE, second);
  const audit = async (...args: string[]) => {
    const { events } = await project.run(["audit", "--json", ...args]);
    return (events as unknown as { event: string; problem: string; path: string }[])
      .filter(({ event }) => event === "finding").map(({ problem, path }) => [problem, path]);
  };
  assertEquals(await audit(), [["leftover", project.path(PAGE)]]);
  assertEquals(unwrapped((await project.run(["audit"])).stdout).match(/did not end; run it/g), [
    "did not end; run it",
  ]);
  await reproduceHere(toy);
  assertEquals([project.read(PAGE), project.read(RECORD), aside(project)], [first, record, []]);
  assertEquals(await audit(), []);
  // Whoever edits it meanwhile is seen, and loses nothing.
  noteEnding("toy.smoke", { files: { ...published, [path]: is }, gone: [] }, workspace);
  project.write(PAGE, "mine");
  assertEquals(await audit(), [["altered", project.path(PAGE)]]);
  project.write(PAGE, second);
  await audit("--repair");
  assertEquals([project.read(PAGE), aside(project)], [first, []]);
  assertEquals(await audit(), []);
});

function unexpected(path: string, message: string): never {
  throw new Error(`${path}: ${message}`);
}
