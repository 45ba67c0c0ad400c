/**
 * How fast artifacts are hashed: one file of 1 GB, and eight of 128 MB, beside `sha256sum`. Whole
 * processes, in turn; the files are in the page cache.
 *
 * ```sh
 * deno run -A bench/hashing.ts
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { hashFiles } from "../pipeline/store/hash_pool.ts";
import { median, timeInTurn } from "./timing.ts";

const MEGABYTE = 1 << 20;

function writeFiles(folder: string, count: number, megabytes: number): string[] {
  const chunk = new Uint8Array(MEGABYTE).map((_, index) => (index * 2654435761) >>> 24);
  return Array.from({ length: count }, (_, n) => {
    const path = join(folder, String(n));
    using file = Deno.openSync(path, { write: true, create: true });
    for (let written = 0; written < megabytes; written++) {
      chunk[0] = written ^ n;
      file.writeSync(chunk);
    }
    return path;
  });
}

if (import.meta.main) {
  const [command, ...paths] = Deno.args;
  if (command === "hash") {
    const files = paths.map((path) => ({ path, bytes: Deno.statSync(path).size }));
    await hashFiles(files);
    Deno.exit(0);
  }
  console.log("files          lockstep GB/s  sha256sum GB/s  time ratio   (medians of 5, in turn)");
  for (const [count, megabytes] of [[1, 1024], [8, 128]] as const) {
    const folder = Deno.makeTempDirSync({ prefix: "lockstep-hash-" });
    try {
      const files = writeFiles(folder, count, megabytes);
      const own = [Deno.execPath(), "run", "-A", import.meta.filename!, "hash", ...files];
      const [ours, theirs] = (await timeInTurn([own, ["sha256sum", ...files]], 5)).map(median);
      const rate = (seconds: number) => (count * megabytes * MEGABYTE / 1e9 / seconds).toFixed(2);
      console.log(
        `${`${count} × ${megabytes} MB`.padEnd(13)}  ${rate(ours!).padStart(13)}  ` +
          `${rate(theirs!).padStart(14)}  ${(ours! / theirs!).toFixed(2).padStart(10)}`,
      );
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  }
}
