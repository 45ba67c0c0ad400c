/**
 * Trials by a hostile hand: alterations of everything that a store and its project hold, by seed. Each
 * must be found by the audit or healed by the next run, and nothing altered may be published.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { streamKey, words } from "../../models/random.ts";
import type { Project } from "../../pipeline/cli/project.ts";
import { Catalog } from "../../pipeline/store/catalog.ts";
import { statOf } from "../../pipeline/files.ts";
import { alter, filesBelow, OPERATIONS, targets } from "../../pipeline/selfaudit/alterations.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { auditStore } from "../../pipeline/views/audit.ts";
import { Copies } from "../rig/copies.ts";
import { projectAt, recallHere, reproduceHere } from "../rig/in_process.ts";
import { mainText, toyProject, writeStage } from "../rig/project.ts";

const REPOSITORY = new URL("../../", import.meta.url).pathname;
/** A file system on which nothing waits for a disk, where there is one. */
const IN_MEMORY = statOf("/dev/shm") ? "/dev/shm" : undefined;
const BATCHES = 70;
const PER_BATCH = 20;
const STAGES = ["word", "steps", "gather", "count"];
/** Makes what an interruption left off at, `count`, from its checkpoint. */
const COUNT = ["--experiment", "counting"];

/** A stage that keeps checkpoints as those that train do, and stops for once where it is asked to. */
const COUNTING = {
  name: "count",
  declaration: `
const params = z.strictObject({ to: z.int().default(5), stopAt: z.int().default(0) });
export type Params = z.infer<typeof params>;
export const count = defineStage({
  name: "count",
  params,
  inputs: {},
  outputs: { text: { kind: "file", exactness: "exact" } },
  checkpoints: true,
  operational: ["stopAt"],
});`,
  run: `
import { StageError } from "${REPOSITORY}pipeline/errors.ts";
import { readCheckpoint, writeCheckpoint } from "${REPOSITORY}stages/training/checkpoint.ts";
export function run(context: StageContext<Params>): Promise<void> {
  const { to, stopAt } = context.params;
  console.warn = () => {};
  const counted = readCheckpoint(context.checkpoints!, (bytes) =>
    JSON.parse(new TextDecoder().decode(bytes)) as number[]) ?? [];
  while (counted.length < to) {
    counted.push(counted.length ** 2);
    writeCheckpoint(context.checkpoints!, new TextEncoder().encode(JSON.stringify(counted)));
    if (counted.length === stopAt) throw new StageError("Cannot count on: asked to stop");
  }
  Deno.writeTextFileSync(context.output("text"), counted.join());
  return Promise.resolve();
}`,
};

/** Numbers that are the same in every test run. */
function numbers(name: string): (bound: number) => number {
  const drawn = words(streamKey(0, name), 20_000);
  let count = 0;
  return (bound) => drawn[count++ % drawn.length]! % bound;
}

/** What may be altered of a project that keeps its outputs in its folder. */
function targetsOf(root: string): Readonly<Record<string, readonly string[]>> {
  return targets(root, join(root, "outputs"));
}

/** Has a row of the catalogue say something else, half of the time in a row that looks right. */
function alterRow(path: string, next: (bound: number) => number): string[] {
  const catalog = new Catalog(path, () => {});
  const rows = catalog.traces();
  const [row, other] = [rows[next(rows.length)]!, rows[next(rows.length)]!];
  const forged = [
    { ...row, outputs: other.outputs, seconds: row.seconds + 2 },
    { ...row, instance: other.instance, started: "9999" },
    { ...row, outputs: "{}" },
    { ...row, seconds: row.seconds + 1 },
  ][next(4)]!;
  const looksRight = next(2) === 0;
  if (looksRight) catalog.putTrace(forged);
  catalog.close();
  if (looksRight) return [path];
  const database = new DatabaseSync(path);
  database.prepare("UPDATE trace SET outputs = ?, instance = ?, seconds = ? WHERE key = ?")
    .run(forged.outputs, forged.instance, forged.seconds, forged.key);
  database.close();
  return [path];
}

/** What is published and locked, and what `count` made. */
function resultsOf(root: string): Record<string, string> {
  const paths = [
    ...filesBelow(join(root, "outputs/toy.smoke")),
    join(root, "lock/toy.smoke.lock"),
    join(root, "lock/counting.smoke.lock"),
  ];
  return Object.fromEntries(
    paths.map((path) => [relative(root, path), Deno.readTextFileSync(path)]),
  );
}

