import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Log, logPath, readLog, Tail } from "../../pipeline/run/logs.ts";
import { toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const KEY = "a".repeat(64);

Deno.test("a log reads as it was written, also while it is, and begins again", () => {
  const store = temporaryFolder();
  assertEquals(readLog(store, KEY), undefined);
  const log = new Log(store, KEY);
  assertEquals(readLog(store, KEY), undefined);
  log.write("one\ntwo");
  assertEquals(readLog(store, KEY), "one\ntwo");
  log.write(" 🙂\n\nthree\n");
  log.close();
  assertEquals(readLog(store, KEY), "one\ntwo 🙂\n\nthree\n");
  assertEquals(log.lastLines(), ["one", "two 🙂", "three"]);
  new Log(store, KEY).close();
  assertEquals(readLog(store, KEY), undefined);
});

Deno.test("of a long log the beginning and the end are kept, in 5 MB", () => {
  const store = temporaryFolder();
  for (const megabytes of [1, 3, 4, 5, 6, 20, 200]) {
    const log = new Log(store, KEY);
    let written = "";
    for (let n = 0; written.length < megabytes << 20; n++) {
      const piece = `${n}: ${"x".repeat(1000 + 7919 * n % 60_000)}\n`;
      log.write(piece);
      // What is compared is small enough to hold in memory.
      written += piece;
    }
    log.close();
    const kept = readLog(store, KEY)!;
    assert(kept.length < 5 << 20);
    const files = [...Deno.readDirSync(`${store}/logs`)];
    assert(files.length <= 3);
    const [beginning = "", end] = kept.split("\n… the middle of this log is left out …\n");
    if (end === undefined) assertEquals(kept, written, `${megabytes} MB`);
    assert(beginning.length >= Math.min(written.length, 2 << 20));
    assert(written.startsWith(beginning));
    assert(written.endsWith(end ?? ""));
    assert((end ?? written).length >= Math.min(written.length, 1 << 20));
    assertEquals(end === undefined, megabytes <= 4, `${megabytes} MB`);
  }
});

Deno.test("a log that cannot be written stops nobody", () => {
  const store = temporaryFolder();
  Deno.writeTextFileSync(`${store}/logs`, "a file in the folder's place");
  const log = new Log(store, KEY);
  log.write("lost\n");
  log.close();
  assertEquals(log.lastLines(), ["lost"]);
});

Deno.test("the last lines are few and short, whatever was printed", () => {
  const tail = new Tail(20);
  for (let n = 0; n < 100; n++) tail.take(`${n} ${"x".repeat(n * 100)}\n\n`);
  const lines = tail.lines();
  assert(lines.length <= 20);
  assertMatch(lines.at(-1)!, /x{400}…$/);
  tail.take("the");
  tail.take(" end");
  assertEquals(tail.lines().at(-1), "the end");
});

Deno.test("what a stage prints is kept, of failures too, and a failure shows its end", async () => {
  using project = toyProject();
  project.edit(
    "stages/word.run.ts",
    "  Deno.writeTextFileSync(",
    `  console.log("working on", context.params.text);
  console.warn("with care");
  if (context.params.style === "failing") throw new Error("no style");
  Deno.writeTextFileSync(`,
  );
  const well = await project.run(["reproduce", "--json", "--only", "word/ann"]);
  assertEquals(well.code, 0);
  const made = well.events.find((event) => event.event === "executed")!;
  const store = project.path("outputs/store");
  assert(made.event === "executed");
  assertStringIncludes(readLog(store, made.key)!, "working on Ann\n");
  const set = ["--set", "word.style=failing"];
  const failed = await project.run(["reproduce", "--json", "--only", "word", ...set]);
  assertEquals(failed.code, 1);
  const failures = failed.events.filter((event) => event.event === "failed");
  assertEquals(failures.map(({ instance }) => instance).sort(), ["word/ann", "word/bob"]);
  // One message for both, which so can be shown once; what they printed is their own.
  assertEquals(new Set(failures.map(({ message }) => message)).size, 1);
  for (const { instance, key, message, output } of failures) {
    const name = instance === "word/ann" ? "Ann" : "Bob";
    assertEquals(output, [`working on ${name}`, "with care"]);
    assertStringIncludes(message, 'Stage "word" failed\nError: no style');
    assertEquals(readLog(store, key!)!.startsWith(`working on ${name}\n`), true);
    assertStringIncludes(readLog(store, key!)!, `\n${message}\n`);
    assert(Deno.statSync(logPath(store, key!)).isFile);
  }
  const shown = await project.run(["reproduce", "--only", "word", ...set]);
  assertMatch(shown.stdout, /working on (Ann|Bob)/);
});
