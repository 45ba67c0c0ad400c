import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "node:path";
import { atEndpoints } from "../../data/archives.ts";
import { ChoiceError, expandSource, HubError, lookUpSource } from "../../data/hub.ts";
import { type FileSource, sourceSchema } from "../../data/source.ts";
import { transferFile } from "../../data/transfer.ts";
import { type ArchiveServer, archiveServer, COMMITS, KNOWN } from "../rig/archive_server.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const { first, second } = COMMITS;

function source(record: Record<string, unknown>): FileSource {
  const base = { name: "mine", title: "Mine", kind: "official", format: "text" };
  return sourceSchema.parse({ ...base, ...record }) as FileSource;
}

const HF = source({
  hf: "owner/name@main",
  files: [{ name: "data/t*.txt", split: "all" }, { name: "README.md", class: "book" }],
});

/** Asks a server; `backoffMs` as short as it may be. */
function lookUp(server: ArchiveServer, of: FileSource, o: {
  readonly pins?: ReadonlyMap<string, string>;
  readonly token?: string;
} = {}) {
  const variables: Record<string, string | undefined> = {
    HF_ENDPOINT: `${server.url}/`,
    ZENODO_ENDPOINT: server.url,
    HF_TOKEN: o.token,
  };
  return lookUpSource(of, o.pins ?? new Map(), {
    variable: (name) => variables[name],
    backoffMs: [1, 1],
  });
}

const LETTERS = `sha256:${KNOWN.letters.sha256} 3 bytes`;
const ALPHABET = `sha256:${KNOWN.alphabet.sha256} 26 bytes`;
const PINS = {
  "hf:owner/name@main": `commit ${first}`,
  [`hf:owner/name@${first}/data/t*.txt`]: "2 files",
  [`hf:owner/name@${first}/data/train.txt`]: LETTERS,
  [`hf:owner/name@${first}/data/test.txt`]: ALPHABET,
  [`hf:owner/name@${first}/README.md`]: `git_oid:${KNOWN.book.oid} 13 bytes`,
};

Deno.test("a branch is pinned as a commit, its files as digests and sizes, over all pages of the list", async () => {
  await using server = archiveServer();
  assertEquals(Object.fromEntries(await lookUp(server, HF)), PINS);
  const pages = server.asked.filter(({ path }) => path.includes("/tree/"));
  assertEquals(pages.length, 3);
  // Of a branch that moved, what was pinned stays.
  server.branches.set("main", second);
  const more = source({ hf: "owner/name@main", files: [{ name: "**/*.txt" }] });
  const pins = await lookUp(server, more, { pins: new Map(Object.entries(PINS)) });
  assertEquals(pins.get("hf:owner/name@main"), `commit ${first}`);
  assertEquals(pins.get(`hf:owner/name@${first}/**/*.txt`), "3 files");
});

Deno.test("a revision is a commit, a branch with slashes, or main where none is named", async () => {
  await using server = archiveServer();
  const files = [{ name: "data/train.txt" }];
  const cases: [hf: string, Record<string, string>][] = [
    [`owner/name@${second}`, { [`hf:owner/name@${second}/data/train.txt`]: ALPHABET }],
    ["owner/name@refs/convert/parquet", {
      "hf:owner/name@refs/convert/parquet": `commit ${second}`,
      [`hf:owner/name@${second}/data/train.txt`]: ALPHABET,
    }],
    ["owner/name", {
      "hf:owner/name@main": `commit ${first}`,
      [`hf:owner/name@${first}/data/train.txt`]: LETTERS,
    }],
  ];
  for (const [hf, pins] of cases) {
    assertEquals(Object.fromEntries(await lookUp(server, source({ hf, files }))), pins);
  }
});

Deno.test("a concept's DOI is pinned as its latest version, a version's as itself", async () => {
  await using server = archiveServer();
  const files = [{ name: "*.txt" }];
  const concept = await lookUp(server, source({ doi: "10.5281/zenodo.55", files }));
  assertEquals(Object.fromEntries(concept), {
    "doi:10.5281/zenodo.55": "record 57",
    "doi:10.5281/zenodo.57/*.txt": "2 files",
    "doi:10.5281/zenodo.57/train.txt": `md5:${KNOWN.alphabet.md5} 26 bytes`,
    "doi:10.5281/zenodo.57/notes, all.txt": `md5:${KNOWN.letters.md5} 3 bytes`,
  });
  server.concepts.set("55", "56");
  const again = await lookUp(server, source({ doi: "10.5281/zenodo.55", files }), {
    pins: concept,
  });
  assertEquals(again.get("doi:10.5281/zenodo.55"), "record 57");
  const version = await lookUp(server, source({ doi: "10.5281/zenodo.56", files }));
  assertEquals(version.get("doi:10.5281/zenodo.56"), "record 56");
});

