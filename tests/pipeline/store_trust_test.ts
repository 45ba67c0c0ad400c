import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { crc32 } from "node:zlib";
import { type Options, parseOptions } from "../../pipeline/cli/options.ts";
import { showPlan } from "../../pipeline/cli/plan.ts";
import { showStatus } from "../../pipeline/cli/status.ts";
import { Catalog } from "../../pipeline/store/catalog.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { holdForRepair } from "../../pipeline/store/run_lock.ts";
import type { Trace } from "../../pipeline/store/trace.ts";
import { auditStore } from "../../pipeline/views/audit.ts";
import { projectAt, reproduceHere } from "../rig/in_process.ts";
import { mainText, type TestProject, toyProject, writeStage } from "../rig/project.ts";

const PAGE = "outputs/toy.smoke/report/page.txt";

/** The traces of a project's store, by instance. */
async function tracesOf(project: TestProject): Promise<Map<string, Trace>> {
  const store = new LocalStore(project.path("outputs/store"));
  const traces = new Map<string, Trace>();
  for (const key of await store.traceKeys()) {
    const trace = (await store.trace(key))!;
    traces.set(trace.instance, trace);
  }
  store.close();
  return traces;
}

/** Has the catalogue say something else of an instance's trace, in a row that is as rows are. */
async function forgeRow(
  project: TestProject,
  instance: string,
  outputs: Trace["outputs"],
): Promise<void> {
  const { key } = (await tracesOf(project)).get(instance)!;
  const catalog = new Catalog(project.path("outputs/store/catalog.sqlite"), () => {
    throw new Error("There is one");
  });
  const row = catalog.trace(key)!;
  catalog.putTrace({ ...row, outputs: JSON.stringify(outputs) });
  assertEquals(catalog.trace(key)!.outputs, JSON.stringify(outputs));
  catalog.close();
}

Deno.test("a forged row of the catalogue has nothing published, locked or recorded that is wrong", async () => {
  using project = toyProject();
  const stages = ["word", "steps", "gather"];
  const here = projectAt(project.root, { stages, experiment: "toy" });
  await reproduceHere(here);
  const files = [PAGE, "outputs/toy.smoke/parts/1ann.txt", "lock/toy.smoke.lock"];
  const right = files.map((path) => project.read(path));
  const traces = await tracesOf(project);
  const outputsOf = (instance: string) => traces.get(instance)!.outputs;
  const forgeries: [instance: string, outputs: Trace["outputs"]][] = [
    // Of what is published: another artifact, with its size.
    ["gather", { ...outputsOf("gather"), page: outputsOf("word/bob")["text"]! }],
    // Of what is read: then all after it seems to have other keys, and other results.
    ["word/ann", outputsOf("word/bob")],
    ["steps/ann/1", outputsOf("steps/bob/2")],
    ["steps/ann/1", { ...outputsOf("steps/ann/1"), log: outputsOf("steps/ann/2")["log"]! }],
    ["gather", {}],
  ];
  const acts: [act: () => void, args: string[]][] = [
    [() => {}, []],
    [() => Deno.removeSync(project.path(PAGE)), []],
    [() => Deno.removeSync(project.path("lock/toy.smoke.lock")), []],
    [() => {}, ["--force", "gather"]],
  ];
  for (const [instance, outputs] of forgeries) {
    for (const [act, args] of acts) {
      await forgeRow(project, instance, outputs);
      act();
      await reproduceHere(here, args);
      assertEquals(files.map((path) => project.read(path)), right, instance);
    }
    await forgeRow(project, instance, outputs);
    const store = new LocalStore(project.path("outputs/store"), { reading: true });
    const { findings } = await auditStore(project.root, project.path("outputs"), store);
    store.close();
    assertEquals(
      findings.map(({ what, problem, instances }) => [problem, what, ...instances]),
      [["altered", "catalogue", instance]],
    );
  }
  assertStringIncludes((await project.run(["plan"])).stdout, "7 instances");
  const repaired = await project.run(["audit", "--repair"]);
  assertEquals(repaired.code, 0, repaired.stdout);
  assertStringIncludes(repaired.stdout, "filled the catalogue from the traces again");
  assertEquals((await project.run(["audit"])).code, 0);
});

