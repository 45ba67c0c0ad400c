/**
 * File systems that tests mount, which only root can: full ones, read-only ones.
 *
 * @module
 */
import { assert } from "@std/assert";

let mayMount: boolean | undefined;

/** Whether this user may mount; says so where not, since tests are skipped then. */
export function canMount(): boolean {
  mayMount ??= Deno.uid() === 0 && triesToMount();
  if (!mayMount) {
    console.warn("tests on full and read-only disks are skipped: nothing can be mounted");
  }
  return mayMount;
}

/** In a name space of its own, so that nothing is left. */
function triesToMount(): boolean {
  const args = ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"];
  try {
    return new Deno.Command("unshare", { args, stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

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
