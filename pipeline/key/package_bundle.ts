/**
 * The packages that a stage imports, bundled with all they need into modules that import nothing
 * but `node:`. Their digest is an ingredient, and these very modules are what runs: an edited
 * package cache, an alias or another resolution is another key.
 *
 * @module
 */
import type {
  Loader,
  OnLoadArgs,
  OnLoadResult,
  OnResolveArgs,
  OnResolveResult,
  Plugin,
} from "esbuild";
import { builtinModules } from "node:module";
import { extname, relative } from "node:path";
import { ConfigError } from "../errors.ts";
import { type Sha256, sha256 } from "./hash.ts";
import { type JsrModule, JsrPackages } from "./jsr.ts";
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
  const name = specifier.replace(/^npm:\/?/, "").replace(":", "+").replaceAll("/", "+");
  return `${name}${type === undefined ? "" : `.${type}`}.mjs`;
}

const BUILTINS = new Set(builtinModules);

/** How a module is read, by the type that its import gives, else by its extension. */
export const LOADERS: Readonly<Record<string, Loader>> = {
  bytes: "binary",
  text: "text",
  ".ts": "ts",
  ".mts": "ts",
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".json": "json",
};

/**
 * Bundles what some imports bring in.
 *
 * @throws {ConfigError} If a package is not pinned, not on this machine or does not bundle.
 */
export async function bundlePackages(
  imported: readonly PackageImport[],
  { root, packages, files }: {
    readonly root: string;
    readonly packages: Packages;
    readonly files: SourceFiles;
  },
): Promise<PackageBundle> {
  const esbuild = await import("esbuild");
  const graph = new PackageGraph(packages, new JsrPackages(root, files), files);
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

const ENTRY = "entry", PACKAGE = "npm", JSR = "jsr", MISSING = "missing";

/** A module of a JSR package, and the specifier by which the project came to it. */
interface JsrFile extends JsrModule {
  readonly entry: string;
}

/** Resolves and loads for the bundler, which so reads no file, and no configuration, by itself. */
class PackageGraph {
  readonly #packages: Packages;
  readonly #jsr: JsrPackages;
  readonly #files: SourceFiles;
  readonly #loaded = new Map<string, PackageFile>();
  readonly #jsrLoaded = new Map<string, JsrModule>();

  constructor(packages: Packages, jsr: JsrPackages, files: SourceFiles) {
    this.#packages = packages;
    this.#jsr = jsr;
    this.#files = files;
  }

  get plugin(): Plugin {
    return {
      name: "packages",
      setup: (build) => {
        build.onResolve({ filter: /.*/ }, (args) => this.#resolve(args));
        build.onLoad({ filter: /.*/, namespace: ENTRY }, (args) => this.#loadEntry(args));
        build.onLoad({ filter: /.*/, namespace: PACKAGE }, (args) => this.#load(args));
        build.onLoad({ filter: /.*/, namespace: JSR }, (args) => this.#loadJsr(args));
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
    const add = (name: string, line: string) => {
      byPackage.set(name, [...byPackage.get(name) ?? [], line]);
    };
    for (const { id, folder, path } of this.#loaded.values()) {
      add(`npm:${shortId(id)}`, `${relative(folder, path)} ${this.#files.digest(path)}`);
    }
    for (const module of this.#jsrLoaded.values()) {
      add(module.package, `${module.name} ${sha256(this.#jsr.read(module))}`);
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
    for (const { path } of this.#jsrLoaded.values()) paths.add(path);
    return [...paths];
  }

  #resolve(args: OnResolveArgs): OnResolveResult | Promise<OnResolveResult> {
    const { path, kind, importer, namespace, pluginData, with: { type } } = args;
    if (kind === "entry-point") return { path, namespace: ENTRY };
    if (path.startsWith("node:")) return { path, external: true };
    if (BUILTINS.has(path)) return { path: `node:${path}`, external: true };
    if (namespace === JSR) return this.#resolveJsr(path, pluginData as JsrFile);
    if (path.startsWith("jsr:")) return this.#enterJsr(path);
    if (path.startsWith("npm:")) return this.#found(this.#packages.entry(path), type);
    const from = pluginData as PackageFile;
    const way = kind === "require-call" || kind === "require-resolve" ? "require" : "import";
    const target = this.#packages.resolve(path, from, way);
    if (target !== undefined) return this.#found(target, type);
    // A package may look for another that need not be there, and catch the error.
    if (kind !== "import-statement") return { path, namespace: MISSING };
    return { errors: [{ text: `"${path}", which ${importer} imports, is in no package` }] };
  }

  async #enterJsr(entry: string): Promise<OnResolveResult> {
    return this.#foundJsr(await this.#jsr.entry(entry), entry);
  }

  async #resolveJsr(imported: string, from: JsrFile): Promise<OnResolveResult> {
    const target = await this.#jsr.resolve(imported, from, from.entry);
    if (typeof target !== "string") return this.#foundJsr(target, from.entry);
    if (target.startsWith("node:")) return { path: target, external: true };
    return this.#found(this.#packages.entry(target), undefined);
  }

  #foundJsr(module: JsrModule, entry: string): OnResolveResult {
    const path = `${module.package}/${module.name}`;
    this.#jsrLoaded.set(path, module);
    return { path, namespace: JSR, pluginData: { ...module, entry } satisfies JsrFile };
  }

  #loadJsr({ pluginData }: OnLoadArgs): OnLoadResult {
    const module = pluginData as JsrFile;
    const loader = LOADERS[extname(module.name)];
    if (loader === undefined) return refused(`${module.package}/${module.name}`);
    return { contents: this.#jsr.read(module), loader, pluginData: module };
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
    const names = specifier.startsWith("jsr:")
      ? undefined
      : await this.#packages.commonJsNames(this.#packages.entry(specifier));
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
    if (type === undefined && /\.(wasm|node)$/.test(path)) return refused(path);
    // A file of a package may have any extension, or none.
    const loader = LOADERS[type ?? ""] ?? LOADERS[extname(path)] ?? "js";
    return { contents: this.#files.read(file.path), loader, pluginData: file };
  }
}

function refused(path: string): OnLoadResult {
  const text = `its module ${path} must be JavaScript or JSON, found "${extname(path)}"; a stage ` +
    'can import the file with { type: "bytes" } and load it itself';
  return { errors: [{ text }] };
}
