/**
 * Running recorded instances again, and what stands in for Deno and Node there.
 *
 * @module
 */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { basename, dirname, extname, join } from "node:path";
import { numbersOf } from "../rig/numbers.ts";
import { canonical, type Json } from "../../pipeline/key/canonical.ts";
import { type Sha256, sha256 } from "../../pipeline/key/hash.ts";
import { flatten, keyOf } from "../../pipeline/key/ingredients.ts";
import * as buffer from "../../pipeline/replay/builtins/buffer.ts";
import * as crypto from "../../pipeline/replay/builtins/crypto.ts";
import * as path from "../../pipeline/replay/builtins/path.ts";
import { paramsOf } from "../../pipeline/replay/params.ts";
import { type Material, replay } from "../../pipeline/replay/replay.ts";
import { denoOver, type Files } from "../../pipeline/replay/worker/files.ts";
import { manifestText, type Trace } from "../../pipeline/store/trace.ts";

/** A trace of some code, and what it needs. The code is the body of `run(context)`. */
function recorded(
  body: string,
  { params = {}, packages }: { params?: Json; packages?: Readonly<Record<string, string>> } = {},
): { trace: Trace; material: Material } {
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  const keep = (text: string): Sha256 => {
    const content = new TextEncoder().encode(text), digest = sha256(content);
    blobs.set(digest, content);
    return digest;
  };
  const imports = Object.keys(packages ?? {}).map((name, index) =>
    `import * as p${index} from "./packages/${name}";`
  );
  const code = `${imports.join("")}export async function run(context) {\n${body}\n}\n`;
  const entries = Object.entries(packages ?? {}).map(([name, text]) =>
    [name, { sha256: keep(text), bytes: text.length }] as const
  );
  const ingredients: Record<string, string> = { stage: "tried", code: keep(code) };
  if (packages) ingredients["packages"] = keep(manifestText(Object.fromEntries(entries)));
  ingredients["inputs.given"] = keep("given");
  ingredients['inputs.many[a.text{"seed":"2"}]'] = keep("two");
  ingredients['inputs.many[a.text{"seed":"10"}]'] = keep("ten");
  ingredients["inputs.none"] = "none";
  flatten("params", params, ingredients);
  const trace: Trace = {
    ...{ key: keyOf(ingredients), instance: "tried", stage: "tried", run: "x.y", ingredients },
    ...{ sources: {}, metrics: {}, started: "", seconds: 0, machine: {} },
    outputs: {
      text: { sha256: keep(""), bytes: 0, kind: "file", exactness: "exact" },
      files: { sha256: keep("{}"), bytes: 0, kind: "folder", exactness: "exact" },
    },
  };
  const material = {
    blob: (digest: string) => blobs.get(digest),
    isFolder: (digest: string) => digest === ingredients["packages"],
  };
  return { trace, material };
}

/** What a body writes to the output `text`. */
async function textOf(...args: Parameters<typeof recorded>): Promise<string> {
  const { trace, material } = recorded(...args);
  const { outputs } = await replay(trace, material);
  return new TextDecoder().decode(outputs["text"]!.files.get(""));
}

Deno.test("what runs again sees params, inputs and coordinates as its key has them", async () => {
  const seen = await textOf(
    `const read = ({ at, path }) => [at, Deno.readTextFileSync(path)];
    const { params } = context;
    Deno.writeTextFileSync(context.output("text"), JSON.stringify({
      params, given: read(context.input("given")), many: context.inputs("many").map(read),
      none: context.inputs("none"),
    }));`,
    { params: { b: [1, { "odd key": null }], a: {}, 10: "x" } },
  );
  // Labels are ordered as texts: "10" comes before "2".
  assertEquals(JSON.parse(seen), {
    params: { 10: "x", a: {}, b: [1, { "odd key": null }] },
    given: [{}, "given"],
    many: [[{ seed: "10" }, "ten"], [{ seed: "2" }, "two"]],
    none: [],
  });
  assertEquals(seen.indexOf('"a"') < seen.indexOf('"b"'), true, "keys come sorted");
});

Deno.test("folders and metrics come back, digests are those of the content", async () => {
  const { trace, material } = recorded(`
    Deno.mkdirSync(context.output("files") + "/sub", { recursive: true });
    Deno.writeTextFileSync(context.output("files") + "/sub/a", "abc");
    Deno.writeTextFileSync(context.output("text"), "abc");
    context.metric("accuracy", 0.5);`);
  const { outputs, metrics } = await replay(trace, material);
  assertEquals(metrics, { accuracy: 0.5 });
  // FIPS 180-2, B.1.
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  assertEquals(outputs["text"]!.sha256, digest as Sha256);
  const list = `{"sub/a":{"bytes":3,"sha256":"${digest}"}}\n`;
  assertEquals(outputs["files"]!.sha256, sha256(list));
});

