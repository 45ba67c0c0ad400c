/**
 * The cage of a command: what its program finds of this machine. By bubblewrap, of which Debian has a
 * package.
 *
 * @module
 */
import { basename, join } from "node:path";
import { lookAt } from "../../../files.ts";
import { withFilter } from "./system_calls.ts";

/** Where a program finds its things. The same in every cage, since it sees that. */
export const STAGE = "/stage";

/** Folders of the system that every program is shown. */
export const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] as const;

/** What is below them and in no package's hands. */
const LOCAL = "/usr/local";

/** What a program is shown besides the system. */
export interface Inside {
  /** In order: a path here, and the one at which it is there. */
  readonly mounts: readonly (readonly [from: string, to: string, mode: "read" | "write"])[];
  readonly variables: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** The number of an open file. */
const FILTER = 9;

/** No file that a program writes may be larger: a slip must not fill the disk. */
export const MAX_FILE_BYTES = 16 * 2 ** 30;

/**
 * Does what Deno can't: limits files, unless they are limited to less, closes what this process may have
 * been started with, which a program could go on reading, and opens the filter for bubblewrap.
 */
const START = `{ ulimit -c 0; ulimit -f ${MAX_FILE_BYTES / 1024}; } 2>&-
for file in /proc/self/fd/*; do
  number=\${file##*/}
  [ "$number" -le 2 ] || eval "exec $number>&-"
done
filter=$1; shift; exec "$@" ${FILTER}< "$filter"`;

/** A user and a group with a name: some programs ask for theirs. */
const ID = "1000";

/** What a program sees of its environment, wherever it runs, but for what its command sets. */
export function environment(temporary: string): Record<string, string> {
  return {
    PATH: "/usr/bin:/bin",
    HOME: temporary,
    TMPDIR: temporary,
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    TZ: "UTC",
    NO_COLOR: "1",
    // What it prints comes as it prints it; equal runs walk sets in equal order; folders may be read-only.
    PYTHONUNBUFFERED: "1",
    PYTHONHASHSEED: "0",
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

/**
 * What to put before a program to start it in the cage: no network, no other process, no file but those
 * it is shown, no privilege, no way to another user namespace.
 */
export function cageArguments(
  { bubblewrap, filter }: { readonly bubblewrap: string; readonly filter: string },
  { mounts, variables, cwd }: Inside,
): readonly string[] {
  return [
    ...["/bin/bash", "-c", START, "bash", filter],
    ...[bubblewrap, "--seccomp", String(FILTER)],
    ...["--unshare-all", "--unshare-user", "--disable-userns", "--uid", ID, "--gid", ID],
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent"],
    ...["--hostname", "stage", "--clearenv"],
    ...Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]),
    ...SYSTEM.flatMap(shown),
    ...(lookAt(LOCAL) ? ["--tmpfs", LOCAL, "--remount-ro", LOCAL] : []),
    // Which of several libraries of one name is meant.
    ...["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"],
    // Read-only: to the kernel, root in a cage is root still.
    ...["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"],
    ...mounts.flatMap(([from, to, mode]) => [mode === "write" ? "--bind" : "--ro-bind", from, to]),
    ...["--remount-ro", "/", "--chdir", cwd, "--"],
  ];
}

/** A folder of the system, or the link that it is where all is in `/usr`. */
function shown(path: string): string[] {
  const found = lookAt(path)?.kind;
  if (found === "a folder") return ["--ro-bind", path, path];
  return found === "a symbolic link" ? ["--symlink", Deno.readLinkSync(path), path] : [];
}

/** Writes who the user is, for the cage to show; returns the mounts. */
export function usersIn(folder: string): Inside["mounts"] {
  const files = {
    passwd: `stage:x:${ID}:${ID}::/tmp:/bin/sh\n`,
    group: `stage:x:${ID}:\n`,
  };
  return Object.entries(files).map(([name, text]) => {
    const path = join(folder, name);
    Deno.writeTextFileSync(path, text);
    return [path, `/etc/${basename(path)}`, "read"] as const;
  });
}

/** Bubblewrap on this machine and its version, or why there is no cage. */
export type FoundCage =
  | { readonly bubblewrap: string; readonly version: string }
  | { readonly problem: string };

let found: Promise<FoundCage> | undefined;

/** Whether there is a cage on this machine, tried once. */
export function findCage(): Promise<FoundCage> {
  return found ??= tryCage();
}

async function tryCage(): Promise<FoundCage> {
  const bubblewrap = (Deno.env.get("PATH") ?? "").split(":")
    .map((folder) => join(folder, "bwrap")).find((path) => lookAt(path));
  if (Deno.build.os !== "linux" || bubblewrap === undefined) {
    return { problem: "bubblewrap is not installed (Debian: apt-get install bubblewrap)" };
  }
  const version = await output([bubblewrap, "--version"]);
  const inside = { mounts: [], variables: environment("/tmp"), cwd: "/" };
  const tried = await withFilter((filter) =>
    output([...cageArguments({ bubblewrap, filter }, inside), "true"])
  );
  return tried.success
    ? { bubblewrap, version: version.text }
    : { problem: `${version.text} makes none here: ${tried.text}` };
}

async function output(
  [program, ...args]: readonly string[],
): Promise<{ readonly success: boolean; readonly text: string }> {
  const options = {
    args,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  } as const;
  const { success, stdout, stderr } = await new Deno.Command(program!, options).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  return { success, text: decode(stdout) || decode(stderr) };
}
