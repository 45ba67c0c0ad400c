/**
 * What Vulkan says of a graphics driver, which WebGPU does not pass on: its name and version.
 *
 * Layouts and constants: Vulkan 1.2, `vulkan_core.h`, on a 64-bit machine.
 *
 * @module
 */

const VK_SUCCESS = 0;
const API_VERSION_1_2 = 1 << 22 | 2 << 12;
const STRUCTURE_INSTANCE_CREATE_INFO = 1;
const STRUCTURE_DRIVER_PROPERTIES = 1000196000;
const STRUCTURE_DEVICE_PROPERTIES_2 = 1000059001;
const MAX_DEVICES = 16;

/**
 * The drivers of the devices of that name, `llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)`, sorted; none where
 * there is no Vulkan or no such device.
 */
export function vulkanDrivers(deviceName: string): string[] {
  let library: ReturnType<typeof open>;
  try {
    library = open();
  } catch {
    return [];
  }
  try {
    const found = devices(library.symbols).filter(({ name }) => name === deviceName);
    return [...new Set(found.map(({ driver }) => driver))].sort();
  } finally {
    library.close();
  }
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

function devices(vulkan: Vulkan): { readonly name: string; readonly driver: string }[] {
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

function properties(vulkan: Vulkan, device: bigint): { name: string; driver: string } {
  // VkPhysicalDeviceProperties2, where deviceName follows five numbers of VkPhysicalDeviceProperties,
  // then the VkPhysicalDeviceDriverProperties it points to: a number, driverName and driverInfo.
  const driver = 840;
  const both = new DataView(new ArrayBuffer(driver + 536));
  both.setUint32(0, STRUCTURE_DEVICE_PROPERTIES_2, true);
  both.setBigUint64(8, addressOf(both) + BigInt(driver), true);
  both.setUint32(driver, STRUCTURE_DRIVER_PROPERTIES, true);
  vulkan.vkGetPhysicalDeviceProperties2(device, bytes(both));
  const named = [text(both, driver + 20), text(both, driver + 276)];
  return { name: text(both, 16 + 20), driver: named.filter((part) => part !== "").join(", ") };
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
