/**
 * Keeps processors busy beside what is executed.
 *
 * @module
 */

/** Computes until the process that started it is gone. */
const PROGRAM = "const parent = Deno.ppid; while (Deno.ppid === parent);";

/** Starts processes that do nothing but compute; disposing ends them. */
export function keepBusy(count: number): Disposable {
  const processes = Array.from({ length: count }, () =>
    new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", "--no-lock", PROGRAM],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn());
  return {
    [Symbol.dispose]() {
      for (const process of processes) {
        try {
          process.kill("SIGKILL");
        } catch { /* it has ended */ }
      }
    },
  };
}
