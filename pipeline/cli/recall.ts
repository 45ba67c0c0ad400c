/**
 * A run with nothing to do, remembered: what its conclusion was drawn from. While none of that moved,
 * the same command would conclude the same, so it says so at once; whatever differs, is missing or
 * odd, the run looks at everything, as if nothing were remembered.
 *
 * It is asked before anything else is loaded, so it imports no package and nothing of Node's.
 *
 * @module
 */
import type { Event } from "../event.ts";
import { lookAt, type Stat, statOf } from "../files.ts";
import { type BackendChoice, type Platform, platformAtOnce } from "../key/platform.ts";
import type { Project } from "./project.ts";
import { standardOutput } from "./sink.ts";

/** The version of what is remembered. */
const FORMAT = 2;

/** What a command depends on besides files. All of it must be equal. */
export interface Circumstances {
  readonly format: number;
  readonly root: string;
  readonly experiment: string;
  readonly stages: readonly string[];
  readonly args: readonly string[];
  /** Relative paths start there, and pages are named from there. */
  readonly cwd: string;
  /** With Deno's own options; empty where the system does not give it. */
  readonly commandLine: string;
  readonly deno: Readonly<Record<string, string>>;
  readonly variables: readonly (readonly [name: string, value: string])[];
  readonly user: number | null;
  readonly processors: number;
}

/** Paths, and for each in turn size, time, change time and inode. */
export interface Stamps {
  readonly paths: readonly string[];
  readonly stats: readonly number[];
}

/** What is remembered. */
export interface Memory {
  readonly circumstances: Circumstances;
  /** Milliseconds since 1970: nothing that it names was written since. */
  readonly at: number;
  /** What was asked for, and what it came to without asking an adapter. */
  readonly platform: Pick<Platform, "backend" | "reason"> & { readonly asked: BackendChoice };
  /** The machine, if something measured is among the results; else `null`. */
  readonly machine: string | null;
  /** Where results and the store are. */
  readonly outputs: string;
  /** Mode of the store's folder: who may not write there may not run. */
  readonly mode: number | null;
  /** What must be a folder, whatever is in it. */
  readonly folders: readonly string[];
  /** Where nothing may be. */
  readonly absent: readonly string[];
  /** What was read of the project and of packages, folders too. Links are followed. */
  readonly sources: Stamps;
  /** What was looked at below `outputs`. Links are not followed. */
  readonly results: Stamps;
  /** What was said. */
  readonly events: readonly Event[];
  readonly upToDate: number;
  readonly quiet: boolean;
}

/** Variables that choose what Deno loads, and the engine's own. */
const VARIABLES = /^(DENO_.*|NPM_CONFIG_.*|NODE_.*|HOME|XDG_CACHE_HOME|LOCKSTEP_.*)$/;

/** What a command depends on besides files. */
export function circumstancesOf(project: Project, args: readonly string[]): Circumstances {
  return {
    format: FORMAT,
    root: project.root,
    experiment: project.experiment,
    stages: Object.keys(project.stages),
    args,
    cwd: Deno.cwd(),
    commandLine: commandLine(),
    deno: Deno.version,
    variables: Object.entries(Deno.env.toObject()).filter(([name]) => VARIABLES.test(name)).sort(),
    user: Deno.uid(),
    processors: navigator.hardwareConcurrency,
  };
}

function commandLine(): string {
  try {
    return Deno.readTextFileSync("/proc/self/cmdline");
  } catch {
    return "";
  }
}

/** Where below the store it is remembered. Commands share few places, so that they do not add up. */
export function placeOf({ cwd, args }: Circumstances): string {
  let hash = 0x811c9dc5;
  for (const character of JSON.stringify([cwd, args])) {
    hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  }
  return `remembered/${(hash >>> 0) % 16}.json`;
}

/** The file that SQLite is opened under the lock of: without it, no run begins. */
export const CATALOGUE = "store/catalog.sqlite";

