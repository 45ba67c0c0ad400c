/**
 * The npm packages that stages import: which version `deno.json` and the lock file pin, and where
 * its files are.
 *
 * @module
 */
import { init, parse } from "cjs-module-lexer";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { exports, imports } from "resolve.exports";
import { ConfigError } from "../errors.ts";
import { statOf } from "../files.ts";
import type { SourceFiles } from "./source_files.ts";

interface LockFile {
  /** `npm:zod@4` to the version it resolves to. */
  readonly specifiers?: Readonly<Record<string, string>>;
  /** `zod@4.6.7` to what it needs. */
  readonly npm?: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
  readonly optionalPeers?: readonly string[];
}

interface DenoConfig {
  readonly imports?: Readonly<Record<string, string>>;
  readonly lock?: { readonly path?: string };
}

interface Manifest {
  readonly type?: string;
  readonly main?: string;
  readonly name: string;
  readonly exports?: unknown;
  readonly imports?: Readonly<Record<string, unknown>>;
}

/** A package that the lock file pins is not on this machine. */
export class MissingPackageError extends ConfigError {
  override name = "MissingPackageError";
}

/** A file of a package. */
export interface PackageFile {
  /** As the lock file names the package: `@tensorflow/tfjs@4.22.0_seedrandom@3.0.5`. */
  readonly id: string;
  /** Its folder, absolute. */
  readonly folder: string;
  /** Absolute. */
  readonly path: string;
}

const PACKAGE = /^(npm|jsr):/;

/** How a module asks for another. */
export type ImportKind = "import" | "require";

/** The name and version of a package, without the peers it was resolved with: `zod@4.6.7`. */
export function shortId(id: string): string {
  return /^@?[^@]+@[^_]+/.exec(id)![0];
}

/** The project's pinned packages. Resolves as Deno does: what is tested is what is bundled. */
export class Packages {
  readonly #files: SourceFiles;
  /** What a specifier means. */
  readonly #imports: ReadonlyMap<string, string>;
  /** What the start of one means, up to a slash. */
  readonly #folders: ReadonlyMap<string, string>;
  readonly #lock: LockFile;
  readonly #lockPath: string;
  /** Files that decide what is resolved, absolute. */
  readonly files: readonly string[];

