/**
 * The program that says which adapter a process finds under its environment, and which devices Vulkan
 * shows it: one line of JSON.
 *
 * @module
 */
import { adapterHere } from "../../key/platform.ts";
import { vulkanDevices } from "../../key/vulkan.ts";
import type { Probed } from "./adapters.ts";

const adapter = await adapterHere();
const probed: Probed = {
  ...(adapter ? { adapter } : {}),
  devices: vulkanDevices().map(({ uuid }) => uuid),
};
console.log(JSON.stringify(probed));
