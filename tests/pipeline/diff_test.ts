import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { diffJson } from "../../pipeline/views/diff/leaves.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

type Line = Readonly<Record<string, unknown>> & { readonly event: string };

/** `diff --json` and its lines. */
async function diffLines(project: TestProject, ...args: string[]): Promise<Line[]> {
  const ended = await project.run(["diff", "--json", ...args]);
  assertEquals([ended.code, ended.stderr], [0, ""]);
  return ended.events as unknown as Line[];
}

/** The fields of each line of a kind. */
function pick(lines: readonly Line[], event: string, ...fields: string[]): unknown[][] {
  return lines.filter((line) => line.event === event)
    .map((line) => fields.map((field) => line[field]));
}

/** Commits everything but `outputs/`, in a repository of its own. */
async function commit(project: TestProject): Promise<void> {
  project.write(".gitignore", "outputs/\n");
  for (
    const args of [
      ["init", "--quiet"],
      ["add", "-A"],
      ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "Start"],
    ]
  ) {
    const { code, stderr } = await new Deno.Command("git", { args: ["-C", project.root, ...args] })
      .output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
  }
}

const STEPS = ["steps/ann/1", "steps/ann/2", "steps/bob/1", "steps/bob/2"];

Deno.test("diff groups what re-ran by the ingredient that changed, and names figures that moved", async () => {
  using project = toyProject();
  await project.executed();
  await commit(project);
  await project.executed("--set", "steps.rate=2");
  const lines = await diffLines(project, "HEAD", "toy.smoke");
  assertEquals(pick(lines, "cause", "kind", "stage", "change", "direct", "through"), [[
    "ingredient",
    "steps",
    { ingredient: "params.rate", before: "1", now: "2" },
    STEPS,
    ["gather"],
  ]]);
  assertEquals(pick(lines, "instance", "instance", "standing", "outputs"), [
    ["gather", "changed", ["page", "parts"]],
    ...STEPS.map((name) => [name, "changed", ["log", "state"]]),
  ]);
  // Three times x → 3x + 1, from 1 and from 2.
  const metrics = lines.find(({ instance }) => instance === "steps/ann/1")?.["metrics"];
  assertEquals(metrics, [{ metric: "value", before: 40, now: 67, difference: 27 }]);
  const { event: _, ...counts } = lines.at(-1)!;
  assertEquals(counts, {
    same: 2,
    unmoved: 0,
    changed: 5,
    unstable: 0,
    uncompared: 0,
    onlyBefore: 0,
    onlyNow: 0,
    unexplained: 0,
  });
  const text = await project.run(["diff", "HEAD", "toy.smoke"]);
  assertStringIncludes(text.stdout, "steps  params.rate: 1 → 2\n    itself: steps/ann/1, ");
  assertStringIncludes(text.stdout, "through inputs: gather (1)");
  assertStringIncludes(text.stdout, "steps/ann/1  value  40 → 67   +27");
});

Deno.test("a figure that moved is one row, to six digits, however long its instance's name", async () => {
  using project = toyProject();
  const name = `steps/${"long".repeat(20)}`;
  for (const [file, value] of [["a.lock", 0.7729367256164551], ["b.lock", 0.25]] as const) {
    project.write(file, `# x\n${name}  key=${"0".repeat(64)}  loss_nats=${value}\n`);
  }
  const { stdout } = await project.run(["diff", "a.lock", "b.lock"]);
  assertStringIncludes(stdout, `\n  ${name}  loss_nats  0.772937 → 0.25  -0.522937\n`);
});

Deno.test("diff shows a change that was cut off, and what did not run for it", async () => {
  using project = toyProject();
  await project.executed();
  project.write("before.lock", project.read("lock/toy.smoke.lock"));
  project.edit("experiments/toy/experiment.yaml", "{ text: Ann }", "{ text: Ann, style: loud }");
  await project.executed();
  const lines = await diffLines(project, project.path("before.lock"), "toy.smoke");
  assertEquals(pick(lines, "instance", "instance", "standing"), [["word/ann", "unmoved"]]);
  assertEquals(pick(lines, "cut-off", "instance", "spared"), [
    ["word/ann", ["gather", "steps/ann/1", "steps/ann/2"]],
  ]);
  assertEquals(pick(lines, "cause", "stage", "change", "direct", "through"), [
    ["word", { ingredient: "params.style", before: '"plain"', now: '"loud"' }, ["word/ann"], []],
  ]);
});

Deno.test("diff shows instances of one run only, and what they changed", async () => {
  using project = toyProject();
  await project.executed();
  project.write("before.lock", project.read("lock/toy.smoke.lock"));
  project.edit("experiments/toy/experiment.yaml", "seed: [1, 2]", "seed: [2, 3]");
  await project.executed();
  const [before, now] = [project.path("before.lock"), project.path("lock/toy.smoke.lock")];
  const lines = await diffLines(project, before, now);
  assertEquals(pick(lines, "only", "side", "instance"), [
    ["before", "steps/ann/1"],
    ["before", "steps/bob/1"],
    ["now", "steps/ann/3"],
    ["now", "steps/bob/3"],
  ]);
  assertEquals(pick(lines, "cause", "kind", "stage", "through"), [
    ["added", "steps", ["gather"]],
    ["removed", "steps", ["gather"]],
  ]);
});

