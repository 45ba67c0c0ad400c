import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LockstepError } from "../../pipeline/errors.ts";
import { type Sha256, sha256, taggedHash } from "../../pipeline/key/hash.ts";
import { LocalStore, type StoreOptions } from "../../pipeline/store/local_store.ts";
import { seal } from "../../pipeline/store/sealed.ts";
import { manifestText, toManifest, toTrace, type Trace } from "../../pipeline/store/trace.ts";
import { auditStore } from "../../pipeline/views/audit.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** A trace of a key of its own, with one output. */
function traceOf(name: string, digest: Sha256, bytes: number): Trace {
  const ingredients = { stage: "word", code: sha256("code"), name };
  return {
    key: taggedHash("key/1", ingredients),
    instance: name,
    stage: "word",
    run: "toy.smoke",
    ingredients,
    sources: {},
    outputs: { text: { sha256: digest, bytes, kind: "file", exactness: "exact" } },
    metrics: {},
    started: "2026-01-01T00:00:00.000Z",
    seconds: 1,
    machine: {},
  };
}

/** A store in a new folder that holds a text for each name. */
async function storeOf(
  names: readonly string[],
  options: StoreOptions = {},
): Promise<{ root: string; store: LocalStore; traces: Trace[] }> {
  const root = join(temporaryFolder(), "store");
  const store = new LocalStore(root, options);
  await store.put("code");
  const traces: Trace[] = [];
  for (const name of names) {
    const trace = traceOf(name, await store.put(name), name.length);
    await store.putTrace(trace);
    traces.push(trace);
  }
  return { root, store, traces };
}

const NAMES = Array.from({ length: 40 }, (_, n) => `name ${n}`);

/** Writes other bytes of the same size, and gives the file its old times again. */
function alterKeepingTimes(path: string): void {
  const { atime, mtime, ino } = Deno.statSync(path);
  Deno.chmodSync(path, 0o644);
  const bytes = Deno.readFileSync(path);
  bytes[0]! ^= 1;
  Deno.writeFileSync(path, bytes);
  Deno.utimeSync(path, atime!, mtime!);
  assertEquals(Deno.statSync(path).ino, ino);
}

Deno.test("other content of the same size, time and inode is noticed", async () => {
  const { store, traces } = await storeOf(["one", "two"]);
  const digest = traces[0]!.outputs["text"]!.sha256;
  assertEquals(await store.check(digest), "ok");
  // Deno gives the time of the last change in whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  alterKeepingTimes(store.blobPath(digest));
  assertEquals(await store.check(digest), "damaged");
  assertEquals(await store.outputs(traces[0]!.key), "lost");
  assertEquals(await store.outputs(traces[1]!.key), traces[1]!.outputs);
  store.close();
});

/** What may happen to the catalogue of a closed store. */
const CATALOGUE_DAMAGE: readonly [what: string, act: (path: string) => void][] = [
  ["deleted", (path) => Deno.removeSync(path)],
  ["no database", (path) => Deno.writeTextFileSync(path, "not a database")],
  ["empty", (path) => Deno.writeTextFileSync(path, "")],
  ["cut off", (path) => Deno.truncateSync(path, Math.floor(Deno.statSync(path).size / 2))],
  ["a pipe", (path) => replaceByPipe(path)],
  ["a dangling link", (path) => {
    Deno.removeSync(path);
    Deno.symlinkSync("nowhere", path);
  }],
  ["without a table", (path) => alterDatabase(path, "DROP TABLE trace")],
  ["with another table", (path) => alterDatabase(path, "CREATE TABLE more (x)")],
  ["with a view that never ends", (path) =>
    alterDatabase(
      path,
      `DROP TABLE blob; CREATE VIEW blob AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)
       SELECT x AS sha256, x AS size, x AS mtime, x AS ctime, x AS inode, x AS sum FROM n`,
    )],
  [
    "with a text for a number",
    (path) => alterDatabase(path, "UPDATE trace SET seconds = 'soon', size = 'large'"),
  ],
  [
    "with an outcome that is no JSON",
    (path) => alterDatabase(path, "UPDATE trace SET outputs = '{'"),
  ],
  [
    "with rows exchanged",
    (path) => alterDatabase(path, "UPDATE trace SET outputs = (SELECT max(outputs) FROM trace)"),
  ],
  [
    "with a number that is too large",
    (path) => alterDatabase(path, "UPDATE trace SET sum = 9223372036854775807"),
  ],
];

