/**
 * Audit files that say what an honest one says, in other bytes: each is refused with one message, so that no
 * two programs read one file as two things.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { sha256 } from "../../pipeline/key/hash.ts";
import { findingText } from "../../pipeline/replay/finding.ts";
import { recordBytes } from "../../pipeline/replay/record.ts";
import { verify } from "../../pipeline/replay/verify.ts";
import type { Trace } from "../../pipeline/store/trace.ts";
import { archive, certified, Forger, opened, relisted } from "../rig/forge.ts";
import { measured } from "../rig/measuring.ts";

type Bytes = Uint8Array<ArrayBuffer>;
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Bytes) => new TextDecoder().decode(bytes);

/** Edits of the JSON of a record that mean the same to most who read it. */
const FORMS: Readonly<Record<string, (body: string) => string>> = {
  "a field twice": (body) => body.replace(/^ "(\w+)":/m, ' "$1": null,\n "$1":'),
  "a mark before it": (body) => `\ufeff${body}`,
  "a space after it": (body) => `${body} `,
  "a line after it": (body) => `${body}\n`,
  "no indentation": (body) => JSON.stringify(JSON.parse(body)),
  "fields in another order": (body) =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body)).reverse()), null, 1),
  "an escaped letter": (body) => body.replace(/"([a-z])/, (_, letter) => `"\\u00${hex(letter)}`),
  "a number in another form": (body) => body.replace(/: (\d+)(,?)$/m, ": $1.0$2"),
  "half of a character": (body) => body.replace('"unknown"', '"\\ud83d"'),
};
const hex = (letter: string) => letter.charCodeAt(0).toString(16);

function resealed(bytes: Bytes, edit: (body: string) => string): Bytes {
  const body = decode(bytes).split("\nsha256 ")[0]!;
  const edited = edit(body);
  return encode(`${edited}\nsha256 ${sha256(encode(edited))}\n`);
}

async function refusal(file: Bytes): Promise<string> {
  const { findings } = await verify(file);
  return findings.map(findingText).join("\n");
}

/** The file with a machine and a certificate in it that each of the forms can alter. */
async function altered(): Promise<Bytes> {
  const forger = new Forger((await measured()).file);
  const trace: Trace = { ...forger.trace("table"), machine: { processor: "unknown" } };
  forger.set("table", trace);
  return certified(await forger.file(), "table");
}

Deno.test("a trace, a certificate and the index have one form, whatever their seals say", async () => {
  const file = await altered();
  assertEquals(await refusal(file), "");
  const { index } = opened(file);
  const key = index.instances["table"];
  for (const [name, edit] of Object.entries(FORMS)) {
    for (const record of [`traces/${key}.json`, `certificates/${key}.json`]) {
      const said = await refusal(relisted(file, (files) => {
        const before = files.get(record)!, after = resealed(before, edit);
        assert(sha256(before) !== sha256(after), `${name} alters ${record}`);
        files.set(record, after);
      }));
      assertEquals(said, refused(record), `${name} of ${record}`);
    }
    // What was typed at the command line is the one text in it that could be any, and no number is in it.
    const given = recordBytes({ ...index, set: ["unknown"] });
    const members = [["audit.json", resealed(given, edit)] as const, ...opened(file).files];
    if (name === "a number in another form") continue;
    assertEquals(await refusal(archive(members)), refused("audit.json"), `${name} of the index`);
  }
});

const refused = (where: string) =>
  `file    the file: must be an audit file, found Cannot read ${where}: it must be written as "bundle" ` +
  "writes it (UTF-8 without a mark, names sorted and each once, whole characters, no other spaces), " +
  "and is not";

Deno.test("a record that is nested without end is refused, and not followed", async () => {
  const { file } = await measured();
  const name = `traces/${opened(file).index.instances["table"]}.json`;
  const deep = "[".repeat(1e5) + "]".repeat(1e5);
  const said = await refusal(relisted(file, (files) => {
    files.set(
      name,
      resealed(files.get(name)!, (body) => body.replace("{", `{\n "deep": ${deep},`)),
    );
  }));
  assertEquals(said, refused(name));
});

Deno.test("a lock and a folder's list of files have one form", async () => {
  const { file } = await measured();
  const lock = "lock/toy.smoke.lock";
  const edits: ((bytes: Bytes) => Bytes)[] = [
    (bytes) => encode(`\ufeff${decode(bytes)}`),
    (bytes) => encode(decode(bytes).replaceAll("\n", "\r\n")),
    (bytes) => encode(`${decode(bytes)}\n`),
    (bytes) => encode(decode(bytes).replace("\ntable  ", "\ntable   ")),
    (bytes) => encode(decode(bytes).replace(/^table .*\n/m, "$&$&")),
  ];
  for (const edit of edits) {
    const said = await refusal(relisted(file, (files) => files.set(lock, edit(files.get(lock)!))));
    assert(said.startsWith("lock ") || said === refused(lock), said);
  }
});

Deno.test("code is never left out, nor what tables are made from", async () => {
  const { file } = await measured();
  const { index } = opened(file);
  const forger = new Forger(file);
  const digests = {
    [forger.trace("pair/ann/bob").ingredients["code"]!]: "code of pair/ann/ann",
    [forger.trace("pair/ann/bob").outputs["text"]!.sha256]: "text of pair/ann/bob",
  };
  for (const [digest, of] of Object.entries(digests)) {
    const files = { ...index.files };
    delete files[`blobs/${digest}`];
    const bytes = opened(file).files.get(`blobs/${digest}`)!.length;
    const other = { ...index, files, leftOut: { [digest]: bytes } };
    const said = await refusal(
      relisted(file, (files) => files.delete(`blobs/${digest}`), other),
    );
    assert(said.includes(`${of}: must be there, found it listed as left out`), said);
  }
});
