import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { compareWithin, isOfEntry, type Pair } from "../../pipeline/certify/within.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import { type Ingredients, keyOf } from "../../pipeline/key/ingredients.ts";
import { isOf, toCertificate } from "../../pipeline/store/certificate.ts";
import {
  readLockedCertificates,
  writeLockedCertificates,
} from "../../pipeline/store/certificates.ts";
import type { LocalStore } from "../../pipeline/store/local_store.ts";
import type { OutputRecord, Trace } from "../../pipeline/store/trace.ts";
import { mainText, type TestProject, toyProject, unwrapped, writeStage } from "../rig/project.ts";

const CERTIFICATES = "lock/toy.smoke.certificates";

/**
 * A project that computes a little else on backend `cpu` than on `wasm`, certified on both, with the lock
 * of `wasm`. What `extra` adds is in no key.
 */
async function certifiedProject(): Promise<TestProject> {
  const project = toyProject();
  writeStage(project, {
    name: "compute",
    declaration: `
const params = z.strictObject({ extra: z.number().default(0) });
export type Params = z.infer<typeof params>;
export const compute = defineStage({
  name: "compute", params, inputs: {}, numeric: true, operational: ["extra"],
  outputs: { weights: { kind: "file", exactness: "numeric" } },
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  const loss = (context.backend === "cpu" ? 1.125 : 1) + context.params.extra;
  Deno.writeTextFileSync(context.output("weights"), JSON.stringify([8, loss]));
  context.metric("loss", loss);
  return Promise.resolve();
}`,
  });
  writeStage(project, {
    name: "follow",
    declaration: `
const params = z.strictObject({});
export type Params = z.infer<typeof params>;
export const follow = defineStage({
  name: "follow", params, inputs: { weights: {} },
  outputs: { page: { kind: "file", exactness: "numeric" } },
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  const [, loss] = JSON.parse(Deno.readTextFileSync(context.input("weights").path));
  Deno.writeTextFileSync(context.output("page"), "loss " + loss + "\\n");
  return Promise.resolve();
}`,
  });
  project.write("main.ts", mainText(["compute", "follow"]));
  project.write(
    "experiments/toy/experiment.yaml",
    "experiment: toy\nstages: { compute: {}, follow: { inputs: { weights: compute.weights } } }\n" +
      "profiles: { smoke: {} }\n",
  );
  await project.executed("--backend", "wasm");
  const refused = await project.run(LOCKED);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.stderr, "there is no such lock");
  const ended = await project.run(
    ["certify", "**", "--backend", "wasm", "--also", "cpu", "--times", "1"],
  );
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  assertStringIncludes(unwrapped(ended.stdout), `${CERTIFICATES}: 2 certificates`);
  return project;
}

const LOCKED = ["reproduce", "--locked", "--backend", "cpu"];

Deno.test("--locked on another platform passes within what certificates saw, and says so", async () => {
  using project = await certifiedProject();
  const ended = await project.run(LOCKED);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  const said = unwrapped(ended.stdout);
  assertStringIncludes(said, "2 of 2 results have other bits than the lock");
  assert(!said.includes("were not compared"), said);
  // Where the lock comes from there is a store; a machine that has the repository alone has none.
  const elsewhere = await project.run([...LOCKED, "--outputs", project.path("elsewhere")]);
  assertEquals(elsewhere.code, 1, elsewhere.stdout + elsewhere.stderr);
  const there = unwrapped(elsewhere.stdout);
  assertStringIncludes(there, "1 result differs");
  assertStringIncludes(there, "no platform is in its key, and this store lacks the locked bytes");
  assertStringIncludes(there, "1 of 2 results have other bits than the lock");
  assertStringIncludes(there, "1 outputs of them were not compared");
});

