/**
 * Trials by one who wants a run to say that there is nothing to do where there is.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { basename, dirname, join } from "node:path";
import { streamKey, words } from "../../models/random.ts";
import type { Memory } from "../../pipeline/cli/recall.ts";
import { statOf } from "../../pipeline/files.ts";
import { seal, unseal } from "../../pipeline/store/sealed.ts";
import { Copies } from "../rig/copies.ts";
import { projectAt, recallHere, reproduceHere } from "../rig/in_process.ts";
import { openProject, type TestProject, toyProject, writeStage } from "../rig/project.ts";

const IN_MEMORY = statOf("/dev/shm") ? "/dev/shm" : undefined;
const STAGES = ["word", "steps", "gather", "clock"];
const YAML = "experiments/toy/experiment.yaml";
const STORE = "outputs/store";
const PAGE = "outputs/toy.smoke/report/page.txt";

/** A toy project with all that a run may look at: a measured output, includes, a file elsewhere. */
function project(): TestProject & { readonly elsewhere: string } {
  const home = Deno.makeTempDirSync({ prefix: "lockstep-", ...IN_MEMORY && { dir: IN_MEMORY } });
  const toy = toyProject(home);
  const elsewhere = join(home, "elsewhere.ts");
  Deno.writeTextFileSync(elsewhere, "export const START = 0;\n");
  writeStage(toy, {
    name: "clock",
    declaration: `
const params = z.strictObject({ from: z.unknown(), note: z.unknown() });
export type Params = z.infer<typeof params>;
export const clock = defineStage({
  name: "clock", params, inputs: {}, outputs: { time: { kind: "file", exactness: "measured" } },
});`,
    run: `
import { START } from "${elsewhere}";
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("time"), String(START));
  return Promise.resolve();
}`,
  });
  toy.write(".hidden/from.yaml", "a: 1\n");
  toy.write(".hidden/usual.ts", 'export const STYLE = "plain";\n');
  toy.edit("stages/word.ts", 'default("plain")', "default(STYLE)");
  toy.edit("stages/word.ts", "\nimport", '\nimport { STYLE } from "../.hidden/usual.ts";\nimport');
  toy.write("outputs/note.yaml", "b: 1\n");
  toy.write(".git/HEAD", "ref: refs/heads/main\n");
  toy.write(".git/refs/heads/main", `${"1".repeat(40)}\n`);
  toy.edit(
    YAML,
    "profiles:",
    "  clock:\n    params: { from: $from.a, note: $note.b }\n" +
      "include: { from: ../../.hidden/from.yaml, note: ../../outputs/note.yaml }\nprofiles:",
  );
  return Object.assign(toy, {
    elsewhere,
    [Symbol.dispose]() {
      Deno.removeSync(home, { recursive: true });
    },
  });
}

/** Changes one byte of a file, which keeps its size, inode and time. */
function flip(path: string): void {
  const { atime, mtime, mode } = Deno.statSync(path);
  const bytes = Deno.readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  Deno.chmodSync(path, 0o644);
  Deno.writeFileSync(path, bytes);
  Deno.chmodSync(path, mode!);
  Deno.utimeSync(path, atime!, mtime!);
}

function replaceByLink(path: string): void {
  Deno.renameSync(path, `${path}.moved`);
  Deno.symlinkSync(`${path}.moved`, path);
}

function firstBelow(folder: string): string {
  for (const { name, isDirectory } of [...Deno.readDirSync(folder)].sort()) {
    return isDirectory ? firstBelow(join(folder, name)) : join(folder, name);
  }
  throw new Error(`${folder} is empty`);
}

/** The one file that something is remembered in. */
function memoryFile(root: string): string {
  return firstBelow(join(root, STORE, "remembered"));
}

/** Has something else remembered, in a file that is sealed as it should be. */
function forge(root: string, change: (memory: Memory) => Partial<Memory>): void {
  const path = memoryFile(root);
  const memory = unseal(Deno.readTextFileSync(path), path) as Memory;
  Deno.writeTextFileSync(path, seal({ ...memory, ...change(memory) }));
}

/** What is done to a project; it may return what is to be undone, since other copies see it too. */
type Trial = readonly [
  what: string,
  act: (toy: ReturnType<typeof project>) => void | (() => void),
];

const file = (name: string): Trial[] => [
  [`${name} is edited, its size and time kept`, (toy) => flip(toy.path(name))],
  [`${name} is gone`, (toy) => Deno.removeSync(toy.path(name))],
];

