/**
 * The code of stages, bundled when a source file changed and otherwise as it was kept.
 * It becomes a blob only when a stage runs: until then no trace names it.
 *
 * @module
 */
import { join } from "node:path";
import { type Bundle, BUNDLE_FORMAT, bundlerVersion, bundleStages } from "../key/bundle.ts";
import { sameStat, type Stat, statOf } from "./catalog.ts";
import { LockstepError } from "../errors.ts";
import { readText } from "./files.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import { readPackages } from "../key/packages.ts";
import { readSealed, writeAtomically, writeSealed } from "./sealed.ts";
import { isDigest, isRecord } from "./shape.ts";
import type { ArtifactStore } from "./artifact_store.ts";
import type { LocalStore } from "./local_store.ts";
import type { Workspace } from "./workspace.ts";

/** A bundle with the files it was made from, as they were then. */
interface Remembered {
  readonly format: number;
  readonly root: string;
  readonly files: Readonly<Record<string, Stat>>;
  readonly bundle: Bundle;
}

/** Where the code of a bundle is kept. */
export function codePath(workspace: Workspace, fingerprint: Sha256): string {
  return join(workspace.root, "code", `${fingerprint}.js`);
}

/** Makes a bundle's code a blob, for its fingerprint is about to be named by a trace. */
export async function keepCode(
  { store, workspace }: { readonly store: ArtifactStore; readonly workspace: Workspace },
  fingerprint: Sha256,
): Promise<void> {
  await store.putText(readCode(workspace, fingerprint));
}

/**
 * Writes a bundle's code as a module that knows its source map: the very bytes that were hashed.
 *
 * @throws {LockstepError} If the code kept is not that of the fingerprint; it is set aside.
 */
export function writeModule(workspace: Workspace, fingerprint: Sha256, target: string): void {
  const code = readCode(workspace, fingerprint);
  const map = readMap(workspace, fingerprint);
  const comment = map === undefined
    ? ""
    : `//# sourceMappingURL=data:application/json;base64,${encoder.encode(map).toBase64()}\n`;
  Deno.writeTextFileSync(target, `${code}\n${comment}`);
}

const encoder = new TextEncoder();

/** The code of a fingerprint, read and hashed at once. */
function readCode(workspace: Workspace, fingerprint: Sha256): string {
  const path = codePath(workspace, fingerprint);
  const code = textAt(path);
  if (code !== undefined && sha256(code) === fingerprint) return code;
  if (code !== undefined) workspace.setAside(path, "it is not the code of its name");
  throw new LockstepError(
    `Cannot run the code ${fingerprint}: ${path} must hold it, and does not; run the same command ` +
      "again, which bundles it again",
  );
}

/** A source map, so that a stack names what someone wrote; it is sealed, being in no hash. */
function readMap(workspace: Workspace, fingerprint: Sha256): string | undefined {
  return readSealed(`${codePath(workspace, fingerprint)}.map`, {
    parse: (value) => typeof value === "string" ? value : undefined,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
}

/** What a text file holds; `undefined` if there is none that can be read. */
function textAt(path: string): string | undefined {
  try {
    return readText(path);
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}

/** Where it is kept which bundle a stage has, and from which files it was made. */
function recordPath(workspace: Workspace, stage: string): string {
  return join(workspace.root, "code", `${stage}.json`);
}

function readRecord(workspace: Workspace, stage: string): Remembered | undefined {
  return readSealed(recordPath(workspace, stage), {
    parse: (value) =>
      isRecord(value) && isRecord(value["files"]) && isRecord(value["bundle"]) &&
        isDigest(value["bundle"]["fingerprint"])
        ? value as unknown as Remembered
        : undefined,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
}

/**
 * The bundles of the given stages. Each one's code is at {@linkcode codePath}, unless the store
 * can't be written to.
 *
 * @throws {ConfigError} If a stage can't be bundled.
 */
export async function loadBundles(
  root: string,
  stages: readonly string[],
  store: LocalStore,
): Promise<Map<string, Bundle>> {
  const bundles = new Map<string, Bundle>();
  for (const stage of stages) {
    const known = readRecord(store, stage);
    if (!known || known.format !== BUNDLE_FORMAT || known.root !== root) continue;
    if (!unchanged(root, known)) continue;
    if (holdsCode(store, known.bundle.fingerprint)) bundles.set(stage, known.bundle);
  }
  const stale = stages.filter((stage) => !bundles.has(stage));
  if (stale.length === 0) return bundles;
  const packages = readPackages(root);
  const bundler = bundlerVersion(packages);
  for (const [stage, { code, map, ...bundle }] of await bundleStages(root, stale, packages)) {
    const files: Record<string, Stat> = {};
    for (const path of [...Object.keys(bundle.sources), ...packages.files]) {
      const stat = statOf(join(root, path));
      if (stat) files[path] = stat;
    }
    const made = { ...bundle, bundler };
    if (!store.catalog.inMemory) {
      const path = codePath(store, bundle.fingerprint);
      writeSealed(`${path}.map`, map);
      writeAtomically(path, code);
      const record: Remembered = { format: BUNDLE_FORMAT, root, files, bundle: made };
      writeSealed(recordPath(store, stage), record);
    }
    bundles.set(stage, made);
  }
  return bundles;
}

/** Whether a bundle's code is intact where bundles are kept; what is not is set aside. */
export function holdsCode(workspace: Workspace, fingerprint: Sha256): boolean {
  const path = codePath(workspace, fingerprint);
  const code = textAt(path);
  if (code !== undefined && sha256(code) !== fingerprint) {
    workspace.setAside(path, "it is not the code of its name");
    return false;
  }
  return code !== undefined && readMap(workspace, fingerprint) !== undefined;
}

function unchanged(root: string, { files }: Remembered): boolean {
  return Object.entries(files).every(([path, before]) => {
    const now = statOf(join(root, path));
    return now !== undefined && sameStat(now, before);
  });
}
