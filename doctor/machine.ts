/**
 * What this machine has: processor, memory, WebAssembly's operations, adapters, a browser.
 *
 * @module
 */
import { availableParallelism, cpus, freemem, totalmem } from "node:os";
import { askForAdapter, driverOf, isSoftware } from "../pipeline/key/platform.ts";
import { vulkanDevices } from "../pipeline/key/vulkan.ts";
import { listAdapters } from "../pipeline/run/executor/adapters.ts";
import { type WasmFeatures, wasmFeatures } from "./wasm_module.ts";

/** An adapter, as far as WebGPU and the system describe it. */
export interface Adapter {
  readonly description: string;
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly driver: string;
  /** Whether the processor computes what it is given. */
  readonly software: boolean;
  readonly features: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
}

/** A device as `--adapter` takes it. */
export interface Device {
  readonly name: string;
  readonly driver: string;
  /** Where it is on its bus, if it is on one. */
  readonly pci?: string;
  /** The variables under which a process has it as its adapter; absent where none do. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** What this machine has. */
export interface Machine {
  readonly deno: string;
  readonly v8: string;
  readonly system: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly freeMemoryBytes: number;
  readonly wasm: WasmFeatures;
  /** Absent where there is no adapter. */
  readonly adapter?: Adapter;
  /** Vulkan's devices, in the order of their numbers for `--adapter`; none where there is no choice. */
  readonly devices: readonly Device[];
  /** Its version, if one is where browsers usually are. */
  readonly browser?: string;
}

/** Limits that decide what runs. */
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupsPerDimension",
] as const;

const BROWSERS: Readonly<Partial<Record<typeof Deno.build.os, readonly string[]>>> = {
  linux: ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"],
  darwin: ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"],
};

/** Looks. */
export async function lookAround(): Promise<Machine> {
  const found = await askForAdapter();
  const browser = browserVersion();
  return {
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    system: `${Deno.build.os} ${Deno.osRelease()} ${Deno.build.arch}`,
    processor: cpus()[0]?.model.trim() || "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    freeMemoryBytes: freemem(),
    wasm: wasmFeatures(),
    ...(found === undefined ? {} : { adapter: describe(found) }),
    devices: (vulkanDevices().length < 2 ? [] : await listAdapters()).map((
      { name, driver, pci, adapter },
    ) => ({
      ...{ name, driver },
      ...pci === undefined ? {} : { pci },
      ...adapter === undefined ? {} : { variables: adapter.variables },
    })),
    ...(browser === undefined ? {} : { browser }),
  };
}

function describe(found: GPUAdapter): Adapter {
  const { description, vendor, architecture, device } = found.info;
  return {
    ...{ description, vendor, architecture, device },
    driver: driverOf(description),
    software: isSoftware(found.info),
    features: [...found.features].sort(),
    limits: Object.fromEntries(LIMITS.map((name) => [name, found.limits[name]])),
  };
}

function browserVersion(): string | undefined {
  for (const program of BROWSERS[Deno.build.os] ?? []) {
    try {
      const { success, stdout } = new Deno.Command(program, {
        args: ["--version"],
        stderr: "null",
      }).outputSync();
      if (success) return new TextDecoder().decode(stdout).trim().split(" built on")[0]!;
    } catch {
      // There is none.
    }
  }
  return undefined;
}
