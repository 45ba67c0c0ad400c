/**
 * What Vulkan says of graphics devices, which WebGPU does not pass on: their drivers, and which is which.
 *
 * Layouts and constants: Vulkan 1.2 and VK_EXT_pci_bus_info, `vulkan_core.h`, on a 64-bit machine.
 *
 * @module
 */

const VK_SUCCESS = 0;
const API_VERSION_1_2 = 1 << 22 | 2 << 12;
const STRUCTURE_INSTANCE_CREATE_INFO = 1;
const STRUCTURE_DRIVER_PROPERTIES = 1000196000;
const STRUCTURE_DEVICE_PROPERTIES_2 = 1000059001;
const STRUCTURE_ID_PROPERTIES = 1000071004;
const STRUCTURE_PCI_BUS_INFO = 1000212000;
const DEVICE_TYPE_CPU = 4;
/** What a PCI bus's number is not: a driver that does not know the structure leaves it. */
const UNSET = 0xffffffff;
const MAX_DEVICES = 16;

/** A graphics device. */
export interface VulkanDevice {
  readonly name: string;
  /** `llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)`. */
  readonly driver: string;
  /** Of its make and model, `10de:2330`. */
  readonly model: string;
  /** Whether it is a program on the processor. */
  readonly software: boolean;
  /** One device's alone, as far as its driver says. */
  readonly uuid: string;
  /** Where it is, `0000_17_00_0`, if it is on a bus. */
  readonly pci?: string;
}

/** The devices that Vulkan shows to this process, in its order; none where there is no Vulkan. */
export function vulkanDevices(): VulkanDevice[] {
  let library: ReturnType<typeof open>;
  try {
    library = open();
  } catch {
    return [];
  }
  try {
    return devices(library.symbols);
  } finally {
    library.close();
  }
}

/**
 * The drivers of the devices of that name, `llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)`, sorted; none where
 * there is no Vulkan or no such device.
 */
export function vulkanDrivers(deviceName: string): string[] {
  const found = vulkanDevices().filter(({ name }) => name === deviceName);
  return [...new Set(found.map(({ driver }) => driver))].sort();
}

function open() {
  return Deno.dlopen("libvulkan.so.1", {
    vkCreateInstance: { parameters: ["buffer", "pointer", "buffer"], result: "i32" },
    vkEnumeratePhysicalDevices: { parameters: ["u64", "buffer", "buffer"], result: "i32" },
    vkGetPhysicalDeviceProperties2: { parameters: ["u64", "buffer"], result: "void" },
    vkDestroyInstance: { parameters: ["u64", "pointer"], result: "void" },
  });
}

type Vulkan = ReturnType<typeof open>["symbols"];

function devices(vulkan: Vulkan): VulkanDevice[] {
  // VkInstanceCreateInfo, without layers or extensions, then the VkApplicationInfo it points to: in
  // one buffer, which lives as long as the call needs both.
  const request = new DataView(new ArrayBuffer(64 + 48));
  request.setUint32(0, STRUCTURE_INSTANCE_CREATE_INFO, true);
  request.setBigUint64(24, addressOf(request) + 64n, true);
  request.setUint32(64 + 44, API_VERSION_1_2, true);
  const handle = new BigUint64Array(1);
  if (vulkan.vkCreateInstance(bytes(request), null, bytes(handle)) !== VK_SUCCESS) return [];
  const instance = handle[0]!;
  try {
    const count = new Uint32Array([MAX_DEVICES]), handles = new BigUint64Array(MAX_DEVICES);
    // More devices than there is room for are VK_INCOMPLETE, which is no error: it is positive.
    if (vulkan.vkEnumeratePhysicalDevices(instance, bytes(count), bytes(handles)) < VK_SUCCESS) {
      return [];
    }
    return [...handles.subarray(0, count[0])].map((device) => properties(vulkan, device));
  } finally {
    vulkan.vkDestroyInstance(instance, null);
  }
}

function properties(vulkan: Vulkan, device: bigint): VulkanDevice {
  // VkPhysicalDeviceProperties2: after two fields of its own VkPhysicalDeviceProperties, of which
  // deviceName follows five numbers. Then what it points to, each to the next:
  // VkPhysicalDeviceDriverProperties (a number, driverName, driverInfo), VkPhysicalDeviceIDProperties
  // (deviceUUID) and VkPhysicalDevicePCIBusInfoPropertiesEXT (domain, bus, device, function).
  const driver = 840, id = driver + 536, pci = id + 64;
  const all = new DataView(new ArrayBuffer(pci + 32));
  const link = (offset: number, type: number, next?: number) => {
    all.setUint32(offset, type, true);
    all.setBigUint64(offset + 8, next === undefined ? 0n : addressOf(all) + BigInt(next), true);
  };
  link(0, STRUCTURE_DEVICE_PROPERTIES_2, driver);
  link(driver, STRUCTURE_DRIVER_PROPERTIES, id);
  link(id, STRUCTURE_ID_PROPERTIES);
  link(pci, STRUCTURE_PCI_BUS_INFO);
  all.setUint32(pci + 16, UNSET, true);
  const ask = () => vulkan.vkGetPhysicalDeviceProperties2(device, bytes(all));
  ask();
  const number = (offset: number) => all.getUint32(offset, true);
  const hex = (offset: number, digits: number) => number(offset).toString(16).padStart(digits, "0");
  const software = number(16 + 16) === DEVICE_TYPE_CPU;
  // What is on no bus may complain about the question.
  if (!software) link(id, STRUCTURE_ID_PROPERTIES, pci);
  if (!software) ask();
  const named = [text(all, driver + 20), text(all, driver + 276)];
  return {
    name: text(all, 16 + 20),
    driver: named.filter((part) => part !== "").join(", "),
    model: `${hex(16 + 8, 4)}:${hex(16 + 12, 4)}`,
    software,
    uuid: bytes(all).subarray(id + 16, id + 32).toHex(),
    ...number(pci + 16) === UNSET ? {} : {
      pci: [hex(pci + 16, 4), hex(pci + 20, 2), hex(pci + 24, 2), hex(pci + 28, 1)].join("_"),
    },
  };
}

/** A zero-terminated text of 256 bytes at most. */
function text(view: DataView, offset: number): string {
  const field = new Uint8Array(view.buffer, offset, 256);
  const end = field.indexOf(0);
  return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
}

function addressOf(view: DataView): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes(view)));
}

function bytes({ buffer }: ArrayBufferView): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer);
}
