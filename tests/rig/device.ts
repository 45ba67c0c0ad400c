/**
 * File systems that tests mount, which only root can: full ones, read-only ones.
 *
 * @module
 */
import { assert } from "@std/assert";

/** Mounts something at a folder, hands the folder over and unmounts it. */
export async function onDevice(
  folder: string,
  mount: readonly string[],
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const { success, stderr } = await new Deno.Command("mount", { args: [...mount, folder] })
    .output();
  assert(success, new TextDecoder().decode(stderr));
  try {
    await use(folder);
  } finally {
    await new Deno.Command("umount", { args: [folder] }).output();
  }
}
