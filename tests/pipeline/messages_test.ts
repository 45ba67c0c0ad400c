import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "node:path";
import { toyProject } from "../rig/project.ts";

const FILE = "experiments/toy/experiment.yaml";

/** An edit of the experiment file and what the message must say. */
const EDITS: readonly [what: string, from: string, to: string, message: string][] = [
  ["malformed YAML", "  seed: [1, 2]", "  seed: [1, 2", `${FILE}:9:`],
  [
    "an unknown key",
    "    each: [name, seed]",
    "    eech: [name, seed]",
    `${FILE}:13: stages.steps.eech: unknown key "eech"; did you mean "each"?`,
  ],
  [
    "an unknown param",
    "    params: { seed: $seed }",
    "    params: { seed: $seed, delayMS: 1 }",
    `${FILE}:15: stages.steps.params.delayMS: unknown key "delayMS"; did you mean "delayMs"?`,
  ],
  [
    "a param of the wrong type",
    "    params: { seed: $seed }",
    "    params: { seed: $seed, steps: many }",
    `${FILE}:15: stages.steps.params.steps: must be a number, found "many"`,
  ],
  [
    "a mapping where text belongs",
    "    ann: { word: { text: Ann } }",
    "    ann: { word: { text: { of: Ann } } }",
    `${FILE}:4: axes.name.ann.word.text: must be text, found {"of":"Ann"}`,
  ],
  [
    "a word where true or false belongs",
    "    params: { seed: $seed }",
    "    params: { seed: $seed, fail: maybe }",
    `${FILE}:15: stages.steps.params.fail: must be true or false, found "maybe"`,
  ],
  [
    "text where a list belongs",
    "    each: [name, seed]",
    "    each: name",
    `${FILE}:13: stages.steps.each: must be a list, found "name"`,
  ],
  [
    "a list where a mapping belongs",
    "    params: { seed: $seed }",
    "    params: [seed]",
    `${FILE}:15: stages.steps.params: must be a mapping, found ["seed"]`,
  ],
  [
    "a param that is not given",
    "    params: { seed: $seed }",
    "    params: {}",
    `${FILE}:12: stages.steps: seed: must be a number, found nothing`,
  ],
  [
    "a name that is none",
    "    each: [name]\n",
    "    each: [name]\n    inputs: { Text: word.text }\n",
    `${FILE}:12: stages.word.inputs.Text: a name here must be lower-case letters, digits and _, ` +
    'found "Text"',
  ],
  [
    "a grid value that is none",
    "  name: [ann, bob]",
    "  name: [ann, rob]",
    `${FILE}:7: grid.name.1: "rob" is no value of axes.name; did you mean "bob"?`,
  ],
  [
    "an unknown axis",
    "each: [name, seed]",
    "each: [name, sead]",
    `${FILE}:13: stages.steps.each.1: no grid axis "sead"; did you mean "seed"?`,
  ],
  [
    "an unknown axis whose values change params",
    "each: [name]\n",
    "each: [nmae]\n",
    `${FILE}:11: stages.word.each.0: no grid axis "nmae"; did you mean "name"?`,
  ],
  [
    "an axis that nothing varies over",
    "  seed: [1, 2]\n",
    "  seed: [1, 2]\n  sead: [1]\n",
    `${FILE}:9: grid.sead: no stage varies over "sead"; did you mean "seed"?`,
  ],
  [
    "an unknown axis in an exclusion",
    "stages:\n",
    "exclude: [{ name: bob, sead: 2 }]\nstages:\n",
    `${FILE}:9: exclude.0.sead: no grid axis "sead"; did you mean "seed"?`,
  ],
  [
    "an axis without a value",
    "  seed: [1, 2]",
    "  seed: []",
    `${FILE}:8: grid.seed: must have at least 1 entry, found []`,
  ],
  [
    "a grid value that is no name and no whole number",
    "  seed: [1, 2]",
    "  seed: [1, 1.5]",
    `${FILE}:8: grid.seed.1: must be text or a whole number, found 1.5`,
  ],
  [
    "a grid value with a space",
    "  seed: [1, 2]",
    "  seed: [1, 1 5]",
    `${FILE}:8: grid.seed.1: must not contain / * ? or spaces, found "1 5"`,
  ],
  [
    "a number that is not finite",
    "    params: { seed: $seed }",
    "    params: { seed: $seed, rate: .nan }",
    `${FILE}:15: stages.steps.params.rate: must be a finite number, found .nan`,
  ],
  [
    "a definition that is a grid axis too",
    "axes:\n",
    "define: { seed: 3 }\naxes:\n",
    `${FILE}:2: define.seed: $seed is the value of a grid axis; set grid.seed`,
  ],
  [
    "a misspelt value in the axes of a profile",
    "    stages: { steps:",
    "    axes: { name: { bbo: {} } }\n    stages: { steps:",
    `: profiles.slow.axes.name.bbo: "bbo" is no value of grid.name; did you mean "bob"?`,
  ],
  [
    "an unknown stage in an input",
    "text: word.text",
    "text: wrod.text",
    `no stage "wrod"; did you mean "word"?`,
  ],
  [
    "an unknown output",
    "text: word.text",
    "text: word.txet",
    `stage "word" has no output "txet"; did you mean "text"?`,
  ],
  [
    "a reference to nothing",
    "seed: $seed }",
    "seed: $sead }",
    `${FILE}:15: stages.steps.params.seed: $sead refers to nothing: no "sead"; did you mean "seed"?`,
  ],
  [
    "a grid value that a param refuses",
    "  seed: [1, 2]",
    "  seed: [1, two]",
    `${FILE}:8: grid.seed: must be a number, found "two"\n  from ${FILE}:15: ` +
    "stages.steps.params.seed: $seed\n",
  ],
  [
    "a cycle",
    "    inputs: { text: word.text }",
    "    inputs: { text: gather.page }",
    "stages must not form a cycle, found steps → gather → steps",
  ],
  [
    "an unknown stage in a profile",
    "    stages: { steps:",
    "    stages: { stepz:",
    `no stage "stepz"; did you mean "steps"?`,
  ],
];