const TRIALS: readonly Trial[] = [
  ...["lib/grow.ts", "stages/word.ts", "stages/word.run.ts", "main.ts", YAML].flatMap(file),
  ...[".hidden/usual.ts", ".hidden/from.yaml", "outputs/note.yaml", "deno.json", "lock/deno.lock"]
    .flatMap(file),
  ...["lock/toy.smoke.lock", PAGE, "outputs/toy.smoke/parts/1ann.txt"].flatMap(file),
  ...["published.json", "runs/toy.smoke.json", "code/word.json", "catalog.sqlite"]
    .flatMap((name) => file(`${STORE}/${name}`)),
  ["a file elsewhere is edited that a stage's code comes from", (toy) => flip(toy.elsewhere)],
  ["a source is replaced by a link to a copy", (toy) => {
    Deno.copyFileSync(toy.path("lib/grow.ts"), toy.path(".copy.ts"));
    Deno.removeSync(toy.path("lib/grow.ts"));
    Deno.symlinkSync(toy.path(".copy.ts"), toy.path("lib/grow.ts"));
  }],
  ["an output is replaced by a link to it", (toy) => replaceByLink(toy.path(PAGE))],
  ["a folder has a file more", (toy) => toy.write("lib/tsconfig.json", "{}")],
  ["the project has a file more", (toy) => toy.write("deno.jsonc", "{}")],
  ["a folder above has a configuration", ({ elsewhere }) => {
    const path = join(dirname(elsewhere), "deno.json");
    Deno.writeTextFileSync(path, "{}");
    return () => Deno.removeSync(path);
  }],
  ["there is another experiment", (toy) => Deno.mkdirSync(toy.path("experiments/other"))],
  ["the trace page is gone", (toy) => Deno.removeSync(toy.path("outputs/trace/index.html"))],
  ["the facts of runs are gone", (toy) => Deno.removeSync(toy.path("outputs/trace/runs.js"))],
  ["another commit is checked out", (toy) => toy.write(".git/HEAD", "2".repeat(40))],
  ["what was run is committed", (toy) => toy.write(".git/refs/heads/main", "2".repeat(40))],
  ["commits are packed", (toy) => toy.write(".git/packed-refs", "")],
  ["a lock is locked up in a folder", (toy) => {
    Deno.removeSync(toy.path(`${STORE}/catalog.sqlite.lock`));
    Deno.mkdirSync(toy.path(`${STORE}/catalog.sqlite.lock`));
  }],
  ["a file is where the store has a folder", (toy) => {
    Deno.removeSync(toy.path(`${STORE}/scratch`), { recursive: true });
    toy.write(`${STORE}/scratch`, "");
  }],
  [
    "the catalogue is in use, or was when its process was killed",
    (toy) => toy.write(`${STORE}/catalog.sqlite-wal`, ""),
  ],
  ["who may write to the store is another", (toy) => Deno.chmodSync(toy.path(STORE), 0o555)],
  ["the store is a copy", (toy) => {
    const { success } = new Deno.Command("cp", {
      args: ["-a", toy.path(STORE), toy.path("outputs/copy")],
    }).outputSync();
    assert(success);
    Deno.removeSync(toy.path(STORE), { recursive: true });
    Deno.renameSync(toy.path("outputs/copy"), toy.path(STORE));
  }],
  [
    "something else was asked for",
    ({ root }) =>
      forge(root, ({ circumstances }) => ({ circumstances: { ...circumstances, args: [] } })),
  ],
  ["Deno is another", ({ root }) =>
    forge(root, ({ circumstances }) => ({
      circumstances: { ...circumstances, deno: { ...circumstances.deno, deno: "1.0.0" } },
    }))],
  [
    "the number of processors is another",
    ({ root }) =>
      forge(root, ({ circumstances }) => ({ circumstances: { ...circumstances, processors: 0 } })),
  ],
  [
    "the user is another",
    ({ root }) =>
      forge(root, ({ circumstances }) => ({ circumstances: { ...circumstances, user: -1 } })),
  ],
  [
    "Deno was started otherwise",
    ({ root }) =>
      forge(
        root,
        ({ circumstances }) => ({ circumstances: { ...circumstances, commandLine: "" } }),
      ),
  ],
  [
    "its format is another",
    ({ root }) =>
      forge(root, ({ circumstances }) => ({ circumstances: { ...circumstances, format: 0 } })),
  ],
  [
    "the machine is another, and something is measured",
    ({ root }) => forge(root, () => ({ machine: "another" })),
  ],
  [
    "the backend would be another",
    ({ root }) => forge(root, ({ platform }) => ({ platform: { ...platform, backend: "cpu" } })),
  ],
  [
    "the reason of the backend would be another",
    ({ root }) => forge(root, ({ platform }) => ({ platform: { ...platform, reason: "another" } })),
  ],
  [
    "an adapter would have to be asked",
    ({ root }) => forge(root, ({ platform }) => ({ platform: { ...platform, asked: "webgpu" } })),
  ],
  ["the clock was set back", ({ root }) => forge(root, () => ({ at: Date.now() + 1e6 }))],
  [
    "it lacks a stat",
    ({ root }) =>
      forge(root, ({ sources }) => ({ sources: { ...sources, stats: sources.stats.slice(1) } })),
  ],
  ["it is empty", ({ root }) => Deno.writeTextFileSync(memoryFile(root), "")],
  ["it is cut", ({ root }) => Deno.truncateSync(memoryFile(root), 5000)],
  [
    "it is sealed and holds something else",
    ({ root }) => Deno.writeTextFileSync(memoryFile(root), seal(null)),
  ],
  ["it is a folder", ({ root }) => {
    const path = memoryFile(root);
    Deno.removeSync(path);
    Deno.mkdirSync(path);
  }],
  ["it is a pipe", ({ root }) => {
    const path = memoryFile(root);
    Deno.removeSync(path);
    assert(new Deno.Command("mkfifo", { args: [path] }).outputSync().success);
  }],
];

