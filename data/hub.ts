/**
 * Data sets that a public archive keeps, by name: a repository of Hugging Face's hub, `hf:owner/name@main`,
 * or a record of Zenodo, `doi:10.5281/zenodo.N`. What a name stands for is asked once and written down as
 * pins, lines of a name and a value: which commit or version, which files, their sizes and digests. With
 * these a source becomes one whose files have URLs and checksums.
 *
 * ```text
 * hf:owner/name@main  commit 0123…
 * hf:owner/name@0123…/data/*.csv  2 files
 * hf:owner/name@0123…/data/test.csv  sha256:9c02… 1204 bytes
 * doi:10.5281/zenodo.55  record 57
 * ```
 *
 * @module
 */
import { HUBS } from "./archives.ts";
import { accessOf } from "./hub_access.ts";
import { askHub, ChoiceError, HubError, type Place } from "./hub_request.ts";
import { z } from "zod";
import { descriptionName, type FileSource, type RawFile } from "./source.ts";

/** Pins by name. */
export type PinMap = ReadonlyMap<string, string>;

/** Where Hugging Face's hub sends whoever asks for a large file. */
const HF_REDIRECTS = ["huggingface.co", "hf.co"]
  .flatMap((host) => ["", "-us-1", "-eu-1"].map((place) => `cdn-lfs${place}.${host}`))
  .concat("cas-bridge.xethub.hf.co");

/** A name of a data set, in parts. */
interface Address {
  readonly hub: "hf" | "doi";
  /** As it is pinned: `hf:owner/name@main`. */
  readonly text: string;
  /** Repository, or nothing. */
  readonly repository: string;
  /** Branch, tag or commit; or a record's number. */
  readonly version: string;
}

const COMMIT = /^[0-9a-f]{40}$/;

function addressOf({ hf, doi }: Pick<FileSource, "hf" | "doi">): Address | undefined {
  if (hf !== undefined) {
    const [repository = "", version = "main"] = hf.split("@");
    return { hub: "hf", text: `hf:${repository}@${version}`, repository, version };
  }
  if (doi === undefined) return undefined;
  return { hub: "doi", text: `doi:${doi}`, repository: "", version: doi.split("zenodo.")[1]! };
}

/** What the files' pins of an address begin with, once its version is known. */
function baseOf({ hub, repository }: Address, version: string): string {
  return hub === "hf" ? `hf:${repository}@${version}` : `doi:10.5281/zenodo.${version}`;
}

const isPattern = (name: string) => name.includes("*");

/** Whether a path fits a pattern: `*` is any characters but a slash, `**` any. */
function fits(pattern: string, path: string): boolean {
  const source = pattern.split(/(\*\*\/?|\*)/).map((part) =>
    part === "**/"
      ? "(?:.*/)?"
      : part === "**"
      ? ".*"
      : part === "*"
      ? "[^/]*"
      : RegExp.escape(part)
  ).join("");
  return new RegExp(`^${source}$`, "su").test(path);
}

/**
 * A source of an archive as one of files with URLs and checksums; `undefined` if it is not pinned.
 *
 * @throws {ChoiceError} If the pins contradict each other, or a file is chosen twice.
 */
export function expandSource(source: FileSource, pins: PinMap): FileSource | undefined {
  const address = addressOf(source);
  if (address === undefined) return source;
  const version = versionIn(pins, address);
  if (version === undefined) return undefined;
  const base = `${baseOf(address, version)}/`;
  const files: RawFile[] = [];
  for (const choice of source.files) {
    const paths = pathsIn(pins, base, choice.name);
    if (paths === undefined) return undefined;
    for (const path of paths) {
      if (path === descriptionName) {
        throw new ChoiceError(
          `"${path}" of ${address.text} can't be taken: a record's own is named so`,
        );
      }
      if (files.some(({ name }) => name === path)) {
        throw new ChoiceError(
          `"${path}" of ${address.text} is chosen twice: let one choice match it`,
        );
      }
      files.push({
        ...choice,
        ...contentIn(pins.get(base + path)!, base + path),
        name: path,
        urls: [urlOf(address, version, path)],
        mirror: choice.mirror ?? `${source.name}/${path}`,
      });
    }
  }
  const { hf: _hf, doi: _doi, ...rest } = source;
  const redirects = address.hub === "hf" ? HF_REDIRECTS : [];
  return { ...rest, files, redirect_hosts: [...source.redirect_hosts, ...redirects] };
}

