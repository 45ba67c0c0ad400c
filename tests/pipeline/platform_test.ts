import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { hostname } from "node:os";
import { describeAdapter, findAdapter } from "../../pipeline/key/adapter.ts";
import { stageIngredients } from "../../pipeline/key/ingredients.ts";
import { fusesMultiplyAdd } from "../../pipeline/key/fused.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import { describeMachine } from "../../pipeline/key/machine.ts";
import { resolvePlatform } from "../../pipeline/key/platform.ts";
import { vulkanDrivers } from "../../pipeline/key/vulkan.ts";
import type { Exactness } from "../../pipeline/stage.ts";
import { hasWebgpu } from "../models/rig.ts";
import { execute } from "../rig/execute.ts";
import { toyProject } from "../rig/project.ts";

// Mesa's drivers print an error where this is unset.
if (Deno.env.get("XDG_RUNTIME_DIR") === undefined) Deno.env.set("XDG_RUNTIME_DIR", "/tmp");

function hasGraphicsDevice(): boolean {
  return ["/dev", "/dev/dri"].some((folder) => {
    try {
      return [...Deno.readDirSync(folder)].some(({ name }) =>
        /^(renderD\d+|nvidia\d+|dxg)$/.test(name)
      );
    } catch {
      return false;
    }
  });
}

/** A test that needs an adapter, and says so where there is none. */
function testWithAdapter(name: string, body: (adapter: GPUAdapter) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const adapter = await hasWebgpu() ? await findAdapter() : undefined;
      if (adapter) await body(adapter);
      else console.warn(`SKIPPED: ${name}: this machine has no WebGPU adapter`);
    },
  });
}

Deno.test("what is measured is keyed by the computer, by no name, and nothing else is", async () => {
  const bundle = { code: sha256("code"), sources: {} };
  const platform = await resolvePlatform("wasm");
  const ingredients = (...exactness: Exactness[]) => {
    const outputs = Object.fromEntries(
      exactness.map((each, index) => [`o${index}`, { kind: "file", exactness: each } as const]),
    );
    return stageIngredients({ name: "tried", outputs }, bundle, platform);
  };
  assertEquals(ingredients("exact", "measured")["machine"], describeMachine());
  assertEquals(ingredients("exact", "numeric")["machine"], undefined);
  assertStringIncludes(describeMachine(), `${Deno.build.os} ${Deno.build.arch}`);
  assertStringIncludes(describeMachine(), " GiB, ");
  assertEquals(describeMachine().includes(hostname()), false);
});

Deno.test("trace and the trace page say on which computer a result was made", async () => {
  using project = toyProject();
  await project.executed("--only", "word/ann");
  assertStringIncludes((await project.run(["trace", "word/ann"])).stdout, describeMachine());
  assertStringIncludes(project.read("outputs/trace/index.html"), describeMachine());
});

Deno.test({
  name: "auto asks for no adapter where there is no graphics device",
  ignore: Deno.build.os !== "linux" || hasGraphicsDevice(),
  async fn() {
    const backend = fusesMultiplyAdd() ? "wasm+fma" : "wasm";
    assertEquals(await resolvePlatform("auto"), {
      backend,
      reason: "no graphics device on this machine",
      ingredients: { "platform.backend": backend },
    });
  },
});

testWithAdapter(
  "the driver's version is in the key, as the system's package has it",
  async (adapter) => {
    const { ingredients } = await resolvePlatform("webgpu");
    assertEquals(ingredients["platform.adapter"], describeAdapter(adapter).name);
    assertEquals(ingredients["platform.features"], [...adapter.features].sort().join(" "));
    assertEquals(vulkanDrivers("no such device"), []);
    if (!ingredients["platform.driver"]!.includes("Mesa")) return;
    const asked = await new Deno.Command("dpkg-query", {
      args: ["-W", "-f", "${Version}", "mesa-vulkan-drivers"],
      stderr: "null",
    }).output().catch(() => undefined);
    if (!asked?.success) return;
    const [version] = new TextDecoder().decode(asked.stdout).split("-");
    assertStringIncludes(ingredients["platform.driver"]!, `Mesa ${version}`);
  },
);

testWithAdapter(
  "a stage computes on the adapter that the engine found, whatever it asks for",
  async (adapter) => {
    const { platform, text, error } = await execute(
      `const found = [];
    for (const options of [undefined, { powerPreference: "low-power" }, { forceFallbackAdapter: true }]) {
      const { info } = await navigator.gpu.requestAdapter(options);
      found.push([info.vendor, info.architecture, info.device, info.description].join(" / "));
    }
    const device = await (await navigator.gpu.requestAdapter()).requestDevice();
    device.destroy();
    Deno.writeTextFileSync(context.output("text"), JSON.stringify(found));`,
      { task: { backend: "webgpu" } },
    );
    assertEquals(error, undefined);
    const described = describeAdapter(adapter);
    assertEquals(platform, { deno: Deno.version.deno, adapter: described });
    assertEquals(JSON.parse(text!), Array(3).fill(described.name));
  },
);

testWithAdapter(
  "a result whose platform is not its key's is refused, and both are named",
  async (adapter) => {
    using project = toyProject();
    project.edit("stages/word.ts", "  inputs: {},", "  inputs: {},\n  numeric: true,");
    const args = ["reproduce", "--only", "word/ann", "--backend", "webgpu", "--json"];
    // A variable that changes what a software adapter is, and reaches the engine alone.
    const env = { LP_NATIVE_VECTOR_WIDTH: "128" };
    const other = await project.run(args, env);
    const { description } = adapter.info;
    if (!description.includes("256 bits")) {
      return console.warn(
        "SKIPPED: another platform than the key's: llvmpipe of 256 bits alone has one",
      );
    }
    assertEquals(other.code, 1);
    const [failed] = other.events.filter((event) => event.event === "failed");
    assertStringIncludes(
      failed!.message,
      'Cannot run stage "word": its process must compute on the platform of its key, Deno ',
    );
    assertStringIncludes(failed!.message, description);
    assertStringIncludes(failed!.message, description.replace("256 bits", "128 bits"));
    assertEquals((await project.run(args)).code, 0);
  },
);

testWithAdapter(
  "a variable that chooses the device reaches engine and stage alike, and the key",
  async () => {
    using project = toyProject();
    project.edit("stages/word.ts", "  inputs: {},", "  inputs: {},\n  numeric: true,");
    const args = ["reproduce", "--only", "word/ann", "--backend", "webgpu", "--json"];
    const keys: string[] = [];
    for (const env of [{}, { DENO_WEBGPU_BACKEND: "gl" }]) {
      const { code, events, stdout, stderr } = await project.run(args, env);
      // Not every machine has OpenGL.
      if (stderr.includes("this machine offers none")) return;
      assertEquals(code, 0, stdout + stderr);
      keys.push(...events.flatMap((event) => event.event === "executed" ? [event.key] : []));
    }
    assertEquals(keys.length, 2);
    assertNotEquals(keys[0], keys[1]);
    assert(keys.every((key) => key.length === 64));
  },
);
