/**
 * The environment of stages' processes.
 *
 * @module
 */
import { GRAPHICS_VARIABLES } from "../../key/platform.ts";

/**
 * The environment of a stage process. Deno lets a stage read none of it; it is for native parts:
 * which graphics device and driver to take. Locale and time zone are fixed.
 *
 * @param secrets Names of variables that it may read besides.
 */
export function stageEnvironment(secrets: readonly string[] = []): Record<string, string> {
  const passed: Record<string, string> = {
    ...{ LC_ALL: "C.UTF-8", TZ: "UTC", NO_COLOR: "1" },
    // Mesa's drivers complain where there is none, and use nothing of it.
    XDG_RUNTIME_DIR: "/tmp",
  };
  for (const [name, value] of Object.entries(Deno.env.toObject())) {
    if (
      /^(HOME|PATH|TMPDIR|LD_LIBRARY_PATH)$/.test(name) || GRAPHICS_VARIABLES.test(name) ||
      secrets.includes(name)
    ) {
      passed[name] = value;
    }
  }
  return passed;
}
