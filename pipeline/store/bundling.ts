/**
 * Bundles stages whose sources or packages changed.
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError } from "../errors.ts";
import { bundleStage } from "../key/bundle.ts";
import { type Bundle, runPath } from "../key/bundle_format.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import { bundlePackages, type PackageBundle, type PackageImport } from "../key/package_bundle.ts";
import { MissingPackageError, Packages } from "../key/packages.ts";
import { SourceFiles } from "../key/source_files.ts";
import { type Manifest, manifestText } from "./trace.ts";

/** How often files may be edited while they are bundled before it is given up. */
const MAX_ATTEMPTS = 5;

/**
 * Bundles stages from files that nobody edits meanwhile.
 *
 * @throws {ConfigError} If a stage can't be bundled, or its files do not keep still.
 */
export async function bundleUnedited(
  root: string,
  stages: readonly string[],
): Promise<{ readonly made: ReadonlyMap<string, Fresh>; readonly files: SourceFiles }> {
  for (let attempt = 1;; attempt++) {
    const files = new SourceFiles();
    const made = await bundleAll(root, stages, files).catch(async (error) => {
      if (!(error instanceof MissingPackageError) || !await fetchPackages(root, stages)) {
        throw error;
      }
      return await bundleAll(root, stages, files);
    });
    const [edited] = files.edited();
    if (edited === undefined) return { made, files };
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
export interface Fresh {
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
    if (!made) sets.set(id, made = bundlePackages(imported, { root, packages, files }));
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
