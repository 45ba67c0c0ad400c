/**
 * The code of a stage as one tree-shaken, minified module, beside the packages it imports as
 * modules of their own. Their digests are ingredients, and the same bytes are what runs: what was
 * hashed can't differ from what was executed.
 *
 * esbuild bundles and shakes; terser gives the names. esbuild's own short names follow how often
 * each letter occurs in the source, unused functions and old names included, so that renaming a
 * local could rename everything; terser's follow only what stays.
 *
 * @module
 */
import type { OnLoadArgs, OnLoadResult, OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { dirname, extname, isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../errors.ts";
import { PACKAGES_FOLDER, runPath } from "./bundle_format.ts";
import type { Sha256 } from "./hash.ts";
import { LOADERS, moduleName, type PackageImport } from "./package_bundle.ts";
import type { Packages } from "./packages.ts";
import type { SourceFiles } from "./source_files.ts";

/** A stage's own code. */
export interface StageModule {
  readonly code: string;
  /** Source map, so that a failing stage's stack names the lines someone wrote. Not in the key. */
  readonly map: string;
  /** The packages it imports, sorted. */
  readonly imported: readonly PackageImport[];
  /** Source files that went in, relative to the project, with their digests: to explain a change. */
  readonly sources: Readonly<Record<string, Sha256>>;
}

const STAGE = "stage", PROJECT = "project", PACKAGE = "package";

/**
 * Bundles a stage's own code.
 *
 * @throws {ConfigError} If it does not compile, imports something computed at run time, or imports
 * what is neither a file of the project nor a pinned package.
 */
export async function bundleStage(
  root: string,
  stage: string,
  { packages, files }: { readonly packages: Packages; readonly files: SourceFiles },
): Promise<StageModule> {
  const [esbuild, terser] = await Promise.all([import("esbuild"), import("terser")]);
  const project = new ProjectFiles(root, packages, files);
  const result = await esbuild.build({
    entryPoints: [stage],
    bundle: true,
    minifySyntax: true,
    minifyWhitespace: true,
    treeShaking: true,
    format: "esm",
    platform: "neutral",
    target: "esnext",
    // V8 has none, and terser makes something else of `accessor`. Deno compiles them too.
    supported: { decorators: false },
    charset: "utf8",
    legalComments: "none",
    tsconfigRaw: "{}",
    outfile: "/stage.mjs",
    sourcemap: "external",
    write: false,
    logLevel: "silent",
    // A hash of the code can't see what an import computed at run time brings in.
    logOverride: { "unsupported-dynamic-import": "error" },
    plugins: [project.plugin],
  }).catch((error) => {
    throw describe(stage, error);
  });
  const output = (suffix: string) =>
    result.outputFiles.find(({ path }) => path.endsWith(suffix))!.text;
  const named = await terser.minify(output(".mjs"), {
    module: true,
    compress: false,
    mangle: { toplevel: true },
    sourceMap: { content: sourceMap(output(".map")), root: pathToFileURL(`${root}/`).href },
  });
  return {
    code: named.code!,
    map: named.map as string,
    imported: project.imported(),
    sources: project.sources(),
  };
}

/** A map whose sources are paths of the project. */
function sourceMap(text: string): string {
  const map = JSON.parse(text) as { sources: string[] };
  return JSON.stringify({
    ...map,
    sources: map.sources.map((source) => source.replace(`${PROJECT}:`, "")),
  });
}

/** Resolves and loads for the bundler, which so reads no file, and no configuration, by itself. */
class ProjectFiles {
  readonly #root: string;
  readonly #packages: Packages;
  readonly #files: SourceFiles;
  readonly #loaded = new Set<string>();
  readonly #imported = new Map<string, PackageImport>();

  constructor(root: string, packages: Packages, files: SourceFiles) {
    this.#root = root;
    this.#packages = packages;
    this.#files = files;
  }

  get plugin(): Plugin {
    return {
      name: "project",
      setup: (build) => {
        build.onResolve({ filter: /.*/ }, (args) => this.#resolve(args));
        build.onLoad({ filter: /.*/, namespace: STAGE }, ({ path }) => ({
          // In TypeScript a name that is not exported might be a type's, and would pass.
          loader: "js",
          contents: `export { run } from ${JSON.stringify(runPath(".", path))};`,
        }));
        build.onLoad({ filter: /.*/, namespace: PROJECT }, (args) => this.#load(args));
        // The import's attributes are the package module's business.
        build.onLoad({ filter: /.*/, namespace: PACKAGE }, ({ path }) => ({
          contents: `export { default } from ${JSON.stringify(path)};`,
        }));
      },
    };
  }

  /** Paths below the project, sorted, with digests. */
  sources(): Record<string, Sha256> {
    return Object.fromEntries(
      [...this.#loaded].sort().map((path) => [path, this.#files.digest(join(this.#root, path))]),
    );
  }

  imported(): PackageImport[] {
    return [...this.#imported].sort(([a], [b]) => a < b ? -1 : 1).map(([, entry]) => entry);
  }

  #resolve(args: OnResolveArgs): OnResolveResult {
    const { path, kind, namespace, importer, with: attributes } = args;
    if (kind === "entry-point") return { path, namespace: STAGE };
    if (namespace === PACKAGE) return { path, external: true };
    if (path.startsWith("node:")) return { path, external: true };
    if (path.startsWith(".")) {
      return this.#file(join(namespace === STAGE ? "." : dirname(importer), path), attributes);
    }
    if (namespace === STAGE || isAbsolute(path)) return this.#file(path, attributes);
    const specifier = this.#packages.specifier(path);
    if (specifier !== undefined) {
      const entry = { specifier, type: attributes["type"] };
      const name = moduleName(entry);
      this.#imported.set(name, entry);
      const module = `./${PACKAGES_FOLDER}/${name}`;
      if (entry.type !== undefined) return { path: module, namespace: PACKAGE };
      return { path: module, external: true };
    }
    const local = this.#packages.local(path);
    if (local !== undefined) return this.#file(local, attributes);
    const text =
      `"${path}" must be a relative file, node:, or what "imports" of deno.json maps to a ` +
      "package or a relative file";
    return { errors: [{ text }] };
  }

  /** A file by its path from the project's root: a project may import an engine beside it. */
  #file(path: string, { type = "" }: Readonly<Record<string, string>>): OnResolveResult {
    const extension = extname(path);
    if (LOADERS[type] === undefined && LOADERS[extension] === undefined) {
      return { errors: [{ text: wrongExtension(path, extension) }] };
    }
    return { path: relative(this.#root, resolve(this.#root, path)), namespace: PROJECT };
  }

  #load({ path, with: attributes }: OnLoadArgs): OnLoadResult {
    const type = attributes["type"];
    const loader = LOADERS[type ?? ""] ?? LOADERS[extname(path)]!;
    try {
      const contents = this.#files.read(join(this.#root, path));
      this.#loaded.add(path);
      return { contents, loader };
    } catch (error) {
      return { errors: [{ text: error instanceof Error ? error.message : String(error) }] };
    }
  }
}

const EXTENSIONS = Object.keys(LOADERS).filter((name) => name.startsWith("."));

function wrongExtension(path: string, extension: string): string {
  const file = extension === ".wasm"
    ? 'import it with { type: "bytes" } and compile it with new WebAssembly.Module'
    : 'rename it, or import what is no code with { type: "text" } or { type: "bytes" }';
  return `"${path}" must be one of ${EXTENSIONS.join(" ")}, found "${extension}"; ${file}`;
}

interface BuildMessage {
  readonly text: string;
  readonly location: { file: string; line: number; column: number; lineText: string } | null;
}

function describe(stage: string, error: unknown): Error {
  const messages = (error as { errors?: readonly BuildMessage[] }).errors;
  if (!Array.isArray(messages)) return error as Error;
  const lines = messages.map(({ text, location }: BuildMessage) => {
    const file = location?.file.replace(`${PROJECT}:`, "");
    const where = location ? `${file}:${location.line}:${location.column + 1}: ` : "";
    const excerpt = location ? `\n    ${location.lineText.trim()}` : "";
    return `${where}${text}${excerpt}`;
  });
  return new ConfigError(
    `Cannot take the fingerprint of stage "${stage}": its code must bundle, imports being literal\n` +
      lines.join("\n"),
    { cause: error },
  );
}