Deno.test("--locked on another platform fails beyond what certificates saw, or without them", async () => {
  using project = await certifiedProject();
  const fails = async (why: string, ...args: string[]) => {
    const ended = await project.run([...LOCKED, ...args]);
    assertEquals(ended.code, 1, ended.stdout + ended.stderr);
    assertStringIncludes(unwrapped(ended.stdout + ended.stderr), why);
  };
  const elsewhere = (name: string) => ["--outputs", project.path(name)];
  await fails(
    'metric "loss" differs by 0.25, and its certificate saw 0.125',
    ...["--set", "compute.extra=0.125", ...elsewhere("more")],
  );
  // Other code is no other platform.
  const path = "stages/compute.run.ts", code = project.read(path);
  project.edit(path, "1.125", "1.0625");
  await fails("more than its platform and its inputs is another", ...elsewhere("edited"));
  project.write(path, code);
  const all = project.read(CERTIFICATES);
  project.write(CERTIFICATES, all.replace('"loss": 1.125', '"loss": 2.125'));
  await fails("its content must match the digest in its last line", ...elsewhere("altered"));
  Deno.removeSync(project.path(CERTIFICATES));
  const refused = await project.run([...LOCKED, ...elsewhere("none")]);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.stderr, "there is no such lock");
});

Deno.test("a certificate that is in the store alone excuses nothing: nobody reviewed it", async () => {
  using project = await certifiedProject();
  const path = project.path(CERTIFICATES);
  const all = [...readLockedCertificates(path).values()];
  assertEquals(all.map(({ instance }) => instance), ["compute", "follow"]);
  writeLockedCertificates(path, all.filter(({ instance }) => instance !== "compute"));
  const ended = await project.run(LOCKED);
  assertEquals(ended.code, 1, ended.stdout);
  const said = unwrapped(ended.stdout);
  assertStringIncludes(said, "2 results differ");
  assertStringIncludes(said, "the locked result has no certificate");
});

Deno.test("on the platform of the lock, certificates excuse nothing", async () => {
  using project = await certifiedProject();
  const lock = "lock/toy.smoke.lock", text = project.read(lock);
  project.write(lock, text.replace("loss=1", "loss=1.0625"));
  const ended = await project.run(["reproduce", "--locked", "--backend", "wasm"]);
  assertEquals(ended.code, 1, ended.stdout);
  assertStringIncludes(unwrapped(ended.stdout), 'metric "loss" must be 1.0625, found 1');
});

Deno.test("on the platform of the lock, what follows from other bits is not within", async () => {
  using project = await certifiedProject();
  const ended = await project.run(
    ["reproduce", "--locked", "--backend", "wasm", "--set", "compute.extra=0.0625"]
      .concat("--outputs", project.path("elsewhere")),
  );
  assertEquals(ended.code, 1, ended.stdout);
  const said = unwrapped(ended.stdout);
  assertStringIncludes(said, "2 results differ");
  assertStringIncludes(said, "inputs.weights is not from a result that differs");
});

/** What is held against a lock: two results of a stage whose metric is 1, and the certificate of the first. */
function pairOf(locked: Ingredients, now: Ingredients): Omit<Pair, "follows"> {
  const traceOf = (moved: Ingredients): Trace => {
    const ingredients = { stage: "made_up", "outputs.page": "file, numeric", ...moved };
    const page: OutputRecord = {
      ...{ kind: "file", exactness: "numeric", bytes: 1 },
      sha256: sha256(moved["inputs.tokens"]!),
    };
    return {
      ...{ key: keyOf(ingredients), instance: "made_up/0", stage: "made_up", run: "toy.smoke" },
      ...{ ingredients, sources: {}, outputs: { page }, metrics: { loss: 1 } },
      ...{ started: "2026-01-01T00:00:00Z", seconds: 1, machine: {} },
    };
  };
  const [was, is] = [traceOf(locked), traceOf(now)];
  const { key, outputs, metrics } = was;
  const difference = {
    ...{ onlyNumbers: true, largest: 1, relative: 1, count: 1 },
    first: { at: "", was: "1", is: "2" },
  };
  const seen = { sha256: is.outputs["page"]!.sha256, difference };
  const executions = [
    { varied: {}, outputs, metrics },
    { varied: {}, platform: { "platform.backend": "cpu" }, outputs: { page: seen }, metrics },
  ];
  const certificate = { ...was, machine: "a computer", executions };
  return { instance: was.instance, locked: { key, outputs, metrics }, now: is, certificate };
}

