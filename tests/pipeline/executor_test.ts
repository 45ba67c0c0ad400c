import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { StageError } from "../../pipeline/errors.ts";
import type { Task } from "../../pipeline/run/executor.ts";
import type { Assignment } from "../../pipeline/run/executor/protocol.ts";
import { execute } from "../rig/execute.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const DONE = 'Deno.writeTextFileSync(context.output("text"), "done");';

Deno.test("whatever a stage prints is its log, and it finishes", async () => {
  const { error, printed, text } = await execute(`
    const print = (text) => Deno.stdout.writeSync(new TextEncoder().encode(text));
    for (const line of ["null", "7", "[]", "{", '{"type":"done"}', '{"type":"metric","name":"a"}']) {
      print(line + "\\n");
    }
    print("no end of line");
    context.progress({ done: 1, total: 2, unit: "steps" });
    print(" here");
    console.log("to the console", { a: 1 });
    ${DONE}`);
  assertEquals(error, undefined);
  assertEquals(text, "done");
  assertStringIncludes(printed, 'null\n7\n[]\n{\n{"type":"done"}\n{"type":"metric","name":"a"}\n');
  assertStringIncludes(printed, "no end of line here");
  assertStringIncludes(printed, "to the console { a: 1 }\n");
});

Deno.test("a forged end is no end, also by code that replaces the built-ins messages are made of", async () => {
  const { error, metrics } = await execute(`
    const seen = [];
    const spy = (object, name) => {
      const original = object[name];
      object[name] = function (...values) {
        seen.push(...values.map((value) => value instanceof Uint8Array
          ? [...value].map((code) => String.fromCharCode(code)).join("") : String(value)));
        return Reflect.apply(original, this, values);
      };
    };
    for (const name of ["encode", "encodeInto"]) spy(TextEncoder.prototype, name);
    spy(Deno.stdout, "writeSync");
    spy(JSON, "stringify");
    spy(Uint8Array.prototype, "subarray");
    Object.prototype.toJSON = function () { seen.push("toJSON"); return this; };
    context.metric("first", 1);
    const mark = seen.map((text) => /\\x01\\S+ /.exec(text)?.[0]).find(Boolean) ?? "\\x01forged ";
    delete Object.prototype.toJSON;
    await Deno.stdout.write(new TextEncoder().encode(mark + '{"type":"done"}\\n'));
    context.metric("second", 2);
    throw new Error("this is the end: " + mark.slice(1));`);
  assert(error instanceof StageError);
  assertStringIncludes(error.message, "this is the end: forged");
  assertEquals(metrics, {});
});

Deno.test("a snapshot of the heap, which a stage may have, has nothing that forges an end", async () => {
  const { error, printed } = await execute(`
    const { getHeapSnapshot } = await import("node:v8");
    let heap = "";
    for await (const piece of getHeapSnapshot()) heap += piece;
    const found = new Set(heap.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g));
    console.log(heap.length > 1e6 ? "a snapshot with this module" : "none", heap.includes("forges"));
    for (const token of found) {
      const message = "\\x01" + token + ' {"type":"done"}\\n';
      await Deno.stdout.write(new TextEncoder().encode(message));
    }
    await new Promise((forges) => setTimeout(forges, 200));
    throw new Error("this is the end");`);
  assertStringIncludes(printed, "a snapshot with this module true");
  assertStringIncludes(error?.message ?? "it finished", "this is the end");
});

