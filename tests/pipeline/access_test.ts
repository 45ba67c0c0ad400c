import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { Backend } from "../../pipeline/stage.ts";
import { execute } from "../rig/execute.ts";
import { type TestProject, toyProject, unwrapped } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** Runs the toy with a first stage that does something it did not declare. */
async function failing(project: TestProject, act: string): Promise<string> {
  project.edit(
    "stages/word.run.ts",
    "  Deno.writeTextFileSync(",
    `  ${act}\n  Deno.writeTextFileSync(`,
  );
  const ended = await project.run(["reproduce", "--only", "word/ann"]);
  assertEquals(ended.code, 1);
  return unwrapped(ended.stdout);
}

Deno.test("an undeclared file read is refused and named", async () => {
  using project = toyProject();
  const text = await failing(project, 'Deno.readTextFileSync("/etc/hostname");');
  assertStringIncludes(
    text,
    'Stage "word" may not do this: Requires read access to "/etc/hostname"',
  );
});

Deno.test("an undeclared write is refused and named", async () => {
  using project = toyProject();
  const text = await failing(project, 'Deno.writeTextFileSync("/tmp/lockstep-undeclared", "x");');
  assertStringIncludes(text, 'Requires write access to "/tmp/lockstep-undeclared"');
});

Deno.test("an undeclared host is refused and named", async () => {
  using project = toyProject();
  const text = await failing(
    project,
    'return fetch("http://127.0.0.1:18081/").then(() => {}); // deno-lint-ignore no-unreachable',
  );
  assertStringIncludes(text, 'Requires net access to "127.0.0.1:18081"');
});

Deno.test("an undeclared environment read is refused and named", async () => {
  using project = toyProject();
  const text = await failing(project, 'Deno.env.get("HOME");');
  assertStringIncludes(text, 'Requires env access to "HOME"');
});

Deno.test("a subprocess is refused", async () => {
  using project = toyProject();
  const text = await failing(project, 'new Deno.Command("/bin/true").outputSync();');
  assertStringIncludes(text, "Requires run access to");
});

Deno.test("an import computed at run time is refused with its line", async () => {
  using project = toyProject();
  project.edit(
    "stages/word.run.ts",
    "export function run(context: StageContext<Params>): Promise<void> {",
    "export async function run(context: StageContext<Params>): Promise<void> {\n" +
      "  await import(context.params.text);",
  );
  const ended = await project.run(["reproduce"]);
  assertEquals(ended.code, 2);
  assertStringIncludes(ended.stderr, 'Cannot take the fingerprint of stage "word"');
  assertStringIncludes(ended.stderr, "stages/word.run.ts:");
});

Deno.test("a bug in a stage shows its stack in the source; an unwritten output is named", async () => {
  using project = toyProject();
  const text = await failing(project, "(undefined as unknown as string[]).map(String);");
  assertStringIncludes(text, "TypeError: Cannot read properties of undefined");
  assertStringIncludes(text, "stages/word.run.ts:");
  using silent = toyProject();
  silent.edit(
    "stages/word.run.ts",
    'Deno.writeTextFileSync(context.output("text"), context.params.text);',
    "",
  );
  const ended = await silent.run(["reproduce"]);
  assertStringIncludes(
    unwrapped(ended.stdout),
    'its stage must write output "text" as a file, and wrote none',
  );
});

Deno.test("an import that is neither the project's nor pinned is refused; an alias of a file is not", async () => {
  using project = toyProject();
  project.edit(
    "stages/word.run.ts",
    "export function",
    'import "file:///etc/hostname";\nexport function',
  );
  const refused = await project.run(["reproduce"]);
  assertEquals(refused.code, 2);
  using aliased = toyProject();
  aliased.edit("deno.json", '"imports":{', '"imports":{"grow":"./lib/grow.ts",');
  aliased.edit("stages/steps.run.ts", '"../lib/grow.ts"', '"grow"');
  assertEquals((await aliased.executed()).length, 7);
  aliased.edit("lib/grow.ts", "+ 1;", "+ 2;");
  assertEquals((await aliased.executed()).length, 5);
});

