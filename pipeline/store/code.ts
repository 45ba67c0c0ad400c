/**
 * The code of stages, bundled when a source file or a package changed and otherwise as the catalogue
 * knows it. It becomes blobs only when a stage runs: until then no trace names it.
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError, LockstepError } from "../errors.ts";
import {
  type Bundle,
  BUNDLE_FORMAT,
  bundleStage,
  PACKAGES_FOLDER,
  runPath,
} from "../key/bundle.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import { bundlePackages, type PackageBundle, type PackageImport } from "../key/package_bundle.ts";
import { MissingPackageError, Packages } from "../key/packages.ts";
import { SourceFiles, type SourceRecord, unchangedSince } from "../key/source_files.ts";
import { statOf } from "./catalog.ts";
import { writeAtomically } from "./sealed.ts";
import type { Store } from "./store.ts";
import { type Manifest, manifestText } from "./trace.ts";

/** A bundle with the files it was made from, as they were then. */
interface Remembered {
  readonly format: number;
  readonly root: string;
  readonly files: SourceRecord;
  readonly bundle: Bundle;
}

/** What of a bundle says which modules it has. */
type Modules = Pick<Bundle, "code" | "packages">;

/** How often files may be edited while they are bundled before it is given up. */
const MAX_ATTEMPTS = 5;

/**
 * The bundles of the given stages. Their modules are in the store's folder of code, unless it can't
 * be written to.
 *
 * @throws {ConfigError} If a stage can't be bundled.
 */
export async function loadBundles(
  root: string,
  stages: readonly string[],
  store: Store,
): Promise<Map<string, Bundle>> {
  const bundles = new Map<string, Bundle>();
  const seen = new Map<string, boolean>();
  for (const stage of stages) {
    const record = store.catalog.bundle(stage);
    const known = record === undefined ? undefined : JSON.parse(record) as Remembered;
    if (!known || known.format !== BUNDLE_FORMAT || known.root !== root) continue;
    if (!unchangedSince(known.files, seen)) continue;
    if (holdsCode(store, known.bundle)) bundles.set(stage, known.bundle);
  }
  const stale = stages.filter((stage) => !bundles.has(stage));
  if (stale.length === 0) return bundles;
  for (let attempt = 1;; attempt++) {
    const files = new SourceFiles();
    const made = await bundleAll(root, stale, files).catch(async (error) => {
      if (!(error instanceof MissingPackageError) || !await fetchPackages(root, stale)) throw error;
      return await bundleAll(root, stale, files);
    });
    const [edited] = files.edited();
    if (edited === undefined) {
      for (const [stage, fresh] of made) {
        bundles.set(stage, keep(stage, fresh, { root, files, store }));
      }
      return bundles;
    }
    if (attempt === MAX_ATTEMPTS) {
      throw new ConfigError(
        `Cannot bundle the stages: their files must not change meanwhile, and ${edited} did, ` +
          `${MAX_ATTEMPTS} times in a row; run again when it is as it should be`,
      );
    }
  }
}

/**
 * Has Deno fetch the packages that stages import, as the lock file pins them: the command line runs
 * without them. Returns whether that went well; what it says goes to standard error.
 */
async function fetchPackages(root: string, stages: readonly string[]): Promise<boolean> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--frozen", ...stages.map((stage) => runPath(root, stage))],
    cwd: root,
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).output();
  return success;
}

/** A stage's modules, fresh from its sources. */
interface Fresh {
  readonly bundle: Bundle;
  /** Digest to content: its own module, those of packages and their manifest. */
  readonly contents: ReadonlyMap<Sha256, Uint8Array<ArrayBuffer>>;
  readonly map: string;
  /** Absolute paths of all that was read. */
  readonly read: readonly string[];
}

async function bundleAll(
  root: string,
  stages: readonly string[],
  files: SourceFiles,
): Promise<Map<string, Fresh>> {
  const packages = new Packages(root, files);
  const sets = new Map<string, Promise<PackageBundle>>();
  const packagesOf = (imported: readonly PackageImport[]) => {
    const id = JSON.stringify(imported);
    let made = sets.get(id);
    if (!made) sets.set(id, made = bundlePackages(imported, packages, files));
    return made;
  };
  const { stop } = await import("esbuild");
  try {
    const entries = await Promise.all(stages.map(async (stage): Promise<[string, Fresh]> => {
      const own = await bundleStage(root, stage, { packages, files });
      const code = new TextEncoder().encode(own.code);
      const bundle = { code: sha256(code), sources: own.sources };
      const contents = new Map([[bundle.code, code]]);
      const read = [...packages.files, ...Object.keys(own.sources).map((path) => join(root, path))];
      const fresh = { bundle, contents, map: own.map, read };
      if (own.imported.length === 0) return [stage, fresh];
      return [stage, withPackages(fresh, await packagesOf(own.imported))];
    }));
    return new Map(entries);
  } finally {
    await stop();
  }
}

