/**
 * What instances take of a machine, and whether it has as much.
 *
 * @module
 */
import { totalmem } from "node:os";
import { sizeText } from "../amounts.ts";
import type { Locate } from "../config/document.ts";
import { ConfigError } from "../errors.ts";
import type { Platform } from "../key/platform.ts";
import type { Instance } from "../plan/graph.ts";
import type { Resources } from "../stage.ts";

/** Amounts of what instances share, in the order in which one waits for them. */
export interface Amounts {
  readonly gpus: number;
  readonly memoryBytes: number;
  readonly cpus: number;
}

/** What an instance holds while it runs. */
export interface Share extends Amounts {
  /** How long it may. */
  readonly timeSeconds?: number;
  /** The numbers of its adapters, among those of the machine. */
  readonly adapters: readonly number[];
}

/** A program that hangs is no stage's own doing: it has a limit unless it is given another. */
const DAY_SECONDS = 24 * 3600;

/** What an instance needs where its stage's experiment says nothing else: a processor, and an adapter to compute on. */
export function needsOf(
  { node: { stage, resources } }: Pick<Instance, "node">,
  { backend }: Pick<Platform, "backend">,
): Amounts & Pick<Resources, "timeSeconds"> {
  const { cpus = 1, memoryBytes = 0, gpus = 1, ...given } = resources;
  const time = stage.command ? { timeSeconds: DAY_SECONDS, ...given } : given;
  const onAdapter = backend === "webgpu" && (stage.numeric ?? false);
  return { gpus: onAdapter ? gpus : 0, memoryBytes, cpus, ...time };
}

/** How many that need as much can run at once, at least one. */
export function atOnce(needs: Amounts, limits: Amounts & { readonly places: number }): number {
  const counts = (["gpus", "memoryBytes", "cpus"] as const).filter((each) => needs[each] > 0)
    .map((each) => Math.floor(limits[each] / needs[each]));
  return Math.max(1, Math.min(limits.places, ...counts));
}

/** Memory of this machine, or of the group of processes to which this one is limited. */
export function memoryHere(): number {
  return Math.min(
    totalmem(),
    ...["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"].map((path) => {
      try {
        return Number(Deno.readTextFileSync(path)) || Infinity;
      } catch {
        return Infinity;
      }
    }),
  );
}

/** A resource: its name in an experiment's file, how much of it there is, and what is to be done about that. */
const RESOURCES = [
  ["gpus", "gpus", (amount: number) => `${amount} of this run's platform`, "--adapter"],
  ["memory", "memoryBytes", (amount: number) => sizeText(amount), "--memory"],
  ["cpus", "cpus", String, "--cpus"],
] as const;

/**
 * Refuses what could never run.
 *
 * @param o.locate Points at the line of a node's entry.
 * @throws {ConfigError} If an instance takes more than there is.
 */
export function requireRoom(
  instances: Iterable<Instance>,
  { limits, platform, locate }: {
    readonly limits: Amounts;
    readonly platform: Platform;
    readonly locate: Locate;
  },
): void {
  const messages = new Set<string>();
  for (const instance of instances) {
    const needs = needsOf(instance, platform);
    for (const [name, amount, text, flag] of RESOURCES) {
      if (needs[amount] <= limits[amount]) continue;
      messages.add(locate(
        ["stages", instance.node.name, "resources", name],
        `must be no more than this machine has, ${text(limits[amount])}, found ` +
          `${text(needs[amount])}; ask for less, or say by ${flag} that it has more`,
      ));
    }
  }
  if (messages.size > 0) throw new ConfigError([...messages].join("\n"));
}