function alterDatabase(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

function replaceByPipe(path: string): void {
  Deno.removeSync(path);
  const { success } = new Deno.Command("mkfifo", { args: [path] }).outputSync();
  assert(success);
}

for (const [what, act] of CATALOGUE_DAMAGE) {
  Deno.test(`a catalogue, ${what}, is filled from the traces again`, async () => {
    const { root, store, traces } = await storeOf(NAMES.slice(0, 5));
    store.close();
    act(join(root, "catalog.sqlite"));
    const again = new LocalStore(root);
    again.catalog.readAhead("toy.smoke");
    for (const trace of traces) {
      assertEquals(await again.outputs(trace.key), trace.outputs);
      assertEquals(again.catalog.latest(trace.instance, trace.run)?.key, trace.key);
    }
    again.close();
  });
}

Deno.test("a catalogue that breaks while it is open is filled again at once", async () => {
  const { root, store, traces } = await storeOf(NAMES.slice(0, 5));
  for (const sql of ["DROP TABLE trace", "UPDATE blob SET mtime = 'x'", "DELETE FROM trace"]) {
    alterDatabase(join(root, "catalog.sqlite"), sql);
    for (const trace of traces) assertEquals(await store.outputs(trace.key), trace.outputs);
  }
  store.close();
});

Deno.test("no bit that is flipped in the catalogue's pages gives a key other outputs", async () => {
  const { root, store, traces } = await storeOf(NAMES);
  store.close();
  const path = join(root, "catalog.sqlite");
  const original = Deno.readFileSync(path);
  assert(original.length > 5 * 4096, "it has several pages");
  for (let n = 0; n < 120; n++) {
    const bytes = original.slice();
    const position = (n * 7919 * 31) % bytes.length;
    bytes[position]! ^= 1 << (n % 8);
    for (const suffix of ["-wal", "-shm"]) {
      await Deno.remove(path + suffix).catch(() => {});
    }
    Deno.writeFileSync(path, bytes);
    const again = new LocalStore(root);
    again.catalog.readAhead("toy.smoke");
    for (const trace of traces) {
      assertEquals(await again.outputs(trace.key), trace.outputs, `byte ${position}`);
    }
    again.close();
  }
});

/** What may be where a file should be. */
const INTRUDERS: readonly [what: string, put: (path: string) => void][] = [
  ["a pipe", replaceByPipe],
  ["a dangling link", (path) => {
    Deno.removeSync(path);
    Deno.symlinkSync("nowhere", path);
  }],
  ["a link to itself", (path) => {
    Deno.removeSync(path);
    Deno.symlinkSync(path, path);
  }],
  ["a link to what it was", (path) => {
    Deno.renameSync(path, `${path}-before`);
    Deno.symlinkSync(`${path}-before`, path);
  }],
  ["a folder", (path) => {
    Deno.removeSync(path);
    Deno.mkdirSync(join(path, "inside"), { recursive: true });
  }],
  // Sparse: it takes no place, and a day to read.
  ["a huge file", (path) => {
    Deno.chmodSync(path, 0o644);
    Deno.truncateSync(path, 2 ** 43);
  }],
];

for (const [what, put] of INTRUDERS) {
  Deno.test(`${what} in place of a blob or a trace is found, set aside and replaced`, async () => {
    const reported: string[] = [];
    const { root, store, traces } = await storeOf(["one", "two", "three"], {
      onDamage: (path) => reported.push(path),
    });
    const [one, two, three] = traces as [Trace, Trace, Trace];
    const blob = store.blobPath(one.outputs["text"]!.sha256);
    const trace = store.tracePath(two.key);
    put(blob);
    put(trace);
    const outputs = temporaryFolder();
    const { findings } = await auditStore(outputs, outputs, store);
    for (const path of [blob, trace]) {
      assert(findings.some((each) => each.path === path && each.problem === "altered"), path);
    }
    assertEquals(await store.outputs(one.key), "lost");
    assertEquals(await store.outputs(two.key), "absent");
    assertEquals(await store.outputs(three.key), three.outputs);
    assertEquals(reported, [blob, trace]);
    const again = new LocalStore(root);
    await again.put("one");
    await again.putTrace(two);
    assertEquals(await again.outputs(one.key), one.outputs);
    assertEquals(await again.outputs(two.key), two.outputs);
    store.close();
    again.close();
  });
}

Deno.test("a copy has the bytes of its digest or is not there", async () => {
  const { root, store, traces } = await storeOf(["one"]);
  const digest = traces[0]!.outputs["text"]!.sha256;
  const target = join(root, "..", "copy");
  await store.copy(digest, target);
  assertEquals(Deno.readTextFileSync(target), "one");
  // Not even through a link that leads elsewhere.
  await assertRejects(() => store.copy(digest, target), Deno.errors.AlreadyExists);
  Deno.removeSync(target);
  const path = store.blobPath(digest);
  Deno.chmodSync(path, 0o644);
  Deno.writeTextFileSync(path, "two");
  await assertRejects(
    () => store.copy(digest, target),
    LockstepError,
    "run the same command again",
  );
  assertEquals(Deno.readTextFileSync(join(root, "aside", digest.slice(2))), "two");
  assert(await Deno.lstat(target).then(() => false, () => true), "nothing half written");
  store.close();
});

Deno.test("a manifest leads nowhere but into its folder", () => {
  const entry = { sha256: sha256("x"), bytes: 1 };
  const isOne = (path: string) => toManifest(manifestText({ [path]: entry })) !== undefined;
  for (const path of ["a", "a/b.txt", "a b/ü", "..a", "a\nb", "__proto__"]) {
    assert(isOne(path), path);
  }
  for (const path of ["", "/a", "../a", "a/../../b", "a//b", "./a", "a/.", "a/", "a\0b"]) {
    assert(!isOne(path), JSON.stringify(path));
  }
  for (
    const text of [
      "",
      "[]",
      "null",
      `{"a":{"sha256":"${entry.sha256}"}}`,
      `{"a":{"sha256":"${entry.sha256.toUpperCase()}","bytes":1}}`,
      `{"a":{"sha256":"../../x","bytes":1}}`,
      `{"a":{"sha256":"${entry.sha256}","bytes":-1}}`,
      "[".repeat(100_000),
    ]
  ) assertEquals(toManifest(text), undefined, text.slice(0, 60));
});

Deno.test("what is sealed but no trace is no trace", async () => {
  const good = traceOf("one", sha256("one"), 3);
  assertEquals(toTrace(good), good);
  const output = good.outputs["text"]!;
  const wrong: readonly unknown[] = [
    null,
    [],
    { ...good, key: "../../x" },
    { ...good, instance: undefined },
    { ...good, seconds: "1" },
    { ...good, ingredients: { ...good.ingredients, code: "x" } },
    { ...good, outputs: null },
    { ...good, outputs: { text: { ...output, sha256: "../../../etc/passwd" } } },
    { ...good, outputs: { text: { ...output, kind: "link" } } },
    { ...good, outputs: { text: { ...output, bytes: -1 } } },
    { ...good, metrics: { a: null } },
  ];
  const { store, traces: [first] } = await storeOf(["one"]);
  for (const value of wrong) {
    assertEquals(toTrace(value), undefined, JSON.stringify(value));
    Deno.writeTextFileSync(store.tracePath(first!.key), seal(value));
    assertEquals(await store.trace(first!.key), undefined);
    await store.putTrace(first!);
  }
  store.close();
});

Deno.test("a key made twice with other bits keeps its first result, and the other beside it", async () => {
  const { store, traces: [first] } = await storeOf(["one"]);
  const again = traceOf("one", await store.put("two"), 3);
  assertEquals(again.key, first!.key);
  const unlike = [
    { what: "output", name: "text", first: sha256("one"), again: sha256("two") } as const,
  ];
  assertEquals(await store.putTrace(again), { outputs: first!.outputs, unlike });
  assertEquals((await store.trace(first!.key))?.outputs, first!.outputs);
  assertEquals(await store.traceKeys(), [first!.key]);
  const outputs = temporaryFolder();
  const { findings, others } = await auditStore(outputs, outputs, store);
  assertEquals(findings.map(({ problem, what }) => [problem, what]), [], "the audit knows both");
  assertEquals(others.map(({ trace }) => trace), [again]);
  // The same again is no further result, and what is measured may differ.
  assertEquals((await store.putTrace(again)).unlike.length, 1);
  assertEquals((await auditStore(outputs, outputs, store)).others.length, 1);
  store.close();
});

Deno.test("a key made twice with another metric keeps its first result too", async () => {
  const { store, traces: [first] } = await storeOf(["one"]);
  const again = { ...first!, metrics: { accuracy: 0.5, constructor: 1 } };
  const { unlike } = await store.putTrace(again);
  assertEquals(unlike, [
    { what: "metric", name: "accuracy", first: "none", again: "0.5" },
    { what: "metric", name: "constructor", first: "none", again: "1" },
  ]);
  assertEquals((await store.trace(first!.key))?.metrics, {});
  const outputs = temporaryFolder();
  assertEquals((await auditStore(outputs, outputs, store)).others.map(({ trace }) => trace), [
    again,
  ]);
  store.close();
});

Deno.test("of a first result that is lost, the next one takes the place", async () => {
  const { store, traces: [first] } = await storeOf(["one"]);
  Deno.removeSync(store.blobPath(first!.outputs["text"]!.sha256));
  const again = traceOf("one", await store.put("two"), 3);
  const put = await store.putTrace(again);
  assertEquals(put.outputs, again.outputs);
  assertEquals(put.unlike.length, 1);
  assertEquals(await store.outputs(first!.key), again.outputs);
  store.close();
});

Deno.test("what is measured may differ, and the latest counts", async () => {
  const { store, traces: [first] } = await storeOf(["one"]);
  const measured = (trace: Trace): Trace => ({
    ...trace,
    outputs: { text: { ...trace.outputs["text"]!, exactness: "measured" } },
  });
  await store.putTrace(measured(first!));
  const again = measured(traceOf("one", await store.put("two"), 3));
  assertEquals(await store.putTrace(again), { outputs: again.outputs, unlike: [] });
  store.close();
});