/** What a stage finds by expressions: their values, or how they fail, one a line. */
async function tried(expressions: readonly string[], backend?: Backend): Promise<string[]> {
  const { error, text } = await execute(
    `const found = [];
    for (const expression of ${JSON.stringify(expressions)}) {
      try {
        const value = await (0, eval)("(async () => (" + expression + "))()");
        found.push(value === undefined ? "undefined" : JSON.stringify(value));
      } catch (error) {
        found.push(error.name + ": " + error.message);
      }
    }
    Deno.writeTextFileSync(context.output("text"), JSON.stringify(found));`,
    backend === undefined ? {} : { task: { backend } },
  );
  if (error) throw error;
  return JSON.parse(text!);
}

Deno.test("storage that outlives a process is out of reach, by any name", async () => {
  const names = ["localStorage", "sessionStorage", "caches", "indexedDB"];
  // A platform object is known by its brand, which every global object bears.
  const branded = (type: string) =>
    `(() => { const [brand] = Object.getOwnPropertySymbols(globalThis)
      .filter((symbol) => symbol.description.includes("brand"));
      const made = Object.create(${type}.prototype); made[brand] = brand; return made; })()`;
  const found = await tried([
    ...names.flatMap((name) => [
      `globalThis.${name}`,
      `Object.getOwnPropertyDescriptor(globalThis, "${name}")`,
      `Object.getPrototypeOf(globalThis).${name}`,
      `process.getBuiltinModule("node:vm").runInThisContext("globalThis.${name}")`,
    ]),
    "Reflect.ownKeys(Storage.prototype).length + Reflect.ownKeys(CacheStorage.prototype).length",
    "Deno[Deno.internal]",
    "Object.getOwnPropertySymbols(Deno).length",
  ]);
  assertEquals(found, [...Array(4 * names.length).fill("undefined"), "0", "undefined", "0"]);
  const wrong = await tried([
    'new Storage().setItem("a", "b")',
    'new CacheStorage().open("kept")',
    `${branded("CacheStorage")}.open("kept")`,
    `${branded("Storage")}.setItem("a", "b")`,
    'import("ext:core/ops")',
  ]);
  for (const each of wrong) assertMatch(each, /^TypeError: /);
});

Deno.test("the number of processors, the language and other threads are out of reach", async () => {
  const found = await tried([
    "navigator.hardwareConcurrency",
    'process.getBuiltinModule("node:os").availableParallelism()',
    '(await import("node:os")).availableParallelism()',
    "[navigator.language, navigator.languages]",
    'Reflect.get(Object.getPrototypeOf(navigator), "hardwareConcurrency", navigator)',
    'Object.getOwnPropertyDescriptor(Navigator.prototype, "hardwareConcurrency").configurable',
    "delete Navigator.prototype.hardwareConcurrency",
    "typeof Worker + typeof BroadcastChannel",
  ]);
  assertEquals(found, [
    "1",
    "1",
    "1",
    '["en-US",["en-US"]]',
    "1",
    "false",
    "false",
    '"undefinedundefined"',
  ]);
  const code = "JSON.stringify('require(\"node:worker_threads\")')";
  const wrong = await tried([
    `new (process.getBuiltinModule("node:worker_threads").Worker)(${code}, { eval: true })`,
    `new (await import("node:worker_threads")).Worker(${code}, { eval: true })`,
    `new (await import("node:worker_threads")).default.Worker("data:text/javascript,1")`,
    `new (process.getBuiltinModule("node:module").createRequire("file:///a.js")` +
    `("worker_threads").Worker)(${code}, { eval: true })`,
    `Reflect.construct((await import("node:worker_threads")).Worker, ["1", { eval: true }], class {})`,
    `new (await import("node:worker_threads")).BroadcastChannel("a")`,
    `Object.setPrototypeOf((await import("node:worker_threads")).Worker, EventTarget)`,
  ]);
  for (const each of wrong) {
    assertMatch(each, /A stage may not make a \w+: it computes in one thread|not extensible/);
  }
});

Deno.test("a graphics adapter is within reach of a stage on webgpu only", async () => {
  const found = await tried([
    "navigator.gpu",
    'Reflect.get(Navigator.prototype, "gpu", navigator)',
    'Object.getOwnPropertyDescriptor(Navigator.prototype, "gpu").configurable',
    "Object.create(GPU.prototype).requestAdapter()",
  ], "wasm");
  assertEquals(found, ["undefined", "undefined", "false", "null"]);
  const [made] = await tried(["new GPU()"], "wasm");
  assertMatch(made!, /^TypeError: /);
});