async function pathsFound(root: string): Promise<Set<string>> {
  const store = new LocalStore(join(root, "outputs/store"), { reading: true });
  const { findings } = await auditStore(root, join(root, "outputs"), store);
  store.close();
  return new Set(findings.map(({ path }) => path.startsWith("lock/") ? join(root, path) : path));
}

Deno.test("each of 1,000 alterations is found by the audit or healed by the next run, and none is published", async () => {
  using toy = toyProject(IN_MEMORY);
  const { root } = toy;
  writeStage(toy, COUNTING);
  toy.write("main.ts", mainText(STAGES));
  toy.write(
    "experiments/counting/experiment.yaml",
    "experiment: counting\nstages: { count: {} }\nprofiles: { smoke: {} }\n",
  );
  const project: Project = projectAt(root, { stages: STAGES, experiment: "toy" });
  await reproduceHere(project, COUNT);
  await reproduceHere(project);
  const expected = resultsOf(root);
  // Now with `count` interrupted, two checkpoints being left.
  Deno.removeSync(join(root, "outputs"), { recursive: true });
  await reproduceHere(project, [...COUNT, "--set", "count.stopAt=3"]);
  assertEquals((await reproduceHere(project)).executed.length, 7);
  assertEquals(targetsOf(root)["checkpoints"]?.length, 2);
  assertEquals(await pathsFound(root), new Set());
  // What is altered is a run that is remembered to have nothing to do.
  using copies = new Copies(root, BATCHES);
  await copies.settle(() => reproduceHere(project));
  const next = numbers("alterations");
  const tried = new Map<string, { found: number; healed: number }>();
  const missed: string[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    copies.take(batch);
    assert(await recallHere(project), "it is remembered");
    const altered = alterSome(root, next);
    const found = await pathsFound(root);
    for (const args of [[], COUNT]) {
      const { events } = await reproduceHere(project, args);
      assertEquals(events.filter(({ event }) => event === "failed"), []);
    }
    const left = await pathsFound(root);
    for (const { path, kind, what } of altered) {
      const count = tried.get(kind) ?? { found: 0, healed: 0 };
      tried.set(kind, count);
      if (found.has(path)) count.found++;
      else if (!left.has(path)) count.healed++;
      else missed.push(what);
    }
    assertEquals(resultsOf(root), expected, `batch ${batch}: ${altered.map(({ what }) => what)}`);
  }
  assertEquals(missed, []);
  const counts = [...tried.values()].map(({ found, healed }) => found + healed);
  const total = counts.reduce((sum, count) => sum + count, 0);
  console.log(`${total} alterations, by kind:`);
  for (const [kind, { found, healed }] of tried) {
    console.log(
      `  ${kind.padEnd(16)}  ${found} found by the audit, ${healed} healed by the next run`,
    );
  }
  assert(total >= 1000, `${total} alterations`);
});

/** Alters files of a project, each once. Half of the kinds stay as they are: one may hide another. */
function alterSome(
  root: string,
  next: (bound: number) => number,
): { path: string; kind: string; what: string }[] {
  const all = targetsOf(root);
  const kinds = [...Object.keys(all), "catalogue rows"].filter(() => next(2) === 0);
  const done: { path: string; kind: string; what: string }[] = [];
  const touched = new Set<string>();
  // Some draw what was altered before.
  for (let draw = 0; draw < 2 * PER_BATCH && done.length < PER_BATCH && kinds.length > 0; draw++) {
    const kind = kinds[next(kinds.length)]!;
    const files = (all[kind] ?? [join(root, "outputs/store/catalog.sqlite")])
      .filter((path) => !touched.has(path));
    if (files.length === 0) continue;
    const path = files[next(files.length)]!;
    const operation = OPERATIONS[next(OPERATIONS.length)]!;
    const others = kind === "catalogue rows"
      ? alterRow(path, next)
      : alter(path, { files, operation, next });
    for (const other of others) touched.add(other);
    if (others.length > 0) {
      done.push({ path, kind, what: `${operation} of ${relative(root, path)}` });
    }
  }
  return done;
}
