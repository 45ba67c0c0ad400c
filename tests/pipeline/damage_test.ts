import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { filesBelow, flipBit } from "../../pipeline/selfaudit/alterations.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

/** Instance to key and output digests, from the lock. */
function locked(
  project: TestProject,
): Map<string, { key: string; outputs: Record<string, string> }> {
  const entries = new Map();
  for (const line of project.read("lock/toy.smoke.lock").split("\n").slice(1)) {
    if (line === "") continue;
    const [instance, key = "", ...fields] = line.split("  ");
    const outputs = Object.fromEntries(
      fields.flatMap((field) => {
        const [, name, digest] = /^(\w+)=exact:(\w+)$/.exec(field) ?? [];
        return name ? [[name, digest]] : [];
      }),
    );
    entries.set(instance, { key: key.slice(4), outputs });
  }
  return entries;
}

function blobPath(project: TestProject, digest: string): string {
  return project.path(`outputs/store/blobs/${digest.slice(0, 2)}/${digest.slice(2)}`);
}

/** Alters one byte of a file, keeping its size and, if asked, its time. */
function alter(path: string, position: number, keepsTimes = false): void {
  const { size } = Deno.statSync(path);
  flipBit(path, { byte: position % size, bit: position % 7, keepsTimes });
}

Deno.test("a flipped bit in an input is found on use; the blob is set aside and made again", async () => {
  using project = toyProject();
  await project.executed();
  const blob = blobPath(project, locked(project).get("word/ann")!.outputs["text"]!);
  alter(blob, 1, true);
  const ended = await project.run(["reproduce", "--json", "--set", "steps.steps=4"]);
  assertEquals(ended.code, 0);
  const damaged = ended.events.filter((event) => event.event === "damaged");
  assertEquals(damaged.length, 1);
  assertStringIncludes(JSON.stringify(damaged), blob);
  const ran = ended.events.flatMap((event) => event.event === "executed" ? [event.instance] : []);
  assert(ran.includes("word/ann") && !ran.includes("word/bob"), String(ran));
  assertEquals([...Deno.readDirSync(project.path("outputs/store/aside"))].length, 1);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a flipped bit that changes a file's time is found by a run with nothing to do", async () => {
  using project = toyProject();
  await project.executed();
  const { outputs } = locked(project).get("gather")!;
  alter(blobPath(project, outputs["page"]!), 3);
  assertEquals(await project.executed(), ["gather"]);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("an input that changes while its stage runs is refused", async () => {
  using project = toyProject();
  await project.executed("--only", "word/ann");
  const words = project.path("outputs/store/blobs");
  const child = project.start(["reproduce", "--only", "steps/ann/1", "--set", "steps.delayMs=300"]);
  // Its checkpoint shows that the stage is at work.
  const checkpoints = project.path("outputs/store/checkpoints");
  for (let n = 0; n < 500 && !isWorking(checkpoints); n++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const [path] = findContent(words, "Ann");
  alter(path!, 0);
  const { code, stdout } = await child.output();
  assertEquals(code, 1);
  const text = new TextDecoder().decode(stdout);
  assertStringIncludes(
    text.replaceAll(/\s+/g, " "),
    'Cannot keep a result of "steps": its inputs must not change',
  );
  assertEquals(await project.executed("--only", "steps/ann/1"), ["steps/ann/1", "word/ann"]);
});

function isWorking(checkpoints: string): boolean {
  return [...Deno.readDirSync(checkpoints)].some(({ name }) => {
    try {
      return Deno.statSync(join(checkpoints, name, "state.json")).isFile;
    } catch {
      return false;
    }
  });
}

function findContent(folder: string, content: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory) return findContent(path, content);
    return Deno.readTextFileSync(path) === content ? [path] : [];
  });
}

Deno.test("audit finds each of 300 one-byte alterations, and nothing where there is none", async () => {
  using project = toyProject();
  await project.executed();
  const clean = await project.run(["audit", "--json"]);
  assertEquals(clean.code, 0, clean.stdout);
  const files = [
    ...filesBelow(project.path("outputs/store/blobs")),
    ...filesBelow(project.path("outputs/store/traces")),
    ...filesBelow(project.path("outputs/store/runs")),
    project.path("lock/toy.smoke.lock"),
    ...filesBelow(project.path("outputs")).filter((path) => !path.includes("/store/")),
  ];
  const original = new Map(files.map((path) => [path, Deno.readFileSync(path)]));
  const missed: string[] = [];
  // In-process: 300 times the same function the command calls.
  const { auditStore } = await import("../../pipeline/views/audit.ts");
  const { LocalStore } = await import("../../pipeline/store/local_store.ts");
  const store = new LocalStore(project.path("outputs/store"), { reading: true });
  try {
    for (let n = 0; n < 300; n++) {
      const path = files[(n * 7919) % files.length]!;
      const position = (n * 104729) % original.get(path)!.length;
      alter(path, position, n % 2 === 0);
      const { findings } = await auditStore(project.root, project.path("outputs"), store);
      if (findings.length === 0) missed.push(`${path} at ${position}`);
      Deno.chmodSync(path, 0o644);
      Deno.writeFileSync(path, original.get(path)!);
    }
    const { findings } = await auditStore(project.root, project.path("outputs"), store);
    assertEquals(findings, []);
  } finally {
    store.close();
  }
  assertEquals(missed, []);
});

