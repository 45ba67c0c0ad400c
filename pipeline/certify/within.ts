/**
 * Whether a result that has other bits than a lock, on another platform, differs from it by no more than
 * the certificate of the locked result saw between platforms.
 *
 * @module
 */
import { type Change, changes } from "../key/ingredients.ts";
import { type Certificate, gradeOf, noiseFloor } from "../store/certificate.ts";
import type { LocalStore } from "../store/local_store.ts";
import type { LockEntry } from "../store/lockfile.ts";
import type { Trace } from "../store/trace.ts";
import { differenceOf } from "./contents.ts";

/** What came of a comparison. */
export type Within =
  /** Outputs of which only the bits are known to differ, as certified, are counted. */
  | { readonly within: true; readonly uncompared: number }
  | { readonly within: false; readonly why: string };

/** A locked result and the one that is held against it. */
export interface Pair {
  /** The instance of the lock's line. */
  readonly instance: string;
  readonly locked: LockEntry;
  readonly now: Trace;
  /** Of the locked key; `undefined` if there is none. */
  readonly certificate: Certificate | undefined;
  /**
   * Whether an input that is another is an output of the upstream instance that the lock has for it, and
   * that instance is itself within.
   */
  readonly follows: (input: Change) => boolean;
}

/** Compares what a run made with what is locked, as far as the store has it. */
export async function compareWithin(
  { instance, locked, now, certificate, follows }: Pair,
  store: LocalStore,
): Promise<Within> {
  const no = (why: string): Within => ({ within: false, why });
  if (certificate === undefined || !isOfEntry(certificate, instance, locked)) {
    return no("the locked result has no certificate");
  }
  // What no platform touches follows from its inputs alone.
  const computes = now.ingredients["platform.backend"] !== undefined;
  const moved = changes(certificate.ingredients, now.ingredients);
  const isOf = (start: string) => ({ ingredient }: Change) => ingredient.startsWith(start);
  const inputs = moved.filter(isOf("inputs."));
  const platform = moved.filter(isOf("platform."));
  if (moved.length > inputs.length + platform.length) {
    return no("it must have the same bits: more than its platform and its inputs is another");
  }
  if ((computes ? platform : inputs).length === 0) {
    return no("it must have the same bits: its platform is that of the lock");
  }
  const strange = inputs.find((input) => !follows(input));
  if (strange !== undefined) {
    return no(
      `it must have the same bits: ${strange.ingredient} is not from a result that differs from the ` +
        "lock by its platform alone",
    );
  }
  const metric = metricBeyond(locked.metrics, now.metrics, noiseFloor(certificate));
  if (metric !== undefined) return no(metric);
  let compared = Object.keys(locked.metrics).length, uncompared = 0;
  for (const [name, { sha256, exactness }] of Object.entries(locked.outputs)) {
    const output = now.outputs[name];
    if (output === undefined || sha256 === undefined || output.sha256 === sha256) continue;
    const { grade, difference: certified } = gradeOf(certificate, name);
    if (grade !== "numeric" || output.exactness !== exactness) {
      return no(`output "${name}" must have the same bits: its certificate says ${grade}`);
    }
    const was = { sha256, kind: output.kind };
    if (await store.verifyOutput(was) !== "ok") {
      // What gathers results may say another thing of them, and no platform of its own explains that.
      if (!computes) {
        return no(
          `output "${name}" cannot be compared: no platform is in its key, and this store lacks the ` +
            "locked bytes",
        );
      }
      uncompared++;
      continue;
    }
    const found = await differenceOf(was, output, {
      manifest: (digest) => store.manifest(digest),
      pathOf: (digest) => Promise.resolve(store.blobPath(digest)),
    });
    compared++;
    if (found === undefined) continue;
    if (!found.onlyNumbers) return no(`output "${name}" differs in more than numbers`);
    if (found.relative <= (certified?.relative ?? 0)) continue;
    return no(
      `output "${name}" differs by ${found.relative} of its largest number, and its certificate saw ` +
        `${certified?.relative ?? 0}`,
    );
  }
  if (compared > 0 || !computes) return { within: true, uncompared };
  return no(
    "nothing of it can be compared: it has no metric, and this store lacks the locked bytes",
  );
}

type Metrics = LockEntry["metrics"];

/** What is said of the first metric that differs by more than the floor, or that one side alone has. */
function metricBeyond(locked: Metrics, now: Metrics, floor: Metrics): string | undefined {
  for (const name of new Set([...Object.keys(locked), ...Object.keys(now)])) {
    if (!Object.hasOwn(locked, name)) return `metric "${name}" is not in the lock`;
    if (!Object.hasOwn(now, name)) return `metric "${name}" is in the lock, and the run has none`;
    const difference = Math.abs(now[name]! - locked[name]!);
    if (difference <= floor[name]!) continue;
    return `metric "${name}" differs by ${difference}, and its certificate saw ${floor[name]}`;
  }
  return undefined;
}

/** Whether a certificate is of what a line of a lock says. */
export function isOfEntry(
  { key, instance, outputs, metrics }: Certificate,
  lockedInstance: string,
  locked: LockEntry,
): boolean {
  return key === locked.key && instance === lockedInstance &&
    Object.keys(outputs).length === Object.keys(locked.outputs).length &&
    Object.entries(locked.outputs).every(([name, { sha256, exactness }]) =>
      outputs[name]?.exactness === exactness &&
      (sha256 === undefined || outputs[name].sha256 === sha256)
    ) &&
    Object.keys(metrics).length === Object.keys(locked.metrics).length &&
    Object.entries(locked.metrics).every(([name, value]) => metrics[name] === value);
}
