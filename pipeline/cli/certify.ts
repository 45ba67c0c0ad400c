/**
 * `certify INSTANCE|GLOB`: executes instances again, past all caches, and says how far each output is
 * reproducible.
 *
 * @module
 */
import { join } from "node:path";
import { certify, Elsewhere, type Request } from "../certify/certify.ts";
import type { Ground } from "../certify/execute.ts";
import { isOfEntry } from "../certify/within.ts";
import { explain, LockstepError, UsageError } from "../errors.ts";
import { resolvePlatform } from "../key/platform.ts";
import type { Graph, Instance } from "../plan/graph.ts";
import { LocalExecutor } from "../run/executor/local.ts";
import { openScratch } from "../run/scratch.ts";
import { type Certificate, isKept } from "../store/certificate.ts";
import {
  lockedCertificatesName,
  readLockedCertificates,
  writeCertificate,
  writeLockedCertificates,
} from "../store/certificates.ts";
import { type LockEntry, lockName, readLock } from "../store/lockfile.ts";
import { Pins } from "../store/pins.ts";
import { holdForRun } from "../store/run_lock.ts";
import type { Trace } from "../store/trace.ts";
import { certificateEvent, certificateLines, summaryLines } from "./certify_text.ts";
import { tracePage } from "./finish.ts";
import { matcher } from "./glob.ts";
import { INTERRUPTED, interruptible } from "./interrupt.ts";
import { wrapping } from "./layout.ts";
import { identityOf } from "./locking.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { sealed, type Session, withSession } from "./session.ts";

/**
 * Certifies instances; 0 if each left the bits of its key on its platform, 1 if one did not or failed.
 *
 * @throws {UsageError} If no instance is named.
 * @throws {LockstepError} If one that is named is not up to date.
 */
export async function certifyInstances(
  project: Project,
  options: Options,
  print: Print,
): Promise<number> {
  const pattern = options.operands[0];
  if (pattern === undefined) {
    throw new UsageError(
      'Cannot run "certify": it needs an instance or a pattern, e.g. train, or "**" for all',
    );
  }
  const o = { project, options: { ...options, only: [pattern] }, print, isReading: false };
  return await withSession(o, async (quick) => {
    const held = holdForRun(quick.store);
    try {
      const { backend } = quick.platform;
      if (options.also.includes(backend)) {
        throw new UsageError(
          `Cannot use --also ${backend}: it must be another backend than what is certified ran on, and ` +
            "that is it",
        );
      }
      const session = await sealed(quick, o.options);
      const names = session.graph.map(({ name }) => name);
      const isWanted = matcher([pattern], names, "the pattern");
      const wanted = session.graph.filter(({ name }) => isWanted(name));
      const traces = await tracesOf(session);
      return await interruptible((signal) =>
        certifyAll({ project, options, print, session, traces, wanted, signal })
      );
    } finally {
      held.release();
    }
  });
}

/** How often an instance is executed where nobody says: as usual, and with all varied. */
const TIMES = 2;

/** What the store has of the instances and of all that feeds them. */
async function tracesOf({ graph, decisions, store }: Session): Promise<Map<Instance, Trace>> {
  const traces = new Map<Instance, Trace>();
  for (const instance of graph) {
    const decision = decisions.get(instance)!;
    const trace = decision.action === "cached" ? await store.trace(decision.key) : undefined;
    if (trace === undefined) {
      throw new LockstepError(
        `Cannot certify: what is certified, and what feeds it, must be up to date, and ` +
          `${instance.name} is not; run "deno task reproduce" with the same options first`,
      );
    }
    traces.set(instance, trace);
  }
  return traces;
}

interface Work {
  readonly project: Project;
  readonly options: Options;
  readonly print: Print;
  readonly session: Session;
  readonly traces: ReadonlyMap<Instance, Trace>;
  readonly wanted: Graph;
  readonly signal: AbortSignal;
}

