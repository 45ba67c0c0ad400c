/**
 * Which npm packages a stage loads, down to the last dependency, as the lock file pins them.
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError } from "../errors.ts";
import { sha256 } from "./hash.ts";

interface LockedPackage {
  readonly integrity?: string;
  readonly dependencies?: readonly string[];
}

interface DenoConfig {
  readonly imports?: Readonly<Record<string, string>>;
  readonly lock?: { readonly path?: string };
}

/** The project's pinned packages: `deno.json`'s imports and its lock file. */
export interface Packages {
  /** The `npm:` or `jsr:` specifier that an import names; `undefined` for none (`node:`, a file). */
  specifier(imported: string): string | undefined;
  /** The file of the project, relative to it, that an import map entry names. */
  local(imported: string): string | undefined;
  /**
   * The version an import resolves to and a digest over it and all its dependencies,
   * `4.22.0+1f0c9a2b3d4e`.
   */
  version(imported: string): string;
  /** Files this depends on, relative to the project. */
  readonly files: readonly string[];
}

/**
 * Reads the pinned packages of the project at `root`.
 *
 * @throws {ConfigError} If there is no `deno.json` or lock file.
 */
export function readPackages(root: string): Packages {
  const configPath = "deno.json";
  const config = readJson(join(root, configPath)) as DenoConfig;
  const lockPath = config.lock?.path ?? "deno.lock";
  const imports = config.imports ?? {};
  let lock: {
    readonly specifiers?: Readonly<Record<string, string>>;
    readonly npm?: Readonly<Record<string, LockedPackage>>;
    readonly jsr?: Readonly<Record<string, LockedPackage>>;
  } | undefined;

  const specifier = (imported: string): string | undefined => {
    if (/^(npm|jsr):/.test(imported)) return imported;
    const mapped = imports[imported];
    if (mapped !== undefined) return /^(npm|jsr):/.test(mapped) ? mapped : undefined;
    // A subpath of a mapped package: "tfjs/dist/x" with "tfjs" mapped.
    for (const [name, target] of Object.entries(imports)) {
      if (imported.startsWith(`${name}/`) && /^(npm|jsr):/.test(target)) {
        return `${target}${imported.slice(name.length)}`;
      }
    }
    return undefined;
  };
  return {
    files: [configPath, lockPath],
    specifier,
    local: (imported) => imports[imported]?.startsWith("./") ? imports[imported] : undefined,
    version(imported) {
      lock ??= readJson(join(root, lockPath)) as NonNullable<typeof lock>;
      const full = specifier(imported);
      const [, registry = "", name = "", wanted = ""] =
        /^(npm|jsr):((?:@[^/]+\/)?[^@/]+)(?:@([^/]+))?/.exec(full ?? "") ?? [];
      const pinned = lock.specifiers?.[`${registry}:${name}${wanted && `@${wanted}`}`];
      if (pinned === undefined) {
        throw new ConfigError(
          `Cannot find the version of "${imported}": every package that a stage imports must be ` +
            `pinned in ${lockPath}; run "deno install" and commit the lock file`,
        );
      }
      const table = (registry === "npm" ? lock.npm : lock.jsr) ?? {};
      const closure = new Map<string, string>();
      const visit = (id: string) => {
        if (closure.has(id)) return;
        const entry = table[id];
        closure.set(id, entry?.integrity ?? "");
        for (const dependency of entry?.dependencies ?? []) {
          const short = dependency.replace(/^npm:|^jsr:/, "");
          visit(short in table ? short : soleVersion(table, short));
        }
      };
      visit(`${name}@${pinned}`);
      const lines = [...closure].map(([id, integrity]) => `${id} ${integrity}`).sort();
      return `${pinned}+${sha256(lines.join("\n")).slice(0, 12)}`;
    },
  };
}

/** Lock files leave out a dependency's version where only one is locked. */
function soleVersion(table: Readonly<Record<string, unknown>>, name: string): string {
  return Object.keys(table).find((id) => id.startsWith(`${name}@`)) ?? name;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(Deno.readTextFileSync(path));
  } catch (cause) {
    throw new ConfigError(
      `Cannot read ${path}: ${cause instanceof Error ? cause.message : cause}`,
      { cause },
    );
  }
}
