/**
 * The packages that a stage imports, bundled with all they need into modules that import nothing
 * but `node:`. Their digest is an ingredient, and these very modules are what runs: an edited
 * package cache, an alias or another resolution is another key.
 *
 * @module
 */
import type { OnLoadArgs, OnLoadResult, OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { builtinModules } from "node:module";
import { extname, relative } from "node:path";
import { ConfigError } from "../errors.ts";
import { type Sha256, sha256 } from "./hash.ts";
import { type PackageFile, Packages, shortId } from "./packages.ts";
import type { SourceFiles } from "./source_files.ts";

/** One import of a package, as stage code writes it. */
export interface PackageImport {
  /** `npm:zod@4.6.7`. */
  readonly specifier: string;
  /** What `with { type }` says: `bytes`, `json`. */
  readonly type?: string | undefined;
}

/** Packages as modules. */
export interface PackageBundle {
  /** Name below the folder of packages to content, sorted by name. */
  readonly modules: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /** Package, `npm:zod@4.6.7`, to a digest over its files that went in. */
  readonly sources: Readonly<Record<string, Sha256>>;
  /** Absolute paths of all that was read. */
  readonly read: readonly string[];
}

/** The module that an import is replaced by, below the folder of packages. */
export function moduleName({ specifier, type }: PackageImport): string {
  const name = specifier.replace(/^npm:\/?/, "").replaceAll("/", "+");
  return `${name}${type === undefined ? "" : `.${type}`}.mjs`;
}

const BUILTINS = new Set(builtinModules);
const LOADERS: Readonly<Record<string, "js" | "json" | "binary" | "text">> = {
  ".json": "json",
  bytes: "binary",
  text: "text",
};

/**
 * Bundles what some imports bring in.
 *
 * @throws {ConfigError} If a package is not pinned, not on this machine or does not bundle.
 */
export async function bundlePackages(
  imported: readonly PackageImport[],
  packages: Packages,
  files: SourceFiles,
): Promise<PackageBundle> {
  const esbuild = await import("esbuild");
  const graph = new PackageGraph(packages, files);
  const result = await esbuild.build({
    entryPoints: imported.map((entry) => ({
      in: `${entry.type ?? ""}|${entry.specifier}`,
      out: moduleName(entry).replace(/\.mjs$/, ""),
    })),
    outdir: "/",
    outExtension: { ".js": ".mjs" },
    chunkNames: "chunk-[hash]",
    bundle: true,
    splitting: true,
    minifyWhitespace: true,
    minifySyntax: true,
    format: "esm",
    platform: "node",
    target: "esnext",
    charset: "utf8",
    legalComments: "none",
    tsconfigRaw: "{}",
    define: { __dirname: '"/"', __filename: '"/module.js"' },
    write: false,
    logLevel: "silent",
    plugins: [graph.plugin],
  }).catch((error) => {
    const [first] = (error as { errors?: { text: string }[] }).errors ?? [];
    if (!first) throw error;
    const names = imported.map(({ specifier }) => specifier).join(", ");
    throw new ConfigError(`Cannot bundle ${names}: ${first.text}`, { cause: error });
  });
  const modules = result.outputFiles.map(({ path, text }): [string, Uint8Array<ArrayBuffer>] => [
    path.slice(1),
    new TextEncoder().encode(text.includes("__require") ? REQUIRE + text : text),
  ]);
  return {
    modules: new Map(modules.sort(([a], [b]) => a < b ? -1 : 1)),
    sources: graph.sources(),
    read: graph.read(),
  };
}

/** Lets what a package calls `require` find Node's own modules, and nothing else. */
const REQUIRE = 'import{createRequire as $}from"node:module";const require=$("/");\n';

const ENTRY = "entry", PACKAGE = "npm", MISSING = "missing";

/** Resolves and loads for the bundler, which so reads no file, and no configuration, by itself. */
class PackageGraph {
  readonly #packages: Packages;
  readonly #files: SourceFiles;
  readonly #loaded = new Map<string, PackageFile>();

  constructor(packages: Packages, files: SourceFiles) {
    this.#packages = packages;
    this.#files = files;
  }

  get plugin(): Plugin {
    return {
      name: "packages",
      setup: (build) => {
        build.onResolve({ filter: /.*/ }, (args) => this.#resolve(args));
        build.onLoad({ filter: /.*/, namespace: ENTRY }, (args) => this.#loadEntry(args));
        build.onLoad({ filter: /.*/, namespace: PACKAGE }, (args) => this.#load(args));
        build.onLoad({ filter: /.*/, namespace: MISSING }, ({ path }) => ({
          contents: `throw Object.assign(new Error(${
            JSON.stringify(`Cannot find module '${path}'`)
          }), { code: "MODULE_NOT_FOUND" });`,
        }));
      },
    };
  }

  /** Package to a digest over those of its files that were read. */
  sources(): Record<string, Sha256> {
    const byPackage = new Map<string, string[]>();
    for (const { id, folder, path } of this.#loaded.values()) {
      const name = `npm:${shortId(id)}`;
      const lines = byPackage.get(name) ?? [];
      lines.push(`${relative(folder, path)} ${this.#files.digest(path)}`);
      byPackage.set(name, lines);
    }
    return Object.fromEntries(
      [...byPackage].sort(([a], [b]) => a < b ? -1 : 1)
        .map(([name, lines]) => [name, sha256(lines.sort().join("\n"))]),
    );
  }

  /** Files that were read, and those that decided which. */
  read(): string[] {
    const paths = new Set(this.#packages.files);
    for (const { folder, path } of this.#loaded.values()) {
      paths.add(path);
      paths.add(`${folder}/package.json`);
    }
    return [...paths];
  }

  #resolve({ path, kind, importer, pluginData, with: attributes }: OnResolveArgs): OnResolveResult {
    if (kind === "entry-point") return { path, namespace: ENTRY };
    const builtin = path.startsWith("node:") ? path : `node:${path}`;
    if (path.startsWith("node:") || BUILTINS.has(path)) return { path: builtin, external: true };
    const from = pluginData as PackageFile | undefined;
    if (from === undefined) return this.#found(this.#packages.entry(path), attributes["type"]);
    const way = kind === "require-call" || kind === "require-resolve" ? "require" : "import";
    const target = this.#packages.resolve(path, from, way);
    if (target !== undefined) return this.#found(target, attributes["type"]);
    // A package may look for another that need not be there, and catch the error.
    if (kind !== "import-statement") return { path, namespace: MISSING };
    return { errors: [{ text: `"${path}", which ${importer} imports, is in no package` }] };
  }

  #found(file: PackageFile, type: string | undefined): OnResolveResult {
    const path = `${shortId(file.id)}/${relative(file.folder, file.path)}`;
    this.#loaded.set(path, file);
    return { path, namespace: PACKAGE, pluginData: { ...file, type } };
  }

  /** A module with the names that stage code may import. */
  async #loadEntry({ path }: OnLoadArgs): Promise<OnLoadResult> {
    const [type = "", specifier = ""] = path.split("|");
    const quoted = JSON.stringify(specifier);
    if (type !== "") {
      const attributes = JSON.stringify({ type });
      return { contents: `export { default } from ${quoted} with ${attributes};` };
    }
    const names = await this.#packages.commonJsNames(this.#packages.entry(specifier));
    if (names === undefined) {
      return {
        contents:
          `export * from ${quoted};\nimport * as all from ${quoted};\nexport default all["default"];`,
      };
    }
    const named = names.map((name, index) =>
      `const n${index} = module[${JSON.stringify(name)}];\nexport { n${index} as ${
        JSON.stringify(name)
      } };`
    );
    return {
      contents: `const module = require(${quoted});\nexport default module;\n${named.join("\n")}`,
    };
  }

  #load({ path, pluginData }: OnLoadArgs): OnLoadResult {
    const { type, ...file } = pluginData as PackageFile & { type?: string };
    const loader = LOADERS[type ?? ""] ?? LOADERS[extname(path)] ?? "js";
    return { contents: this.#files.read(file.path), loader, pluginData: file };
  }
}
