import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { toyProject } from "../rig/project.ts";

const FILE = "experiments/toy.yaml";

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
    `${FILE}:15: stages.steps.params.steps: must be of type number, found "many"`,
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
    const profile = what.endsWith("profile") ? "slow" : "smoke";
    const ended = await project.run(["reproduce", "--profile", profile]);
    assertEquals(ended.code, 1);
    assertStringIncludes(ended.stderr, message);
    assertEquals(ended.stderr.includes("    at "), false, "no stack trace");
    assertEquals(ended.stdout, "");
  });
}

Deno.test("wrong options are refused with a near name", async () => {
  using project = toyProject();
  const table: [string[], string][] = [
    [["reproduse"], 'no such command; did you mean "reproduce"?'],
    [["reproduce", "--profle", "x"], 'no such option; did you mean "profile"?'],
    [["reproduce", "--profile", "smok"], 'no profile "smok"; did you mean "smoke"?'],
    [["reproduce", "--experiment", "tyo"], 'no experiment "tyo"; did you mean "toy"?'],
    [["reproduce", "--jobs", "0"], "it must be a whole number from 1"],
    [["reproduce", "--backend", "wsam"], 'did you mean "wasm"?'],
    [["reproduce", "--set", "steps"], "it must have the form path=value"],
    [["reproduce", "--set", "stepz.rate=2"], 'did you mean "steps"?'],
    [["reproduce", "--set", "steps.rate=fast"], "--set steps.rate=fast: must be of type number"],
    [
      ["reproduce", "--set", "steps.rtae=2"],
      '--set steps.rtae=2: unknown key "rtae"; did you mean "rate"?',
    ],
    [["reproduce", "--only", "stpes"], "it matches no instance"],
    [["reproduce", "--mirror", "nowhere"], "it must be a folder or a URL"],
    [["audit"], "nothing was run there yet"],
    [["why"], "it takes INSTANCE, found none"],
  ];
  for (const [args, message] of table) {
    const ended = await project.run(args);
    assertEquals(ended.code, 1, args.join(" "));
    assertStringIncludes(ended.stderr, message, args.join(" "));
    assertEquals(ended.stderr.includes("    at "), false, `${args.join(" ")}: no stack trace`);
  }
});

Deno.test("--help describes every command and leaves nothing behind", async () => {
  using project = toyProject();
  const overview = await project.run(["--help"]);
  assertEquals(overview.code, 0);
  for (const command of ["reproduce", "plan", "why", "status", "audit"]) {
    assertStringIncludes(overview.stdout, command);
    const help = await project.run([command, "--help"]);
    assertEquals(help.code, 0);
    assertStringIncludes(help.stdout, `deno task ${command}`);
  }
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
        `import { Store } from "${new URL("../../pipeline/store.ts", import.meta.url).pathname}";
         try { new Store("${
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
  name: "a full disk fails the instances that need room, keeps the rest, and a later run goes on",
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
        "stages/word.ts",
        "context.params.text);",
        "context.params.text.repeat(60000));",
      );
      const args = ["reproduce", "--outputs", small];
      const full = await project.run(args);
      assertEquals(full.code, 1, full.stdout);
      const said = full.stdout + full.stderr;
      assertStringIncludes(said, "No space left on the device");
      assertStringIncludes(said, "give another place with --outputs");
      await new Deno.Command("mount", { args: ["-o", "remount,size=60m", small] }).output();
      const again = await project.run(args);
      assertEquals(again.code, 0, again.stdout + again.stderr);
      assertEquals((await project.run(["audit", "--outputs", small])).code, 0);
    } finally {
      await new Deno.Command("umount", { args: [small] }).output();
    }
  },
});