Deno.test("diff names the source file behind changed code", async () => {
  using project = toyProject();
  await project.executed();
  project.write("before.lock", project.read("lock/toy.smoke.lock"));
  project.edit("lib/grow.ts", "+ 1;", "+ 2;");
  await project.executed();
  const lines = await diffLines(project, project.path("before.lock"), "toy.smoke");
  const causes = lines.filter(({ event }) => event === "cause");
  assertEquals(causes.length, 1);
  assertEquals((causes[0]!["change"] as { ingredient: string }).ingredient, "code");
  assertEquals([causes[0]!["sources"], causes[0]!["direct"]], [["lib/grow.ts"], STEPS]);
});

Deno.test("diff shows another result under the same key, which no edit explains", async () => {
  using project = toyProject();
  await project.executed();
  const lock = project.read("lock/toy.smoke.lock");
  const altered = lock.replace(/^(word\/bob .*text=exact:)\w{4}/m, "$10000");
  assert(altered !== lock);
  project.write("altered.lock", altered);
  const lines = await diffLines(project, project.path("altered.lock"), "toy.smoke");
  assertEquals(pick(lines, "instance", "instance", "standing"), [["word/bob", "unstable"]]);
  assertEquals(pick(lines, "cause", "kind", "direct"), [["unstable", ["word/bob"]]]);
});

Deno.test("diff names the words of a JSON result that changed, and its page escapes them", async () => {
  using project = toyProject();
  const text = (verdict: string) =>
    JSON.stringify(JSON.stringify({ claims: [{ id: "A1", verdict, mean: verdict.length }] }));
  const set = (verdict: string) => ["--set", `name.ann.word.text=${text(verdict)}`];
  project.edit("experiments/toy/experiment.yaml", "{ text: Ann }", `{ text: ${text("open")} }`);
  await project.executed();
  project.write("before.lock", project.read("lock/toy.smoke.lock"));
  await project.executed(...set("<b>held</b> & more"));
  const page = project.path("page.html");
  const lines = await diffLines(
    ...[project, project.path("before.lock"), "toy.smoke", "--page", page] as const,
  );
  assertEquals(pick(lines, "values", "instance", "output", "words", "numbers"), [[
    "word/ann",
    "text",
    [{ path: "claims[A1].verdict", before: "open", now: "<b>held</b> & more" }],
    1,
  ]]);
  const written = project.read("page.html");
  assertStringIncludes(written, "&lt;b&gt;held&lt;/b&gt; &amp; more");
  assert(!written.includes("<b>held"), "text is escaped");
  assert(!/src=|href=|url\(|@import/.test(written), "the page needs nothing else");
});

Deno.test("two locks can be compared without a store, and none is made", async () => {
  using project = toyProject();
  await project.executed();
  const lock = project.path("lock/toy.smoke.lock");
  project.write("other.lock", project.read("lock/toy.smoke.lock").replace(/key=..../, "key=0000"));
  const empty = project.path("elsewhere");
  const lines = await diffLines(project, lock, project.path("other.lock"), "--outputs", empty);
  assertEquals(pick(lines, "instance", "instance", "standing", "changes"), [
    ["gather", "unmoved", null],
  ]);
  assertEquals(lines.at(-1)!["unexplained"], 1);
  assert(![...Deno.readDirSync(project.root)].some(({ name }) => name === "elsewhere"));
});

Deno.test("diff says what an operand must be, and which lock a revision lacks", async () => {
  using project = toyProject();
  await project.executed();
  await commit(project);
  const unknown = await project.run(["diff", "toy.smoek", "HEAD"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(
    unknown.stderr,
    "must be a lock file, a run recorded in the store, a tag or a git",
  );
  assertStringIncludes(unknown.stderr, 'did you mean "toy.smoke"?');
  const lacking = await project.run(["diff", "HEAD", "HEAD", "--profile", "slow"]);
  assertEquals(lacking.code, 2);
  assertStringIncludes(lacking.stderr, "the revision must hold lock/toy.slow.lock, and does not");
  const option = await project.run(["diff", "HEAD", "--output=/tmp/x"]);
  assertStringIncludes(option.stderr, "Cannot use --output with diff");
});

Deno.test("JSON leaves: words are named by id or index, numbers counted, order of keys is nothing", () => {
  const diff = (before: unknown, now: unknown) =>
    diffJson(JSON.stringify(before), JSON.stringify(now));
  assertEquals(diff({ a: 1, b: "x" }, { b: "x", a: 1 }), { words: [], numbers: 0 });
  assertEquals(diff({ a: [1, 2, 3] }, { a: [1, 5, 6] }), { words: [], numbers: 2 });
  assertEquals(
    diff([{ id: "p", holds: null }, { id: "q", holds: true }], [
      { id: "q", holds: false },
      { id: "p", holds: null },
    ]),
    { words: [{ path: "[q].holds", before: "true", now: "false" }], numbers: 0 },
  );
  assertEquals(diff({ a: ["x"] }, { a: ["x", "y"] })?.words, [
    { path: "a[1]", before: undefined, now: "y" },
  ]);
  assertEquals(diff({ a: 1 }, { a: "1" })?.words, [{ path: "a", before: "1", now: "1" }]);
  const [one, two] = ["a", "b"].map((digit) => digit.repeat(64));
  assertEquals(diff({ a: one, b: one }, { a: two, b: "none" }), {
    words: [{ path: "b", before: one, now: "none" }],
    numbers: 0,
  });
  assertEquals(diffJson("{", "{}"), undefined);
});