  /**
   * Reads the pins of the project at `root`.
   *
   * @throws {ConfigError} If there is no `deno.json` or lock file, or `deno.json` has tests resolve
   * imports in a way that stages do not.
   */
  constructor(root: string, files: SourceFiles) {
    this.#files = files;
    const configPath = join(root, "deno.json");
    checkName(root, configPath);
    const config = readJson(configPath, files) as DenoConfig;
    checkConfig(config, configPath);
    this.#lockPath = config.lock?.path ?? "deno.lock";
    const lockPath = join(root, this.#lockPath);
    const entries = Object.entries(config.imports ?? {});
    this.#imports = new Map(entries);
    this.#folders = new Map([
      // A package's entry is one for its subpaths too, unless they have their own.
      ...entries.filter(([name, target]) => !name.endsWith("/") && PACKAGE.test(target))
        .map(([name, target]): [string, string] => [`${name}/`, `${target}/`]),
      ...entries.filter(([name]) => name.endsWith("/")),
    ]);
    this.#lock = readJson(lockPath, files) as LockFile;
    this.files = [configPath, lockPath];
  }

  /** The `npm:` or `jsr:` specifier that an import of the project names; `undefined` for none. */
  specifier(imported: string): string | undefined {
    if (PACKAGE.test(imported)) return imported;
    const mapped = this.#mapped(imported);
    return mapped !== undefined && PACKAGE.test(mapped) ? mapped : undefined;
  }

  /** The file of the project, relative to it, that an import map entry names. */
  local(imported: string): string | undefined {
    const mapped = this.#mapped(imported);
    return mapped !== undefined && /^\.\.?\//.test(mapped) ? mapped : undefined;
  }

  /** What the import map makes of a specifier: its own entry goes first, then the longest folder's. */
  #mapped(imported: string): string | undefined {
    const exact = this.#imports.get(imported);
    if (exact !== undefined) return exact;
    const [folder] = [...this.#folders.keys()].filter((name) => imported.startsWith(name))
      .sort((a, b) => b.length - a.length);
    return folder && `${this.#folders.get(folder)}${imported.slice(folder.length)}`;
  }

  /**
   * The file that an `npm:` specifier names.
   *
   * @throws {ConfigError} If it is not pinned.
   * @throws {MissingPackageError} If its package is not on this machine.
   */
  entry(specifier: string): PackageFile {
    const [, name = "", wanted = "", subpath = ""] =
      /^npm:\/?((?:@[^/]+\/)?[^@/]+)(?:@([^/]+))?(?:\/(.*))?$/.exec(specifier) ?? [];
    const version = this.#lock.specifiers?.[`npm:${name}${wanted && `@${wanted}`}`];
    if (version === undefined) {
      throw new ConfigError(
        `Cannot find the version of "${specifier}": every package that a stage imports must be ` +
          `pinned in ${this.#lockPath}; run "deno install" and commit the lock file`,
      );
    }
    return this.#inPackage(`${name}@${version}`, subpath, "import");
  }

  /**
   * What a file of a package imports; `undefined` if there is no such module, as where a package
   * looks for another that need not be there.
   */
  resolve(imported: string, from: PackageFile, kind: ImportKind): PackageFile | undefined {
    if (imported.startsWith(".") || imported.startsWith("/")) {
      const path = isFile(join(dirname(from.path), imported));
      return path === undefined ? undefined : { ...from, path };
    }
    const manifest = this.#manifest(from.folder);
    if (imported.startsWith("#")) {
      const [target] = imports(manifest, imported, conditions(kind)) ?? [];
      if (target === undefined) return undefined;
      if (!target.startsWith(".")) return this.resolve(target, from, kind);
      return { ...from, path: join(from.folder, target) };
    }
    const [, name = "", subpath = ""] = /^((?:@[^/]+\/)?[^/]+)(?:\/(.*))?$/.exec(imported) ?? [];
    const id = name === manifest.name ? from.id : this.#dependency(from.id, name);
    return id === undefined ? undefined : this.#inPackage(id, subpath, kind);
  }

  /** The names that a CommonJS module exports, as Node and Deno find them; `undefined` for others. */
  async commonJsNames(file: PackageFile): Promise<string[] | undefined> {
    if (/\.(mjs|json|wasm)$/.test(file.path)) return undefined;
    const isModule = this.#manifest(file.folder).type === "module";
    if (isModule && !file.path.endsWith(".cjs")) return undefined;
    await init();
    const names = new Set<string>();
    const seen = new Set<string>();
    const visit = (module: PackageFile) => {
      if (seen.has(module.path)) return;
      seen.add(module.path);
      const found = parse(new TextDecoder().decode(this.#files.read(module.path)));
      for (const name of found.exports) names.add(name);
      for (const other of found.reexports) {
        const target = this.resolve(other, module, "require");
        if (target) visit(target);
      }
    };
    visit(file);
    names.delete("default");
    return [...names].sort();
  }

  /** The lock's id of what a package calls `name`; Deno too takes any of that name where none is listed. */
  #dependency(id: string, name: string): string | undefined {
    const table = this.#lock.npm ?? {};
    const { dependencies = [], optionalDependencies = [], optionalPeers = [] } = table[id] ?? {};
    const listed = [...dependencies, ...optionalDependencies, ...optionalPeers]
      .find((other) => other === name || other.startsWith(`${name}@`));
    // "alias@npm:name@version", or a version where several are locked.
    const target = listed?.replace(`${name}@npm:`, "") ?? name;
    return target in table
      ? target
      : Object.keys(table).find((other) => other.startsWith(`${target}@`));
  }

  #inPackage(id: string, subpath: string, kind: ImportKind): PackageFile {
    const folder = packageFolder(shortId(id));
    const manifest = this.#manifest(folder);
    const found = manifest.exports !== undefined && subpath !== "package.json"
      ? exports(manifest, subpath === "" ? "." : `./${subpath}`, conditions(kind))?.[0]
      : subpath !== ""
      ? subpath
      : manifest.main ?? "index.js";
    const path = found === undefined ? undefined : isFile(join(folder, found));
    if (path === undefined) {
      throw new ConfigError(
        `Cannot find "${subpath || "."}" in package ${shortId(id)}: its package.json must name a ` +
          `file of it, and names ${found ?? "none"}`,
      );
    }
    return { id, folder, path };
  }

  #manifest(folder: string): Manifest {
    if (isFile(join(folder, "package.json")) === undefined) {
      throw new MissingPackageError(
        `Cannot find package ${folder}: it must have been fetched; connect to a network and run ` +
          '"deno install"',
      );
    }
    return readJson(join(folder, "package.json"), this.#files) as Manifest;
  }
}