type Value = SQLInputValue;

/** Writes a value into a column of a row, whose sum then says that it is as it was written. */
function forgeColumn(
  path: string,
  o: { readonly table: "trace" | "blob"; readonly row: string; readonly column: string },
  value: Value,
): void {
  using database = new DatabaseSync(path);
  const id = o.table === "trace" ? "key" : "sha256";
  const row = o.column === id ? value : o.row;
  database.prepare(`UPDATE ${o.table} SET ${o.column} = ? WHERE ${id} = ?`).run(value, o.row);
  const found = database.prepare(`SELECT * FROM ${o.table} WHERE ${id} IS ?`).get(row)!;
  const columns = Object.values(found).slice(0, -1);
  database.prepare(`UPDATE ${o.table} SET sum = ? WHERE ${id} IS ?`)
    .run(crc32(columns.join("\n")), row);
}

/** What a forger may put anywhere; `victim` is a path that leads out of the store. */
function hostileValues(victim: string): Value[] {
  const output = { sha256: victim, bytes: 1, kind: "file", exactness: "exact" };
  return [
    ...[null, -1, 1e308, Infinity, "", "x", "\0", victim, new Uint8Array([255, 0])],
    ...["null", "[]", "7", "{", '{"text":null}', JSON.stringify({ text: output })],
    JSON.stringify({ text: { ...output, sha256: "0".repeat(64), bytes: -1 } }),
    JSON.stringify({ text: { ...output, sha256: "0".repeat(64), kind: "pipe" } }),
    '{"__proto__":{"text":{}},"toString":1}',
    "[".repeat(1e5) + "]".repeat(1e5),
    "y".repeat(1e7),
  ];
}

Deno.test("whatever is in a row of the catalogue, nothing crashes, leaves the store or is published", async () => {
  using project = toyProject();
  const here = projectAt(project.root, {
    stages: ["word", "steps", "gather"],
    experiment: "toy",
  });
  await reproduceHere(here);
  const files = [PAGE, "outputs/toy.smoke/parts/1ann.txt", "lock/toy.smoke.lock"];
  const right = files.map((path) => project.read(path));
  const traces = await tracesOf(project);
  const [ann, bob] = [traces.get("word/ann")!, traces.get("word/bob")!];
  const catalog = project.path("outputs/store/catalog.sqlite");
  const { traceColumns, blobColumns, others } = (() => {
    using database = new DatabaseSync(catalog);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const other = database.prepare("SELECT * FROM trace WHERE key = ?").get(bob.key)!;
    const blob = database.prepare("SELECT * FROM blob WHERE sha256 = ?")
      .get(bob.outputs["text"]!.sha256)!;
    const names = (row: object) => Object.keys(row).filter((name) => name !== "sum");
    return { traceColumns: names(other), blobColumns: names(blob), others: { ...blob, ...other } };
  })();
  const original = Deno.readFileSync(catalog);
  const forge = (...[place, value]: [Parameters<typeof forgeColumn>[1], Value]) => {
    for (const name of ["catalog.sqlite-wal", "catalog.sqlite-shm"]) {
      Deno.writeFileSync(join(catalog, "..", name), new Uint8Array());
    }
    Deno.writeFileSync(catalog, original);
    forgeColumn(catalog, place, value);
  };
  // From blobs/.. and traces/.. it is the same way out.
  const victim = "ab/../../../../../victim";
  for (const name of ["victim", "victim.json"]) project.write(name, "not the store's");
  const [trace, blob] = [ann.key, ann.outputs["text"]!.sha256];
  const places = [
    ...traceColumns.map((column) => ({ table: "trace", row: trace, column }) as const),
    ...blobColumns.map((column) => ({ table: "blob", row: blob, column }) as const),
  ];
  const options = (command: string) => parseOptions([command, "--backend", "wasm"]) as Options;
  for (const place of places) {
    for (const value of [...hostileValues(victim), others[place.column] as Value]) {
      const what = `${place.table}.${place.column} = ${String(value).slice(0, 80)}`;
      // A row needs a key, and one that another row has can't be given again.
      const isKey = /^(key|sha256)$/.test(place.column);
      if (isKey && (value === null || value === others[place.column])) continue;
      forge(place, value);
      const printed: string[] = [];
      const print = (text: string) => printed.push(text);
      await showPlan(here, options("plan"), print);
      await showStatus(here, options("status"), print);
      assert(!/NaN|Infinity|undefined/.test(printed.join("\n")), `${what}\n${printed.join("\n")}`);
      const store = new LocalStore(project.path("outputs/store"), { reading: true });
      const { findings } = await auditStore(project.root, project.path("outputs"), store);
      store.close();
      assertEquals(findings.filter(({ what }) => what !== "catalogue"), [], what);
      await reproduceHere(here, ["--only", "gather"]);
      assertEquals(files.map((path) => project.read(path)), right, what);
      for (const name of ["victim", "victim.json"]) {
        assertEquals(project.read(name), "not the store's", what);
      }
      assertEquals(names(project.path("outputs/store/aside")), [], what);
    }
  }
  // Where there is something to estimate.
  for (const value of hostileValues(victim)) {
    forge({ table: "trace", row: trace, column: "seconds" }, value);
    const forced = parseOptions(["plan", "--backend", "wasm", "--force", "word/ann"]) as Options;
    const printed: string[] = [];
    await showPlan(here, forced, (text) => printed.push(text));
    assert(!/NaN|Infinity|-1/.test(printed.join("\n")), printed.join("\n"));
  }
  assertEquals((await project.run(["audit", "--repair"])).code, 0);
});