Deno.test("pinned, a source has URLs of a commit, checksums, sizes and mirror paths; else it is not known", () => {
  assertEquals(expandSource(HF, new Map()), undefined);
  const pins = new Map(Object.entries(PINS));
  const { files, hf } = expandSource(HF, pins)!;
  assertEquals(hf, undefined);
  assertEquals(files.map(({ name, bytes, mirror, class: label }) => [name, bytes, mirror, label]), [
    ["data/test.txt", 26, "mine/data/test.txt", undefined],
    ["data/train.txt", 3, "mine/data/train.txt", undefined],
    ["README.md", 13, "mine/README.md", "book"],
  ]);
  assertEquals(files[1]!.sha256, KNOWN.letters.sha256);
  assertEquals(files[2]!.git_oid, KNOWN.book.oid);
  const base = `https://huggingface.co/datasets/owner/name/resolve/${first}`;
  assertEquals(files[1]!.urls, [`${base}/data/train.txt`]);
  // A line that is gone is noticed, and so is a file that two choices take.
  pins.delete(`hf:owner/name@${first}/data/test.txt`);
  assertStringIncludes(assertThrows(() => expandSource(HF, pins), HubError).message, "found 1");
  const twice = { ...HF, files: [...HF.files, HF.files[1]!] };
  assertThrows(() => expandSource(twice, new Map(Object.entries(PINS))), HubError, "chosen twice");
});

Deno.test("every byte is held to what is pinned, by SHA-256, git's own digest or MD5", async () => {
  await using server = archiveServer();
  const folder = temporaryFolder();
  const known = new Map<string, { text: string }>([
    ["data/train.txt", KNOWN.letters],
    ["README.md", KNOWN.book],
    ["train.txt", KNOWN.alphabet],
  ]);
  const zenodo = source({ doi: "10.5281/zenodo.57", files: [{ name: "train.txt" }] });
  let count = 0;
  for (const one of [HF, zenodo]) {
    const pinned = expandSource(one, await lookUp(server, one))!;
    const endpoints = { HF_ENDPOINT: server.url, ZENODO_ENDPOINT: server.url };
    for (const file of atEndpoints(pinned, endpoints).files) {
      const get = (name: string) =>
        transferFile(file, join(folder, name), {
          hosts: [new URL(server.url).host],
          partial: join(folder, `${name}.part`),
          backoffMs: [1],
        });
      await get(`${count}`);
      const expected = known.get(file.name);
      if (expected) assertEquals(Deno.readTextFileSync(join(folder, `${count}`)), expected.text);
      server.misbehave = (path) =>
        /resolve|content/.test(path) ? new Response("x".repeat(file.bytes!)) : undefined;
      const { message } = await assertRejects(() => get(`${count}.wrong`));
      assert(/must have (sha256|git_oid|md5) [0-9a-f]+, found [0-9a-f]+/.test(message), message);
      server.misbehave = () => undefined;
      count++;
    }
  }
  assertEquals(count, 4);
  assertEquals([...Deno.readDirSync(folder)].length, count);
});