for (const [what, from, to, message] of EDITS) {
  Deno.test(`${what} is one message with file and line`, async () => {
    using project = toyProject();
    project.edit(FILE, from, to);
    const profile = what.endsWith("a profile") ? "slow" : "smoke";
    const ended = await project.run(["reproduce", "--profile", profile]);
    assertEquals(ended.code, 2);
    assertStringIncludes(ended.stderr, message);
    assertEquals(ended.stderr.includes("    at "), false, "no stack trace");
    assertEquals(ended.stdout, "");
  });
}

Deno.test("what is no choice is refused with the choices, once", async () => {
  using project = toyProject();
  project.edit("stages/word.ts", "z.string().default(", 'z.enum(["plain", "bold"]).default(');
  for (const [given, near] of [["xyz", ""], ["bald", '; did you mean "bold"?']]) {
    const ended = await project.run(["plan", "--set", `word.style=${given}`]);
    assertEquals(
      ended.stderr,
      `--set word.style=${given}: must be one of plain, bold, found "${given}"${near}\n`,
    );
  }
});

Deno.test("a definition of the name of an included file is refused", async () => {
  using project = toyProject();
  project.write("experiments/toy/more.yaml", "title: Some\n");
  project.edit(FILE, "axes:\n", "include: { more: more.yaml }\naxes:\n");
  const ended = await project.run(["plan", "--set", "define.more={}"]);
  assertEquals(
    ended.stderr,
    "--set define.more={}: $more is what is included from experiments/toy/more.yaml; " +
      "change that file\n",
  );
  project.edit(FILE, "{ seed: $seed }", "{ seed: $seed, rate: $more.rate }");
  const misspelt = await project.run(["plan", "--set", "define.mor={}"]);
  assertEquals(misspelt.stderr, "--set define.mor={}: no param refers to $mor\n");
});