Deno.test("audit names artifact and stage, and --repair makes only what is lost again", async () => {
  using project = toyProject();
  await project.executed();
  const lock = project.read("lock/toy.smoke.lock");
  const entries = locked(project);
  alter(blobPath(project, entries.get("steps/bob/2")!.outputs["state"]!), 0);
  Deno.removeSync(blobPath(project, entries.get("word/ann")!.outputs["text"]!));
  alter(project.path("outputs/toy.smoke/report/page.txt"), 5);
  project.write("outputs/stray.txt", "no run wrote this");
  const found = await project.run(["audit"]);
  assertEquals(found.code, 1);
  assertStringIncludes(found.stdout, "altered   blob, of steps/bob/2");
  assertStringIncludes(found.stdout, "missing   blob, of word/ann");
  assertStringIncludes(found.stdout, "altered   output, of gather");
  assertStringIncludes(found.stdout, "orphaned  output");
  const repaired = await project.run(["audit", "--repair", "--json"]);
  assertEquals(repaired.code, 0, repaired.stdout + repaired.stderr);
  const ran = repaired.events.flatMap((event) =>
    event.event === "executed" ? [event.instance] : []
  );
  assertEquals(ran.sort(), ["steps/bob/2", "word/ann"]);
  assertEquals((await project.run(["audit"])).code, 0);
  assertEquals(project.read("lock/toy.smoke.lock"), lock);
});

