/**
 * The numeric platform: which backend numeric stages compute on, and what of it decides their bits.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import type { Backend } from "../stage.ts";

/** Where numeric stages run, why there, and what of it is part of their keys. */
export interface Platform {
  readonly backend: Backend;
  /** One clause for people: `hardware adapter NVIDIA H200`. */
  readonly reason: string;
  /** Ingredients of numeric stages' keys. WASM and CPU give the same bits on every machine. */
  readonly ingredients: Readonly<Record<string, string>>;
}

/** What may be asked for. */
export const BACKENDS = ["auto", "webgpu", "wasm", "cpu"] as const;

/**
 * Chooses the backend. `auto` takes WebGPU where there is a hardware adapter and WASM elsewhere: a
 * software adapter is slower than WASM, and is used only on request.
 *
 * @throws {ConfigError} If `webgpu` is asked for and there is no adapter.
 */
export async function resolvePlatform(wanted: (typeof BACKENDS)[number]): Promise<Platform> {
  if (wanted === "cpu" || wanted === "wasm") {
    return { backend: wanted, reason: "as asked", ingredients: { "platform.backend": wanted } };
  }
  // Mesa's drivers print an error to the terminal where this is unset, and use nothing of it.
  if (Deno.env.get("XDG_RUNTIME_DIR") === undefined) Deno.env.set("XDG_RUNTIME_DIR", "/tmp");
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  const software = adapter && isSoftware(adapter.info);
  if (wanted === "webgpu" && !adapter) {
    throw new ConfigError(
      "Cannot use --backend webgpu: a WebGPU adapter is needed and this machine offers none; " +
        "install a graphics driver (for software rendering: mesa-vulkan-drivers), or use --backend wasm",
    );
  }
  if (!adapter || (wanted === "auto" && software)) {
    return {
      backend: "wasm",
      reason: adapter
        ? `the only WebGPU adapter, ${adapter.info.description}, is software and slower`
        : "no WebGPU adapter on this machine",
      ingredients: { "platform.backend": "wasm" },
    };
  }
  const { vendor, architecture, device, description } = adapter.info;
  return {
    backend: "webgpu",
    reason: `${software ? "software" : "hardware"} adapter ${description || vendor}`,
    ingredients: {
      "platform.backend": "webgpu",
      "platform.adapter": [vendor, architecture, device, description].join(" / "),
      "platform.driver": driverVersion(),
    },
  };
}

function isSoftware(info: GPUAdapterInfo): boolean {
  return info.isFallbackAdapter || /llvmpipe|lavapipe|swiftshader|software/i.test(info.description);
}

/** WebGPU does not tell the driver's version; the kernel does for the driver that has one. */
function driverVersion(): string {
  try {
    return Deno.readTextFileSync("/proc/driver/nvidia/version").split("\n")[0]!.trim();
  } catch {
    return "as the adapter describes";
  }
}