Deno.test("a store that can't be written to is one message", async () => {
  using project = toyProject();
  project.write("occupied/store", "a file where the store's folder should be");
  const ended = await project.run(["reproduce", "--outputs", project.path("occupied")]);
  assertEquals(ended.code, 1);
  assertStringIncludes(ended.stderr, "Cannot open the store at");
  assertStringIncludes(ended.stderr, "give another place with --outputs");
});

Deno.test({
  name: "without permission on the store the message says what to do",
  // Root may write anywhere, so the test drops to another user, which only root can.
  ignore: Deno.uid() !== 0,
  async fn() {
    using project = toyProject();
    Deno.mkdirSync(project.path("sealed"), { mode: 0o555 });
    Deno.chmodSync(project.root, 0o755);
    const { code, stderr } = await new Deno.Command("setpriv", {
      args: [
        "--reuid=65534",
        "--clear-groups",
        Deno.execPath(),
        "eval",
        "--no-lock",
        `import { LocalStore } from "${
          new URL("../../pipeline/store/local_store.ts", import.meta.url).pathname
        }";
         try { new LocalStore("${
          project.path("sealed/store")
        }"); } catch (error) { console.error(error.message); Deno.exit(1); }`,
      ],
      env: { DENO_DIR: project.path("cache"), HOME: project.root },
      stderr: "piped",
    }).output().catch((error) => ({ code: -1, stderr: new TextEncoder().encode(String(error)) }));
    const text = new TextDecoder().decode(stderr);
    assertEquals(code, 1, text);
    assertStringIncludes(text, "Cannot open the store at");
    assertStringIncludes(text, "ermission denied");
  },
});

/** Has the first stage run a statement of its own, in line 5 of its file. */
async function acting(statement: string): Promise<{ root: string; said: string }> {
  using project = toyProject();
  project.edit("stages/word.run.ts", "  Deno.write", `  ${statement}\n  Deno.write`);
  const ended = await project.run(["reproduce", "--only", "word/ann"]);
  assertEquals(ended.code, 1);
  return { root: project.root, said: ended.stdout };
}

Deno.test("a bug's stack names the file and line that someone wrote", async () => {
  const { root, said } = await acting('throw new TypeError("odd");');
  assertStringIncludes(said, 'Stage "word" failed');
  assertStringIncludes(said, `(file://${root}/stages/word.run.ts:5:`);
});

Deno.test({
  name: "a store on a read-only place can be read; to write there fails with one message",
  // Only root can mount.
  ignore: Deno.uid() !== 0,
  async fn() {
    using project = toyProject();
    await project.executed();
    const status = (await project.run(["status"])).stdout;
    const outputs = project.path("outputs");
    const mount = async (...args: string[]) => {
      const { success, stderr } = await new Deno.Command("mount", { args }).output();
      assert(success, new TextDecoder().decode(stderr));
    };
    await mount("--bind", outputs, outputs);
    try {
      await mount("-o", "remount,ro,bind", outputs);
      const refused = await project.run(["reproduce"]);
      assertEquals(refused.code, 1);
      assertEquals(refused.stderr.match(/Cannot open the store/g)?.length, 1);
      assertEquals(refused.stderr.match(/--outputs/g)?.length, 1, refused.stderr);
      assert(refused.stderr.startsWith("Cannot open the store"), refused.stderr);
      for (const args of [["audit"], ["trace", "gather"], ["plan"], ["why", "gather"]]) {
        const read = await project.run(args);
        assertEquals(read.code, 0, read.stderr);
      }
      assertEquals((await project.run(["status"])).stdout, status);
    } finally {
      await new Deno.Command("umount", { args: [outputs] }).output();
    }
  },
});

