/**
 * How fast a shared cache's files go up and come down, beside `curl` on nginx and `rclone` on OpenStack
 * Swift: 8 of 32 MB and 400 of 64 KB, eight at a time. Whole processes, in turn, all on this machine; ours
 * hash what they send and what they receive, and compare.
 *
 * ```sh
 * sh tests/servers/install.sh; apt-get install curl rclone
 * deno run -A bench/shared_cache.ts
 * ```
 *
 * @module
 */
import { basename, join } from "node:path";
import { hashFile, type Sha256 } from "../pipeline/key/hash.ts";
import { parseAddress } from "../pipeline/store/remote/address.ts";
import { RemoteCache } from "../pipeline/store/remote/cache.ts";
import { openRemote } from "../pipeline/store/remote/remote.ts";
import { startNginx } from "../tests/rig/servers/nginx.ts";
import type { RunningServer } from "../tests/rig/servers/processes.ts";
import { startSwift } from "../tests/rig/servers/swift.ts";
import { median } from "./timing.ts";

const ROUNDS = 5, PARALLEL = "8";

/** Puts the files of a folder into a cache, or fetches into it those of another's names. */
async function transfer(way: string, url: string, from: string, to: string): Promise<void> {
  const cache = new RemoteCache(await openRemote(parseAddress(url)), {
    onNote: console.error,
    onRefused: console.error,
  });
  const done = await Promise.all([...Deno.readDirSync(from)].map(({ name }) => {
    const path = join(from, name), bytes = Deno.statSync(path).size;
    return way === "put"
      ? cache.putBlob({ sha256: hashFile(path), bytes }, path)
      : cache.fetchBlob({ sha256: name as Sha256, bytes }, join(to, name));
  }));
  if (!done.every((each) => each === "put" || each === true)) throw new Error(`Not all: ${done}`);
}

/** Files of other content each time, named by their digests. */
function writeFiles(folder: string, count: number, bytes: number): string[] {
  const block = crypto.getRandomValues(new Uint8Array(1 << 16));
  return Array.from({ length: count }, () => {
    const path = join(folder, "new");
    using file = Deno.openSync(path, { write: true, create: true, truncate: true });
    for (let done = 0; done < bytes; done += block.length) {
      crypto.getRandomValues(block.subarray(0, 64));
      file.writeSync(block);
    }
    const named = join(folder, hashFile(path));
    Deno.renameSync(path, named);
    return named;
  });
}

/** The command of another client that does the same. */
function otherClient(
  way: string,
  { url, variables }: RunningServer,
  { files, to }: { readonly files: readonly string[]; readonly to: string },
): string[] {
  if (url.startsWith("s3:")) {
    const remote = ":s3:" + url.slice("s3://".length);
    const flags = [
      ...["--s3-provider", "Other", "--s3-env-auth", "--s3-endpoint"],
      ...[variables["AWS_ENDPOINT_URL_S3"]!, "--s3-no-check-bucket"],
      ...["--transfers", PARALLEL, "--checkers", PARALLEL, "--config", "/dev/null"],
    ];
    const folder = join(files[0]!, "..");
    return way === "put"
      ? ["rclone", "copy", ...flags, folder, `${remote}/other`]
      : ["rclone", "copy", ...flags, `${remote}/other`, to];
  }
  const each = files.flatMap((path) =>
    way === "put"
      ? ["-T", path, `${url}/cas/${basename(path)}`]
      : ["-o", join(to, basename(path)), `${url}/cas/${basename(path)}`]
  );
  const login = ["--netrc-file", variables["NETRC"]!];
  return ["curl", "-sSf", "-Z", "--parallel-max", PARALLEL, ...login, ...each];
}

async function seconds(command: readonly string[], env: Record<string, string>): Promise<number> {
  const [program, ...args] = command;
  const begun = performance.now();
  const { success, stderr } = await new Deno.Command(program!, { args, env, stdout: "null" })
    .output();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr).slice(0, 2000)}`);
  return (performance.now() - begun) / 1000;
}

async function compare(server: RunningServer, count: number, bytes: number): Promise<string[]> {
  const found = { put: [[], []], get: [[], []] } as Record<string, [number[], number[]]>;
  for (let round = 0; round < ROUNDS; round++) {
    const folder = Deno.makeTempDirSync({ prefix: "lockstep-cache-" });
    try {
      const from = join(folder, "from");
      Deno.mkdirSync(from);
      const files = writeFiles(from, count, bytes);
      for (const way of ["put", "get"] as const) {
        for (const who of [0, 1]) {
          const to = join(folder, `${way}${who}`);
          Deno.mkdirSync(to);
          const own = [
            Deno.execPath(),
            "run",
            "-A",
            import.meta.filename!,
            way,
            server.url,
            from,
            to,
          ];
          const command = who === 0 ? own : otherClient(way, server, { files, to });
          found[way]![who]!.push(await seconds(command, { ...server.variables }));
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  }
  const rate = (times: readonly number[]) => (count * bytes / 1e6 / median(times)).toFixed(0);
  return ["put", "get"].flatMap((way) => {
    const [ours, theirs] = found[way]!;
    return [rate(ours), rate(theirs), (median(ours) / median(theirs)).toFixed(2)];
  });
}

if (import.meta.main) {
  const [way, url, from, to] = Deno.args;
  if (way !== undefined) {
    await transfer(way, url!, from!, to!);
    Deno.exit(0);
  }
  console.log(
    `MB/s, medians of ${ROUNDS} in turn         up: ours  other  time ratio  down: ours  other  time ratio`,
  );
  for (
    const [name, start] of [["nginx, curl", startNginx], ["Swift, rclone", startSwift]] as const
  ) {
    await using server = await start();
    for (const [count, bytes] of [[8, 32 << 20], [400, 64 << 10]] as const) {
      const [a, b, c, d, e, f] = await compare(server, count, bytes);
      console.log(
        `${`${name}, ${count} × ${bytes >> 10} KB`.padEnd(34)}${a!.padStart(12)}${b!.padStart(7)}${
          c!.padStart(12)
        }${d!.padStart(12)}${e!.padStart(7)}${f!.padStart(12)}`,
      );
    }
  }
}
