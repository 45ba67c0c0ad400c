/**
 * A server on the loopback that speaks as much of Hugging Face's and Zenodo's interfaces as data sets need,
 * in the test's own process; it misbehaves on request.
 *
 * Forms of answers: huggingface.co/docs/hub/api and developers.zenodo.org, as of 2026.
 *
 * @module
 */

/** A file as an archive describes it: its digests are what whoever put it there published. */
export interface Archived {
  readonly text: string;
  /** Git's name of the content, or of the pointer to it. */
  readonly oid?: string;
  /** Of a large file: kept elsewhere, by its SHA-256. */
  readonly sha256?: string;
  readonly md5?: string;
}

/** One request, as it came. */
export interface AskedArchive {
  readonly path: string;
  readonly authorization: string | null;
}

const json = (body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), {
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
  });

/** See the module's comment. */
export class ArchiveServer implements AsyncDisposable {
  /** Branches and tags of `owner/name`, and what each commit holds. */
  readonly branches = new Map<string, string>();
  readonly commits = new Map<string, Readonly<Record<string, Archived>>>();
  /** Zenodo's records, and which is the latest of a concept. */
  readonly records = new Map<string, Readonly<Record<string, Archived>>>();
  readonly concepts = new Map<string, string>();
  readonly asked: AskedArchive[] = [];
  /** Answers instead of the server. */
  misbehave: (path: string) => Response | undefined = () => undefined;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {}, onError: () => new Response(null) },
      (request) => {
        const { pathname, search } = new URL(request.url);
        const path = pathname + search;
        this.asked.push({ path, authorization: request.headers.get("authorization") });
        return this.misbehave(path) ?? this.#answer(decodeURIComponent(pathname), search);
      },
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  #answer(path: string, search: string): Response {
    const [, revision] = /^\/api\/datasets\/owner\/name\/revision\/(.+)$/.exec(path) ?? [];
    const commit = revision && this.branches.get(revision);
    if (commit) return json({ id: "owner/name", sha: commit, siblings: [] });
    const [, tree] = /^\/api\/datasets\/owner\/name\/tree\/(.+)$/.exec(path) ?? [];
    const files = this.commits.get(tree ?? "");
    if (files) return this.#page(files, new URLSearchParams(search));
    const [, sha = "", name = ""] =
      /^\/datasets\/owner\/name\/resolve\/([^/]+)\/(.+)$/.exec(path) ?? [];
    const file = this.commits.get(sha)?.[name];
    if (file?.sha256) {
      return new Response(null, {
        status: 302,
        headers: { location: `${this.url}/large/${file.sha256}` },
      });
    }
    if (file) return new Response(file.text);
    const [, large] = /^\/large\/(.+)$/.exec(path) ?? [];
    for (const held of large ? this.commits.values() : []) {
      for (const { sha256, text } of Object.values(held)) {
        if (sha256 === large) return new Response(text);
      }
    }
    return this.#record(path);
  }

  /** Two entries at a time, as the hub has a thousand. */
  #page(files: Readonly<Record<string, Archived>>, query: URLSearchParams): Response {
    const entries = Object.entries(files).map(([path, { text, oid, sha256 }]) => ({
      ...{ type: "file", path, oid: oid ?? "0".repeat(40) },
      size: text.length,
      ...sha256 ? { lfs: { oid: sha256, size: text.length, pointerSize: 130 }, xetHash: "x" } : {},
    }));
    const all = [{ type: "directory", path: "data", oid: "1".repeat(40), size: 0 }, ...entries];
    const start = Number(query.get("cursor") ?? 0), end = start + 2;
    query.set("cursor", String(end));
    // The hub writes its own name, whatever it was asked by.
    const link = `<https://huggingface.co/api/datasets/owner/name/tree/${
      [...this.commits].find(([, held]) => held === files)![0]
    }?${query}>; rel="next"`;
    return json(all.slice(start, end), end < all.length ? { link } : {});
  }

  #record(path: string): Response {
    const [, id = ""] = /^\/api\/records\/(\d+)$/.exec(path) ?? [];
    const latest = this.concepts.get(id);
    if (latest) {
      return new Response(null, { status: 302, headers: { location: `/api/records/${latest}` } });
    }
    const files = this.records.get(id);
    if (files) {
      const concept = [...this.concepts].find(([, version]) => version === id)?.[0];
      return json({
        id: Number(id),
        conceptrecid: concept ?? "1",
        doi: `10.5281/zenodo.${id}`,
        files: Object.entries(files).map(([key, { text, md5 }]) => ({
          ...{ id: "f", key, size: text.length, checksum: `md5:${md5}` },
          links: { self: `${this.url}/api/records/${id}/files/${key}/content` },
        })),
      });
    }
    const [, record = "", key = ""] = /^\/api\/records\/(\d+)\/files\/(.+)\/content$/.exec(path) ??
      [];
    const file = this.records.get(record)?.[key];
    if (file) return new Response(file.text);
    return new Response("{}", { status: 404, headers: { "content-type": "application/json" } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Contents whose digests others published: git's own book and manual, and RFC 1321. */
export const KNOWN = {
  /** Pro Git, "Git Objects". */
  book: { text: "test content\n", oid: "d670460b4b4aece5915caf5c68d12f560a9fe3e4" },
  version1: { text: "version 1\n", oid: "83baae61804e65cc73a7201a7252750c76066a30" },
  /** FIPS 180 and RFC 1321: of the three letters. */
  letters: {
    text: "abc",
    sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    md5: "900150983cd24fb0d6963f7d28e17f72",
  },
  alphabet: {
    text: "abcdefghijklmnopqrstuvwxyz",
    sha256: "71c480df93d6ae2f1efad1447c66c9525e316218cf51fc8d9ed832f2daf18b73",
    md5: "c3fcd3d76192e4007dfb496cca67e13b",
  },
} as const satisfies Readonly<Record<string, Archived>>;

/** Commits of the repository that tests ask. */
export const COMMITS = { first: "a".repeat(40), second: "b".repeat(40) } as const;

/** A server with two commits of a data set and a record of two versions. */
export function archiveServer(): ArchiveServer {
  const server = new ArchiveServer();
  const { book, version1, letters, alphabet } = KNOWN;
  server.branches.set("main", COMMITS.first);
  server.branches.set("refs/convert/parquet", COMMITS.second);
  server.commits.set(COMMITS.first, {
    "README.md": book,
    "data/a b.txt": version1,
    "data/train.txt": letters,
    "data/test.txt": alphabet,
  });
  server.commits.set(COMMITS.second, { "README.md": version1, "data/train.txt": alphabet });
  server.records.set("56", { "old.txt": letters });
  server.records.set("57", { "train.txt": alphabet, "notes, all.txt": letters });
  server.concepts.set("55", "57");
  return server;
}
