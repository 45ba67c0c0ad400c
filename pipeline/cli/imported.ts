/**
 * Modules that a project's modules import from elsewhere: by a path out of its folder or into a hidden one,
 * or by a name that a configuration maps to such a place. They are found by the look of an import, without
 * a parser: what only looks like one names a file too many, at worst.
 *
 * @module
 */
import { isAbsolute, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { statOf } from "../files.ts";

/** What names a module in `from "…"`, `import "…"`, `import("…")` and `require("…")`. */
const SPECIFIER = /\b(?:from|import|require)\s*\(?\s*(["'`])([^"'`\n]+)\1/g;
/** What stands for a file, and no package. */
const LOCAL = /^(\.{0,2}\/|file:)/;
const MODULE = /\.[cm]?[jt]sx?$/;
/** What is installed there is in a lock file. */
const INSTALLED = "/node_modules/";

/** A name, or the start of one up to a slash, and the address that it stands for. */
type Mapped = readonly [name: string, target: string];

/**
 * The files that modules import, and those in turn, besides the modules themselves: absolute paths.
 *
 * @param configs Configurations of Deno and import maps, absolute paths.
 */
export function importedBesides(
  modules: Iterable<string>,
  configs: readonly string[],
): Set<string> {
  const known = new Set(modules), found = new Set<string>();
  const mapped = configs.flatMap(mappedBy);
  const left = [...known];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (!MODULE.test(path) || path.includes(INSTALLED)) continue;
    for (const [, , specifier] of Deno.readTextFileSync(path).matchAll(SPECIFIER)) {
      for (const target of targetsOf(specifier!, path, mapped)) {
        if (known.has(target) || !statOf(target)) continue;
        known.add(target);
        found.add(target);
        left.push(target);
      }
    }
  }
  return found;
}

/** @throws {SyntaxError} If a configuration has comments: nobody then knows what it maps. */
function mappedBy(path: string): Mapped[] {
  if (!/\.jsonc?$/.test(path)) return [];
  const { imports } = JSON.parse(Deno.readTextFileSync(path));
  return Object.entries(imports ?? {}).map(([name, target]) => [
    name,
    LOCAL.test(String(target)) ? new URL(String(target), pathToFileURL(path)).href : "",
  ]);
}

/** The files that a specifier may stand for. */
function targetsOf(specifier: string, module: string, mapped: readonly Mapped[]): string[] {
  const addresses = LOCAL.test(specifier)
    ? [URL.parse(specifier, pathToFileURL(module))?.href ?? ""]
    : mapped.flatMap(([name, target]) =>
      specifier === name || name.endsWith("/") && specifier.startsWith(name)
        ? [target + specifier.slice(name.length)]
        : []
    );
  return addresses.flatMap(pathOf);
}

/** The path of a file's address; none of another, or of what is no address after all. */
function pathOf(address: string): string[] {
  try {
    return address.startsWith("file:") && !address.includes("%00")
      ? [fileURLToPath(address.replace(/[?#].*/, ""))]
      : [];
  } catch {
    return [];
  }
}

/** The files that a command line names: a configuration, an import map, a lock. */
export function filesNamed(commandLine: string, cwd: string): string[] {
  return commandLine.split("\0").map((word) => word.replace(/^-[^=]*=/, ""))
    .filter((word) => word !== "").map((word) => isAbsolute(word) ? word : join(cwd, word))
    .filter((path) => statOf(path) && Deno.statSync(path).isFile);
}
