/**
 * The code of stages, bundled when a source file or a package changed and otherwise as it was kept.
 * It becomes blobs only when a stage runs: until then no trace names it.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { lookAt, readBytes, sortedEntries } from "../files.ts";
import { type Bundle, BUNDLE_FORMAT, PACKAGES_FOLDER } from "../key/bundle_format.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import { Recheck, type SourceFiles, type SourceRecord } from "../key/source_files.ts";
import type { BlobStore } from "./artifact_store.ts";
import type { Fresh } from "./bundling.ts";
import type { LocalStore } from "./local_store.ts";
import { readSealed, writeAtomically, writeSealed } from "./sealed.ts";
import { isDigest, isRecord } from "./shape.ts";
import { type Manifest, toManifest } from "./trace.ts";
import type { Workspace } from "./workspace.ts";

/** A bundle with the files it was made from, as they were then. */
interface Remembered {
  readonly stage: string;
  readonly format: number;
  readonly root: string;
  readonly files: SourceRecord;
  readonly bundle: Bundle;
}

/** What of a bundle says which modules it has. */
export type Modules = Pick<Bundle, "code" | "packages">;

/**
 * The bundles of the given stages. Their modules are in the store's folder of code, unless it can't
 * be written to.
 *
 * @throws {ConfigError} If a stage can't be bundled.
 */
export async function loadBundles(
  root: string,
  stages: readonly string[],
  store: LocalStore,
): Promise<Map<string, Bundle>> {
  const bundles = new Map<string, Bundle>();
  const recheck = new Recheck();
  for (const stage of stages) {
    const known = readRecord(store, stage);
    if (!known || known.format !== BUNDLE_FORMAT || known.root !== root) continue;
    const files = recheck.unchanged(known.files);
    if (!files || !holdsCode(store, known.bundle)) continue;
    bundles.set(stage, known.bundle);
    if (files !== known.files) remember({ ...known, files }, store);
  }
  const stale = stages.filter((stage) => !bundles.has(stage));
  if (stale.length === 0) return bundles;
  // Loaded here alone: where nothing was edited, nothing of it is needed.
  const { bundleUnedited } = await import("./bundling.ts");
  const { made, files } = await bundleUnedited(root, stale);
  for (const [stage, fresh] of made) bundles.set(stage, keep(stage, fresh, { root, files, store }));
  return bundles;
}

/** Writes a fresh bundle's modules, and remembers what it was made from. */
function keep(
  stage: string,
  { bundle, contents, map, read }: Fresh,
  { root, files, store }: { root: string; files: SourceFiles; store: LocalStore },
): Bundle {
  if (store.catalog.inMemory) return bundle;
  for (const [digest, content] of contents) keepText(digest, content, store);
  const place = mapPath(store, bundle.code);
  if (isFree(store, place)) writeSealed(place, { code: bundle.code, map } satisfies SourceMap);
  remember({ stage, format: BUNDLE_FORMAT, root, files: files.record(read), bundle }, store);
  return bundle;
}

/** Writes what has a digest to the folder of code, unless it is there or the store can't be written to. */
export function keepText(
  digest: Sha256,
  content: Uint8Array<ArrayBuffer>,
  store: LocalStore,
): void {
  const path = codePath(store, digest);
  if (store.catalog.inMemory || contentOf(store, digest) !== undefined) return;
  if (isFree(store, path)) writeAtomically(path, content);
}

function remember(record: Remembered, store: LocalStore): void {
  const path = recordPath(store, record.stage);
  if (!store.catalog.inMemory && isFree(store, path)) writeSealed(path, record);
}

/** The files that stages' bundles were made from, those of packages too: absolute paths. */
export function bundledFiles(stages: readonly string[], store: LocalStore): Set<string> {
  return new Set(
    stages.flatMap((stage) => Object.keys(readRecord(store, stage)?.files.files ?? {})),
  );
}

/** Where it is kept which bundle a stage has, and from which files it was made. */
function recordPath(workspace: Workspace, stage: string): string {
  return join(workspace.root, "code", `${stage}.json`);
}