async function certifyAll(work: Work): Promise<number> {
  const { options, print, session, traces, wanted, signal } = work;
  const scratch = await openScratch(session.store);
  const ground = groundOf(work);
  const elsewhere: Elsewhere[] = [];
  const certificates: Certificate[] = [];
  let failed = 0;
  try {
    for (const backend of new Set(options.also)) {
      const platform = await resolvePlatform(backend);
      const traceOf = (instance: Instance) => traces.get(instance)!;
      const folder = join(scratch.folder(), "elsewhere");
      elsewhere.push(new Elsewhere(platform, { ground, folder, traceOf }));
    }
    for (const instance of wanted) {
      const trace = traces.get(instance)!;
      const outputs = (from: Instance) => traces.get(from)!.outputs;
      const subject = { instance, key: trace.key, outputs };
      const request: Request = { subject, trace, times: options.times ?? TIMES, elsewhere };
      try {
        if (instance.node.stage.command) {
          throw new LockstepError(
            "Cannot certify a program: what varies around a stage does not reach into its cage; " +
              "reproduce --force runs it again and compares its bits",
          );
        }
        const certificate = await certify(request, { ground, folder: scratch.folder() });
        writeCertificate(session.store, certificate);
        certificates.push(certificate);
        show(certificate, options, print);
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof LockstepError)) throw error;
        failed++;
        sayFailed(instance, explain(error), { options, print });
      }
    }
  } finally {
    for (const other of elsewhere) other.close();
    scratch.close();
    if (certificates.length > 0) await tracePage(session, { changed: true });
  }
  keepBesideLock(certificates, work);
  if (signal.aborted) {
    const message = `interrupted: ${certificates.length} of ${wanted.length} are certified`;
    print(options.json ? JSON.stringify({ event: "interrupted", message }) : message);
    return INTERRUPTED;
  }
  summarise(certificates, failed, { options, print });
  return failed === 0 && certificates.every(isKept) ? 0 : 1;
}

function groundOf({ project, options, session, signal }: Work): Ground {
  const { store, bundles, platform, experiment } = session;
  return {
    ...{ store, bundles, platform, signal },
    mirror: experiment.mirror,
    pins: new Pins(project.root, { keep: false }),
    jobs: options.jobs,
    executorIn: (circumstances) => new LocalExecutor(circumstances),
  };
}

/** Puts what platforms differ by beside the lock, for machines that have the lock and no store. */
function keepBesideLock(certificates: readonly Certificate[], work: Work): void {
  const { project, options, session, print } = work;
  const name = lockName(identityOf(session));
  const lock = readLock(join(project.root, name), name) ?? new Map<string, LockEntry>();
  const isLocked = (certificate: Certificate) => {
    const entry = lock.get(certificate.instance);
    return entry !== undefined && isOfEntry(certificate, certificate.instance, entry);
  };
  const fresh = certificates.filter((certificate) =>
    isLocked(certificate) && certificate.executions.some(({ platform }) => platform !== undefined)
  );
  if (fresh.length === 0) return;
  const beside = lockedCertificatesName(name);
  const path = join(project.root, beside);
  const before = [...readLockedCertificates(path).values()].filter(isLocked);
  const all = new Map([...before, ...fresh].map((each) => [each.key, each]));
  if (!writeLockedCertificates(path, all.values())) return;
  const count = `${all.size} ${all.size === 1 ? "certificate" : "certificates"}`;
  const message = `${count} of the locked results, for other platforms to be held to`;
  if (options.json) print(JSON.stringify({ event: "lock", path: beside, message, holds: true }));
  else wrapping(print)(`${beside}: ${message}; commit the file`);
}

interface Shown {
  readonly options: Options;
  readonly print: Print;
}

function show(certificate: Certificate, { json }: Options, print: Print): void {
  if (json) return print(JSON.stringify(certificateEvent(certificate)));
  certificateLines(certificate).forEach(wrapping(print));
}

function sayFailed({ name: instance }: Instance, message: string, { options, print }: Shown): void {
  if (options.json) return print(JSON.stringify({ event: "failed", instance, message }));
  wrapping(print)(`${instance}\n  failed: ${message}`);
}

function summarise(
  certificates: readonly Certificate[],
  failed: number,
  { options, print }: Shown,
): void {
  if (!options.json) return summaryLines(certificates, failed).forEach(wrapping(print));
  const kept = certificates.filter(isKept).length;
  print(JSON.stringify({ event: "certify-summary", certified: certificates.length, kept, failed }));
}
