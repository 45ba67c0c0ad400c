/**
 * Makes the audit file of a run: what goes into it, and its bytes.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import { formatLock, lockName, lockOf } from "../store/lockfile.ts";
import type { LatestRun } from "../store/latest.ts";
import { type Manifest, toManifest, type Trace } from "../store/trace.ts";
import type { Certificate } from "../store/certificate.ts";
import { type AuditIndex, FORMAT, indexMember } from "./audit_file.ts";
import { certificateName } from "./certificates.ts";
import { recordBytes } from "./record.ts";
import { type Member, tarEnd, tarHeader, tarPadding } from "./tar.ts";
import { type Choices, type Use, usesOf } from "./uses.ts";

/** Where a run's records are read from. */
export interface Source {
  trace(key: Sha256): Promise<Trace | undefined>;
  /** A blob's bytes; `undefined` if it is missing or damaged. */
  blob(digest: Sha256): Uint8Array<ArrayBuffer> | undefined;
  /** What executions past all caches showed of a result, if there were any. */
  certificate?(trace: Trace): Certificate | undefined;
}

/** What to take into an audit file. */
export interface BundleOptions extends Choices {
  /** Artifacts of more bytes stay out, but for what tables and verdicts are made from. */
  readonly largestBytes: number;
}

/** An audit file that is yet to be written. */
export interface Bundled {
  readonly index: AuditIndex;
  readonly leftOutBytes: number;
  /** The file's bytes, in order. */
  chunks(): Generator<Uint8Array<ArrayBuffer>>;
}

/**
 * Puts an audit file together; artifacts are read as it is written.
 *
 * @throws {LockstepError} If something is missing that must be in it.
 */
export async function bundle(
  run: Pick<LatestRun, "experiment" | "profile" | "backend" | "set" | "commit" | "keys">,
  source: Source,
  options: BundleOptions,
): Promise<Bundled> {
  const traces = new Map<string, Trace>();
  let cache: string | undefined;
  // A run's record has them in the order in which they ended.
  const keys = Object.entries(run.keys).sort(([a], [b]) => a < b ? -1 : 1);
  for (const [instance, key] of keys) {
    const trace = await source.trace(key);
    if (trace === undefined) throw lost(`the trace of ${instance}`);
    // Whence a store got it is the store's affair: the same run gives the same file.
    const { received, ...own } = trace;
    cache ??= received?.from;
    traces.set(instance, own);
  }
  const blob: Blob = (digest, of) => {
    const content = source.blob(digest);
    if (content === undefined) throw cache === undefined ? lost(of) : notFetched(of, cache);
    return content;
  };
  const { taken, left } = chosenBlobs(traces, { blob, ...options });
  const texts = membersOf(run, traces, source);
  const files = [
    ...taken.map(({ sha256 }) => [`blobs/${sha256}`, sha256] as const),
    ...texts.map(({ name, content }) => [name, sha256(content)] as const),
  ];
  const { experiment, profile, backend, set, commit } = run;
  const index: AuditIndex = {
    ...{ format: FORMAT, experiment, profile, backend, set },
    ...(commit === undefined ? {} : { commit }),
    instances: Object.fromEntries(keys),
    files: Object.fromEntries(files),
    leftOut: Object.fromEntries(left.map(({ sha256, bytes }) => [sha256, bytes])),
  };
  return {
    index,
    leftOutBytes: left.reduce((sum, { bytes }) => sum + bytes, 0),
    *chunks() {
      yield* archived(indexMember(index));
      for (const { sha256, of } of taken) {
        yield* archived({ name: `blobs/${sha256}`, content: blob(sha256, of) });
      }
      for (const member of texts) yield* archived(member);
      yield tarEnd();
    },
  };
}

type SizedUse = Use & { readonly bytes: number };

/** The bytes of a digest, and what they are for messages. */
type Blob = (digest: Sha256, of: string) => Uint8Array<ArrayBuffer>;

/** What the traces name, each once and in the order of the digests: what goes in, and what stays out. */
function chosenBlobs(
  traces: ReadonlyMap<string, Trace>,
  { blob, largestBytes, ...choices }: BundleOptions & { readonly blob: Blob },
): { readonly taken: readonly SizedUse[]; readonly left: readonly SizedUse[] } {
  const blobs = new Map<Sha256, SizedUse>();
  for (const use of usesOf(traces, { manifest: manifestsOf(blob), ...choices })) {
    const known = blobs.get(use.sha256);
    if (known !== undefined && (known.always || !use.always)) continue;
    // Of a stage's own code no trace gives the size.
    const bytes = use.bytes ?? known?.bytes ?? blob(use.sha256, use.of).length;
    blobs.set(use.sha256, { ...use, bytes });
  }
  const all = [...blobs.values()].sort((a, b) => a.sha256 < b.sha256 ? -1 : 1);
  const isTaken = ({ always, bytes }: SizedUse) => always || bytes <= largestBytes;
  return { taken: all.filter(isTaken), left: all.filter((use) => !isTaken(use)) };
}

/** The file's bytes at once. */
export function bytesOf(bundled: Bundled): Uint8Array<ArrayBuffer> {
  const chunks = [...bundled.chunks()];
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** What must go into an audit file and is not there. */
export function lost(what: string): LockstepError {
  return new LockstepError(
    `Cannot take ${what}: it must be in the store, or in the audit file that it is taken from, and is ` +
      'missing or damaged; "deno task audit --repair" makes again what a store lost, "deno task bundle ' +
      '--largest" takes larger artifacts',
  );
}

/** What must go into an audit file and is in a shared cache. */
function notFetched(what: string, cache: string): LockstepError {
  return new LockstepError(
    `Cannot take ${what}: results of this run came from ${cache}, and not all of their files were ` +
      'fetched; run "deno task pull" with the same experiment and profile first',
  );
}

/** What each folder holds, read once. */
function manifestsOf(blob: Blob): (digest: string) => Manifest {
  const known = new Map<string, Manifest>();
  return (digest) => {
    let manifest = known.get(digest);
    if (manifest === undefined) {
      const of = `the list of files ${digest}`;
      manifest = toManifest(new TextDecoder().decode(blob(digest as Sha256, of)));
      if (manifest === undefined) throw lost(of);
      known.set(digest, manifest);
    }
    return manifest;
  };
}

function membersOf(
  run: Pick<LatestRun, "experiment" | "profile" | "backend">,
  traces: ReadonlyMap<string, Trace>,
  { certificate = () => undefined }: Source,
): Member[] {
  // Instances with the same ingredients share one result.
  const byKey = new Map([...traces.values()].map((trace) => [trace.key, trace]));
  const certificates = [...byKey].flatMap(([key, trace]) => {
    const found = certificate(trace);
    return found === undefined ? [] : [{ name: certificateName(key), content: recordBytes(found) }];
  });
  const lock = new TextEncoder().encode(formatLock(run, lockOf(traces)));
  return [
    ...certificates,
    { name: lockName(run), content: lock },
    ...[...byKey].map(([key, trace]) => ({
      name: `traces/${key}.json`,
      content: recordBytes(trace),
    })),
  ].sort((a, b) => a.name < b.name ? -1 : 1);
}

function* archived({ name, content }: Member): Generator<Uint8Array<ArrayBuffer>> {
  yield tarHeader(name, content.length);
  yield content;
  yield tarPadding(content.length);
}
