import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { git } from "../../pipeline/cli/git.ts";
import { signatureOf } from "../../pipeline/provenance/signatures.ts";
import { readSigningKey } from "../../pipeline/provenance/keys.ts";
import { addMeasuring } from "../rig/measured_stage.ts";
import { type TestProject, toyProject, unwrapped } from "../rig/project.ts";

const IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.org"];

/** A project that ran, committed with its lock and what it published. */
async function committed(prepare: (project: TestProject) => void = () => {}): Promise<TestProject> {
  const project = toyProject();
  prepare(project);
  await project.executed();
  project.write(".gitignore", "outputs/store\noutputs/trace\n");
  project.write("lock/pins.lock", "# pins\n");
  const said = (...args: string[]) => git(project.root, [...IDENTITY, ...args]);
  await said("init", "-q");
  await said("add", ".");
  assert(await said("commit", "-qm", "All") !== undefined);
  return project;
}

async function against(project: TestProject, revision = "HEAD") {
  const { code, stdout, stderr } = await project.run(["audit", "--against", revision]);
  return { code, said: unwrapped(stdout + stderr) };
}

Deno.test("what is as in the commit is sound against it, and the note says what was compared", async () => {
  using project = await committed();
  const { code, said } = await against(project);
  assertEquals(code, 0, said);
  // The page, and a part for each name and seed, the pins and Deno's own lock.
  assertStringIncludes(said, "1 locks, 7 results of the latest runs, 7 other files");
});

Deno.test("a lock, pin or page that is not as in the commit is found, though all else agrees with it", async () => {
  using project = await committed();
  // Results, lock, record and pages move together: nothing here says that they did.
  project.edit("lib/grow.ts", "const factor = 3;", "const factor = 4;");
  await project.executed();
  assertEquals((await project.run(["audit"])).code, 0);
  const { code, said } = await against(project);
  assertEquals(code, 1);
  assertStringIncludes(said, "against lock/toy.smoke.lock at");
  assertStringIncludes(said, "the latest run against lock/toy.smoke.lock at");
  assertStringIncludes(said, 'steps/ann/1: metric "value" must be 40, found 85');
  assertStringIncludes(said, "outputs/toy.smoke/report/page.txt it is not as in the commit");
  assert(!said.includes("word/ann:"), "what did not move is not named");
});

Deno.test("timings that other code made are found, though that code and its lock are gone again", async () => {
  using project = await committed(addMeasuring);
  const lock = project.read("lock/toy.smoke.lock");
  const code = project.read("stages/time.run.ts");
  project.edit("stages/time.run.ts", "String(Math.random())", '"0.001"');
  await project.executed();
  project.write("stages/time.run.ts", code);
  const rewritten = await against(project);
  assertEquals(rewritten.code, 1, rewritten.said);
  assertMatch(rewritten.said, /against lock\/toy\.smoke\.lock at \w+: time\/ann: recipe must be/);
  project.write("lock/toy.smoke.lock", lock);
  const restored = await against(project);
  assertEquals(restored.code, 1, restored.said);
  assertMatch(
    restored.said,
    /the latest run against [^:]*: time\/ann: recipe must be \w{12}…, found/,
  );
});

Deno.test("a lock with another key or header than the commit's is found", async () => {
  using project = await committed();
  const name = "lock/toy.smoke.lock", lock = project.read(name);
  project.write(name, lock.replace(/(steps\/ann\/1 {2}key=)\w{64}/, `$1${"0".repeat(64)}`));
  const { code, said } = await against(project);
  assertEquals(code, 1, said);
  assertStringIncludes(said, "steps/ann/1: key must be");
  project.write(name, lock.replace("# What", "# That"));
  assertStringIncludes(
    (await against(project)).said,
    "its header or the form of its lines differs",
  );
  project.write(name, "no lock");
  assertStringIncludes((await against(project)).said, `altered lock ${name} ${name}:1: not a lock`);
});