Deno.test("no road leads to code or files that no key names", async () => {
  const outside = `${temporaryFolder()}/outside.mjs`;
  Deno.writeTextFileSync(outside, "export default 7;\n");
  const json = `${temporaryFolder()}/outside.json`;
  Deno.writeTextFileSync(json, "7\n");
  const module = (code: string) => `import("data:text/javascript,${encodeURIComponent(code)}")`;
  const require = 'process.getBuiltinModule("node:module").createRequire("file:///a.js")';
  const zod = fileURLToPath(new URL("index.cjs", import.meta.resolve("zod")));
  const roads = [
    `import("file://${outside}")`,
    `import("${outside}")`,
    module(`export { default } from "file://${outside}";`),
    module(`import value from "file://${json}" with { type: "json" }; export default value;`),
    `import(URL.createObjectURL(new Blob(["export * from 'file://${outside}'"])))`,
    'typeof await import("npm:zod@4.6.7")',
    'typeof await import("zod")',
    'typeof await import("jsr:@std/assert@1")',
    'typeof await import("https://deno.land/std@0.200.0/version.ts")',
    `${require}("${json}")`,
    `${require}("${outside}")`,
    `typeof ${require}("zod")`,
    // A package of the user's cache, which Deno lets `require` read wherever it is the process's own.
    `typeof ${require}("${zod}")`,
    `process.getBuiltinModule("node:fs").readFileSync("${outside}")`,
    `process.getBuiltinModule("node:fs").existsSync("${outside}")`,
    `fetch("file://${outside}")`,
    `new (await import("node:sqlite")).DatabaseSync("${outside}.sqlite")`,
    `new (await import("node:sqlite")).DatabaseSync(":memory:").exec("attach '${outside}.s' as o")`,
    'Deno.readTextFileSync("/proc/self/environ")',
    'Deno.readTextFileSync("/proc/cpuinfo")',
    'Deno.readTextFileSync("/dev/urandom")',
    "Deno.makeTempFileSync()",
    'Deno.dlopen("libc.so.6", {})',
    'process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6")',
    'process.getBuiltinModule("node:child_process").execFileSync("/bin/true")',
    "process.kill(process.ppid, 0)",
    "process.env.HOME",
    "Object.keys(process.env)",
    'process.getBuiltinModule("node:os").hostname()',
    'process.getBuiltinModule("node:os").cpus()',
    'process.getBuiltinModule("node:os").totalmem()',
    'process.getBuiltinModule("node:os").userInfo()',
    'process.getBuiltinModule("node:os").networkInterfaces()',
    'process.getBuiltinModule("node:os").loadavg()',
    "Deno.systemMemoryInfo()",
    "Deno.osRelease()",
    'Deno.symlinkSync("/etc/hostname", "link")',
    '(await import("node:dns/promises")).lookup("localhost")',
    'new (await import("node:inspector")).Session().connect()',
    "Deno.openKv()",
    '(await Deno.permissions.request({ name: "env" })).state === "granted" || Deno.env.toObject()',
  ];
  const found = await tried(roads);
  const open = roads.filter((_, index) => !/^[A-Za-z]*(Error|NotCapable): /.test(found[index]!));
  assertEquals(open, []);
});

Deno.test("code made at run time computes with what the stage has, and no more", async () => {
  const found = await tried([
    "new Function('return typeof Worker + typeof caches')()",
    `process.getBuiltinModule("node:vm").runInNewContext("typeof Deno + typeof process + typeof fetch")`,
    'import("data:text/javascript,export default navigator.hardwareConcurrency").then((m) => m.default)',
  ]);
  assertEquals(found, [
    '"undefinedundefined"',
    '"undefinedundefinedundefined"',
    "1",
  ]);
});