function withPackages(own: Fresh, { modules, sources, read }: PackageBundle): Fresh {
  const contents = new Map(own.contents);
  const manifest: Record<string, Manifest[string]> = {};
  for (const [name, content] of modules) {
    const digest = sha256(content);
    contents.set(digest, content);
    manifest[name] = { sha256: digest, bytes: content.length };
  }
  const text = new TextEncoder().encode(manifestText(manifest));
  const packages = sha256(text);
  contents.set(packages, text);
  return {
    ...own,
    bundle: { ...own.bundle, packages, sources: { ...own.bundle.sources, ...sources } },
    contents,
    read: [...new Set([...own.read, ...read])],
  };
}

/** Writes a fresh bundle's modules, and remembers what it was made from. */
function keep(
  stage: string,
  { bundle, contents, map, read }: Fresh,
  { root, files, store }: { root: string; files: SourceFiles; store: Store },
): Bundle {
  if (store.catalog.inMemory) return bundle;
  for (const [digest, content] of contents) {
    const path = codePath(store, digest);
    if (statOf(path) === undefined || !hasDigest(path, digest)) writeAtomically(path, content);
  }
  writeAtomically(`${codePath(store, bundle.code)}.map`, map);
  const record: Remembered = { format: BUNDLE_FORMAT, root, files: files.record(read), bundle };
  store.catalog.putBundle(stage, JSON.stringify(record));
  return bundle;
}

function codePath(store: Store, digest: Sha256): string {
  return join(store.root, "code", digest);
}

function hasDigest(path: string, digest: Sha256): boolean {
  return sha256(Deno.readFileSync(path)) === digest;
}

/**
 * What is kept under a digest.
 *
 * @throws {LockstepError} If it is not there, or is something else, which is removed: the next run
 * bundles again.
 */
function readCode(store: Store, digest: Sha256): Uint8Array<ArrayBuffer> {
  const path = codePath(store, digest);
  const content = statOf(path) === undefined ? undefined : Deno.readFileSync(path);
  if (content !== undefined && sha256(content) === digest) return content;
  if (content !== undefined) Deno.removeSync(path);
  throw new LockstepError(
    `Cannot run the code ${path}: it must have the digest it is named by, and ${
      content === undefined ? "there is none" : "was altered"
    }; run again, which bundles it again`,
  );
}

/** The digests of a bundle's modules and manifest. */
function digestsOf(store: Store, { code, packages }: Modules): Sha256[] {
  if (packages === undefined) return [code];
  const manifest = Object.values(readManifest(store, packages));
  return [code, packages, ...manifest.map((entry) => entry.sha256)];
}

function readManifest(store: Store, digest: Sha256): Manifest {
  return JSON.parse(new TextDecoder().decode(readCode(store, digest)));
}

/** Makes a bundle's modules blobs, for their digests are about to be named by a trace. */
export function keepCode(store: Store, bundle: Modules): void {
  for (const digest of digestsOf(store, bundle)) {
    store.takeText(new TextDecoder().decode(readCode(store, digest)));
  }
}

/** Whether a bundle's modules are where bundles are kept, the small ones intact. */
export function holdsCode(store: Store, bundle: Modules): boolean {
  try {
    readCode(store, bundle.code);
    return digestsOf(store, bundle).every((digest) =>
      statOf(codePath(store, digest)) !== undefined
    );
  } catch (error) {
    if (error instanceof LockstepError) return false;
    throw error;
  }
}

/**
 * Writes a bundle's modules, read and found to have their digests, into a folder: its own, which
 * then knows its source map, and beside it those of its packages. Returns the path of its own.
 */
export function writeModules(store: Store, bundle: Modules, folder: string): string {
  const module = join(folder, "stage.mjs");
  const code = new TextDecoder().decode(readCode(store, bundle.code));
  const map = readMap(store, bundle.code);
  Deno.writeTextFileSync(module, code + map);
  if (bundle.packages === undefined) return module;
  Deno.mkdirSync(join(folder, PACKAGES_FOLDER));
  for (const [name, { sha256: digest }] of Object.entries(readManifest(store, bundle.packages))) {
    Deno.writeFileSync(join(folder, PACKAGES_FOLDER, name), readCode(store, digest));
  }
  return module;
}

/** The comment by which a module knows its source map; nothing if there is none. */
function readMap(store: Store, digest: Sha256): string {
  const path = `${codePath(store, digest)}.map`;
  if (statOf(path) === undefined) return "";
  const map = Deno.readFileSync(path).toBase64();
  return `\n//# sourceMappingURL=data:application/json;base64,${map}\n`;
}
