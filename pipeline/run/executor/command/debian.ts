/**
 * Which packages a program rests on, by the database of Debian's package manager: versions, taken at
 * their word.
 *
 * @module
 */
import { readText } from "../../../files.ts";
import { sha256 } from "../../../key/hash.ts";

/** Where it is. */
const DATABASE = "/var/lib/dpkg/status";

/** An installed package. */
interface Package {
  /** `1.13.0+dfsg-4 amd64`. */
  readonly version: string;
  /** Names of what it needs; of alternatives each. */
  readonly needs: readonly string[];
}

/** The installed packages. */
export interface Packages {
  readonly installed: ReadonlyMap<string, Package>;
  /** By the name that packages provide, those that do. */
  readonly providers: ReadonlyMap<string, readonly string[]>;
}

/** The packages of this machine; `undefined` where there is no such database. */
export function installedPackages(): Packages | undefined {
  const text = readText(DATABASE);
  return text === undefined ? undefined : parsePackages(text);
}

/** The installed packages of a database's text. */
export function parsePackages(text: string): Packages {
  const installed = new Map<string, Package>();
  const providers = new Map<string, string[]>();
  for (const paragraph of text.split("\n\n")) {
    const field = (name: string) =>
      new RegExp(`^${name}: *(.*(?:\\n .*)*)`, "m").exec(paragraph)?.[1];
    const name = field("Package");
    // Before it stands what is wanted, such as "install" or, of a package that stays as it is, "hold".
    if (name === undefined || !field("Status")?.endsWith(" ok installed")) continue;
    const version = `${field("Version")} ${field("Architecture")}`;
    const needs = [field("Pre-Depends"), field("Depends")].flatMap(names);
    const other = installed.get(name);
    // One name may be installed for several architectures.
    installed.set(name, {
      version: other ? [other.version, version].sort().join(", ") : version,
      needs: [...other?.needs ?? [], ...needs],
    });
    for (const provided of names(field("Provides"))) {
      providers.set(provided, [...providers.get(provided) ?? [], name]);
    }
  }
  return { installed, providers };
}

/** The names in a list such as `libc6 (>= 2.29), python3:any | python3-minimal`. */
function names(list: string | undefined): string[] {
  return (list ?? "").split(/[,|]/)
    .map((each) => /^\s*([a-z0-9][a-z0-9+.-]*)/.exec(each)?.[1] ?? "")
    .filter((name) => name !== "");
}

/**
 * The versions of some packages and of all installed ones that they need, by name; or the first of them
 * that is not installed.
 */
export function versionsOf(
  wanted: readonly string[],
  { installed, providers }: Packages,
): ReadonlyMap<string, string> | { readonly missing: string } {
  const versions = new Map<string, string>();
  const visit = (name: string): boolean => {
    const own = installed.get(name);
    if (own === undefined) return (providers.get(name) ?? []).map(visit).length > 0;
    if (versions.has(name)) return true;
    versions.set(name, own.version);
    for (const needed of own.needs) visit(needed);
    return true;
  };
  const missing = wanted.find((name) => !visit(name));
  if (missing !== undefined) return { missing };
  return new Map([...versions].sort(([a], [b]) => a < b ? -1 : 1));
}

/** A digest of all packages with their versions. */
export function digestOf({ installed }: Packages): string {
  const lines = [...installed].map(([name, { version }]) => `${name} ${version}\n`);
  return sha256(lines.sort().join(""));
}