function readRecord(workspace: Workspace, stage: string): Remembered | undefined {
  return readSealed(recordPath(workspace, stage), {
    parse: (value) =>
      isRecord(value) && value["stage"] === stage && isRecord(value["files"]) &&
        isRecord(value["bundle"]) && isDigest(value["bundle"]["code"])
        ? value as unknown as Remembered
        : undefined,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
}

/** Whether a file may be written at a path: what is no file is set aside, unless that can't be. */
function isFree(workspace: Workspace, path: string): boolean {
  const found = lookAt(path);
  if (!found || found.kind === "a file") return true;
  workspace.setAside(path, `a file must be here, found ${found.kind}`);
  return lookAt(path) === undefined;
}

/** Where a module, or a manifest of modules, is kept. */
export function codePath(workspace: Workspace, digest: Sha256): string {
  return join(workspace.root, "code", digest);
}

/** A module's source map, as it is kept: sealed, for it is in no hash. */
interface SourceMap {
  readonly code: Sha256;
  readonly map: string;
}

function mapPath(workspace: Workspace, digest: Sha256): string {
  return `${codePath(workspace, digest)}.map`;
}

/** The bytes kept under a digest, read and hashed at once; others are set aside. */
function contentOf(workspace: Workspace, digest: Sha256): Uint8Array<ArrayBuffer> | undefined {
  const path = codePath(workspace, digest);
  let content: Uint8Array<ArrayBuffer> | undefined;
  try {
    content = readBytes(path);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    workspace.setAside(path, error.message);
  }
  if (content === undefined || sha256(content) === digest) return content;
  workspace.setAside(path, "it is not the code of its name");
  return undefined;
}

function isWhole(workspace: Workspace, digest: Sha256): boolean {
  return contentOf(workspace, digest) !== undefined;
}

/**
 * The bytes that the folder of code has under a digest.
 *
 * @throws {LockstepError} If there are no such bytes.
 */
export function readCode(workspace: Workspace, digest: Sha256): Uint8Array<ArrayBuffer> {
  const content = contentOf(workspace, digest);
  if (content !== undefined) return content;
  throw new LockstepError(
    `Cannot run the code ${digest}: ${
      codePath(workspace, digest)
    } must hold it, and does not; run ` +
      "the same command again, which bundles it again",
  );
}

function readManifest(workspace: Workspace, digest: Sha256): Manifest {
  const manifest = toManifest(new TextDecoder().decode(readCode(workspace, digest)));
  if (manifest !== undefined) return manifest;
  throw new LockstepError(`Cannot run the code ${digest}: it must be a manifest, and is none`);
}

/**
 * The digests of a bundle's modules and manifest.
 *
 * @throws {LockstepError} If the manifest is not where bundles are kept.
 */
export function codeDigests(workspace: Workspace, { code, packages }: Modules): Sha256[] {
  if (packages === undefined) return [code];
  const modules = Object.values(readManifest(workspace, packages));
  return [code, packages, ...modules.map(({ sha256 }) => sha256)];
}

/** The digests of all code that stages have as they were last bundled. */
export function currentCode(workspace: Workspace): Set<Sha256> {
  const names = sortedEntries(join(workspace.root, "code")).map(({ name }) => name);
  return new Set(
    names.filter((name) => name.endsWith(".json")).flatMap((name) => {
      const bundle = readRecord(workspace, name.slice(0, -5))?.bundle;
      return bundle && holdsCode(workspace, bundle) ? codeDigests(workspace, bundle) : [];
    }),
  );
}

/** The digests of a bundle's modules and manifest, as far as they are known here. */
export function modulesOf(workspace: Workspace, bundle: Modules): Sha256[] {
  const { code, packages } = bundle;
  if (packages === undefined) return [code];
  return hasModules(workspace, bundle) ? codeDigests(workspace, bundle) : [code, packages];
}

/** Makes a bundle's modules blobs, for their digests are about to be named by a trace. */
export async function keepCode(
  { store, workspace }: { readonly store: BlobStore; readonly workspace: Workspace },
  bundle: Modules,
): Promise<void> {
  for (const digest of codeDigests(workspace, bundle)) {
    if (await store.check(digest) === "ok") continue;
    await store.put(readCode(workspace, digest));
  }
}

/**
 * Whether a bundle's modules are where bundles are kept: its own by reading it, those of packages by
 * their being there, for they are read before they run.
 */
export function holdsCode(workspace: Workspace, bundle: Modules): boolean {
  if (!isWhole(workspace, bundle.code) || !lookAt(mapPath(workspace, bundle.code))) return false;
  if (bundle.packages === undefined) return true;
  return hasModules(workspace, bundle);
}

/** Whether a bundle's modules are there; of its manifest, whether that is whole. */
export function hasModules(workspace: Workspace, bundle: Modules): boolean {
  if (bundle.packages !== undefined && !isWhole(workspace, bundle.packages)) return false;
  return codeDigests(workspace, bundle).every((digest) =>
    lookAt(codePath(workspace, digest)) !== undefined
  );
}

/**
 * Writes a bundle's modules into a folder, the very bytes that were hashed: its own, which then knows
 * its source map, and beside it those of its packages. Returns the path of its own.
 *
 * @throws {LockstepError} If what is kept is not what the digests name; it is set aside.
 */
export function writeModules(workspace: Workspace, bundle: Modules, folder: string): string {
  const module = join(folder, "stage.mjs");
  const code = new TextDecoder().decode(readCode(workspace, bundle.code));
  Deno.writeTextFileSync(module, code + mapComment(workspace, bundle.code));
  if (bundle.packages === undefined) return module;
  Deno.mkdirSync(join(folder, PACKAGES_FOLDER));
  for (const [name, entry] of Object.entries(readManifest(workspace, bundle.packages))) {
    const path = join(folder, PACKAGES_FOLDER, name);
    Deno.writeFileSync(path, readCode(workspace, entry.sha256));
  }
  return module;
}

/** The comment by which a module knows its source map. */
function mapComment(workspace: Workspace, digest: Sha256): string {
  const map = readSealed(mapPath(workspace, digest), {
    parse: (value) =>
      isRecord(value) && value["code"] === digest && typeof value["map"] === "string"
        ? value["map"]
        : undefined,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
  if (map === undefined) return "";
  const url = `data:application/json;base64,${new TextEncoder().encode(map).toBase64()}`;
  return `\n//# sourceMappingURL=${url}\n`;
}
