/**
 * Vulkan's validation layer watches what the WebGPU operations make Deno ask of a driver: misuse that a
 * driver lets pass may give wrong results on another.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../rig/temporary.ts";

const LAYER = "VkLayer_khronos_validation.json";
const FOLDERS = [Deno.env.get("VK_LAYER_PATH") ?? "", "/usr/share/vulkan/explicit_layer.d"];
/** What reaches every operation and the optimizer. */
const TESTS = ["device_operations_test.ts", "optimizer_test.ts"];

/**
 * Advice on how Vulkan is best used, about what wgpu does: an extension that has become part of Vulkan, a
 * pointer to no semaphores. It also shows that the layer was at work.
 */
const ADVICE = /^UNASSIGNED-BestPractices-/;

function isInstalled(): boolean {
  return FOLDERS.some((folder) => {
    try {
      return Deno.statSync(join(folder, LAYER)).isFile;
    } catch {
      return false;
    }
  });
}

Deno.test("Vulkan's validation layer has nothing against what operations do", async () => {
  if (!isInstalled()) {
    const missing = "this machine has no Vulkan validation layer";
    if (Deno.env.get("LOCKSTEP_REQUIRE_VALIDATION")) {
      throw new Error(`${missing}, and LOCKSTEP_REQUIRE_VALIDATION is set`);
    }
    return console.warn(`SKIPPED: Vulkan's validation: ${missing}`);
  }
  const folder = temporaryFolder(), log = join(folder, "log.txt");
  Deno.writeTextFileSync(
    join(folder, "vk_layer_settings.txt"),
    [
      "debug_action = VK_DBG_LAYER_ACTION_LOG_MSG",
      "report_flags = error,warn",
      `log_filename = ${log}`,
      "enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT," +
      "VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT",
    ].map((line) => `khronos_validation.${line}\n`).join(""),
  );
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--quiet", "--filter", "(webgpu)", ...TESTS],
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    env: {
      VK_INSTANCE_LAYERS: "VK_LAYER_KHRONOS_validation",
      VK_LAYER_SETTINGS_PATH: folder,
      LOCKSTEP_REQUIRE_WEBGPU: "1",
    },
    stderr: "null",
  }).output();
  assert(success, new TextDecoder().decode(stdout));
  const messages = Deno.readTextFileSync(log).split("\n").filter((line) => /^\S/.test(line));
  assert(messages.some((line) => ADVICE.test(line)), "the layer was at work");
  assertEquals(messages.filter((line) => !ADVICE.test(line)), []);
});