/** A store that lacks all bytes. */
const EMPTY = { verifyOutput: () => Promise.resolve("missing") } as unknown as LocalStore;

Deno.test("a result on the platform of the lock must have its bits, whatever inputs it had", async () => {
  const [wasm, cpu] = ["wasm", "cpu"].map((backend) => ({ "platform.backend": backend }));
  const whyNot = async (now: Ingredients, follows: boolean): Promise<string> => {
    const pair = pairOf({ ...wasm, "inputs.tokens": "old" }, now);
    const found = await compareWithin({ ...pair, follows: () => follows }, EMPTY);
    return found.within ? "" : found.why;
  };
  const moved = { "inputs.tokens": "new" };
  assertStringIncludes(
    await whyNot({ ...wasm, ...moved }, true),
    "its platform is that of the lock",
  );
  assertStringIncludes(await whyNot({ ...cpu, ...moved }, false), "inputs.tokens is not from");
  assertEquals(await whyNot({ ...cpu, ...moved }, true), "");
});

Deno.test("a metric that only the lock or only the run has is not within", async () => {
  const pair = pairOf({ "platform.backend": "wasm", "inputs.tokens": "old" }, {
    ...{ "platform.backend": "cpu", "inputs.tokens": "old" },
  });
  const whyNot = async (metrics: Readonly<Record<string, number>>): Promise<string> => {
    const now = { ...pair.now, metrics };
    const found = await compareWithin({ ...pair, now, follows: () => true }, EMPTY);
    return found.within ? "" : found.why;
  };
  assertEquals(await whyNot({ loss: 1 }), "");
  assertEquals(await whyNot({ loss: 1, accuracy: 0.5 }), 'metric "accuracy" is not in the lock');
  assertEquals(await whyNot({}), 'metric "loss" is in the lock, and the run has none');
  const { certificate, locked } = pair;
  assert(!isOfEntry({ ...certificate!, metrics: { loss: 1, f1: 1 } }, "made_up/0", locked));
});

Deno.test("what gathers results is not within without the locked bytes, whatever it was fed", async () => {
  const pair = pairOf({ "inputs.tokens": "old" }, { "inputs.tokens": "new" });
  const found = await compareWithin({ ...pair, follows: () => true }, EMPTY);
  assert(!found.within);
  assertStringIncludes(found.why, "this store lacks the locked bytes");
});

Deno.test("a certificate is of one instance and its outputs, and has an execution on its platform", () => {
  const { certificate, locked } = pairOf({ "inputs.tokens": "old" }, { "inputs.tokens": "new" });
  const sound = certificate!;
  const { page } = sound.outputs;
  const trace: Trace = { ...sound, sources: {}, started: "", seconds: 1, machine: {} };
  assert(toCertificate(sound) && isOf(sound, trace) && isOfEntry(sound, "made_up/0", locked));
  assertEquals(toCertificate({ ...sound, executions: [] }), undefined);
  assertEquals(toCertificate({ ...sound, executions: sound.executions.slice(1) }), undefined);
  assert(!isOfEntry(sound, "made_up/1", locked), "of another line");
  assert(!isOf({ ...sound, instance: "made_up/1" }, trace), "of another instance");
  const others = [
    { stage: "other" },
    { outputs: { page: { ...page!, kind: "folder" as const } } },
    { outputs: { page: { ...page!, exactness: "measured" as const } } },
  ];
  for (const other of others) {
    assertEquals(toCertificate({ ...sound, ...other }), undefined);
    assert(!isOf({ ...sound, ...other }, trace), JSON.stringify(other));
  }
});
