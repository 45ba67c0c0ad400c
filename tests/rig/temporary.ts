/** @module */

const made: string[] = [];

/** A new empty folder, which is removed when the test file, or the script, that asked for it ends. */
export function temporaryFolder(): string {
  if (made.length === 0) {
    globalThis.addEventListener("unload", () => {
      for (const folder of made) Deno.removeSync(folder, { recursive: true });
    });
  }
  const folder = Deno.makeTempDirSync({ prefix: "lockstep-" });
  made.push(folder);
  return folder;
}
