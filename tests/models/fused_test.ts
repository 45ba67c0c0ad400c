import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { WIDE_VECTORS } from "../../pipeline/run/executor/compiler_flags.ts";
import { fusesMultiplyAdd } from "../../pipeline/key/fused.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const NEEDS_FMA = !fusesMultiplyAdd();

/** What a process prints that runs a script under flags of V8. */
async function printed(flags: readonly string[], args: readonly string[]): Promise<string> {
  const v8 = flags.length > 0 ? [`--v8-flags=${flags}`] : [];
  const { stdout, stderr, code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", ...v8, ...args],
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test({
  name: "training has the same bits in every process and however V8 compiles it",
  ignore: NEEDS_FMA,
  async fn() {
    const script = new URL("../rig/train_process.ts", import.meta.url).pathname;
    const trained = async (backend: string, ...flags: string[]) => {
      const folder = temporaryFolder();
      return await printed(flags, [script, "language", backend, folder]);
    };
    const first = await trained("wasm+fma");
    assertEquals(await trained("wasm+fma"), first);
    assertEquals(await trained("wasm+fma", "--liftoff-only"), first);
    assertEquals(await trained("wasm+fma", "--no-liftoff"), first);
    assertEquals(await trained("wasm+fma", "--no-liftoff", ...WIDE_VECTORS), first);
    // Which has other ones, or this test would show nothing.
    const strict = await trained("wasm");
    assertNotEquals(strict, first);
    assertEquals(await trained("wasm", "--no-liftoff", ...WIDE_VECTORS), strict);
  },
});

Deno.test({
  name: "where the processor does not fuse, wasm+fma is refused and auto takes wasm",
  ignore: Deno.build.arch !== "x86_64",
  async fn() {
    const folder = temporaryFolder();
    const script = `${folder}/script.ts`;
    const module = (path: string) => new URL(`../../${path}`, import.meta.url).href;
    Deno.writeTextFileSync(
      script,
      `import { processorBackend, resolvePlatform } from "${module("pipeline/key/platform.ts")}";
      import { startBackend } from "${module("models/backend.ts")}";
      const failed = (work: Promise<unknown>) => work.catch((error) => error.name + ": " + error.message);
      console.log(processorBackend());
      console.log(await failed(resolvePlatform("wasm+fma")));
      console.log(await failed(startBackend("wasm+fma")));`,
    );
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const args = ["--config", config, script];
    const [taken, refused, notStarted] = (await printed(["--no-enable-fma3"], args)).split("\n");
    assertEquals(taken, "wasm");
    assertStringIncludes(
      refused!,
      "ConfigError: Cannot use --backend wasm+fma: the processor must",
    );
    assertStringIncludes(refused!, "use --backend wasm");
    assertStringIncludes(
      notStarted!,
      "Error: Cannot compute with fused multiply-add: the processor",
    );
  },
});