Deno.test({
  name:
    "a store on a full disk can be read; a run says what is missing, and never that it may not write",
  // Only root can mount.
  ignore: Deno.uid() !== 0,
  async fn() {
    using project = toyProject();
    const small = project.path("small");
    Deno.mkdirSync(small);
    const mount = { args: ["-t", "tmpfs", "-o", "size=8m", "tmpfs", small] };
    assert((await new Deno.Command("mount", mount).output()).success);
    try {
      const at = ["--outputs", small];
      await project.executed(...at);
      const commands = [["status"], ["plan"], ["why", "gather"]];
      const run = async () => {
        const said: string[] = [];
        for (const args of commands) {
          const { code, stdout, stderr } = await project.run([...args, ...at]);
          assertEquals(code, 0, stderr);
          said.push(stdout);
        }
        return said;
      };
      const before = await run();
      using file = Deno.openSync(join(small, "full"), { write: true, create: true });
      assertThrows(() => {
        for (;;) file.writeSync(new Uint8Array(4096));
      });
      assertEquals(await run(), before);
      const { code, stderr } = await project.run(["reproduce", ...at]);
      assertEquals(code, 1);
      assertMatch(stderr, /^Cannot open the store at .*: it must [a-z ]*room[a-z ]*, found "/);
      assertMatch(stderr, /; free some[a-z, ]* or give another place with --outputs\n$/);
      const empty = join(small, "other");
      const first = await project.run(["reproduce", "--outputs", empty]);
      assertMatch(first.stderr, /room/);
      assertEquals(first.code, 1);
    } finally {
      await new Deno.Command("umount", { args: [small] }).output();
    }
  },
});

for (
  const [statement, found] of [
    ["new ArrayBuffer(2 ** 50)", "Array buffer allocation failed"],
    ["new Float32Array(2 ** 53)", "Invalid typed array length: 9007199254740992"],
    ['throw Object.assign(new RangeError("Full"), { name: "MemoryError" })', "Full"],
  ] as const
) {
  Deno.test(`a lack of memory, "${found}", is one message`, async () => {
    const { said } = await acting(`${statement};`);
    assertStringIncludes(
      said.replace(/\s+/g, " "),
      `Cannot run stage "word": what it computes must fit into memory, found "${found}"; ` +
        "lower the params that set its size ",
    );
    assertEquals(said.includes("    at "), false, "no stack trace");
  });
}

Deno.test("a negative length is a bug, not a lack of memory", async () => {
  const { said } = await acting("new Float32Array(-10000000000);");
  assertStringIncludes(said, "Invalid typed array length: -10000000000");
  assertStringIncludes(said, "    at ");
});

/** Bytes of each word: some find room, or a stage finds none for its own. */
for (const [bytes, what] of [[180_000, "all words"], [1_800_000, "a single word"]] as const) {
  Deno.test({
    name:
      `a disk too full for ${what} fails the instances that need room, keeps the rest, and a later run goes on`,
    // Only root can mount the small file system.
    ignore: Deno.uid() !== 0,
    async fn() {
      using project = toyProject();
      const small = project.path("small");
      Deno.mkdirSync(small);
      const mount = await new Deno.Command("mount", {
        args: ["-t", "tmpfs", "-o", "size=600k", "tmpfs", small],
      }).output();
      assertEquals(mount.code, 0, new TextDecoder().decode(mount.stderr));
      try {
        project.edit(
          "stages/word.run.ts",
          "context.params.text);",
          `context.params.text.repeat(${bytes / 3}));`,
        );
        const args = ["reproduce", "--outputs", small];
        const full = await project.run(args);
        assertEquals(full.code, 1, full.stdout);
        const said = `${full.stdout}${full.stderr}`.replaceAll(/\n {10}/g, " ");
        assertStringIncludes(said, "No space left on the device");
        assertEquals(said.includes("No space left on device"), false, said);
        assertStringIncludes(said, "give another place with --outputs");
        assertEquals(said.includes("    at "), false, "no stack trace");
        await new Deno.Command("mount", { args: ["-o", "remount,size=60m", small] }).output();
        const again = await project.run(args);
        assertEquals(again.code, 0, again.stdout + again.stderr);
        assertEquals((await project.run(["audit", "--outputs", small])).code, 0);
      } finally {
        await new Deno.Command("umount", { args: [small] }).output();
      }
    },
  });
}
