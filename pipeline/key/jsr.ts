/**
 * Modules of JSR packages, as Deno resolved and cached them.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import type { SourceFiles } from "./source_files.ts";

/** One module of a package. */
export interface JsrModule {
  /** Its address. */
  readonly url: string;
  /** `jsr:@std/csv@1.0.6`. */
  readonly package: string;
  /** Path in the package: `parse.ts`. */
  readonly name: string;
  /** The cached file, absolute. */
  readonly path: string;
  /** Bytes of the module itself; Deno writes notes of its own after them. */
  readonly bytes: number;
}

/** What `deno info --json` says, as far as it is used. */
interface Info {
  readonly modules: readonly {
    readonly specifier: string;
    readonly local?: string;
    readonly size?: number;
    readonly error?: string;
    readonly dependencies?: readonly {
      readonly specifier: string;
      readonly code?: { readonly specifier?: string };
    }[];
  }[];
  readonly redirects: Readonly<Record<string, string>>;
}

/** The JSR packages of a project, which Deno alone resolves: their versions, exports and imports. */
export class JsrPackages {
  readonly #root: string;
  readonly #files: SourceFiles;
  readonly #graphs = new Map<string, Promise<Info>>();

  constructor(root: string, files: SourceFiles) {
    this.#root = root;
    this.#files = files;
  }

  /**
   * The module that a `jsr:` specifier names.
   *
   * @throws {ConfigError} If Deno can't find it as the lock file has it.
   */
  async entry(specifier: string): Promise<JsrModule> {
    const info = await this.#graph(specifier);
    return toModule(info, follow(info, specifier));
  }

  /** What a module imports: another module, or the `npm:` or `node:` specifier that it names. */
  async resolve(imported: string, from: JsrModule, entry: string): Promise<JsrModule | string> {
    const info = await this.#graph(entry);
    const { dependencies = [] } = info.modules.find(({ specifier }) => specifier === from.url)!;
    const found = dependencies.find(({ specifier }) => specifier === imported)?.code?.specifier;
    const target = follow(info, found ?? imported);
    return /^(npm|node):/.test(target) ? target : toModule(info, target);
  }

  /** A module's text. */
  read({ path, bytes }: JsrModule): Uint8Array<ArrayBuffer> {
    return this.#files.read(path).subarray(0, bytes);
  }

  #graph(specifier: string): Promise<Info> {
    let graph = this.#graphs.get(specifier);
    if (!graph) this.#graphs.set(specifier, graph = describe(specifier, this.#root));
    return graph;
  }
}

async function describe(specifier: string, root: string): Promise<Info> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--frozen", specifier],
    cwd: root,
    stdin: "null",
  }).output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  throw new ConfigError(
    `Cannot find ${specifier}: ${
      new TextDecoder().decode(stderr).trim()
    }; run "deno install" and ` +
      "commit the lock file",
  );
}

function follow(info: Info, specifier: string): string {
  let target = specifier;
  for (let steps = 0; target in info.redirects && steps < 10; steps++) {
    target = info.redirects[target]!;
  }
  return target;
}

function toModule({ modules }: Info, url: string): JsrModule {
  const found = modules.find(({ specifier }) => specifier === url);
  const [, name, version, path] = /\/(@[^/]+\/[^/]+)\/([^/]+)\/(.*)$/.exec(url) ?? [];
  if (found?.local === undefined || found.size === undefined || name === undefined) {
    throw new ConfigError(
      `Cannot find ${url}: Deno must have it, and says "${
        found?.error ?? "no such module"
      }"; run ` +
        '"deno install"',
    );
  }
  return {
    url,
    package: `jsr:${name}@${version}`,
    name: path!,
    path: found.local,
    bytes: found.size,
  };
}
