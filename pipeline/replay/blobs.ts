/**
 * The artifacts, modules and lists of files in an audit file: what the traces name, and nothing else.
 *
 * @module
 */
import { sha256 } from "../key/hash.ts";
import { type Manifest, manifestText, toManifest, type Trace } from "../store/trace.ts";
import type { AuditFile } from "./audit_file.ts";
import type { Report } from "./finding.ts";
import { FormError, textIn } from "./record.ts";
import type { Material } from "./replay.ts";
import { type Choices, usesOf } from "./uses.ts";

/** What folders hold, by their digests. */
export function readManifests(
  folders: ReadonlySet<string>,
  blob: Material["blob"],
  report: Report,
): Map<string, Manifest> {
  const manifests = new Map<string, Manifest>();
  for (const digest of folders) {
    const content = blob(digest);
    // That a manifest is missing is said with the other blobs.
    if (content === undefined) continue;
    const manifest = toManifest(textIn(content));
    if (manifest === undefined) {
      const expected = "a folder's list of files", found = "something else";
      report({ what: "blob", where: `blobs/${digest}`, expected, found });
    } else if (sha256(plainText(manifest)) !== digest) throw new FormError(`blobs/${digest}`);
    else manifests.set(digest, manifest);
  }
  return manifests;
}

/** The text of a list with what belongs in it alone. */
function plainText(manifest: Manifest): string {
  const plain = Object.entries(manifest).map(([path, { sha256, bytes }]) =>
    [path, { sha256, bytes }] as const
  );
  return manifestText(Object.fromEntries(plain));
}

/**
 * Every artifact must be in the file as its digest and its trace's size say, or be listed as left out.
 */
export function checkBlobs(
  { index, files }: AuditFile,
  { traces, manifests, intact, report, choices }: {
    readonly traces: ReadonlyMap<string, Trace>;
    readonly manifests: ReadonlyMap<string, Manifest>;
    readonly intact: ReadonlySet<string>;
    readonly report: Report;
    readonly choices: Choices;
  },
): void {
  const named = new Set<string>();
  const manifest = (digest: string) => manifests.get(digest);
  for (const use of usesOf(traces, { ...choices, manifest })) {
    const path = `blobs/${use.sha256}`, held = files.bytes(path);
    const where = `${path}, ${use.of}`;
    const left = index.leftOut[use.sha256];
    const size = held ?? (use.always ? undefined : left);
    if (size === undefined) {
      const found = left === undefined ? "nothing" : "it listed as left out";
      report({ what: "blob", where, expected: "there", found });
    } else if (use.bytes !== undefined && size !== use.bytes) {
      report({ what: "blob", where, expected: `${use.bytes} bytes`, found: `${size}` });
    } else if (held !== undefined && !intact.has(path) && !named.has(use.sha256)) {
      report({ what: "blob", where, expected: use.sha256, found: files.digest(path)! });
    }
    named.add(use.sha256);
  }
  const unused = (where: string) =>
    report({ what: "blob", where, expected: "named by a trace", found: "no such name" });
  for (const path of files.keys()) {
    if (path.startsWith("blobs/") && !named.has(path.slice("blobs/".length))) unused(path);
    else if (!/^(blobs|traces|lock|certificates)\//.test(path)) {
      report({
        what: "file",
        where: path,
        expected: "in a folder of an audit file",
        found: "another",
      });
    }
  }
  for (const digest of Object.keys(index.leftOut)) {
    if (!named.has(digest)) unused(`left out ${digest}`);
    if (files.has(`blobs/${digest}`)) {
      report({
        what: "index",
        where: `left out ${digest}`,
        expected: "not there",
        found: "the blob",
      });
    }
  }
}

/** A folder has as many bytes as its files together. */
export function checkFolders(
  traces: ReadonlyMap<string, Trace>,
  manifests: ReadonlyMap<string, Manifest>,
  report: Report,
): void {
  for (const [instance, { outputs }] of traces) {
    for (const [name, { sha256, bytes }] of Object.entries(outputs)) {
      const manifest = manifests.get(sha256);
      if (manifest === undefined) continue;
      const total = Object.values(manifest).reduce((sum, entry) => sum + entry.bytes, 0);
      if (total === bytes) continue;
      const where = `${instance}, ${name}`;
      report({ what: "trace", where, expected: `${total} bytes in all`, found: `${bytes}` });
    }
  }
}
