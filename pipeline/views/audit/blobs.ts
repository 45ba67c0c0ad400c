/**
 * The part of the audit that hashes every blob that a trace names.
 *
 * @module
 */
import { join } from "node:path";
import { isSha256, type Sha256 } from "../../key/hash.ts";
import { sizeProblem } from "../../store/blobs.ts";
import { entriesBelow, lookAt } from "../../files.ts";
import { hashFiles } from "../../store/hash_pool.ts";
import { type Manifest, namedBy, type Trace } from "../../store/trace.ts";
import { type Audit, isHalfWritten, type SizedFile } from "./finding.ts";
import type { IntactTraces } from "./traces.ts";

/** Digest of each folder that a trace names and the store holds, to what is in it. */
export type Manifests = ReadonlyMap<Sha256, Manifest>;

/** What traces say of a blob. */
interface Use {
  readonly traces: Set<Trace>;
  readonly others: Set<string>;
  /** The size it must have, if that is known: one of another size need not be read. */
  bytes?: number;
}

/**
 * Hashes every blob that a trace names. Returns what was looked at, what folders hold, and how many blobs
 * are not here since they are named by received traces alone.
 */
export async function auditBlobs(audit: Audit, traces: IntactTraces): Promise<{
  readonly files: readonly SizedFile[];
  readonly manifests: Manifests;
  readonly elsewhere: number;
}> {
  const { uses, manifests } = await usesOf(audit, traces);
  const blobs = new Map<Sha256, SizedFile>();
  for (const { subfolder, name, path, isFile } of entriesBelow(join(audit.store.root, "blobs"))) {
    const digest = subfolder + name;
    if (isSha256(digest)) {
      if (isFile) blobs.set(digest, { path, bytes: lookAt(path)?.stat.size ?? 0 });
      else report(audit, digest, uses.get(digest), ["altered", "it must be a file, and is not"]);
    } else {
      const isLeftover = isFile && isHalfWritten(name);
      audit.findings.push({
        ...{ problem: isLeftover ? "leftover" : "orphaned", what: "blob", path, instances: [] },
        message: isLeftover ? "a file half written" : "its name is not that of a blob",
      });
    }
  }
  await hashBlobs(audit, blobs, uses);
  let elsewhere = 0;
  for (const [digest, use] of uses) {
    if (blobs.has(digest) || lookAt(audit.store.blobPath(digest)) !== undefined) continue;
    if (use.others.size === 0 && [...use.traces].every(({ received }) => received)) elsewhere++;
    else report(audit, digest, use, ["missing", "a trace names it"]);
  }
  return { files: [...blobs.values()], manifests, elsewhere };
}

async function usesOf(
  { store }: Audit,
  { byKey, others }: IntactTraces,
): Promise<{ uses: Map<Sha256, Use>; manifests: Map<Sha256, Manifest> }> {
  const uses = new Map<Sha256, Use>();
  const manifests = new Map<Sha256, Manifest>();
  const use = (digest: Sha256, bytes: number | undefined, by: { trace: Trace; path?: string }) => {
    let known = uses.get(digest);
    if (!known) uses.set(digest, known = { traces: new Set(), others: new Set() });
    if (by.path === undefined) known.traces.add(by.trace);
    else known.others.add(by.path);
    if (bytes !== undefined) known.bytes = bytes;
  };
  for (const by of [...[...byKey.values()].map((trace) => ({ trace })), ...others]) {
    for (const { kind, sha256, bytes } of namedBy(by.trace)) {
      // Of a folder, the trace knows the size of all its files together.
      use(sha256, kind === "file" ? bytes : undefined, by);
      if (kind === "file") continue;
      const manifest = manifests.get(sha256) ?? await store.manifest(sha256);
      if (!manifest) continue;
      manifests.set(sha256, manifest);
      for (const entry of Object.values(manifest)) use(entry.sha256, entry.bytes, by);
    }
  }
  return { uses, manifests };
}

async function hashBlobs(
  audit: Audit,
  blobs: ReadonlyMap<Sha256, SizedFile>,
  uses: ReadonlyMap<Sha256, Use>,
): Promise<void> {
  const sized: SizedFile[] = [];
  for (const [digest, blob] of blobs) {
    const use = uses.get(digest);
    if (!use) {
      const { path } = blob;
      const message = "no trace names it";
      audit.findings.push({ problem: "leftover", what: "blob", path, instances: [], message });
      continue;
    }
    const problem = sizeProblem(blob.bytes, use.bytes);
    if (problem === undefined) sized.push(blob);
    else report(audit, digest, use, ["altered", `it ${problem}`]);
  }
  const digests = await hashFiles(sized);
  for (const [digest, { path }] of blobs) {
    const found = digests.get(path) ?? digest;
    if (found === digest) continue;
    const message = found instanceof Error ? found.message : `its content has digest ${found}`;
    report(audit, digest, uses.get(digest), ["altered", message]);
  }
}

function report(
  { store, findings }: Audit,
  digest: Sha256,
  use: Use | undefined,
  [problem, message]: readonly [problem: "altered" | "missing", message: string],
): void {
  const traces = [...use?.traces ?? []];
  const run = traces[0]?.run;
  findings.push({
    problem,
    what: "blob",
    path: store.blobPath(digest),
    instances: [...new Set(traces.map(({ instance }) => instance))].sort(),
    keys: traces.map(({ key }) => key),
    others: [...use?.others ?? []],
    message,
    ...(run === undefined ? {} : { run }),
  });
}
