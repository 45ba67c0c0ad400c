import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { toyProject, unwrapped } from "../rig/project.ts";
import { seal, unseal } from "../../pipeline/store/sealed.ts";

const PAGE = "outputs/trace/index.html";

/** The one certificate of a project. */
function certificateFile(project: ReturnType<typeof toyProject>): string {
  const folder = project.path("outputs/store/certificates");
  const files = [...Deno.readDirSync(folder)].flatMap(({ name }) =>
    [...Deno.readDirSync(`${folder}/${name}`)].map((file) => `${folder}/${name}/${file.name}`)
  );
  assertEquals(files.length, 1);
  return files[0]!;
}

Deno.test("certify grades each output, keeps the certificate, and shows it on the trace page", async () => {
  using project = toyProject();
  const before = await project.run(["certify", "steps/ann/1"]);
  assertEquals(before.code, 1);
  assertStringIncludes(unwrapped(before.stderr), "must be up to date, and word/ann is not");
  await project.executed();
  const lock = project.read("lock/toy.smoke.lock");
  const ended = await project.run(["certify", "steps/ann/1"]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  assertStringIncludes(ended.stdout, "  state  bit-exact\n  log    bit-exact\n");
  assertStringIncludes(
    unwrapped(ended.stdout),
    "varied: folder, HOME, time zone, locale, clock, jobs, memory, CPU load",
  );
  assertStringIncludes(project.read(PAGE), "Executions behind it");
  assertStringIncludes(
    project.read("outputs/trace/runs.js"),
    '"1 of 7 instances, outputs: 2 bit-exact"',
  );
  // Nothing of it is in the store but the certificate, and no result moved.
  const audited = await project.run(["audit"]);
  assertEquals(audited.code, 0, audited.stdout);
  assert(!audited.stdout.includes("leftover"), audited.stdout);
  assertEquals(project.read("lock/toy.smoke.lock"), lock);
  assertEquals(await project.executed(), []);
});

Deno.test("certify names a pattern that fits nothing, and refuses to compare a backend with itself", async () => {
  using project = toyProject();
  await project.executed();
  const none = await project.run(["certify", "nothing/*"]);
  assertEquals(none.code, 2);
  assertStringIncludes(none.stderr, "Cannot use the pattern nothing/*: it matches no instance");
  const same = await project.run(["certify", "word", "--backend", "wasm", "--also", "wasm"]);
  assertEquals(same.code, 2);
  assertStringIncludes(same.stderr, "Cannot use --also wasm: it must be another backend");
});

Deno.test("a result that another execution does not give is found past all caches", async () => {
  using project = toyProject();
  // Each process has another number.
  project.edit("stages/word.run.ts", "context.params.text", "context.params.text + Deno.pid");
  await project.executed("--only", "word");
  const ended = await project.run(["certify", "word", "--times", "1", "--json"]);
  assertEquals(ended.code, 1, ended.stdout + ended.stderr);
  const events = ended.events as unknown as { event: string; grades?: object }[];
  const grades = events.filter(({ event }) => event === "certificate").map(({ grades }) => grades);
  assertEquals(grades.length, 2);
  for (const grade of grades) {
    assertStringIncludes(JSON.stringify(grade), '"text":{"grade":"stochastic"');
  }
  // What was certified stays the result.
  assertEquals(await project.executed("--only", "word"), []);
});

Deno.test("an instance that changes has no certificate, and has it again when it changes back", async () => {
  using project = toyProject();
  await project.executed();
  assertEquals((await project.run(["certify", "word/ann", "--times", "1"])).code, 0);
  project.edit("experiments/toy/experiment.yaml", "text: Ann", "text: Anna");
  await project.executed();
  assert(!project.read(PAGE).includes("Executions behind it"));
  project.edit("experiments/toy/experiment.yaml", "text: Anna", "text: Ann");
  await project.executed();
  assertStringIncludes(project.read(PAGE), "Executions behind it");
});

Deno.test("gc removes the certificate of a result that it removes, and no other", async () => {
  using project = toyProject();
  await project.executed();
  assertEquals((await project.run(["certify", "word/*", "--times", "1"])).code, 0);
  project.edit("experiments/toy/experiment.yaml", "text: Ann", "text: Anna");
  await project.executed();
  assertEquals((await project.run(["gc", "--delete"])).code, 0);
  assertStringIncludes(Deno.readTextFileSync(certificateFile(project)), '"word/bob"');
  const audited = await project.run(["audit"]);
  assert(audited.code === 0 && !audited.stdout.includes("leftover"), audited.stdout);
});

Deno.test("a certificate that was altered, or says it is of what it is not, is found and not shown", async () => {
  using project = toyProject();
  await project.executed();
  assertEquals((await project.run(["certify", "word/ann", "--times", "1"])).code, 0);
  const path = certificateFile(project);
  const text = Deno.readTextFileSync(path);
  type Held = { metrics: object; ingredients: Record<string, string>; executions: object[] };
  const forged = (change: (certificate: Held) => void) => {
    const certificate = unseal(text, path) as Held;
    change(certificate);
    return seal(certificate);
  };
  const cases: readonly [altered: string, sound: boolean][] = [
    [text.replace("word/ann", "word/bob"), false],
    [`${text}\n`, false],
    [forged(({ ingredients }) => ingredients["params.text"] = '"Bob"'), false],
    [forged(({ executions }) => executions.push({})), false],
    // Of another result of the key: nobody takes it for this one, and it does no harm.
    [forged((certificate) => certificate.metrics = { other: 1 }), true],
  ];
  for (const [altered, sound] of cases) {
    Deno.writeTextFileSync(path, altered);
    const { code, stdout } = await project.run(["audit"]);
    assertEquals(code, sound ? 0 : 1, stdout);
    assertStringIncludes(stdout, sound ? "1 leftovers" : `altered   record, of word/ann`);
    Deno.removeSync(project.path(PAGE));
    await project.executed();
    assert(!project.read(PAGE).includes("Executions behind it"), altered);
  }
  Deno.writeTextFileSync(path, cases[0]![0]);
  assertEquals((await project.run(["audit", "--repair"])).code, 0);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("an execution that takes longer than its stage's time fails, as it does in a run", async () => {
  using project = toyProject();
  const experiment = "experiments/toy/experiment.yaml";
  project.edit(experiment, "params: { seed: $seed }", "params: { seed: $seed, delayMs: 500 }");
  assertEquals((await project.run(["reproduce", "--only", "steps/ann/1"])).code, 0);
  const each = "    each: [name, seed]\n";
  project.edit(experiment, each, `${each}    resources: { time: 1s }\n`);
  const { code, stdout, stderr } = await project.run(["certify", "steps/ann/1"]);
  assertEquals(code, 1, stdout + stderr);
  assertStringIncludes(
    unwrapped(stdout + stderr),
    "Cannot finish steps/ann/1: it may take no longer than the time of its stage's resources, 1 s",
  );
});

Deno.test("one of a thing is counted as one", async () => {
  using project = toyProject();
  const one = ["--only", "word/ann"];
  assertStringIncludes((await project.run(["plan", ...one])).stdout, ": 1 instance, 0 up to date");
  const { stdout } = await project.run(["reproduce", "--jobs", "1", ...one]);
  assertStringIncludes(stdout, "1 instance on 1 job");
});