/** Deno reads `deno.jsonc` too. A project has one such file, whose name does not change what counts. */
function checkName(root: string, configPath: string): void {
  const other = join(root, "deno.jsonc");
  if (statOf(configPath) || !statOf(other)) return;
  throw new ConfigError(
    `Cannot read ${other}: the imports of a project with stages must be in deno.json, as JSON ` +
      "without comments; rename the file and remove its comments",
  );
}

/** Refuses what would have a test load another module than a stage runs. */
function checkConfig(config: DenoConfig, path: string): void {
  for (const field of ["scopes", "links", "patch"]) {
    if (!Object.hasOwn(config, field)) continue;
    throw new ConfigError(
      `Cannot resolve imports by ${path}: it must have no "${field}", since a stage's imports follow ` +
        '"imports" and the lock file alone; put what it says there, or remove it',
    );
  }
  for (const [name, target] of Object.entries(config.imports ?? {})) {
    if (/^(\.{0,2}\/|\w+:)/.test(name)) {
      throw new ConfigError(
        `Cannot resolve imports by ${path}: what "imports" maps must be a bare name, found "${name}"; ` +
          "import the other module where you mean it",
      );
    }
    if (typeof target === "string" && (!name.endsWith("/") || target.endsWith("/"))) continue;
    throw new ConfigError(
      `Cannot resolve imports by ${path}: what "imports" maps "${name}" to must be ` +
        `${name.endsWith("/") ? 'text that ends with "/" too' : "text"}, found ` +
        JSON.stringify(target),
    );
  }
}

function conditions(kind: ImportKind) {
  return { conditions: ["deno", "node", kind, "module-sync"], unsafe: true };
}

/** Where Deno keeps the package with a short id. */
function packageFolder(id: string): string {
  // Beside the bundler, which is running: so no rule of Deno's need be repeated here.
  const bundler = fileURLToPath(import.meta.resolve("esbuild"));
  const [, root = ""] = /^(.*)\/esbuild\/[^/]+\/lib\/main\.js$/.exec(bundler) ?? [];
  const at = id.lastIndexOf("@");
  return join(root, id.slice(0, at), id.slice(at + 1));
}

/** A file as CommonJS finds it: as named, with an extension, or the index of a folder. */
function isFile(path: string): string | undefined {
  for (const suffix of ["", ".js", ".json", ".cjs", ".mjs", "/index.js"]) {
    try {
      if (Deno.statSync(path + suffix).isFile) return path + suffix;
    } catch { /* the next one */ }
  }
  return undefined;
}

function readJson(path: string, files: SourceFiles): unknown {
  const text = new TextDecoder().decode(files.read(path));
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(
      `Cannot read ${path}: it must be JSON, without comments, found "${
        cause instanceof Error ? cause.message : cause
      }"`,
      { cause },
    );
  }
}
