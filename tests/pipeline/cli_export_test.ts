import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { toyProject } from "../rig/project.ts";

Deno.test("export writes an artifact's bytes, and refuses what is in the way", async () => {
  using project = toyProject();
  const early = await project.run(["export", "word/ann", "--to", "ann.txt"]);
  assertEquals(early.code, 1);
  assertStringIncludes(early.stderr, 'run "deno task reproduce --only word/ann" first');
  assert(![...Deno.readDirSync(project.root)].some(({ name }) => name === "outputs"));
  await project.executed();
  const exported = await project.run(["export", "word/ann", "--to", "new/ann.txt", "--json"]);
  // As sha256sum has "Ann".
  const digest = "17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646";
  assertEquals(exported.events.map((event) => ({ ...event })) as unknown[], [{
    event: "exported",
    instance: "word/ann",
    output: "text",
    path: "new/ann.txt",
    sha256: digest,
    bytes: 3,
  }]);
  assertEquals(project.read("new/ann.txt"), "Ann");
  assertEquals([...Deno.readDirSync(project.path("new"))].length, 1, "no half file beside it");
  project.write("new/ann.txt", "mine");
  const refused = await project.run(["export", "word/ann", "--to", "new/ann.txt"]);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.stderr, "something is there; give another path or --overwrite");
  assertEquals(project.read("new/ann.txt"), "mine");
  const replaced = await project.run(["export", "word/ann", "--to", "new/ann.txt", "--overwrite"]);
  assertEquals(replaced.code, 0, replaced.stderr);
  assertEquals(project.read("new/ann.txt"), "Ann");
});

Deno.test("of several outputs export takes the one that is named, of a folder every file", async () => {
  using project = toyProject();
  await project.executed();
  const several = await project.run(["export", "steps/ann/1", "--to", "x"]);
  assertEquals(several.code, 2);
  assertStringIncludes(several.stderr, "choose one with --output: state, log");
  const wrong = await project.run(["export", "steps/ann/1", "--to", "x", "--output", "lgo"]);
  assertStringIncludes(wrong.stderr, 'no such output; did you mean "log"?');
  const folder = await project.run(["export", "steps/ann/1", "--to", "x", "--output", "log"]);
  assertEquals(folder.code, 0, folder.stderr);
  // Three steps of n → 3n + 1 from 1.
  assertEquals([project.read("x/a"), project.read("x/sub/b")], ["a40", "sub/b40"]);
  Deno.removeSync(project.path("x/a"));
  const again = await project.run(["export", "steps/ann/1", "--to", "x", "--output", "log"]);
  assertEquals(again.code, 2);
  assert(![...Deno.readDirSync(project.path("x"))].some(({ name }) => name === "a"), "all or none");
});

Deno.test("a damaged artifact is not exported", async () => {
  using project = toyProject();
  await project.executed();
  const digest = "17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646";
  const blob = project.path(`outputs/store/blobs/${digest.slice(0, 2)}/${digest.slice(2)}`);
  Deno.chmodSync(blob, 0o644);
  Deno.writeTextFileSync(blob, "Amn");
  const ended = await project.run(["export", "word/ann", "--to", "ann.txt"]);
  assertEquals(ended.code, 1);
  assertStringIncludes(ended.stderr, `Cannot copy blob ${digest}`);
  assert(![...Deno.readDirSync(project.root)].some(({ name }) => name.includes("ann.txt")));
});