/** Every file that the store has for the run: all but blobs of code, which are there for traces. */
function stored(root: string): Trial[] {
  const traces = join(root, STORE, "traces"), blobs = join(root, STORE, "blobs");
  const paths = [traces, blobs].flatMap((folder) =>
    [...Deno.readDirSync(folder)].flatMap(({ name }) =>
      [...Deno.readDirSync(join(folder, name))].map((entry) => join(folder, name, entry.name))
    )
  );
  const code = [...Deno.readDirSync(join(root, STORE, "code"))]
    .map(({ name }) => join(root, STORE, "code", name));
  const modules = new Set(code.map((path) => basename(path)));
  const isCode = (path: string) => modules.has(basename(dirname(path)) + basename(path));
  const named = (path: string) => path.slice(root.length + 1);
  return [...paths.filter((path) => !isCode(path)), ...code].map((path) =>
    [`${named(path)} is edited, its size and time kept`, () => flip(path)] as const
  );
}

Deno.test("whatever moves of what a remembered run was concluded from, it is not recalled", async () => {
  using toy = project();
  const here = projectAt(toy.root, { stages: STAGES, experiment: "toy" });
  await reproduceHere(here);
  const trials = [...TRIALS, ...stored(toy.root)];
  using copies = new Copies(toy.root, trials.length);
  await copies.settle(() => reproduceHere(here));
  const wrong: string[] = [];
  // The last of all, since all copies have that file in common.
  const order = trials.toSorted((a, b) => Number(isElsewhere(a)) - Number(isElsewhere(b)));
  for (const [n, [what, act]] of order.entries()) {
    copies.take(n);
    if (!await recallHere(here)) wrong.push(`not even remembered, before ${what}`);
    const undo = act(toy);
    if (await recallHere(here)) wrong.push(what);
    undo?.();
  }
  assertEquals(wrong, []);
  assert(trials.length > 60, `${trials.length} trials`);
});

function isElsewhere([what]: Trial): boolean {
  return what.startsWith("a file elsewhere");
}

Deno.test("a remembered run is recalled under its own circumstances alone", async () => {
  using toy = project();
  const here = projectAt(toy.root, { stages: STAGES, experiment: "toy" });
  await reproduceHere(here);
  using copies = new Copies(toy.root, 1);
  await copies.settle(() => reproduceHere(here));
  const other = async (what: string, change: () => void, back: () => void) => {
    assert(await recallHere(here), `remembered, before ${what}`);
    change();
    try {
      assertEquals(await recallHere(here), undefined, what);
    } finally {
      back();
    }
  };
  // As this module alone sees them: modules of tests that run at once share the process.
  const { cwd, env } = Deno;
  const variables = env.toObject.bind(env);
  for (const name of ["LOCKSTEP_MIRROR", "DENO_DIR", "HOME"]) {
    await other(
      `another ${name}`,
      () => env.toObject = () => ({ ...variables(), [name]: "/nowhere" }),
      () => env.toObject = variables,
    );
  }
  await other("another working folder", () => Deno.cwd = () => "/", () => Deno.cwd = cwd);
  const now = Date.now;
  await other("a clock set back", () => Date.now = () => now() - 1e7, () => Date.now = now);
  for (const args of [["--quiet"], ["--jobs", "1"], ["--outputs", toy.path("outputs")]]) {
    assertEquals(await recallHere(here, args), undefined, args.join(" "));
  }
  for (const changed of [{ root: copies.path(0) }, { experiment: "other" }, { stages: {} }]) {
    assertEquals(await recallHere({ ...here, ...changed }), undefined, Object.keys(changed).join());
  }
  // Every byte counts: some flips by seed.
  const path = memoryFile(toy.root);
  const bytes = Deno.readFileSync(path);
  for (const drawn of words(streamKey(0, "flips"), 300)) {
    const flipped = bytes.slice();
    flipped[drawn % bytes.length]! ^= 1 << (drawn >>> 29);
    Deno.writeFileSync(path, flipped);
    assertEquals(await recallHere(here), undefined, `a flip at ${drawn % bytes.length}`);
  }
  Deno.writeFileSync(path, bytes);
  assert(await recallHere(here), "as it was");
});