Deno.test("every file in lock/ is held to the commit, and one that it lacks is found", async () => {
  const name = "lock/toy.smoke.certificates";
  using project = await committed((project) => project.write(name, "[]\n"));
  const packages = project.read("lock/deno.lock");
  project.write(name, "[{}]\n");
  project.write("lock/deno.lock", `${packages}\n`);
  project.write("lock/toy.smoke.cpu.lock", project.read("lock/toy.smoke.lock"));
  project.write("lock/toy.smoke.cpu.certificates", "[]\n");
  project.write("lock/notes.txt", "");
  const { code, said } = await against(project);
  assertEquals(code, 1);
  assertStringIncludes(said, `altered lock ${name} it is not as in the commit`);
  assertStringIncludes(said, "altered lock lock/deno.lock it is not as in the commit");
  assertMatch(said, /orphaned lock lock\/toy\.smoke\.cpu\.certificates \w+ has no such file/);
  assertMatch(said, /orphaned lock lock\/toy\.smoke\.cpu\.lock \w+ has no such file/);
  assertEquals(said.match(/(altered|orphaned) lock/g)?.length, 4, said);
});

Deno.test("what the commit has and is gone is missing, and an edited pin is found", async () => {
  using project = await committed();
  Deno.removeSync(project.path("lock/toy.smoke.lock"));
  project.write("lock/pins.lock", "# pins\nfile  sha256:00 1 bytes\n");
  Deno.removeSync(project.path("outputs/toy.smoke/report/page.txt"));
  const { code, said } = await against(project);
  assertEquals(code, 1);
  assertStringIncludes(said, "lock/toy.smoke.lock lock/toy.smoke.lock at");
  assertStringIncludes(said, "altered lock lock/pins.lock it is not as in the commit");
  assertStringIncludes(said, "outputs/toy.smoke/report/page.txt the commit has it");
});

Deno.test("a revision that is none, or has no lock, is one message; so is a repair of such findings", async () => {
  using project = await committed();
  const none = await against(project, "nowhere");
  assertEquals(none.code, 2);
  assertStringIncludes(none.said, "git knows none of that name");
  const said = (...args: string[]) => git(project.root, [...IDENTITY, ...args]);
  await said("rm", "-qr", "lock");
  await said("commit", "-qm", "No locks");
  const empty = await against(project);
  assertEquals(empty.code, 2);
  assertStringIncludes(empty.said, "none is in it");
  const repair = await project.run(["audit", "--repair", "--against", "HEAD~1"]);
  assertEquals(repair.code, 2);
  assertStringIncludes(repair.stderr, "Cannot repair with --against or --key");
});

Deno.test("with a key, audit finds every lock and certificate that it did not sign as it is", async () => {
  using project = toyProject();
  await project.executed();
  const openssl = async (...args: string[]) =>
    await new Deno.Command("openssl", { args, cwd: project.root, stderr: "null" }).output()
      .catch(() => undefined);
  if (!(await openssl("genpkey", "-algorithm", "ed25519", "-out", "me.pem"))?.success) {
    console.warn("no openssl: skipped");
    return;
  }
  await openssl("pkey", "-in", "me.pem", "-pubout", "-out", "me.pub");
  const audited = async () => {
    const { code, stdout } = await project.run(["audit", "--key", "me.pub"]);
    return { code, said: unwrapped(stdout) };
  };
  const unsigned = await audited();
  assertEquals(unsigned.code, 1);
  assertStringIncludes(unsigned.said, "lock/toy.smoke.lock it has no signature");
  const path = project.path("lock/toy.smoke.lock");
  const key = await readSigningKey(project.path("me.pem"));
  Deno.writeTextFileSync(`${path}.sig`, await signatureOf(path, key));
  const signed = await audited();
  assertEquals(signed.code, 0, signed.said);
  assertStringIncludes(signed.said, "1 of 1 locks and certificates are signed by key");
  project.write("lock/toy.smoke.certificates", "[]\n");
  const beside = await audited();
  assertEquals(beside.code, 1);
  assertStringIncludes(beside.said, "lock/toy.smoke.certificates it has no signature");
  // A whole run writes the lock again: the signature is of the one before.
  project.edit("stages/word.run.ts", "context.params.text)", 'context.params.text + "!")');
  await project.executed();
  const moved = await audited();
  assertEquals(moved.code, 1);
  assertStringIncludes(moved.said, "it was signed with SHA-256");
});
