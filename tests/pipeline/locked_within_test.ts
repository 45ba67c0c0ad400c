import { assert, assertEquals, assertStringIncludes } from "@std/assert";
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
  assertEquals(elsewhere.code, 0, elsewhere.stdout + elsewhere.stderr);
  assertStringIncludes(unwrapped(elsewhere.stdout), "2 outputs of them were not compared");
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

Deno.test("on the platform of the lock, certificates excuse nothing", async () => {
  using project = await certifiedProject();
  const lock = "lock/toy.smoke.lock", text = project.read(lock);
  project.write(lock, text.replace("loss=1", "loss=1.0625"));
  const ended = await project.run(["reproduce", "--locked", "--backend", "wasm"]);
  assertEquals(ended.code, 1, ended.stdout);
  assertStringIncludes(unwrapped(ended.stdout), 'metric "loss" must be 1.0625, found 1');
});
