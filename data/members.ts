/**
 * Rows of archives, whose members are documents.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import type { Member } from "./archive.ts";
import { DataError, type DataFile, withoutByteOrderMark } from "./lines.ts";
import { documentPattern } from "./pattern.ts";
import type { RawFile, Row, RowReader } from "./rows.ts";
import type { Description } from "./source.ts";
import { type SplitName, splitNames, splitOrder } from "./splits.ts";

type ReadMembers = (
  file: DataFile,
  wanted: (name: string) => boolean,
) => Iterable<Member[]> | AsyncIterable<Member[]>;

/**
 * Reads one document per matching member of all archives, ordered by split, then by name in code units:
 * the order in which an archive was packed must not show. They are held for another time.
 */
export function membersReader(
  files: readonly RawFile[],
  description: Description,
  members: ReadMembers,
): RowReader {
  let rows: Promise<Row[]> | undefined;
  return async function* () {
    yield await (rows ??= memberRows(files, description, members));
  };
}

async function memberRows(
  files: readonly RawFile[],
  { layout, classes }: Description,
  members: ReadMembers,
): Promise<Row[]> {
  const match = documentPattern(layout.documents ?? "{split}/{class}/*");
  const known = classes === undefined ? undefined : new Set(classes);
  const where = (name: string, file: RawFile) => {
    const parts = match(name);
    if (parts === undefined) return undefined;
    const split = parts.split ?? file.split;
    const label = parts.class ?? file.class;
    if (label === undefined || (known && !known.has(label))) return undefined;
    if (split !== "all" && !splitNames.includes(split as SplitName)) return undefined;
    return { split: split as SplitName | "all", label };
  };
  const found: (Row & { readonly name: string })[] = [];
  for (const file of files) {
    const places = new Map<string, { split: SplitName | "all"; label: string }>();
    const wanted = (name: string) => {
      const place = where(name, file);
      if (place !== undefined) places.set(name, place);
      return place !== undefined;
    };
    for await (const some of members(file, wanted)) {
      for (const { name, bytes } of some) {
        if (!isUtf8(bytes)) throw new DataError(`Cannot read "${name}": not UTF-8`);
        const { split, label } = places.get(name)!;
        const text = withoutByteOrderMark(bytes);
        found.push({ split, label, text, place: () => `"${name}"`, name });
      }
    }
  }
  if (found.length === 0) {
    throw new DataError(
      `Cannot read "${files[0]?.name}": no member is named like "${layout.documents}"`,
    );
  }
  return found.sort((a, b) =>
    splitOrder(a.split) - splitOrder(b.split) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}