Deno.test("nothing is remembered of a run with options that change its results, of a mirror's, or of files just written", async () => {
  using toy = project();
  const here = projectAt(toy.root, { stages: STAGES, experiment: "toy" });
  await reproduceHere(here);
  using copies = new Copies(toy.root, 2);
  const variants = [
    ["--json"],
    ["--set", "steps.rate=1"],
    ["--only", "**"],
    ["--force", "clock"],
    ["--finished"],
    ["--locked"],
    ["--mirror", "/"],
  ];
  const remembered = () => [...Deno.readDirSync(toy.path(`${STORE}/remembered`))].length;
  await reproduceHere(here);
  await reproduceHere(here);
  assertEquals(statOf(toy.path(`${STORE}/remembered`)), undefined, "all was just written");
  toy.write(`${STORE}/remembered/0.json.1.tmp`, "left by a run that was killed");
  await copies.settle(() => reproduceHere(here));
  assertEquals(remembered(), 1);
  for (const args of variants) {
    await reproduceHere(here, args);
    assertEquals(await recallHere(here, args), undefined, args.join(" "));
  }
  copies.take(0);
  const later = new Date(Date.now() + 3_600_000);
  Deno.utimeSync(toy.path("lib/grow.ts"), later, later);
  await new Promise((resolve) => setTimeout(resolve, 2200));
  await reproduceHere(here);
  await new Promise((resolve) => setTimeout(resolve, 2200));
  await reproduceHere(here);
  assertEquals(await recallHere(here), undefined, "a file of the future may be written again");
  assertEquals((await reproduceHere(here)).executed, []);
});

/** Runs a project until it is remembered that there is nothing to do. */
async function runUntilRemembered(toy: TestProject, args: readonly string[]): Promise<void> {
  for (let n = 0; n < 4; n++) {
    const { code, stderr } = await toy.run(args);
    assertEquals(code, 0, stderr);
    await new Promise((resolve) => setTimeout(resolve, 2200));
  }
}

const timeless = (text: string) => text.replace(/\d+\.\d s/, "S");

Deno.test("a remembered run says what the run before it said, and ends as that did", async () => {
  using toy = toyProject();
  const args = ["reproduce", "--backend", "wasm"];
  await runUntilRemembered(toy, args);
  const place = memoryFile(toy.root);
  const text = Deno.readTextFileSync(place);
  Deno.removeSync(place);
  const full = await toy.run(args);
  assertStringIncludes(full.stdout, "0 ran, 7 up to date");
  const recalled = await toy.run(args);
  assertEquals({ ...recalled, stdout: timeless(recalled.stdout) }, {
    ...full,
    stdout: timeless(full.stdout),
  });
  // That it was recalled shows where something else is remembered.
  Deno.writeTextFileSync(place, text);
  forge(toy.root, () => ({ upToDate: 99 }));
  assertStringIncludes((await toy.run(args)).stdout, "0 ran, 99 up to date");
  const both = await Promise.all([toy.run(args), toy.run(args)]);
  assertEquals(both.map(({ code }) => code), [0, 0]);
  // A moved project is another.
  const moved = `${toy.root}.moved`;
  Deno.renameSync(toy.root, moved);
  try {
    const ended = await openProject(moved).run(args);
    assertEquals(ended.code, 0);
    assertStringIncludes(ended.stdout, "0 ran, 7 up to date");
  } finally {
    Deno.renameSync(moved, toy.root);
  }
  // What is there instead of the folder keeps nobody from running.
  Deno.removeSync(dirname(place), { recursive: true });
  toy.write(`${STORE}/remembered`, "");
  assertEquals((await toy.run(args)).code, 0);
});