/** Waits until a file is there below a folder, 20 s at most. */
async function until(holds: () => boolean): Promise<void> {
  for (let n = 0; n < 1000; n++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("It did not come about in 20 s");
}

function names(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}

Deno.test("--repair beside a run is refused, removes nothing, and the run ends well", async () => {
  using project = toyProject();
  const store = project.path("outputs/store");
  const run = project.start(["reproduce", "--set", "steps.delayMs=1000", "--jobs", "4"]);
  await until(() => names(join(store, "checkpoints")).length > 0);
  // What a run has stored and not named yet looks like a leftover.
  project.write(`outputs/store/blobs/ab/${"0".repeat(62)}`, "of the run");
  const repair = await project.run(["audit", "--repair"]);
  assertEquals(repair.code, 1);
  assertEquals(repair.stdout, "");
  assertEquals(
    repair.stderr,
    `Cannot repair the store at ${store}: no run may go on meanwhile, and one does; repair when it ` +
      "has ended\n",
  );
  assertEquals(project.read(`outputs/store/blobs/ab/${"0".repeat(62)}`), "of the run");
  assertEquals((await run.output()).code, 0);
  assertEquals((await project.run(["audit", "--repair"])).code, 0);
  assertEquals(names(join(store, "blobs/ab")).includes("0".repeat(62)), false);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a run beside a repair is refused, unless there is nothing for it to do", async () => {
  using project = toyProject();
  await project.executed();
  const root = project.path("outputs/store");
  const held = holdForRepair({ root, setAside: () => {} });
  assertEquals(await project.executed(), []);
  const refused = await project.run(["reproduce", "--force", "gather"]);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.stderr, '"audit --repair" is at work on it');
  held.release();
  assertEquals(await project.executed("--force", "gather"), ["gather"]);
});

