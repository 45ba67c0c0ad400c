import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { streamKey, words } from "../../models/random.ts";
import { testOn } from "../models/rig.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const PROGRAM = fileURLToPath(new URL("../rig/train_process.ts", import.meta.url));

interface Ended {
  /** The last line, if it ended by itself. */
  readonly digests: string | undefined;
  /** Numbers of the steps it did. */
  readonly steps: number[];
}

/** Trains in a process, which is killed as soon as it says that step `killAt` is done. */
async function train(args: string[], killAt?: number): Promise<Ended> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", PROGRAM, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines: string[] = [];
  let text = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    const found = (text + part).split("\n");
    text = found.pop()!;
    lines.push(...found);
    if (killAt !== undefined && lines.includes(`step ${killAt}`)) {
      child.kill("SIGKILL");
      killAt = undefined;
    }
  }
  const { signal } = await child.status;
  const steps = lines.filter((line) => line.startsWith("step ")).map((line) =>
    Number(line.slice(5))
  );
  return { steps, digests: signal === "SIGKILL" ? undefined : lines.at(-1) };
}

for (const trainer of ["classifier", "language"]) {
  const ends =
    `${trainer}: other processes, busy or killed again and again, end with the same bits`;
  testOn(["wasm", "webgpu"], ends, async (backend) => {
    const folders = [temporaryFolder(), temporaryFolder()];
    const [calm, busy] = await Promise.all([
      train([trainer, backend, folders[0]!]),
      train([trainer, backend, folders[1]!, "busy"]),
    ]);
    assertEquals(Object.keys(JSON.parse(calm.digests!)), ["state", "weights", "history"]);
    assertEquals(busy.digests, calm.digests);

    // Killed again and again, at steps drawn by chance, in one folder. A device takes long to start.
    const [starts, kills] = backend === "webgpu" ? [2, 2] : [4, 3];
    const folder = temporaryFolder();
    let killed = 0;
    for (const word of words(streamKey(1, trainer), starts)) {
      const killAt = 1 + killed * 5 + word % 5;
      const { digests, steps } = await train([trainer, backend, folder], killAt);
      if (digests === undefined) killed++;
      assert(steps.length > 0);
    }
    assert(killed >= kills, `${killed} were killed before they ended`);
    const resumed = await train([trainer, backend, folder]);
    assert(resumed.steps.length < 24, "it began again");
    assertEquals(resumed.digests, calm.digests);
  });
}
