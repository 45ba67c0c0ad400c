/**
 * The numeric platform: which backend numeric stages compute on, and what of it decides their bits.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { type Backend, BACKENDS } from "../stage.ts";
import { fusesMultiplyAdd } from "./fused.ts";
import { type AdapterDescription, describeAdapter, findAdapter } from "./adapter.ts";
import { vulkanDrivers } from "./vulkan.ts";

/** Where numeric stages run, why there, and what of it is part of their keys. */
export interface Platform {
  readonly backend: Backend;
  /** One clause for people: `hardware adapter NVIDIA H200`. */
  readonly reason: string;
  /** With WebGPU: the adapter that the ingredients are about. */
  readonly adapter?: AdapterDescription;
  /**
   * Ingredients of numeric stages' keys. WASM and CPU give the same bits on every machine, and
   * `wasm+fma` on every one that has it.
   */
  readonly ingredients: Readonly<Record<string, string>>;
}

/** What may be asked for. */
export const BACKEND_CHOICES = ["auto", ...BACKENDS] as const;
/** A backend, or the best there is. */
export type BackendChoice = (typeof BACKEND_CHOICES)[number];

/**
 * The variables of the environment that choose a graphics device and its driver. Whoever asks for
 * an adapter must do so under the same ones: they are handed on to stages' processes.
 */
export const GRAPHICS_VARIABLES = new RegExp(
  "^(DENO_WEBGPU_BACKEND|VK_.*|MESA_VK_.*|DRI_PRIME|DISPLAY|WAYLAND_DISPLAY|XDG_.*|" +
    "CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|__NV_PRIME_.*|__VK_LAYER_NV_.*|__GLX_.*|__EGL_.*|" +
    "AMD_VULKAN_ICD|DISABLE_LAYER_.*|LIBGL_.*|EGL_.*)$",
);

/** An adapter as it was found, by whichever process. */
export interface FoundAdapter extends AdapterDescription {
  /** `NVIDIA H200`, or what else there is to call it. */
  readonly title: string;
  readonly software: boolean;
  readonly driver: string;
}

/** This process's adapter; `undefined` if it has none. */
export async function adapterHere(): Promise<FoundAdapter | undefined> {
  const found = await askForAdapter();
  if (!found) return undefined;
  const { description, vendor } = found.info;
  return {
    ...describeAdapter(found),
    title: description || vendor,
    software: isSoftware(found.info),
    driver: driverOf(description),
  };
}

/** What of an adapter is in keys. */
export function adapterIngredients(
  { name, features, driver }: FoundAdapter,
): Platform["ingredients"] {
  return {
    "platform.backend": "webgpu",
    "platform.adapter": name,
    "platform.features": features.join(" "),
    "platform.driver": driver,
  };
}

/**
 * Chooses the backend. `auto` takes WebGPU where there is a hardware adapter and WASM elsewhere, with
 * fused multiply-add where the processor has it: a software adapter is slower than WASM, and is used
 * only on request.
 *
 * @param look Finds the adapter that is meant.
 * @throws {ConfigError} If `webgpu` is asked for and there is no adapter, or `wasm+fma` and the
 *   processor does not fuse.
 */
export async function resolvePlatform(
  wanted: BackendChoice,
  look: () => Promise<FoundAdapter | undefined> = adapterHere,
): Promise<Platform> {
  const found = platformAtOnce(wanted);
  if (found !== undefined) return found;
  const adapter = await look();
  if (!adapter && wanted === "webgpu") {
    throw new ConfigError(
      "Cannot use --backend webgpu: a WebGPU adapter is needed and this machine offers none; " +
        "install a graphics driver (for software rendering: mesa-vulkan-drivers), or use --backend wasm",
    );
  }
  if (!adapter) return without(processorBackend(), "no WebGPU adapter on this machine");
  const { name, features, title, software } = adapter;
  if (wanted === "auto" && software) {
    return without(
      processorBackend(),
      `the only WebGPU adapter, ${title}, is software and slower`,
    );
  }
  return {
    backend: "webgpu",
    reason: `${software ? "software" : "hardware"} adapter ${title}`,
    adapter: { name, features },
    ingredients: adapterIngredients(adapter),
  };
}

/** This machine's adapter, asked for without a driver's complaint; `undefined` if it has none. */
export async function askForAdapter(): Promise<GPUAdapter | undefined> {
  // Mesa's drivers print an error to the terminal where this is unset, and use nothing of it.
  if (Deno.env.get("XDG_RUNTIME_DIR") === undefined) Deno.env.set("XDG_RUNTIME_DIR", "/tmp");
  return await findAdapter();
}

/** What `auto` takes where there is no hardware adapter. */
export function processorBackend(): "wasm+fma" | "wasm" {
  return fusesMultiplyAdd() ? "wasm+fma" : "wasm";
}

/** The backend, where no adapter need be asked for it; else `undefined`. */
export function platformAtOnce(wanted: BackendChoice): Platform | undefined {
  if (wanted === "wasm+fma" && !fusesMultiplyAdd()) {
    throw new ConfigError(
      "Cannot use --backend wasm+fma: the processor must add to a product without rounding it first, " +
        "and WebAssembly does not here; use --backend wasm",
    );
  }
  if (wanted !== "auto" && wanted !== "webgpu") return without(wanted, "as asked");
  // Asking a software adapter for its description takes longer than looking for a device.
  return wanted === "auto" && !mayHaveHardware()
    ? without(processorBackend(), "no graphics device on this machine")
    : undefined;
}

function without(backend: Exclude<Backend, "webgpu">, reason: string): Platform {
  return { backend, reason, ingredients: { "platform.backend": backend } };
}

/** Whether a graphics device can be there at all. Only Linux says so at once. */
function mayHaveHardware(): boolean {
  if (Deno.build.os !== "linux") return true;
  const named = (folder: string, name: RegExp) => {
    try {
      return [...Deno.readDirSync(folder)].some((entry) => name.test(entry.name));
    } catch {
      return false;
    }
  };
  return named("/dev/dri", /^render/) || named("/dev", /^(nvidia\d|dxg$)/);
}

/** Whether an adapter is no device, but a program. */
export function isSoftware(info: GPUAdapterInfo): boolean {
  return info.isFallbackAdapter || /llvmpipe|lavapipe|swiftshader|software/i.test(info.description);
}

/** The driver's version, which WebGPU does not give. */
export function driverOf(device: string): string {
  const found = vulkanDrivers(device);
  if (found.length > 0) return found.join("; ");
  // Metal comes with the system.
  if (Deno.build.os === "darwin") return `macOS, Darwin ${Deno.osRelease()}`;
  try {
    return Deno.readTextFileSync("/proc/driver/nvidia/version").split("\n")[0]!.trim();
  } catch {
    return "version unknown: neither Vulkan nor the kernel gives one";
  }
}
