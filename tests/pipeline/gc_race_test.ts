import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { Claims } from "../../pipeline/store/claims.ts";
import { readLatest } from "../../pipeline/store/latest.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { collect } from "../../pipeline/gc/collect.ts";
import { findGarbage } from "../../pipeline/gc/garbage.ts";
import { parseOptions } from "../../pipeline/cli/options.ts";
import { openSession, sealed } from "../../pipeline/cli/session.ts";
import { projectAt, reproduceHere } from "../rig/in_process.ts";
import { actAfter, spread, times } from "../rig/disturbed.ts";
import { type Ended, type TestProject, toyProject } from "../rig/project.ts";
import { pageOf, unsound } from "../rig/toy_store.ts";

/** Races of commands. */
const RACES = times("LOCKSTEP_RACES", 6);

const STAGES = ["word", "steps", "gather"];

function toy(project: TestProject) {
  return projectAt(project.root, { stages: STAGES, experiment: "toy" });
}

Deno.test("100 runs beside a process that collects garbage all the time lose nothing", async () => {
  using project = toyProject();
  await reproduceHere(toy(project));
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet"],
      fileURLToPath(new URL("../rig/collecting.ts", import.meta.url)),
      project.root,
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const said = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await said.read()).value, "begun\n");
  let reused = 0, made = 0;
  for (let n = 0; n < 100; n++) {
    // Of three settings in turn: what one made is garbage as soon as the next one is recorded.
    // Now and then a part of a run, whose record names what the last one made besides.
    const part = n % 4 === 3 ? ["--only", "steps/ann/1"] : [];
    const args = ["--set", `steps.rate=${n % 3}`, ...part];
    const { executed, events } = await reproduceHere(toy(project), args);
    const failures = events.filter(({ event }) => ["failed", "damaged", "skipped"].includes(event));
    assertEquals(failures, [], `run ${n}`);
    made += executed.length;
    reused += events.filter(({ event }) => event === "cached").length;
    if (part.length > 0) assertEquals(await unsound(project), [], `after run ${n}`);
  }
  await child.stdin.close();
  const { rounds = 0, removed = 0 } = JSON.parse((await said.read()).value ?? "{}");
  const { code } = await child.status;
  assertEquals(code, 0);
  // Both sides were at work: results went and were made again, and others were there to be reused.
  const counts = { rounds, removed, made, reused };
  for (const [name, count] of Object.entries(counts)) assert(count > 10, `${name}: ${count}`);
});

Deno.test("what a run has claimed stays while it goes on, and no longer", async () => {
  using project = toyProject();
  await reproduceHere(toy(project));
  await reproduceHere(toy(project), ["--set", "steps.rate=2"]);
  Deno.removeSync(project.path("lock/toy.smoke.lock"));
  const store = new LocalStore(project.path("outputs/store"), { reading: true });
  const request = { root: project.root, store, latest: Infinity, include: [] };
  const keysOf = async () =>
    (await findGarbage(request)).items.filter(({ kind }) => kind === "trace")
      .map(({ path }) => path.split("/").slice(-2).join("").replace(".json", ""));
  try {
    const keys = await keysOf();
    assertEquals(keys.length, 5);
    const claims = new Claims(store, "toy.smoke");
    const steps = keys.find((key) => store.catalog.trace(key)?.stage === "steps")!;
    await claims.keep(() => claims.claim(steps as never));
    assertEquals((await keysOf()).includes(steps), false);
    assertEquals((await keysOf()).length, 4);
    await claims.close();
    assertEquals((await keysOf()).length, 5);
  } finally {
    store.close();
  }
});

Deno.test("nothing is removed between what a run puts into the store and its trace", async () => {
  using project = toyProject();
  await reproduceHere(toy(project));
  const store = new LocalStore(project.path("outputs/store"));
  const claims = new Claims(store, "toy.smoke");
  const order: string[] = [];
  try {
    const { promise, resolve } = Promise.withResolvers<void>();
    const putting = claims.keep(async () => {
      await store.put("what no trace names yet");
      await promise;
      order.push("put");
    });
    const request = { root: project.root, store, latest: Infinity, include: [] };
    const collecting = collect(request).then(({ removed }) => {
      order.push("collected");
      return removed;
    });
    // It can't say that it waits: if it did not, it would have ended long before this.
    await findGarbage(request);
    await findGarbage(request);
    resolve();
    await putting;
    const removed = await collecting;
    assertEquals(order, ["put", "collected"]);
    // No trace was put, so it is a leftover now.
    assertEquals(removed.filter(({ kind }) => kind === "blob").length, 1);
    assertEquals(readLatest("toy.smoke", store)?.profile, "smoke");
  } finally {
    await claims.close();
    store.close();
  }
});

Deno.test("code that goes before a run claims it is kept again", async () => {
  using project = toyProject();
  const options = parseOptions(["reproduce", "--backend", "wasm"]);
  const quick = await openSession(toy(project), options);
  const { store } = quick;
  try {
    // As if it had been collected between its modules and the record that names them.
    const folder = project.path("outputs/store/code");
    for (const { name } of Deno.readDirSync(folder)) Deno.removeSync(`${folder}/${name}`);
    const session = await sealed(quick, options);
    for (const { code } of session.bundles.values()) {
      assert(Deno.statSync(`${folder}/${code}`).isFile);
    }
    const request = { root: project.root, store, latest: Infinity, include: [] };
    const { removed } = await collect(request);
    assertEquals(removed.filter(({ kind }) => kind === "code"), []);
  } finally {
    await quick.claims.close();
    store.close();
  }
});

Deno.test(`${RACES} times a run and gc --delete at any moment of it, as commands, both end well`, async () => {
  using project = toyProject();
  assertEquals((await project.run(["reproduce"])).code, 0);
  const moments = spread();
  let all = Infinity;
  for (let n = 0; n < RACES; n++) {
    // What one rate made is garbage once another is recorded.
    const rate = 2 + n % 3;
    const collecting: Promise<Ended>[] = [];
    const collect = () => void collecting.push(project.run(["gc", "--delete", "--latest", "1"]));
    const moment = Math.ceil(moments.next().value * all);
    const args = ["reproduce", "--set", `steps.rate=${rate}`];
    const ran = await actAfter(moment, collect, { args, project });
    if (n === 0) all = ran.deeds;
    for (const { code, stdout, stderr } of [ran, ...await Promise.all(collecting)]) {
      assertEquals(code, 0, `race ${n}\n${stdout}${stderr}`);
    }
    assertEquals(project.read("outputs/toy.smoke/report/page.txt"), pageOf(rate), `race ${n}`);
    assertEquals(await unsound(project), [], `after race ${n}`);
  }
});
