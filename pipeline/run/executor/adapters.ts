/**
 * Several graphics adapters of one machine. Deno asks for one and gets the first that Vulkan shows it;
 * which that is, variables of the environment decide, so each stage's process is given those of its own
 * adapter.
 *
 * Between devices chooses a layer of Mesa's, `VK_LAYER_MESA_device_select`, whatever driver they have: by
 * model or, where two are of one, by their place on the bus. That it did is not believed, but looked at.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../errors.ts";
import {
  adapterIngredients,
  type FoundAdapter,
  GRAPHICS_VARIABLES,
  type Platform,
} from "../../key/platform.ts";
import { type VulkanDevice, vulkanDevices } from "../../key/vulkan.ts";
import { stageEnvironment } from "./environment.ts";

const PROBE = fileURLToPath(new URL("./adapter_probe.ts", import.meta.url));

/** Variables of the environment. */
export type Variables = Readonly<Record<string, string>>;

/** What a process finds under some variables. */
export interface Probed {
  readonly adapter?: FoundAdapter;
  /** What identifies the devices that Vulkan shows it. */
  readonly devices: readonly string[];
}

/** An adapter that stages' processes can be given. */
export interface Adapter {
  readonly variables: Variables;
  readonly found: FoundAdapter;
}

/** Looks which adapter a stage's process would find under variables besides the usual ones. */
export async function probe(variables: Variables): Promise<Probed> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-prompt", "--quiet", "--no-config", "--no-lock", PROBE],
    env: { ...stageEnvironment(), ...variables },
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  if (success) return JSON.parse(text.decode(stdout).trim().split("\n").at(-1)!);
  throw new ConfigError(
    `Cannot look for an adapter under ${written(variables)}: ${text.decode(stderr).trim()}`,
  );
}

/** A device of this machine, with its number, and whether it can be given to a process. */
export interface Listed extends VulkanDevice {
  readonly number: number;
  /** What makes it a process's adapter; `undefined` if nothing does. */
  readonly adapter: Adapter | undefined;
}

/**
 * The devices of this machine in Vulkan's order, each looked at by a process of its own.
 *
 * @param isWanted Which of them are looked at.
 */
export async function listAdapters(
  isWanted: (device: VulkanDevice) => boolean = () => true,
): Promise<Listed[]> {
  const devices = vulkanDevices();
  return await Promise.all(devices.map(async (device, number) => {
    if (!isWanted(device)) return { ...device, number, adapter: undefined };
    const variables = variablesFor(device, devices);
    const { adapter: found, devices: seen } = await probe(variables);
    const isThis = seen.length === 1 && seen[0] === device.uuid;
    return { ...device, number, adapter: found && isThis ? { variables, found } : undefined };
  }));
}

/** What has Vulkan show a process this device and no other. */
function variablesFor({ model, pci }: VulkanDevice, devices: readonly VulkanDevice[]): Variables {
  if (devices.length === 1) return {};
  const isOnly = devices.filter((each) => each.model === model).length === 1;
  return {
    ...isOnly || pci === undefined ? { MESA_VK_DEVICE_SELECT: model } : { DRI_PRIME: `pci-${pci}` },
    MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE: "1",
  };
}

/**
 * The adapters that `--adapter` names, in their order.
 *
 * @param given Numbers of devices, or variables, `VK_DRIVER_FILES=/a/driver.json`, with spaces between them.
 * @throws {ConfigError} If one names no adapter.
 */
export async function givenAdapters(given: readonly string[]): Promise<Adapter[]> {
  const isNumber = (text: string) => /^\d+$/.test(text);
  const listed = given.some(isNumber) ? await listAdapters() : [];
  return await Promise.all(given.map(async (text): Promise<Adapter> => {
    const refuse = (why: string) => new ConfigError(`Cannot use --adapter ${text}: ${why}`);
    if (isNumber(text)) {
      const one = listed[Number(text)];
      if (one === undefined) {
        throw refuse(`there is none of this number, but ${listed.length}; doctor lists them`);
      }
      if (one.adapter) return one.adapter;
      throw refuse(`${one.name} can't be chosen here; ${NO_CHOICE}`);
    }
    const variables = parseVariables(text, refuse);
    const { adapter: found, devices } = await probe(variables);
    // Without a device of Vulkan's, Deno takes one of OpenGL's.
    const isMissed = devices.length === 0 &&
      Object.keys(variables).some((name) => /^VK_/.test(name));
    if (found && !isMissed) return { variables, found };
    throw refuse("under these variables there is no adapter");
  }));
}

/** The adapters of a platform that this process found, and what to say of those that can't be chosen. */
export async function adaptersLike(
  { adapter }: Platform,
): Promise<{ readonly adapters: readonly Adapter[]; readonly note?: string }> {
  // WebGPU's name of an adapter ends with Vulkan's of the device.
  const isLike = ({ name }: { readonly name: string }) => adapter!.name.endsWith(` / ${name}`);
  // One alone is what every process finds.
  if (vulkanDevices().filter(isLike).length < 2) return { adapters: [] };
  const listed = (await listAdapters(isLike)).filter(isLike);
  const adapters = listed.flatMap(({ adapter }) => adapter ?? []);
  if (adapters.length === listed.length) return { adapters };
  const note =
    `of ${listed.length} adapters that are alike only ${Math.max(1, adapters.length)} can be ` +
    `used: ${NO_CHOICE}`;
  return { adapters, note };
}

/** What to do where a device can't be chosen. */
export const NO_CHOICE =
  "Vulkan's layer VK_LAYER_MESA_device_select chooses between devices, so install it " +
  "(Debian: mesa-vulkan-drivers), or hide the others from Vulkan by variables";

function parseVariables(text: string, refuse: (why: string) => ConfigError): Variables {
  const pairs = text.split(" ").filter((pair) => pair !== "").map((pair) => {
    const [, name, value] = /^([A-Z_][A-Z0-9_]*)=(.*)$/.exec(pair) ?? [];
    if (name === undefined) {
      throw refuse(
        "it must be a number that doctor shows, or variables, NAME=VALUE, with spaces between",
      );
    }
    if (GRAPHICS_VARIABLES.test(name)) return [name, value!] as const;
    throw refuse(`${name} chooses no graphics device or driver; VK_DRIVER_FILES, for one, does`);
  });
  return Object.fromEntries(pairs);
}

/** Those that give the bits of a platform, and what to say of the others. */
export function ofPlatform(
  adapters: readonly Adapter[],
  platform: Platform,
): { readonly adapters: readonly Adapter[]; readonly leftOut: string | undefined } {
  const isOf = ({ found }: Adapter) =>
    JSON.stringify(adapterIngredients(found)) === JSON.stringify(platform.ingredients);
  const others = adapters.filter((each) => !isOf(each)).map(({ found }) => found.title);
  return {
    adapters: adapters.filter(isOf),
    leftOut: others.length === 0
      ? undefined
      : `left out: ${others.join(", ")}; a run's results are of one platform, and this one's is ` +
        `${platform.reason}`,
  };
}

function written(variables: Variables): string {
  return Object.entries(variables).map((pair) => pair.join("=")).join(" ") || "the usual variables";
}
