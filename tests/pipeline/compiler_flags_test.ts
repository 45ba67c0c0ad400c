import { assertEquals, assertMatch } from "@std/assert";
import {
  compilerArguments,
  known,
  WIDE_VECTORS,
} from "../../pipeline/run/executor/compiler_flags.ts";
import { execute } from "../rig/execute.ts";

Deno.test("flags that this Deno does not know are left out: it would not start", async () => {
  assertEquals(await known(["--no-such-flag-of-v8"]), []);
  assertEquals(await known(["--wasm-opt"]), ["--v8-flags=--wasm-opt"]);
});

Deno.test("only what computes on the processor is compiled for wide vectors", async () => {
  assertEquals(await compilerArguments(undefined), []);
  assertEquals(await compilerArguments("webgpu"), []);
  assertEquals(await compilerArguments("wasm"), await compilerArguments("wasm+fma"));
});

Deno.test("reading past WebAssembly's memory ends a task on the processor, and raises an error in others", async () => {
  // (memory 1) (func (export "f") (param i32) (result i32) local.get 0 i32.load)
  const read = `
    const code = [0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1,
      1, 102, 0, 0, 10, 9, 1, 7, 0, 32, 0, 40, 2, 0, 11];
    const { instance } = await WebAssembly.instantiate(Uint8Array.from(code));
    for (const at of [65536, 2 ** 20, 2 ** 30, 2 ** 32 - 4]) instance.exports.f(at);`;
  const raised = await execute(read);
  assertMatch(raised.error!.message, /memory access out of bounds/);
  const ended = await execute(read, { task: { backend: "wasm" } });
  const checked = (await compilerArguments("wasm")).length === 0;
  assertMatch(ended.error!.message, checked ? /out of bounds/ : /was killed by SIG(SEGV|BUS)/);
});

Deno.test("doctor measures with what trainings are compiled for", async () => {
  const { default: { tasks } } = await import("../../deno.json", { with: { type: "json" } });
  assertEquals(
    tasks.doctor.command,
    `deno run -A --v8-flags=${WIDE_VECTORS.join(",")} main.ts doctor`,
  );
});