Deno.test("what an archive answers wrongly is one message that says what to do", async () => {
  const html = { headers: { "content-type": "text/html" } };
  const asJson = { headers: { "content-type": "application/json" } };
  const moved = (location: string) => new Response(null, { status: 307, headers: { location } });
  const cases: [what: string, answer: (path: string) => Response | undefined, message: string][] = [
    [
      "a page to log in",
      () => new Response("<html>", html),
      "found text/html: perhaps a page to log in",
    ],
    [
      "an error for ever",
      () => new Response("", { status: 503 }),
      "answers 503; gave up after 3 attempts",
    ],
    [
      "a refusal",
      () => new Response("{}", { status: 401, ...asJson }),
      "or HF_TOKEN must hold a token",
    ],
    [
      "nothing",
      () => new Response("{}", { status: 404, ...asJson }),
      "says that there is none (404)",
    ],
    ["half an answer", () => new Response('{"sha": "aa', asJson), "is cut off or none"],
    ["another form", () => new Response('{"sha": "main"}', asJson), "and sha does not"],
    ["a new name", () => moved("/api/datasets/new/name/revision/main"), "moved to new/name"],
    ["a new server", () => moved("https://example.org/x"), "another server, https://example.org"],
    ["a circle", (path) => moved(path), "redirects more than 5 times"],
    ["a list without end", (path) =>
      path.includes("/tree/")
        ? new Response("[]", {
          headers: { ...asJson.headers, link: `<https://huggingface.co${path}>; rel="next"` },
        })
        : undefined, "its list must end"],
    ["a path that leads out", (path) =>
      path.includes("/tree/")
        ? new Response(
          JSON.stringify([{ type: "file", path: "../x", size: 1, oid: "c".repeat(40) }]),
          asJson,
        )
        : undefined, "and of 1 none fits"],
    ["a next page that is none", (path) =>
      path.includes("/tree/")
        ? new Response("[]", {
          headers: { ...asJson.headers, link: `<https://[>; rel="next"` },
        })
        : undefined, "must name the next part of its list by a URL"],
    [
      "no such file",
      (path) => path.includes("/tree/") ? new Response("[]", asJson) : undefined,
      'Cannot take "data/t*.txt" of hf:owner/name@main',
    ],
  ];
  for (const [what, misbehave, message] of cases) {
    await using server = archiveServer();
    server.misbehave = misbehave;
    const error = await assertRejects(() => lookUp(server, HF), HubError);
    assertStringIncludes(error.message, message, what);
    assertEquals(error.message.split("\n").length, 1);
    assertStringIncludes(error.message, "hf:owner/name@main");
  }
});

Deno.test("a file that a pattern fits is taken or refused by name, never left out", async () => {
  await using server = archiveServer();
  const listed = (...paths: string[]) => {
    server.misbehave = (path) =>
      path.includes("/tree/")
        ? Response.json(paths.map((path) => ({
          ...{ type: "file", path, size: 1, oid: "c".repeat(40) },
        })))
        : undefined;
  };
  const all = source({ hf: "owner/name@main", files: [{ name: "data/**" }] });
  const cases: [path: string, shown: string][] = [
    ["data/b  b.txt", "data/b  b.txt"],
    ["data/c\\d.txt", "data/c\\d.txt"],
    ["data/two\nlines.txt", "data/two\\u{a}lines.txt"],
    // Written from right to left from there on: it would be read as "data/csv.txt".
    ["data/\u202etxt.vsc", "data/\\u{202e}txt.vsc"],
    ["data/a\u00a0b.txt", "data/a\\u{a0}b.txt"],
    ["data/\ud800.txt", "data/\\u{d800}.txt"],
    ["data/x*.txt", "data/x*.txt"],
    ["data/../../x", "data/../../x"],
  ];
  for (const [path, shown] of cases) {
    listed("data/a.txt", path);
    const { message } = await assertRejects(() => lookUp(server, all), ChoiceError);
    assertStringIncludes(message, `Cannot take "${shown}" of hf:owner/name@main`);
    // What is not chosen does not matter.
    listed("data/a.txt", path.replace("data", "other"));
    assertEquals((await lookUp(server, all)).get(`hf:owner/name@${first}/data/**`), "1 files");
  }
  listed("data/Ünï 中文 (1).txt", "data/.hidden");
  assertEquals((await lookUp(server, all)).get(`hf:owner/name@${first}/data/**`), "2 files");
});

Deno.test("what could not be used is refused before it is pinned", async () => {
  await using server = archiveServer();
  const twice = source({
    hf: "owner/name@main",
    files: [{ name: "data/*.txt" }, { name: "data/train.txt" }],
  });
  await assertRejects(() => lookUp(server, twice), ChoiceError, "chosen twice");
});

Deno.test("an archive below a path is asked for all pages, whatever base its links have", async () => {
  await using server = archiveServer();
  for (const base of ["https://huggingface.co", "/hub", "https://example.org/hub"]) {
    await using proxy = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => {
        const { pathname, search } = new URL(request.url);
        if (!pathname.startsWith("/hub/")) return new Response("", { status: 404 });
        const answer = await fetch(server.url + pathname.slice("/hub".length) + search);
        const headers = new Headers(answer.headers);
        const link = headers.get("link");
        if (link) headers.set("link", link.replace("https://huggingface.co", base));
        return new Response(answer.body, { headers });
      },
    );
    const variables: Record<string, string> = {
      HF_ENDPOINT: `http://127.0.0.1:${proxy.addr.port}/hub/`,
    };
    const pins = await lookUpSource(HF, new Map(), { variable: (name) => variables[name] });
    assertEquals(Object.fromEntries(pins), PINS);
  }
});