Deno.test("a stage cannot write to its inputs, which are the store's own files", async () => {
  using project = toyProject();
  const before = await project.run(["reproduce", "--only", "word/ann"]);
  assertEquals(before.code, 0);
  const acts = [
    'Deno.writeTextFileSync(path, "x");',
    "Deno.truncateSync(path);",
    "Deno.chmodSync(path, 0o666);",
    'Deno.renameSync(path, context.output("state"));',
    "Deno.removeSync(path);",
    'Deno.linkSync(path, context.output("state"));',
    "Deno.openSync(path, { append: true });",
    'process.getBuiltinModule("node:fs").utimesSync(path, 0, 0);',
  ];
  project.edit(
    "stages/steps.run.ts",
    "  if (fail)",
    `  const path = context.input("text").path;
  const process = (globalThis as never as { process: { getBuiltinModule(name: string): any } }).process;
  const acts: (() => void)[] = [${acts.map((act) => `() => { ${act} }`).join(", ")}];
  const open = acts.filter((act) => {
    try {
      act();
      return true;
    } catch {
      return false;
    }
  });
  if (open.length > 0) throw new StageError("It wrote by " + open.join(" "));
  if (fail)`,
  );
  const ended = await project.run(["reproduce", "--only", "steps/ann/1"]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test({
  name: "an output may be a copy of an input, read-only as that is, also for who is not root",
  ignore: Deno.build.os !== "linux",
  async fn() {
    using project = toyProject();
    project.edit(
      "stages/steps.run.ts",
      'Deno.writeTextFileSync(context.output("state"), text + " " + state.value);',
      'Deno.copyFileSync(context.input("text").path, context.output("state"));',
    );
    // Without its capabilities, root too is bound by the modes of files.
    const [program, ...args] = [
      ...Deno.uid() === 0 ? ["setpriv", "--bounding-set", "-all"] : [],
      ...[Deno.execPath(), "run", "-A", "--quiet", project.path("main.ts")],
      ...["reproduce", "--only", "steps/ann/1"],
    ] as const;
    const { code, stdout } = await new Deno.Command(program!, { args, cwd: project.root }).output();
    assertEquals(code, 0, new TextDecoder().decode(stdout));
  },
});

/** What a stage may do to folders that are its own. */
const CLOSED = `
  const close = (folder, mode) => {
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      if (isDirectory) close(folder + "/" + name, mode);
      else Deno.chmodSync(folder + "/" + name, mode);
    }
    Deno.chmodSync(folder, mode);
  };`;

for (const mode of ["0o555", "0o000"]) {
  Deno.test(`a stage that gives its folders mode ${mode} stops neither its run nor a later one`, async () => {
    using project = toyProject();
    const original = project.read("stages/steps.run.ts");
    const act = `${CLOSED}
  close(context.output("log"), ${mode});
  close(context.checkpoints, ${mode});
  if (context.params.rate === 2) throw new Error("after that");`;
    project.edit("stages/steps.run.ts", "  context.metric(", `${act}\n  context.metric(`);
    const store = project.path("outputs/store");
    const left = () =>
      ["scratch", "checkpoints"].flatMap((folder) => [...Deno.readDirSync(`${store}/${folder}`)]);
    const failed = await project.reproduceBound("--set", "steps.rate=2");
    assertEquals(failed.code, 1);
    assertStringIncludes(failed.stdout, "Error: after that");
    assertEquals(failed.stdout.includes("ermission denied"), false, failed.stdout);
    assertEquals([...Deno.readDirSync(`${store}/scratch`)], []);
    const ended = await project.reproduceBound();
    assertEquals(ended.code, 0, ended.stdout + ended.stderr);
    assertStringIncludes(project.read("outputs/toy.smoke/parts/1ann.txt"), "sub/b=sub/b");
    // Of a process that was killed, the next one finds the folders as they are.
    const killed = `${store}/scratch/scratch-of-old/outputs/log`;
    Deno.mkdirSync(killed, { recursive: true });
    Deno.chmodSync(killed, Number(mode));
    project.write("stages/steps.run.ts", original);
    assertEquals((await project.reproduceBound("--force", "gather")).code, 0);
    assertEquals(left().length, 4, "the checkpoints of what failed");
    assertEquals((await project.run(["audit"])).code, 0);
  });
}

Deno.test("folders may have any name: a comma, spaces, quotes, a percent sign", async () => {
  using project = toyProject();
  const outputs = project.path("a, b%20 'c' \"d\" é/out");
  const ended = await project.run(["reproduce", "--outputs", outputs]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
});
