/**
 * Documents out of tar archives, without unpacking them to files.
 *
 * @module
 */
import { PackedBytes } from "./growing.ts";
import { DataError, type DataFile, fileBytes, tooLarge, unpackedBound } from "./lines.ts";
import { TarReader } from "./tar.ts";

/** A file in an archive. */
export interface Member {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Most members an archive may have. */
const maxMembers = 2_000_000;

/**
 * Streams a tar archive's files that `wanted` selects, in the archive's order, some at a time. Directories
 * are passed over.
 *
 * @throws {DataError} If the archive is damaged; if a member is a link, a device or anything else
 * that is neither file nor directory; if a name leads out of the archive or occurs twice; if more
 * is unpacked than the file's bound allows.
 */
export async function* tarMembers(
  file: DataFile,
  wanted: (name: string) => boolean,
): AsyncGenerator<Member[], void, undefined> {
  const names = new MemberNames(file.name);
  const allowed = unpackedBound(file);
  const packed = new PackedBytes();
  const members: Member[] = [];
  let member: Member | undefined;
  const reader = new TarReader({
    begin: ({ name: raw, type, size }) => {
      const name = names.check(raw, type === "file" || type === "directory" ? undefined : type);
      if (size > allowed) throw new DataError(tooLarge(file.name, allowed));
      const isWanted = type === "file" && wanted(name);
      member = isWanted ? { name, bytes: packed.room(size) } : undefined;
      return member?.bytes;
    },
    end: () => {
      if (member !== undefined) members.push(member);
    },
  });
  try {
    for await (const chunk of closed(fileBytes(file))) {
      reader.take(chunk);
      if (members.length > 0) yield members.splice(0);
    }
    reader.finish();
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(
      `Cannot read "${file.name}": not an intact tar archive: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/**
 * Passes a tar archive's bytes on and checks that it is closed: without the blocks of zeros at its
 * end, one that was cut between two members would look whole.
 */
async function* closed(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let zeros = 0;
  for await (const chunk of chunks) {
    const last = chunk.findLastIndex((byte) => byte !== 0);
    zeros = last < 0 ? zeros + chunk.length : chunk.length - 1 - last;
    yield chunk;
  }
  if (zeros < 1024) throw new Error("it is cut off: two blocks of zeros must close it");
}

/** Words between single dots and slashes: nearly all names are such, and may be in an archive. */
const harmless = /^[\w-]+(?:[./][\w-]+)*$/;

/** Checks the names of an archive's members as they come. */
export class MemberNames {
  readonly #archive: string;
  readonly #seen = new Set<string>();

  constructor(archive: string) {
    this.#archive = archive;
  }

  /**
   * Gives a member's name without a leading `./` or trailing `/`.
   *
   * @param refusedType What the member is, if it is neither file nor directory.
   * @throws {DataError} If the member may not be in an archive of data.
   */
  check(raw: string, refusedType?: string): string {
    const refuse = (rule: string): never => {
      throw new DataError(
        `Cannot read "${this.#archive}": ${rule}, found ${JSON.stringify(raw.slice(0, 200))}`,
      );
    };
    if (refusedType !== undefined) {
      refuse(`members must be files or directories, not of type "${refusedType}"`);
    }
    const name = harmless.test(raw) ? raw : plainName(raw, refuse);
    if (name === "") return "";
    if (this.#seen.has(name)) refuse("member names must differ");
    if (this.#seen.size >= maxMembers) {
      refuse(`an archive must have at most ${maxMembers} members`);
    }
    this.#seen.add(name);
    return name;
  }
}

/** A name without a leading `./` or trailing `/`, if it may be in an archive. */
function plainName(raw: string, refuse: (rule: string) => never): string {
  const name = raw.replace(/^(\.\/)+/, "").replace(/\/+$/, "");
  // The archive's own root, `./`.
  if (name === "" || name === ".") return "";
  if (name.startsWith("/") || /^[A-Za-z]:/.test(name) || name.includes("\\")) {
    refuse("member names must be relative, with / between their parts");
  }
  if (name.includes("\0") || name.split("/").some((part) => part === ".." || part === "")) {
    refuse("member names must not lead out of the archive");
  }
  return name;
}