Deno.test("--force finds a stage that does not compute the same each time", async () => {
  using project = toyProject();
  writeStage(project, {
    name: "dice",
    declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const dice = defineStage({
  name: "dice",
  params,
  inputs: {},
  outputs: { text: { kind: "file", exactness: "exact", publish: () => "dice.txt" } },
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("text"), String(Math.random()));
  return Promise.resolve();
}`,
  });
  project.write("main.ts", mainText(["word", "steps", "gather", "dice"]));
  project.edit("experiments/toy/experiment.yaml", "  gather:", "  dice: {}\n  gather:");
  await project.executed();
  const first = project.read("outputs/toy.smoke/dice.txt");
  const again = await project.run(["reproduce", "--json", "--force", "dice"]);
  assertEquals(again.code, 1);
  const found = again.events.flatMap((event) => event.event === "nondeterministic" ? [event] : []);
  assertEquals(found.map(({ instance, what, name }) => [instance, what, name]), [
    ["dice", "output", "text"],
  ]);
  assert(found[0]!.first !== found[0]!.again);
  assertEquals(project.read("outputs/toy.smoke/dice.txt"), first, "the first result stays");
  const shown = await project.run(["reproduce", "--force", "dice"]);
  assertEquals(shown.code, 1);
  assertStringIncludes(shown.stdout, 'differs   dice: output "text" was made twice under one key');
  assertEquals(await project.executed(), []);
  const audited = await project.run(["audit"]);
  assertEquals(audited.code, 0, audited.stdout);
  assertStringIncludes(audited.stdout, "dice was made twice under one key, with other bits");
  // What computes the same each time is no such stage.
  assertEquals((await project.run(["reproduce", "--force", "steps"])).code, 0);
  // Both are kept, and what is lost of the other is found and given up.
  const traces = project.path("outputs/store/traces");
  const [other] = names(traces).flatMap((folder) =>
    names(join(traces, folder)).filter((name) => name.split(".").length === 3)
      .map((name) => join(traces, folder, name))
  );
  const { sha256 } = JSON.parse(Deno.readTextFileSync(other!).split("\nsha256 ")[0]!).outputs.text;
  Deno.removeSync(join(traces, "../blobs", sha256.slice(0, 2), sha256.slice(2)));
  assertEquals((await project.run(["audit"])).code, 1);
  assertEquals((await project.run(["audit", "--repair"])).code, 0);
  assertEquals((await project.run(["audit"])).code, 0);
});

/** What puts something in a file's place that must not be opened. */
const INTRUDERS: readonly ((path: string) => void)[] = [
  (path) => assert(new Deno.Command("mkfifo", { args: [path] }).outputSync().success),
  (path) => Deno.symlinkSync("nowhere", path),
  (path) => Deno.mkdirSync(join(path, "inside"), { recursive: true }),
  (path) => Deno.truncateSync(path, 2 ** 42),
];

Deno.test("pipes, links and folders all over a store hold nobody up, and are found and mended", async () => {
  using project = toyProject();
  await project.executed();
  const right = project.read(PAGE);
  const store = project.path("outputs/store");
  const below = (folder: string): string[] =>
    names(folder).sort().flatMap((name) => {
      const path = join(folder, name);
      return Deno.lstatSync(path).isDirectory ? below(path) : [path];
    });
  let n = 0;
  const put = (path: string) => {
    const act = INTRUDERS[n++ % INTRUDERS.length]!;
    if (act !== INTRUDERS[3]) Deno.removeSync(path);
    else {
      Deno.chmodSync(path, 0o644);
      Deno.writeTextFileSync(path, "");
    }
    act(path);
  };
  // Also where nothing should be at all.
  for (const folder of ["aside", "locks", "scratch", "checkpoints", "live", "traces", "code"]) {
    Deno.mkdirSync(join(store, folder), { recursive: true });
    Deno.writeTextFileSync(join(store, folder, "x.json"), "");
    put(join(store, folder, "x.json"));
  }
  const groups: (() => string[])[] = [
    () => below(join(store, "blobs")),
    () => below(join(store, "traces")),
    () => below(join(store, "code")),
    () => [
      ...[join(store, "runs/toy.smoke.json"), join(store, "published.json")],
      ...below(project.path("outputs/toy.smoke/report")),
    ],
    () => [project.path("lock/toy.smoke.lock")],
  ];
  for (const group of groups) {
    const files = group();
    assert(files.length > 0);
    files.forEach(put);
    const found = await project.run(["audit"]);
    assertEquals(found.code, 1);
    for (const path of files) {
      assertStringIncludes(found.stdout, path.replace(`${project.root}/lock`, "lock"));
    }
    for (const args of [["plan"], ["trace", "gather"]]) {
      const ended = await project.run(args);
      assertEquals(ended.stderr.includes("    at "), false, `${args}: ${ended.stderr}`);
    }
    const repaired = await project.run(["audit", "--repair"]);
    assertEquals(repaired.code, 0, repaired.stdout + repaired.stderr);
    assertEquals(project.read(PAGE), right);
    assertEquals((await project.run(["audit"])).code, 0);
  }
});