Deno.test("modules of packages import each other and what stands in for Node's", async () => {
  const packages = {
    "a.mjs": 'import{b}from"./b.mjs";export const a=b+1;export{default as c}from"./b.mjs";',
    "b.mjs": 'import{join as j}from"node:path";import fs,{open}from"node:fs";' +
      'export const b=j("x","..","1")*1;export default()=>open();',
  };
  const body = (value: string) =>
    `Deno.writeTextFileSync(context.output("text"), String(${value}));`;
  assertEquals(await textOf(body("p0.a"), { packages }), "2");
  const { trace, material } = recorded(body("p0.c()"), { packages });
  await assertRejects(() => replay(trace, material), Error, "open of node:fs is not here");
});

Deno.test("what runs again reaches no file, variable, process, host or thread, and prints nothing", async () => {
  const names = ["process", "Worker", "BroadcastChannel", "localStorage", "caches", "WebSocket"];
  const seen = JSON.parse(
    await textOf(`
    const tried = {};
    for (const name of ${JSON.stringify(names)}) tried[name] = typeof globalThis[name];
    const attempt = async (name, act) => {
      try { await act(); tried[name] = "reached"; } catch (error) { tried[name] = "refused"; }
    };
    await attempt("file", () => Deno.readTextFileSync("/etc/hostname"));
    await attempt("env", () => Deno.env.get("HOME"));
    await attempt("host", () => fetch("http://127.0.0.1:1/"));
    console.log("sound");
    Deno.writeTextFileSync(context.output("text"), JSON.stringify(tried));`),
  ) as Record<string, string>;
  for (const name of names) assertEquals(seen[name], "undefined", name);
  for (const name of ["file", "env", "host"]) {
    assertEquals(seen[name], "refused", name);
  }
});

Deno.test("a stage that throws, or lacks an input, fails with what it said", async () => {
  const { trace, material } = recorded('console.log("halfway"); throw new Error("Cannot go on");');
  const error = await assertRejects(() => replay(trace, material), Error, "Cannot go on");
  assertStringIncludes((error as Error).message, "It printed:\nhalfway");
  const given = trace.ingredients["inputs.given"]!;
  const without = {
    ...material,
    blob: (digest: string) => digest === given ? undefined : material.blob(digest),
  };
  await assertRejects(() => replay(trace, without), Error, `it needs input given ${given}`);
});

Deno.test("what a stage sends, or that it goes silent, makes it fail and not the verifier", async () => {
  const failure = async (body: string) => {
    const { trace, material } = recorded(body);
    const error = await assertRejects(() => replay(trace, material, { maxSilence: 3000 }), Error);
    return (error as Error).message;
  };
  for (
    const sent of [
      "null",
      "{}",
      '{ type: "progress", done: 1, total: 1, unit: "x", values: 1 }',
      '{ type: "metric", name: "a", value: {} }',
      '{ type: "done", files: [null] }',
      '{ type: "failed" }',
    ]
  ) assertStringIncludes(await failure(`postMessage(${sent});`), "it sent what no stage sends");
  const wait = "await new Promise(() => {});";
  assertStringIncludes(await failure(wait), "it was silent for");
  assertStringIncludes(await failure("self.close();" + wait), "close is not a function");
  const long = await failure(`for (let i = 0; i < 9; i++) console.log("x".repeat(2 ** 20));
    throw new Error("y".repeat(2 ** 20));`);
  assertEquals(long.length < 5000, true);
});

Deno.test("params come back from the ingredients, whatever their names and nesting", () => {
  const number = numbersOf("params");
  const names = ["a", "a-b", "0", "a.b", "[0]", '"', "\\", "", " ", "params", "é", "a[0].b"];
  const draw = (depth: number): Json => {
    const kind = number(depth > 3 ? 5 : 7), count = number(4);
    if (kind === 5) return Array.from({ length: count }, () => draw(depth + 1));
    if (kind === 6) {
      return Object.fromEntries(
        Array.from({ length: count }, () => [names[number(names.length)]!, draw(depth + 1)]),
      );
    }
    return [null, true, number(100) / 8, "text", names[number(names.length)]!][kind]!;
  };
  for (let trial = 0; trial < 500; trial++) {
    const params = canonical({ first: draw(0), second: draw(0) });
    const ingredients: Record<string, string> = { stage: "x", "inputs.params": "y" };
    flatten("params", params, ingredients);
    assertEquals(canonical(paramsOf(ingredients)), params);
  }
  assertEquals(paramsOf({ params: "{}" }), {});
});