Deno.test("--repair sets aside a trace whose lost output no run as it is makes", async () => {
  using project = toyProject();
  const changed = ["--only", "steps/ann/1", "--set", "steps.steps=4"];
  await project.executed(...changed);
  await project.executed();
  const blobs = project.path("outputs/store/blobs");
  // 4 steps of 3 v + 1 from 1.
  const [path] = findContent(blobs, "Ann 121");
  alter(path!, 0);
  const repaired = await project.run(["audit", "--repair"]);
  assertEquals(repaired.code, 0, repaired.stdout + repaired.stderr);
  assertStringIncludes(repaired.stdout, "set aside the trace of steps/ann/1");
  const clean = await project.run(["audit"]);
  assertEquals(clean.code, 0, clean.stdout);
  assert(!clean.stdout.includes("leftover"), clean.stdout);
  assertEquals(findContent(blobs, "a121"), [], "what else the trace named is gone too");
  assertEquals(await project.executed(), []);
  assertEquals(await project.executed(...changed), ["steps/ann/1"]);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("--repair makes again what one run takes from another, which has moved on", async () => {
  using project = toyProject();
  project.edit("experiments/toy/experiment.yaml", "smoke: {}", "smoke: {}\n  other: {}");
  await project.executed();
  assertEquals(await project.executed("--profile", "other"), []);
  await project.executed("--set", "steps.steps=4");
  // 3 steps of 3 v + 1 from 1.
  Deno.removeSync(findContent(project.path("outputs/store/blobs"), "Ann 40")[0]!);
  const repaired = await project.run(["audit", "--repair"]);
  assertEquals(repaired.code, 0, repaired.stdout + repaired.stderr);
  assertEquals(await project.executed("--profile", "other"), []);
});

Deno.test("--repair gives up what a profile made that is no more", async () => {
  using project = toyProject();
  const profile = "\n  other: { stages: { steps: { params: { steps: 4 } } } }";
  project.edit("experiments/toy/experiment.yaml", "smoke: {}", `smoke: {}${profile}`);
  await project.executed();
  await project.executed("--profile", "other", "--only", "steps");
  project.edit("experiments/toy/experiment.yaml", profile, "");
  // 4 steps of 3 v + 1 from 1.
  Deno.removeSync(findContent(project.path("outputs/store/blobs"), "Ann 121")[0]!);
  const repaired = await project.run(["audit", "--repair"]);
  assertEquals(repaired.code, 0, repaired.stdout + repaired.stderr);
  assertStringIncludes(repaired.stdout, "set aside the record of toy.other");
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("--repair brings the code of a stage back without running it", async () => {
  using project = toyProject();
  await project.executed();
  const blobs = project.path("outputs/store/blobs");
  const code = filesBelow(blobs).filter((path) =>
    Deno.readTextFileSync(path).includes("asked to fail")
  );
  assertEquals(code.length, 1);
  Deno.removeSync(code[0]!);
  const repaired = await project.run(["audit", "--repair", "--json"]);
  assertEquals(repaired.code, 0, repaired.stdout + repaired.stderr);
  assertEquals(repaired.events.filter(({ event }) => event === "executed"), []);
});

Deno.test("plan, why, status and trace leave damage where it is, for audit to report", async () => {
  using project = toyProject();
  await project.executed();
  const { key, outputs } = locked(project).get("gather")!;
  const trace = `outputs/store/traces/${key.slice(0, 2)}/${key.slice(2)}.json`;
  const page = outputs["page"]!;
  for (const path of [blobPath(project, page), project.path(trace)]) {
    const original = Deno.readFileSync(path);
    alter(path, 3);
    const planned = await project.run(["plan"]);
    assertMatch(planned.stdout, /\ngather +1 /);
    assertStringIncludes(planned.stderr, `damaged: ${path}`);
    for (const args of [["why", "gather"], ["status"], ["reproduce", "--dry-run"]]) {
      assertEquals((await project.run(args)).code, 0, args[0]);
    }
    await project.run(["trace", "gather"]);
    assertEquals([...Deno.readDirSync(project.path("outputs/store/aside"))], []);
    const shown = await project.run(["audit"]);
    assertEquals(shown.code, 1);
    assertStringIncludes(shown.stdout, "altered ");
    // Not even with a catalogue that is made again, for which every trace is read.
    Deno.removeSync(project.path("outputs/store/catalog.sqlite"));
    assertEquals((await project.run(["audit"])).stdout.includes("altered "), true);
    Deno.chmodSync(path, 0o644);
    Deno.writeFileSync(path, original);
  }
});

Deno.test("a deleted or garbled catalogue is made again", async () => {
  using project = toyProject();
  await project.executed();
  for (
    const act of [
      () => Deno.removeSync(project.path("outputs/store/catalog.sqlite")),
      () => project.write("outputs/store/catalog.sqlite", "not a database"),
    ]
  ) {
    act();
    assertEquals(await project.executed(), []);
  }
});

Deno.test("audit finds nothing unsound after a failure, --only, --set, --force or --locked", async () => {
  using project = toyProject();
  await project.run(["reproduce", "--set", "steps.fail=true"]);
  assertEquals((await project.run(["audit"])).code, 0, "after a failure");
  await project.executed("--only", "word");
  assertEquals((await project.run(["audit"])).code, 0, "after --only");
  await project.executed();
  await project.executed("--force", "gather");
  assertEquals((await project.run(["audit"])).code, 0, "after --force");
  await project.executed("--set", "grid.seed=[1, 2, 3]");
  assertEquals((await project.run(["audit"])).code, 0, "after --set");
  project.edit("lib/grow.ts", "value * factor + 1", "1 + value * factor");
  assertEquals((await project.run(["reproduce", "--locked"])).code, 0);
  assertEquals((await project.run(["audit"])).code, 0, "after --locked with other keys");
  const lock = project.read("lock/toy.smoke.lock");
  project.write("lock/toy.smoke.lock", lock.replace("value=40", "value=41"));
  assertEquals((await project.run(["audit"])).code, 1, "after an edited lock");
});

Deno.test("what an interrupted run leaves is reported, and removed by --repair", async () => {
  using project = toyProject();
  await project.executed();
  const leftovers = [
    project.path(`outputs/store/blobs/${"ab"}/${"0".repeat(62)}.7.tmp`),
    project.path(`outputs/store/traces/ab/${"0".repeat(62)}.json.7.tmp`),
  ];
  for (const path of leftovers) {
    Deno.mkdirSync(join(path, ".."), { recursive: true });
    Deno.writeTextFileSync(path, "half");
  }
  const shown = await project.run(["audit"]);
  assertEquals(shown.code, 0);
  assertStringIncludes(shown.stdout, "2 leftovers of interrupted runs; --repair removes them");
  assertEquals((await project.run(["audit", "--repair"])).code, 0);
  assert(!(await project.run(["audit"])).stdout.includes("leftover"));
});

Deno.test("a result edited by hand is written again, and the edit is kept and reported", async () => {
  using project = toyProject();
  await project.executed();
  const path = "outputs/toy.smoke/report/page.txt", result = project.read(path);
  project.write(path, `${result}my own note\n`);
  const ended = await project.run(["reproduce"]);
  assertEquals(ended.code, 0);
  assertEquals(project.read(path), result);
  assertStringIncludes(ended.stdout, project.path(path));
  assertEquals(project.read("outputs/store/aside/page.txt"), `${result}my own note\n`);
  // What is only missing, or written there by another run, is no edit.
  Deno.removeSync(project.path(path));
  assertEquals((await project.run(["reproduce"])).stdout.includes("aside"), false);
  assertEquals(project.read(path), result);
});