/** Bytes held by this file's own code: tests of other files run in the same process. */
function held(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

Deno.test("200 MB without an end of line, and as many short lines, take bounded time and memory", async () => {
  for (const unit of ["x", "x\\n"]) {
    const begun = performance.now(), before = held();
    let most = 0, characters = 0;
    const log = (text: string) => {
      characters += text.length;
      if (characters % (8 << 20) < text.length) most = Math.max(most, held());
    };
    const { error } = await execute(
      `
      const piece = new TextEncoder().encode("${unit}".repeat(1 << 19));
      for (let n = 0; n < 200 << 20; n += piece.length) {
        for (let at = 0; at < piece.length;) at += Deno.stdout.writeSync(piece.subarray(at));
      }
      ${DONE}`,
      { watch: { log } },
    );
    const seconds = (performance.now() - begun) / 1000;
    assertEquals(error, undefined);
    assertEquals(characters, 200 << 20);
    assert(most - before < 150 << 20, `it took ${(most - before) >> 20} MiB`);
    assert(seconds < 30, `it took ${seconds} s`);
  }
});

Deno.test("a million reports of progress become few, the last among them", async () => {
  const begun = performance.now();
  const { error, progress } = await execute(`
    for (let done = 1; done <= 1e6; done++) {
      context.progress({ done, total: 1e6, unit: "steps", values: { loss: 1 / done } });
    }
    ${DONE}`);
  const seconds = (performance.now() - begun) / 1000;
  assertEquals(error, undefined);
  assertEquals(progress.at(-1), { done: 1e6, total: 1e6, unit: "steps", values: { loss: 1e-6 } });
  assert(progress.length < 25 * seconds + 2, `${progress.length} reports in ${seconds} s`);
});

Deno.test("progress held back comes when a stage goes on without more", async () => {
  const { progress } = await execute(`
    context.progress({ done: 1, total: 2, unit: "steps" });
    context.progress({ done: 2, total: 2, unit: "steps" });
    await new Promise((resolve) => setTimeout(resolve, 300));
    context.progress({ done: 0, total: 5, unit: "bytes" });`);
  assertEquals(progress.map(({ done }) => done), [1, 2, 0]);
});

Deno.test("a metric needs a printable name and a finite value, and is refused where it is recorded", async () => {
  const wrong: [string, string][] = [
    ['"", 1', 'cannot record metric "": its name must be 1 to 200 printable characters'],
    ['" ", 1', "its name must be 1 to 200 printable characters"],
    ['"a\\nb", 1', 'its name must be 1 to 200 printable characters, found "a\\nb"'],
    ['"a\\u2028b", 1', "its name must be 1 to 200 printable characters"],
    ['"a".repeat(201), 1', "its name must be 1 to 200 printable characters"],
    ["7, 1", "its name must be 1 to 200 printable characters"],
    ['"accuracy", NaN', 'cannot record metric "accuracy": its value must be a finite number'],
    ['"accuracy", 1 / 0', "found Infinity"],
    ['"accuracy", "1"', "found 1"],
    ['"accuracy"', "found undefined"],
  ];
  for (const [call, problem] of wrong) {
    const { error } = await execute(`context.metric(${call});`);
    assertStringIncludes(error?.message ?? "none", 'Stage "tried" failed');
    assertStringIncludes(error!.message, problem);
    assertMatch(error!.message, /at (run|Object\.run|file|stage\.mjs)/);
  }
  const { metrics } = await execute(`
    context.metric("F1", 0.5);
    context.metric("length.my-corpus", 7);
    context.metric("__proto__", 1);
    context.metric("größe in m", -0.25);`);
  assertEquals(Object.entries(metrics), [
    ["F1", 0.5],
    ["length.my-corpus", 7],
    ["__proto__", 1],
    ["größe in m", -0.25],
  ]);
});

Deno.test("progress of wrong types is refused where it is reported", async () => {
  for (
    const progress of [
      "null",
      "7",
      "{}",
      '{ done: "1", total: 2, unit: "steps" }',
      '{ done: 1, total: NaN, unit: "steps" }',
      "{ done: 1, total: 2 }",
      '{ done: 1, total: 2, unit: "steps", values: { a: "b" } }',
    ]
  ) {
    const { error } = await execute(`context.progress(${progress});`);
    assertMatch(
      error?.message ?? "none",
      /cannot report its progress|Cannot (destructure|read properties)/,
      progress,
    );
  }
  const { progress, error } = await execute(
    `context.progress({ done: 1, total: 2, unit: "steps", values: { loss: NaN } }); ${DONE}`,
  );
  assertEquals(error, undefined);
  assertEquals(progress, [{ done: 1, total: 2, unit: "steps", values: { loss: NaN } }]);
});

Deno.test("a stage that is not numeric has no backend", async () => {
  const { error } = await execute(`
    if ("backend" in { ...context }) throw new Error("it was handed a backend");
    context.backend;`);
  assertStringIncludes(
    error?.message ?? "none",
    'Stage "tried" has no backend: only a stage that declares numeric computes on one',
  );
  const numeric = await execute(
    'Deno.writeTextFileSync(context.output("text"), { ...context }.backend);',
    { task: { backend: "cpu" } },
  );
  assertEquals(numeric.text, "cpu");
});

Deno.test("an error beside the stage's own promise fails it, with its stack and without the engine's", async () => {
  for (
    const body of [
      'setTimeout(() => { throw new Error("beside"); }, 1); await new Promise(() => setTimeout(() => {}, 1e6));',
      'Promise.reject(new Error("beside")); await new Promise(() => setTimeout(() => {}, 1e6));',
      'throw new Error("beside");',
      'const deep = () => { throw new Error("beside"); }; context.inputs = deep; context.inputs();',
    ]
  ) {
    const { error } = await execute(body);
    assertStringIncludes(error?.message ?? "none", 'Stage "tried" failed\nError: beside');
    assertStringIncludes(error!.message, "stage.mjs:");
    assert(!/host\.ts|local\.ts|executor/.test(error!.message), error!.message);
  }
});

Deno.test("the same failure has the same message in every instance", async () => {
  const messages = new Set<string>();
  for (let n = 0; n < 2; n++) {
    for (const body of ['Deno.readTextFileSync(context.output("text") + ".none");']) {
      messages.add((await execute(body)).error!.message);
    }
  }
  assertEquals(messages.size, 1, [...messages].join("\n"));
});

const NEVER = "Cannot finish: the promise that run returns must settle";

Deno.test("a stage that waits for what never comes fails and says so", async () => {
  for (
    const body of [
      "await new Promise(() => {});",
      "await new Promise((resolve) => setTimeout(() => {}, 50));",
      "context.stopping.addEventListener('abort', () => {}); await new Promise(() => {});",
      'context.progress({ done: 1, total: 2, unit: "steps" }); await Promise.race([]);',
      "for await (const none of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });",
    ]
  ) {
    const begun = performance.now();
    const { error } = await execute(body, { signal: AbortSignal.timeout(20_000) });
    assertStringIncludes(error?.message ?? "it finished", NEVER, body);
    assert(performance.now() - begun < 10_000);
  }
});

Deno.test("a stage that waits for what does come finishes", async () => {
  for (
    const wait of [
      "await new Promise((resolve) => setTimeout(resolve, 300));",
      "await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));",
      'await crypto.subtle.digest("SHA-256", new Uint8Array(1 << 24));',
      'await Deno.readTextFile(new URL(import.meta.url)); await import("node:zlib");',
      "await new Response(new Blob([new Uint8Array(1 << 20)]).stream()" +
      '.pipeThrough(new CompressionStream("gzip"))).bytes();',
      'await new Promise((resolve) => import("node:zlib").then(({ gzip }) => gzip("x", resolve)));',
    ]
  ) {
    const { error, text } = await execute(`${wait}\n${DONE}`);
    assertEquals([error?.message, text], [undefined, "done"], wait);
  }
});

Deno.test("a task longer than any pipe holds arrives whole", async () => {
  const params = { text: "\u00e9".repeat(3 << 20) };
  const { text } = await execute(
    'Deno.writeTextFileSync(context.output("text"), String(context.params.text.length));',
    { task: { params } },
  );
  assertEquals(text, String(3 << 20));
});

Deno.test("the errors behind an error are shown, without the engine's frames, and not for ever", async () => {
  const bug = await execute(`
    const read = () => { throw new RangeError("inner"); };
    try { read(); } catch (cause) { throw new Error("outer", { cause }); }`);
  assertMatch(
    bug.error!.message,
    /Error: outer\n +at [^]*\ncaused by: RangeError: inner\n +at read/,
  );
  assert(!/host\.ts|executor/.test(bug.error!.message), bug.error!.message);
  const group = await execute(
    'await Promise.any([1, 2].map((n) => Promise.reject(new Error("try " + n))));',
  );
  assertMatch(group.error!.message, /caused by: Error: try 1\n[^]*caused by: Error: try 2\n/);
  // An expected failure has no stack, nor has what is behind it; nothing is said twice.
  const expected = await execute(`
    class StageError extends Error { name = "StageError"; }
    const deepest = new TypeError("no route");
    const cause = new Error("refused", { cause: deepest });
    throw new StageError("Cannot fetch: refused", { cause });`);
  assertEquals(expected.error!.message, "Cannot fetch: refused\ncaused by: TypeError: no route");
  const endless = await execute(`
    const error = new Error("first");
    error.cause = new AggregateError([error, "text", ...Array(1e6).fill(0).map((_, n) => n)], "second");
    throw error;`);
  const { length } = endless.error!.message.match(/caused by/g)!;
  assert(length > 2 && length < 10, endless.error!.message);
  assertEquals(endless.error!.message.split("\n").at(-1), "and more");
  const long = await execute(`
    let error = new Error("x".repeat(1e6));
    for (let n = 0; n < 1e4; n++) error = new Error("y" + n, { cause: error });
    throw error;`);
  assert(long.error!.message.length < 25_000);
});

Deno.test("a process that ends without a word has not finished", async () => {
  const exited = await execute("Deno.exit(0);");
  assertStringIncludes(exited.error?.message ?? "none", "ended with code 0 before it finished");
  const killed = await execute('Deno.kill(Deno.pid, "SIGKILL");');
  assertStringIncludes(killed.error?.message ?? "none", "was killed by SIGKILL");
});

Deno.test("a stage that has finished is ended, whatever it left behind", async () => {
  const begun = performance.now();
  const { error, text } = await execute(`
    Deno.exit = () => {};
    addEventListener("unload", () => { for (;;); });
    setInterval(() => {}, 10);
    ${DONE}`);
  assertEquals(error, undefined);
  assertEquals(text, "done");
  assert(performance.now() - begun < 10_000);
});

Deno.test("the process says first what it computes on; a refusal of that ends it", async () => {
  const { platform, text } = await execute(DONE);
  assertEquals(platform, { deno: Deno.version.deno });
  assertEquals(text, "done");
  const refused = await execute("for (;;);", {
    watch: {
      platform() {
        throw new StageError("not there");
      },
    },
  });
  assertEquals(refused.error?.message, "not there");
});

Deno.test("a process whose engine ended before it began runs nothing", async () => {
  const folder = temporaryFolder();
  const text = `${folder}/text`;
  Deno.writeTextFileSync(
    `${folder}/stage.mjs`,
    `export function run() { Deno.writeTextFileSync(${JSON.stringify(text)}, "ran"); }`,
  );
  const host = fileURLToPath(new URL("../../pipeline/run/executor/host.ts", import.meta.url));
  const task: Task = {
    stage: "tried",
    module: `${folder}/stage.mjs`,
    folder,
    params: {},
    inputs: {},
    many: [],
    outputs: {},
  };
  for (const [engine, code] of [[Deno.pid, 0], [Deno.pid + 1, 3]] as const) {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", `--allow-read=${folder}`, `--allow-write=${folder}`, host],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const stdin = child.stdin.getWriter();
    const assignment: Assignment = { token: "none", engine, task };
    await stdin.write(new TextEncoder().encode(`${JSON.stringify(assignment)}\n`));
    assertEquals((await child.status).code, code);
    await stdin.close().catch(() => {/* its reader is gone */});
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "text"), code === 0);
    if (code === 0) Deno.removeSync(text);
  }
});