Deno.test("SHA-256 without Node gives the digests that Node gives", () => {
  const number = numbersOf("sha");
  for (let length = 0; length < 300; length++) {
    const bytes = Uint8Array.from({ length }, () => number(256));
    const expected = createHash("sha256").update(bytes).digest("hex");
    assertEquals(crypto.hash("sha256", bytes, "hex"), expected);
    const cut = number(length + 1);
    const pieces = crypto.createHash("sha256").update(bytes.subarray(0, cut)).update(
      bytes.subarray(cut),
    );
    assertEquals(pieces.digest("hex"), expected);
  }
  // FIPS 180-2, B.3: a million times "a".
  assertEquals(
    crypto.hash("sha256", "a".repeat(1_000_000), "hex"),
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
  );
});

Deno.test("paths without Node are made and parted as Node does", () => {
  const number = numbersOf("paths");
  const parts = ["a", "b.txt", "..", ".", "", "/", "c/d", "/e", ".f", "g.", "h/"];
  for (let trial = 0; trial < 2000; trial++) {
    const some = Array.from({ length: 1 + number(4) }, () => parts[number(parts.length)]!);
    const whole = join(...some);
    assertEquals(path.join(...some), whole, JSON.stringify(some));
    assertEquals(path.dirname(whole), dirname(whole), whole);
    assertEquals(path.basename(whole), basename(whole), whole);
    assertEquals(path.basename(whole, ".txt"), basename(whole, ".txt"), whole);
    assertEquals(path.extname(whole), extname(whole), whole);
  }
});

Deno.test("text in UTF-8 is distinguished from other bytes as Node does", () => {
  const number = numbersOf("utf-8");
  const texts = ["", "a", "é", "€", "𝄞", "\ufeff", "\0"].map((text) =>
    new TextEncoder().encode(text)
  );
  for (let trial = 0; trial < 2000; trial++) {
    const bytes = Uint8Array.from({ length: number(6) }, () => number(256));
    const some = trial % 2 === 0 ? bytes : Uint8Array.of(...texts[number(texts.length)]!, ...bytes);
    assertEquals(buffer.isUtf8(some), isUtf8(some), some.join());
  }
});

Deno.test("files in memory do what Deno's do, to the byte and to the name of an error", () => {
  const number = numbersOf("files");
  const folder = Deno.makeTempDirSync({ prefix: "lockstep-" });
  try {
    const files: Files = new Map([["/", undefined], ["/f", undefined]]);
    const memory = denoOver(files) as unknown as typeof Deno;
    const names = ["a", "b", "sub", "sub/c", "none/d"];
    const act = (deno: typeof Deno, root: string, [kind, one, two]: [number, string, string]) => {
      const at = `${root}/${one}`, to = `${root}/${two}`;
      try {
        if (kind === 0) return deno.writeTextFileSync(at, `${one}${kind}`);
        if (kind === 1) return deno.readTextFileSync(at);
        if (kind === 2) return deno.mkdirSync(at);
        if (kind === 3) return deno.mkdirSync(at, { recursive: true });
        if (kind === 4) return deno.removeSync(at, { recursive: true });
        if (kind === 5) return at !== to && deno.statSync(at).isFile && deno.copyFileSync(at, to);
        if (kind === 6) return deno.statSync(at).isFile;
        if (kind === 7) return [...deno.readDirSync(at)].map(({ name }) => name).sort();
        using file = deno.openSync(at, {
          read: true,
          write: true,
          create: true,
          truncate: kind === 8,
        });
        file.seekSync(2, deno.SeekMode.Start);
        file.writeSync(new TextEncoder().encode("xyz"));
        file.seekSync(-1, deno.SeekMode.Current);
        const buffer = new Uint8Array(4);
        return [file.readSync(buffer), file.readSync(buffer), [...buffer], file.statSync().size];
      } catch (error) {
        return (error as Error).name;
      }
    };
    for (let trial = 0; trial < 1500; trial++) {
      const step: [number, string, string] = [
        ...[number(10), names[number(names.length)]!, names[number(2)]!] as const,
      ];
      assertEquals(act(memory, "/f", step), act(Deno, folder, step), `${trial}: ${step}`);
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
