/**
 * What of a run's differences from a lock is within what certificates saw between platforms.
 *
 * @module
 */
import { compareWithin } from "../certify/within.ts";
import type { RunOutcome } from "../run/run.ts";
import {
  certificateOf,
  lockedCertificatesName,
  readLockedCertificates,
} from "../store/certificates.ts";
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
 * The differences that no certificate covers, and what is to be said of those that one does.
 *
 * @throws {LockstepError} If the certificates beside the lock are not as they were written.
 */
export async function withoutCertified(
  all: readonly Difference[],
  { session: { store }, outcome, lock, path }: Held,
): Promise<{ readonly differences: readonly Difference[]; readonly notes: readonly string[] }> {
  const committed = readLockedCertificates(lockedCertificatesName(path));
  const within = new Set<string>();
  const reasons = new Map<string, string>();
  let uncompared = 0;
  const results = new Map([...outcome.results].map(([{ name }, { key }]) => [name, key]));
  for (const name of new Set(all.map(({ instance }) => instance))) {
    const locked = lock.get(name), key = results.get(name);
    if (locked?.key === undefined || key === undefined) continue;
    const certificate = committed.get(locked.key) ?? certificateOf(store, locked.key);
    const now = await store.trace(key);
    // Where nobody certified anything, there is nothing to say beyond what differs.
    if (now === undefined || certificate === undefined) continue;
    const found = await compareWithin({ locked, now, certificate }, store);
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
  return { differences, notes: notesOf(within.size, { results: results.size, uncompared }) };
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