/** The commit or record that an address stands for. */
function versionIn(pins: PinMap, { hub, text, version }: Address): string | undefined {
  if (hub === "hf" && COMMIT.test(version)) return version;
  return /^(?:commit|record) (\S+)$/.exec(pins.get(text) ?? "")?.[1];
}

/** The pinned paths that a choice takes, sorted; `undefined` if it is not pinned. */
function pathsIn(pins: PinMap, base: string, name: string): string[] | undefined {
  const pinned = pins.get(base + name);
  if (pinned === undefined) return undefined;
  if (!isPattern(name)) return [name];
  const all = [...pins.keys()].filter((each) => each.startsWith(base) && !isPattern(each))
    .map((each) => each.slice(base.length)).filter((path) => fits(name, path)).sort();
  if (pinned === `${all.length} files`) return all;
  throw new ChoiceError(
    `lock/pins.lock must have the files that it counts: ${base}${name} says ${pinned}, found ` +
      `${all.length}; restore the file, or delete that line to ask again`,
  );
}

function contentIn(
  value: string,
  name: string,
): Pick<RawFile, "bytes" | "sha256" | "git_oid" | "md5"> {
  const [, kind, digest, bytes] = /^(sha256|git_oid|md5):([0-9a-f]+) (\d+) bytes$/.exec(value) ??
    [];
  if (kind === undefined) {
    throw new ChoiceError(
      `lock/pins.lock must have a digest and a number of bytes for ${name}, found "${value}"; restore it`,
    );
  }
  return { [kind]: digest, bytes: Number(bytes) };
}

const encode = (path: string) => path.split("/").map(encodeURIComponent).join("/");

function urlOf({ hub, repository }: Address, version: string, path: string): string {
  const { origin } = HUBS[hub];
  return hub === "hf"
    ? `${origin}/datasets/${repository}/resolve/${version}/${encode(path)}`
    : `${origin}/api/records/${version}/files/${encodeURIComponent(path)}/content`;
}

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const size = z.int().min(0);
/** Whether a path can be pinned in a line, be read there by people, and be written in any folder. */
function isPlain(path: string): boolean {
  return /^[^\s\p{Cc}\p{Cf}\p{Cs}*\\]+( [^\s\p{Cc}\p{Cf}\p{Cs}*\\]+)*$/u.test(path) &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** A path for a message, with codes instead of what can't be seen. */
function shown(path: string): string {
  return path.replace(
    /(?! )[\s\p{Cc}\p{Cf}\p{Cs}]/gu,
    (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`,
  );
}
const commitAnswer = z.object({ sha: hex(40) });
const treeAnswer = z.array(z.union([
  z.object({
    type: z.literal("file"),
    path: z.string(),
    size,
    oid: hex(40),
    lfs: z.object({ oid: hex(64), size }).optional(),
  }),
  z.object({ type: z.enum(["directory", "unknown"]) }),
]));
const recordAnswer = z.object({
  id: z.int().min(1),
  conceptrecid: z.union([z.string(), z.int()]).transform(String).optional(),
  files: z.array(z.object({
    key: z.string(),
    size,
    checksum: z.string().regex(/^md5:[0-9a-f]{32}$/),
  })),
});

/** How an archive is asked. */
export interface LookUp {
  /** A variable of the environment: where the archive is, and a token. */
  readonly variable: (name: string) => string | undefined;
  /** Pauses before further attempts, in milliseconds. */
  readonly backoffMs?: readonly number[];
}

/**
 * Asks an archive what a source's name stands for, and which of its files are chosen. Where a commit or
 * version is pinned, it is asked for the files of that one.
 *
 * @returns Pins, for {@linkcode expandSource}.
 * @throws {HubError} If that can't be had; a {@linkcode ChoiceError} if there is no such file, or it can't be taken.
 */
export async function lookUpSource(
  source: FileSource,
  pins: PinMap,
  { variable, backoffMs }: LookUp,
): Promise<Map<string, string>> {
  const address = addressOf(source)!;
  const hub = HUBS[address.hub];
  const { endpoint = hub.origin, token } = accessOf(hub, variable);
  const place: Place = {
    name: address.text,
    base: endpoint,
    ...token ? { token } : {},
    ...hub.token ? { tokenVariable: hub.token } : {},
    ...backoffMs ? { backoffMs } : {},
  };
  const known = versionIn(pins, address);
  const { version, files } = address.hub === "hf"
    ? await listRepository(place, address, known)
    : await listRecord(place, known ?? address.version);
  const names = [...files.keys()].sort();
  const found = new Map<string, string>();
  const kind = address.hub === "hf" ? "commit" : "record";
  if (!COMMIT.test(address.version)) found.set(address.text, `${kind} ${version}`);
  const base = `${baseOf(address, version)}/`;
  for (const { name } of source.files) {
    const chosen = names.filter((each) => isPattern(name) ? fits(name, each) : each === name);
    if (chosen.length === 0) {
      const some = names.slice(0, 5).map(shown).join(", ");
      throw new ChoiceError(
        `Cannot take "${name}" of ${address.text}: it must name a file there, and of ${names.length} none ` +
          `fits; the first are ${some || "none"}`,
      );
    }
    const odd = chosen.find((each) => !isPlain(each));
    if (odd !== undefined) {
      throw new ChoiceError(
        `Cannot take "${
          shown(odd)
        }" of ${address.text}, which "${name}" fits: a file's name must be without ` +
          "control, invisible and other odd characters, two spaces in a row, *, \\ and parts like ..; let no " +
          "choice match it",
      );
    }
    if (isPattern(name)) found.set(base + name, `${chosen.length} files`);
    for (const each of chosen) found.set(base + each, files.get(each)!);
  }
  // What could not be used is not pinned either.
  expandSource(source, new Map([...pins, ...found]));
  return found;
}