Deno.test("errors that pass are waited out", async () => {
  await using server = archiveServer();
  let count = 0;
  server.misbehave = () =>
    count++ % 3 < 2 ? new Response("", { status: [429, 500][count % 2]! }) : undefined;
  assertEquals(Object.fromEntries(await lookUp(server, HF)), PINS);
});

Deno.test("an archive that can't be reached is one message", async () => {
  const server = archiveServer();
  await server[Symbol.asyncDispose]();
  const { message } = await assertRejects(() => lookUp(server, HF), HubError);
  assertStringIncludes(message, "can't be reached");
  assertEquals(message.split("\n").length, 1);
});

Deno.test("a token goes to the archive, to no server that it names, and into no message", async () => {
  await using server = archiveServer();
  const token = "hf_secret";
  const pinned = expandSource(HF, await lookUp(server, HF, { token }))!;
  assert(server.asked.every(({ authorization }) => authorization === `Bearer ${token}`));
  server.misbehave = () =>
    new Response("{}", { status: 403, headers: { "content-type": "application/json" } });
  const { message } = await assertRejects(() => lookUp(server, HF, { token }), HubError);
  assertStringIncludes(message, "accept its terms");
  assert(!message.includes(token));
  await using other = archiveServer();
  server.misbehave = (path) =>
    path.includes("resolve")
      ? new Response(null, {
        status: 302,
        headers: { location: `${other.url}/large/${KNOWN.letters.sha256}` },
      })
      : undefined;
  const file = atEndpoints(pinned, { HF_ENDPOINT: server.url }).files[1]!;
  const folder = temporaryFolder();
  const hosts = [server.url, other.url].map((url) => new URL(url).host);
  await transferFile(file, join(folder, "a"), {
    hosts,
    partial: join(folder, "a.part"),
    authorization: { [hosts[0]!]: `Bearer ${token}` },
  });
  assertEquals(server.asked.at(-1)!.authorization, `Bearer ${token}`);
  assertEquals(other.asked.map(({ authorization }) => authorization), [null]);
});

Deno.test("a variable of the environment that can't be used is named without its value, and nothing is asked", async () => {
  await using server = archiveServer();
  const secret = "ann:a_password";
  const endpoints = [
    "hub.example",
    "ftp://hub.example",
    `${secret}@hub.example`,
    server.url.replace("//", `//${secret}@`),
    `${server.url}?a_password`,
    `${server.url}#a_password`,
  ];
  const zenodo = source({ doi: "10.5281/zenodo.57", files: [{ name: "train.txt" }] });
  const cases: [FileSource, variable: string, value: string][] = [
    ...endpoints.map((url): [FileSource, string, string] => [HF, "HF_ENDPOINT", url]),
    ...endpoints.map((url): [FileSource, string, string] => [zenodo, "ZENODO_ENDPOINT", url]),
    ...["hf_a\nb", "hf_a\n", "hf a", "hf_\u00fc", "hf_\x00"].map((
      token,
    ): [FileSource, string, string] => [
      HF,
      "HF_TOKEN",
      token,
    ]),
  ];
  for (const [of, name, value] of cases) {
    const variables: Record<string, string> = {
      HF_ENDPOINT: server.url,
      ZENODO_ENDPOINT: server.url,
      [name]: value,
    };
    const { message } = await assertRejects(
      () => lookUpSource(of, new Map(), { variable: (each) => variables[each] }),
      HubError,
    );
    assertStringIncludes(message, `Cannot use ${name}: it must be `);
    for (const part of [value, "a_password", "hf_", "example"]) {
      assert(!message.includes(part), `${part}: ${message}`);
    }
  }
  assertEquals(server.asked, []);
});

Deno.test("a source of an archive names one of them, and states nothing that is asked there", () => {
  const files = [{ name: "a.txt" }];
  for (
    const record of [
      { hf: "owner/name@main", doi: "10.5281/zenodo.5", files },
      { hf: "name", files },
      { hf: "owner/name@", files },
      { doi: "10.1000/182", files },
      { hf: "owner/name", files: [{ name: "a.txt", sha256: "0".repeat(64) }] },
      { hf: "owner/name", files: [{ name: "a.txt", urls: ["https://example.org/a.txt"] }] },
      { hf: "owner/name", files: [{ name: "*.txt", mirror: "a.txt" }] },
      { hf: "owner/name", files: [{ name: "../a.txt" }] },
    ]
  ) {
    assertThrows(() => source(record), Error);
  }
});
