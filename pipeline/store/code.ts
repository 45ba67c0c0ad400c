/**
 * The code of stages, bundled when a source file changed and otherwise as the catalogue knows it.
 * It becomes a blob only when a stage runs: until then no trace names it.
 *
 * @module
 */
import { join } from "node:path";
import { type Bundle, BUNDLE_FORMAT, bundlerVersion, bundleStages } from "../key/bundle.ts";
import { sameStat, type Stat, statOf } from "./catalog.ts";
import { hashFile, type Sha256 } from "../key/hash.ts";
import { readPackages } from "../key/packages.ts";
import { writeAtomically } from "./sealed.ts";
import type { Store } from "./store.ts";

/** A bundle with the files it was made from, as they were then. */
interface Remembered {
  readonly format: number;
  readonly root: string;
  readonly files: Readonly<Record<string, Stat>>;
  readonly bundle: Bundle;
}

/** Where the code of a bundle is kept. */
export function codePath(store: Store, fingerprint: Sha256): string {
  return join(store.root, "code", `${fingerprint}.js`);
}

/** Makes a bundle's code a blob, for its fingerprint is about to be named by a trace. */
export function keepCode(store: Store, fingerprint: Sha256): void {
  store.takeText(Deno.readTextFileSync(codePath(store, fingerprint)));
}

/** Lays a bundle's code out as a module that knows its source map. */
export function writeModule(store: Store, fingerprint: Sha256, target: string): void {
  const path = codePath(store, fingerprint);
  const map = Deno.readFileSync(`${path}.map`).toBase64();
  const code = Deno.readTextFileSync(path);
  Deno.writeTextFileSync(
    target,
    `${code}\n//# sourceMappingURL=data:application/json;base64,${map}\n`,
  );
}

/**
 * The bundles of the given stages. Each one's code stands at {@linkcode codePath}, unless the store
 * can't be written to.
 *
 * @throws {ConfigError} If a stage can't be bundled.
 */
export async function loadBundles(
  root: string,
  stages: readonly string[],
  store: Store,
): Promise<Map<string, Bundle>> {
  const bundles = new Map<string, Bundle>();
  for (const stage of stages) {
    const record = store.catalog.bundle(stage);
    const known = record === undefined ? undefined : JSON.parse(record) as Remembered;
    if (!known || known.format !== BUNDLE_FORMAT || known.root !== root) continue;
    if (!unchanged(root, known)) continue;
    if (holdsCode(store, known.bundle.fingerprint)) bundles.set(stage, known.bundle);
  }
  const stale = stages.filter((stage) => !bundles.has(stage));
  if (stale.length === 0) return bundles;
  const packages = readPackages(root);
  const bundler = bundlerVersion(packages);
  for (const [stage, { code, map, ...bundle }] of await bundleStages(root, stale, packages)) {
    if (!store.catalog.inMemory) {
      const path = codePath(store, bundle.fingerprint);
      writeAtomically(`${path}.map`, map);
      writeAtomically(path, code);
    }
    const files: Record<string, Stat> = {};
    for (const path of [...Object.keys(bundle.sources), ...packages.files]) {
      const stat = statOf(join(root, path));
      if (stat) files[path] = stat;
    }
    const made = { ...bundle, bundler };
    store.catalog.putBundle(
      stage,
      JSON.stringify({ format: BUNDLE_FORMAT, root, files, bundle: made } satisfies Remembered),
    );
    bundles.set(stage, made);
  }
  return bundles;
}

/** Whether a bundle's code stands intact where bundles are kept. */
export function holdsCode(store: Store, fingerprint: Sha256): boolean {
  const path = codePath(store, fingerprint);
  const both = statOf(path) !== undefined && statOf(`${path}.map`) !== undefined;
  return both && hashFile(path) === fingerprint;
}

function unchanged(root: string, { files }: Remembered): boolean {
  return Object.entries(files).every(([path, before]) => {
    const now = statOf(join(root, path));
    return now !== undefined && sameStat(now, before);
  });
}