/** A version and all its files, path to digest and size. */
interface Listing {
  readonly version: string;
  readonly files: ReadonlyMap<string, string>;
}

/** The hub lists a thousand files at a time. */
const MAX_PAGES = 1000;

async function listRepository(
  place: Place,
  { repository, version: revision }: Address,
  known: string | undefined,
): Promise<Listing> {
  const api = `/api/datasets/${encode(repository)}`;
  const version = known ??
    (await askHub(place, `${api}/revision/${encodeURIComponent(revision)}`, commitAnswer)).body.sha;
  const files = new Map<string, string>();
  const asked = new Set<string>();
  let next: string | undefined = `${api}/tree/${version}?recursive=true`;
  while (next !== undefined) {
    if (asked.has(next) || asked.size === MAX_PAGES) {
      throw new HubError(`Cannot list ${place.name}: its list must end, and goes on from ${next}`);
    }
    asked.add(next);
    const page: Awaited<ReturnType<typeof askHub<z.infer<typeof treeAnswer>>>> = await askHub(
      place,
      next,
      treeAnswer,
    );
    for (const entry of page.body) {
      if (entry.type !== "file") continue;
      const { lfs, oid, size } = entry;
      // What is not large has no other digest than git's own.
      files.set(
        entry.path,
        lfs ? `sha256:${lfs.oid} ${lfs.size} bytes` : `git_oid:${oid} ${size} bytes`,
      );
    }
    next = page.next;
  }
  return { version, files };
}

async function listRecord(place: Place, version: string): Promise<Listing> {
  const { body } = await askHub(place, `/api/records/${version}`, recordAnswer);
  if (String(body.id) !== version && body.conceptrecid !== version) {
    throw new HubError(
      `Cannot list ${place.name}: asked for record ${version}, answered ${body.id}`,
    );
  }
  const files = body.files.map(({ key, size, checksum }) =>
    [key, `${checksum} ${size} bytes`] as const
  );
  return { version: String(body.id), files: new Map(files) };
}

export { ChoiceError, HubError };