/** What is remembered of this very command, if nothing that it was concluded from moved since. */
export async function recall(
  project: Project,
  args: readonly string[],
): Promise<Memory | undefined> {
  try {
    const now = circumstancesOf(project, args);
    const memory = await read(`${outputsNamed(now)}/store/${placeOf(now)}`);
    const isSame = JSON.stringify(memory?.circumstances) === JSON.stringify(now);
    return memory !== undefined && isSame && await holds(memory) ? memory : undefined;
  } catch {
    // Whatever is wrong, the run that looks at everything meets it too, and says what it is.
    return undefined;
  }
}

/** Where `outputs/` should be. A wrong guess finds nothing, or what another command remembered. */
function outputsNamed({ root, cwd, args }: Circumstances): string {
  const option = "--outputs";
  const at = args.findLastIndex((arg) => arg === option || arg.startsWith(`${option}=`));
  const named = args[at] === option ? args[at + 1] : args[at]?.slice(option.length + 1);
  if (!named) return `${root}/outputs`;
  return named.startsWith("/") ? named : `${cwd}/${named}`;
}

/** `"\nsha256 "`, 64 digits, `"\n"`: how a sealed file ends. */
const SEAL_LENGTH = 73;

/** What a sealed file holds. Without `sealed.ts`: Node's hashes take longer to load than all of this. */
async function read(path: string): Promise<Memory | undefined> {
  if (lookAt(path)?.kind !== "a file") return undefined;
  const bytes = Deno.readFileSync(path);
  const end = bytes.length - SEAL_LENGTH;
  if (end < 0) return undefined;
  const body = bytes.subarray(0, end);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).toHex();
  const decoder = new TextDecoder();
  if (decoder.decode(bytes.subarray(end)) !== `\nsha256 ${digest}\n`) return undefined;
  return JSON.parse(decoder.decode(body));
}

/** Whether everything is as it was. */
async function holds(memory: Memory): Promise<boolean> {
  const { outputs, platform: { asked, backend, reason }, machine, sources, results } = memory;
  // Set back, a clock gives old times to what is written now.
  if (Date.now() < memory.at) return false;
  const platform = platformAtOnce(asked);
  if (platform?.backend !== backend || platform.reason !== reason) return false;
  if (machine !== null && machine !== (await import("../key/machine.ts")).describeMachine()) {
    return false;
  }
  const store = Deno.statSync(`${outputs}/store`);
  if (store.mode !== memory.mode) return false;
  // A run opens it to write, and can't where the place is read-only.
  Deno.openSync(`${outputs}/${CATALOGUE}.lock`, { read: true, write: true }).close();
  return memory.folders.every((path) => Deno.statSync(path).isDirectory) &&
    memory.absent.every((path) => lookAt(path) === undefined) &&
    unmoved(sources, statOf) &&
    unmoved(results, (path) => lookAt(`${outputs}/${path}`)?.stat);
}

function unmoved({ paths, stats }: Stamps, statOf: (path: string) => Stat | undefined): boolean {
  return paths.every((path, index) => {
    const stat = statOf(path);
    const at = 4 * index;
    return stat !== undefined && stat.size === stats[at] && stat.mtime === stats[at + 1] &&
      stat.ctime === stats[at + 2] && stat.inode === stats[at + 3];
  });
}

/**
 * Says what was said then, and returns the exit code.
 *
 * @param begun What `performance.now()` gave when the command began.
 */
export async function repeat({ events, upToDate, quiet }: Memory, begun: number): Promise<number> {
  const { textView } = await import("./terminal.ts");
  const view = textView(standardOutput(), { quiet });
  for (const event of events) view.listener(event);
  const seconds = Math.round(performance.now() - begun) / 1000;
  view.listener({ event: "summary", executed: 0, cached: upToDate, failed: 0, seconds });
  view.close();
  return 0;
}
