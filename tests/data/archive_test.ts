import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { openCorpus } from "../../data/corpus.ts";
import { DataError } from "../../data/lines.ts";
import type { Description } from "../../data/source.ts";
import { textOf } from "../../data/text_bytes.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const archives = JSON.parse(
  Deno.readTextFileSync(new URL("../reference/tokenizer/archives.json", import.meta.url)),
) as Record<string, string>;

function bytesOf(name: string): Uint8Array {
  return inflateSync(Uint8Array.fromBase64(archives[name]!));
}

/** Reads every document of an archive and checks that nothing appears beside it. */
async function documents(name: string, changed: Partial<Description["files"][number]> = {}) {
  const directory = temporaryFolder();
  try {
    const path = join(directory, name);
    Deno.writeFileSync(path, bytesOf(name));
    const corpus = await openCorpus({
      source: { name: "a", title: "A", kind: "sample", note: "" },
      format: name.endsWith(".zip") ? "zip" : "tar",
      classes: ["neg", "pos"],
      layout: { documents: "c/{split}/{class}/*.txt" },
      files: [{ name, split: "all", ...changed }],
    }, new Map([[name, path]]));
    const documents = (await Array.fromAsync(corpus.documents())).flat();
    return documents.map((each) => ({ ...each, text: textOf(each.text) }));
  } finally {
    const left = [...Deno.readDirSync(directory)].map((entry) => entry.name);
    assertEquals(left, [name]);
  }
}

const good = [
  { split: "train", label: 0, text: "bad bad film" },
  { split: "train", label: 1, text: "größe ist gut" },
  { split: "test", label: 0, text: "bad" },
  { split: "test", label: 1, text: "good\nfilm" },
] as const;

Deno.test("archives that Python wrote give their documents by split and name, however packed", async () => {
  for (const name of ["good.zip", "stored.zip", "good.tar", "good.tar.gz", "dotted.tar"]) {
    assertEquals(await documents(name), [...good], name);
  }
});

Deno.test("names longer than a tar header holds are read in both extensions", async () => {
  const long = { split: "train", label: 0, text: "long" } as const;
  for (const name of ["gnu.tar", "pax.tar"]) {
    assertEquals(await documents(name), [good[0], long, ...good.slice(1)], name);
  }
});

const hostile: [name: string, message: string][] = [
  ["traversal", "must not lead out of the archive"],
  ["absolute", "must be relative"],
  ["drive", "must be relative"],
  ["backslash", "must be relative"],
  ["link", 'not of type "symlink"'],
  ["hardlink", 'not of type "link"'],
  ["device", "must be files or directories"],
  ["fifo", 'not of type "fifo"'],
  ["duplicate", "member names must differ"],
  ["bzip2", "compressed by method 12"],
  ["lying", "does not unpack to 10 bytes"],
  ["overlapping", "overlaps the next"],
  ["bomb", "unpacks to more than"],
];
for (const [kind, message] of hostile) {
  const names = Object.keys(archives).filter((name) => name.split(".")[0] === kind);
  Deno.test(`an archive of the kind "${kind}" is refused (${names.join(", ")})`, async () => {
    assert(names.length > 0);
    for (const name of names) {
      const error = await assertRejects(() => documents(name), DataError);
      assertStringIncludes(error.message, `Cannot read "${name}"`);
      assertStringIncludes(error.message, message);
    }
  });
}

Deno.test("an archive within its declared bound is read, one byte beyond is refused", async () => {
  assertEquals((await documents("bomb.zip", { unpacked_bytes: 10_000_000 })).length, 1);
  await assertRejects(
    () => documents("bomb.zip", { unpacked_bytes: 9_999_999 }),
    DataError,
    'raise its "unpacked_bytes"',
  );
});

Deno.test("an archive cut anywhere is refused", async () => {
  for (const name of ["good.zip", "good.tar", "good.tar.gz"]) {
    const bytes = bytesOf(name);
    // A tar's closing blocks of zeros are padded with more of them: what is cut there is not missed.
    const last = name === "good.tar" ? bytes.findLastIndex((byte) => byte !== 0) + 1 : bytes.length;
    for (let end = 0; end < last; end++) {
      if (end % 97 !== 0 && end % 512 !== 0) continue;
      archives[`cut-${name}`] = new Uint8Array(deflateSync(bytes.subarray(0, end))).toBase64();
      await assertRejects(() => documents(`cut-${name}`), DataError);
    }
  }
});
