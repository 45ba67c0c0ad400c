/**
 * What of a run's differences from a lock is within what certificates saw between platforms.
 *
 * @module
 */
import { compareWithin } from "../certify/within.ts";
import type { Change } from "../key/ingredients.ts";
import type { Binding, Instance } from "../plan/graph.ts";
import { inputIngredient } from "../plan/ingredients.ts";
import type { RunOutcome } from "../run/run.ts";
import { lockedCertificatesName, readLockedCertificates } from "../store/certificates.ts";
import type { Difference } from "../store/lock_comparison.ts";
import type { Lock } from "../store/lockfile.ts";
import type { Session } from "./session.ts";

/** A run and the lock that it is held to. */
interface Held {
  readonly session: Session;
  readonly outcome: RunOutcome;
  readonly lock: Lock;
  /** Of the lock file. */
  readonly path: string;
}

/**
 * The differences that no certificate beside the lock covers, and what is to be said of those that one does.
 *
 * @throws {LockstepError} If the certificates beside the lock are not as they were written.
 */
export async function withoutCertified(
  all: readonly Difference[],
  { session: { store, graph }, outcome, lock, path }: Held,
): Promise<{ readonly differences: readonly Difference[]; readonly notes: readonly string[] }> {
  const committed = readLockedCertificates(lockedCertificatesName(path));
  const within = new Set<string>();
  const reasons = new Map<string, string>();
  let uncompared = 0;
  const differing = new Set(all.map(({ instance }) => instance));
  // Upstream before downstream.
  for (const instance of graph.filter(({ name }) => differing.has(name))) {
    const { name } = instance;
    const locked = lock.get(name), key = outcome.results.get(instance)?.key;
    if (locked?.key === undefined || key === undefined) continue;
    // One of this store alone counts for nothing: nobody reviewed it.
    const certificate = committed.get(locked.key);
    const now = await store.trace(key);
    // Where nobody certified anything, there is nothing to say beyond what differs.
    if (now === undefined || committed.size === 0) continue;
    const follows = followsIn(instance, { outcome, lock, within });
    const found = await compareWithin({ instance: name, locked, now, certificate, follows }, store);
    if (found.within) {
      within.add(name);
      uncompared += found.uncompared;
    } else reasons.set(name, found.why);
  }
  const differences = all.filter(({ instance }) => !within.has(instance)).map((difference) => {
    const why = reasons.get(difference.instance);
    reasons.delete(difference.instance);
    const message = why === undefined ? difference.message : `${difference.message} (${why})`;
    return { ...difference, message };
  });
  return {
    differences,
    notes: notesOf(within.size, { results: outcome.results.size, uncompared }),
  };
}

/** Says of an instance's inputs whether what fed them is in the lock, and is within. */
function followsIn(
  instance: Instance,
  { outcome, lock, within }: Pick<Held, "outcome" | "lock"> & {
    readonly within: ReadonlySet<string>;
  },
): (input: Change) => boolean {
  const bindings = new Map<string, Binding>();
  for (const [input, bound] of Object.entries(instance.inputs)) {
    for (const one of bound) bindings.set(inputIngredient(instance, input, one.label), one);
  }
  return ({ ingredient, before, now }) => {
    const from = bindings.get(ingredient);
    return from !== undefined && before !== undefined && now !== undefined &&
      within.has(from.instance.name) &&
      lock.get(from.instance.name)?.outputs[from.output]?.sha256 === before &&
      outcome.results.get(from.instance)?.outputs[from.output]?.sha256 === now;
  };
}

function notesOf(
  within: number,
  { results, uncompared }: { readonly results: number; readonly uncompared: number },
): string[] {
  if (within === 0) return [];
  return [
    `${within} of ${results} results have other bits than the lock, which is of another platform, and ` +
    "differ by no more than their certificates saw",
    ...(uncompared === 0 ? [] : [
      `${uncompared} outputs of them were not compared, only their metrics or what they follow from: ` +
      "this store lacks the locked bytes",
    ]),
  ];
}
