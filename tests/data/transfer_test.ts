import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { integers, streamKey } from "../../models/random.ts";
import { rawFileSchema } from "../../data/source.ts";
import { TransferError, transferFile, type TransferOptions } from "../../data/transfer.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const content = Uint8Array.from({ length: 40_000 }, (_, i) => (i * 31 + (i >> 8)) & 0xff);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** What a server learns of a request: how many came before, its path and first byte. */
interface Asked {
  readonly count: number;
  readonly path: string;
  readonly from: number;
  readonly range: boolean;
}

/** Sends bytes as they are, head and all; then closes, unless asked to hang. */
type Answer = (asked: Asked) => { head: string; body?: Uint8Array; hang?: boolean };

const ok = (length: number, more = "") => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n${more}`;
const part = (from: number, more = "") =>
  `HTTP/1.1 206 Partial Content\r\nContent-Length: ${content.length - from}\r\n` +
  `Content-Range: bytes ${from}-${content.length - 1}/${content.length}\r\n${more}`;

/** Answers whole or from the byte asked for, but only `most` bytes of it before it breaks off. */
const breaking = (most: number, more = ""): Answer => ({ from, range }) => ({
  head: range ? part(from, more) : ok(content.length, more),
  body: content.subarray(from, from + most),
});

interface Tried {
  readonly requests: Asked[];
  readonly error: TransferError | undefined;
  readonly result: Uint8Array | undefined;
  /** Files left in the folder. */
  readonly left: string[];
}

/** Transfers from a server on the loopback that answers as asked, at most 60 times. */
async function attempt(
  answer: Answer,
  options: {
    readonly record?: Record<string, unknown>;
    readonly paths?: readonly string[];
    readonly partial?: Uint8Array | ((path: string) => void);
    /** Path of a base URL to use as the mirror. */
    readonly base?: string;
    readonly transfer?: Partial<TransferOptions>;
  } = {},
): Promise<Tried> {
  const directory = temporaryFolder();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: Asked[] = [];
  const connections: Deno.Conn[] = [];
  const serving = (async () => {
    for (let i = 0; i < 60; i++) {
      const connection = await listener.accept().catch(() => undefined);
      if (connection === undefined) return;
      connections.push(connection);
      await serve(connection).catch(() => {});
    }
  })();
  async function serve(connection: Deno.Conn) {
    const head = new TextDecoder().decode(await readHead(connection));
    // A client may open a connection ahead and not need it.
    if (head === "") return connection.close();
    const range = /^range: bytes=(\d+)-/im.exec(head)?.[1];
    const path = head.split(" ")[1] ?? "";
    const asked = {
      count: requests.length,
      path,
      from: Number(range ?? 0),
      range: range !== undefined,
    };
    requests.push(asked);
    const { head: answerHead, body = new Uint8Array(), hang = false } = answer(asked);
    const start = answerHead === "" ? "" : `${answerHead}Connection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(start));
    for (let at = 0; at < body.length;) at += await connection.write(body.subarray(at));
    if (!hang) connection.close();
  }
  const { port } = listener.addr as Deno.NetAddr;
  const origin = `http://127.0.0.1:${port}`;
  const urls = (options.paths ?? ["/a.bin"]).map((path) => origin + path);
  const file = rawFileSchema.parse({
    name: "a.bin",
    urls,
    bytes: content.length,
    sha256: sha256(content),
    ...options.record,
  });
  const destination = join(directory, "a.bin");
  const partial = join(directory, "a.part");
  if (typeof options.partial === "function") options.partial(partial);
  else if (options.partial !== undefined) Deno.writeFileSync(partial, options.partial);
  let error: TransferError | undefined;
  try {
    await transferFile(file, destination, {
      hosts: [`127.0.0.1:${port}`],
      partial,
      keepPartial: options.partial !== undefined,
      backoffMs: [1, 1, 1, 1],
      idleMs: 30_000,
      mirror: options.base === undefined ? undefined : origin + options.base,
      ...options.transfer,
    });
  } catch (thrown) {
    if (!(thrown instanceof TransferError)) throw thrown;
    error = thrown;
  } finally {
    listener.close();
    for (const connection of connections) {
      try {
        connection.close();
      } catch { /* Closed already. */ }
    }
    await serving;
  }
  const left = [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
  const result = left.includes("a.bin") ? Deno.readFileSync(destination) : undefined;
  return { requests, error, result, left };
}

async function readHead(connection: Deno.Conn): Promise<Uint8Array> {
  const buffer = new Uint8Array(8192);
  let length = 0;
  for (let i = 0; i < 100 && length < buffer.length; i++) {
    const read = await connection.read(buffer.subarray(length));
    if (read === null) break;
    length += read;
    if (new TextDecoder().decode(buffer.subarray(0, length)).includes("\r\n\r\n")) break;
  }
  return buffer.subarray(0, length);
}

function assertSurvived(tried: Tried) {
  assertEquals(tried.error, undefined);
  assertEquals(sha256(tried.result!), sha256(content));
  assertEquals(tried.left, ["a.bin"]);
}

function assertRefused(tried: Tried, message: string, left: string[] = []) {
  assert(tried.error, "was not refused");
  assertStringIncludes(tried.error.message, 'Cannot get "a.bin": ');
  assertStringIncludes(tried.error.message, message);
  assertEquals(tried.left, left);
}

Deno.test("a transfer that breaks off goes on from the byte it had", async () => {
  const tried = await attempt(breaking(15_000));
  assertSurvived(tried);
  assertEquals(tried.requests.map(({ from }) => from > 0), [false, true, true]);
});

Deno.test("a server that cannot go on is asked for everything again", async () => {
  const answer: Answer = ({ count }) => ({
    head: ok(content.length),
    body: content.subarray(0, count === 0 ? 10_000 : content.length),
  });
  assertSurvived(await attempt(answer));
});

Deno.test("a server that answers with another range than asked for is asked from the start", async () => {
  const answer: Answer = ({ from, count }) =>
    from === 0
      ? {
        head: ok(content.length),
        body: content.subarray(0, count === 0 ? 10_000 : content.length),
      }
      : { head: part(from - 1), body: content.subarray(from - 1) };
  assertSurvived(await attempt(answer));
});

Deno.test("a server that has no such byte is asked from the start", async () => {
  const answer: Answer = ({ from, count }) =>
    from > 0 ? { head: "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n" } : {
      head: ok(content.length),
      body: content.subarray(0, count === 0 ? 10_000 : content.length),
    };
  assertSurvived(await attempt(answer));
});

Deno.test("a server that stalls is given up and asked again", async () => {
  const answer: Answer = ({ count, from, range }) =>
    count === 0
      ? { head: ok(content.length), body: content.subarray(0, 5000), hang: true }
      : { head: range ? part(from) : ok(content.length), body: content.subarray(from) };
  const tried = await attempt(answer, { transfer: { idleMs: 150 } });
  assertSurvived(tried);
  // A busy machine may take the next for stalled too.
  assert(tried.requests.length >= 2);
});

Deno.test("a server that never answers is refused after the last attempt", async () => {
  const answer: Answer = () => ({ head: "", hang: true });
  const tried = await attempt(answer, { transfer: { idleMs: 30, backoffMs: [1, 1] } });
  assertRefused(tried, "gave up after 3 attempts");
  assertStringIncludes(tried.error!.message, "silent for 30 ms");
});

Deno.test("a body shorter than recorded is gone on with, and refused if it never gets longer", async () => {
  const half = 20_000;
  const survived = await attempt(({ from, range }) =>
    range
      ? { head: part(from), body: content.subarray(from) }
      : { head: ok(half), body: content.subarray(0, half) }
  );
  assertSurvived(survived);
  const tried = await attempt(() => ({ head: ok(half), body: content.subarray(0, half) }));
  assertRefused(tried, `ended after ${half} of ${content.length} bytes; gave up`);
});

Deno.test("a body longer than recorded is refused and not kept", async () => {
  const long = new Uint8Array(content.length + 1);
  long.set(content);
  const tried = await attempt(() => ({ head: ok(long.length), body: long }));
  assertRefused(tried, `must have ${content.length} bytes, found more`);
});

Deno.test("a body with one wrong byte is refused with both checksums and not kept", async () => {
  const wrong = content.slice();
  wrong[39_999]! ^= 1;
  const tried = await attempt(() => ({ head: ok(wrong.length), body: wrong }));
  assertRefused(tried, `must have sha256 ${sha256(content)}, found ${sha256(wrong)}`);
  assertEquals(tried.requests.length, 1);
});

Deno.test("what an earlier process left is gone on with", async () => {
  const tried = await attempt(breaking(100_000), { partial: content.slice(0, 30_000) });
  assertSurvived(tried);
  assertEquals(tried.requests.map(({ from }) => from), [30_000]);
});

Deno.test("what an earlier process had whole is not asked for again, unless it proves wrong", async () => {
  const whole = await attempt(breaking(100_000), { partial: content });
  assertSurvived(whole);
  assertEquals(whole.requests, []);
  const wrong = await attempt(breaking(100_000), { partial: new Uint8Array(content.length) });
  assertSurvived(wrong);
  assertEquals(wrong.requests.map(({ from }) => from), [0]);
});

Deno.test("what was received is kept for a later process where a checksum will judge it", async () => {
  const from = (first: number): Answer => () => ({
    head: part(first),
    body: content.subarray(first, first + 1000),
  });
  const partial = content.slice(0, 30_000);
  const broken: Partial<TransferOptions> = { backoffMs: [] };
  const kept = await attempt(from(30_000), { partial, transfer: broken });
  assertRefused(kept, "gave up after 1 attempts", ["a.part"]);
  const record = { sha256: undefined };
  assertRefused(await attempt(breaking(1000), { partial, record, transfer: broken }), "gave up");
});

Deno.test("what an earlier process left is dropped if it proves wrong or too long", async () => {
  for (const partial of [new Uint8Array(30_000), new Uint8Array(50_000)]) {
    const tried = await attempt(breaking(100_000), { partial });
    assertSurvived(tried);
    assertEquals(tried.requests.at(-1)?.from, 0);
  }
});

Deno.test("100 files left half done, each with a damaged byte, are all got over", async () => {
  for (let trial = 0; trial < 100; trial++) {
    const [length, at, bit] = [...integers(streamKey(trial, "partial"), 3, content.length)] as [
      number,
      number,
      number,
    ];
    const partial = content.slice(0, length + 1);
    partial[at % partial.length]! ^= 1 << (bit % 8);
    const tried = await attempt(breaking(100_000), { partial });
    assertSurvived(tried);
    assertEquals(tried.requests.at(-1)?.from, 0);
  }
});

Deno.test("a folder, a FIFO or a link where a file was left half done is got over", async () => {
  const outside = join(temporaryFolder(), "outside");
  Deno.writeTextFileSync(outside, "untouched");
  const places: ((path: string) => void)[] = [
    (path) => {
      Deno.mkdirSync(path);
      Deno.writeTextFileSync(join(path, "file"), "x");
    },
    (path) => void new Deno.Command("mkfifo", { args: [path] }).outputSync(),
    (path) => Deno.symlinkSync("/nowhere/at/all", path),
    (path) => Deno.symlinkSync(outside, path),
  ];
  for (const partial of places) {
    assertSurvived(await attempt(breaking(100_000), { partial }));
    const record = { mirror: "a.bin", urls: [] };
    const folder = temporaryFolder();
    Deno.writeFileSync(join(folder, "a.bin"), content);
    const transfer = { mirror: folder };
    assertSurvived(await attempt(breaking(100_000), { partial, record, transfer }));
  }
  assertEquals(Deno.readTextFileSync(outside), "untouched");
});

Deno.test("without a checksum, bytes of two answers are joined only on the server's word", async () => {
  const record = { sha256: undefined };
  const plain = await attempt(breaking(30_000), { record, transfer: { backoffMs: [1, 1] } });
  assertRefused(plain, "gave up after 3 attempts");
  assertEquals(plain.requests.map(({ from }) => from), [0, 0, 0]);
  const tagged = await attempt(breaking(30_000, 'ETag: "v1"\r\n'), { record });
  assertSurvived(tagged);
  assertEquals(tagged.requests.map(({ range }) => range), [false, true]);
  const weak = await attempt(breaking(30_000, 'ETag: W/"v1"\r\n'), { record });
  assertRefused(weak, "gave up");
});

Deno.test("server errors are waited out, a missing file is not", async () => {
  const flaky: Answer = ({ count }) =>
    count < 3
      ? { head: `HTTP/1.1 ${[500, 503, 429][count]} No\r\nContent-Length: 0\r\n` }
      : { head: ok(content.length), body: content };
  assertSurvived(await attempt(flaky));
  const dead = await attempt(() => ({ head: "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n" }));
  assertRefused(dead, "answers 500 Internal Server Error; gave up after 5 attempts");
  const missing = await attempt(() => ({
    head: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n",
  }));
  assertRefused(missing, "answers 404 Not Found");
  assertEquals(missing.requests.length, 1);
});

Deno.test("a redirect is followed on the same host and refused to another", async () => {
  const to = (location: string) =>
    `HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ${location}\r\n`;
  const same = await attempt(({ path }) =>
    path === "/a.bin" ? { head: to("/moved/a.bin") } : { head: ok(content.length), body: content }
  );
  assertSurvived(same);
  assertEquals(same.requests.map(({ path }) => path), ["/a.bin", "/moved/a.bin"]);
  const elsewhere = await attempt(() => ({ head: to("http://localhost:9/a.bin") }));
  assertRefused(elsewhere, 'leads to host "localhost:9", which the source does not list');
  assertEquals(elsewhere.requests.length, 1);
  assertRefused(await attempt(() => ({ head: to("/a.bin") })), "redirects more than 5 times");
  assertRefused(
    await attempt(() => ({ head: to("ftp://127.0.0.1/") })),
    "redirects from http: to ftp:",
  );
  const nowhere = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n";
  assertRefused(await attempt(() => ({ head: nowhere })), "redirects (302) to nowhere");
});

Deno.test("garbage instead of HTTP is refused", async () => {
  const tried = await attempt(() => ({ head: "SSH-2.0-nonsense\r\n" }), {
    transfer: { backoffMs: [1] },
  });
  assertRefused(tried, "gave up after 2 attempts");
});

Deno.test("where no host can be reached the message is one line that ends with what to do", async () => {
  const directory = temporaryFolder();
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = free.addr;
  free.close();
  const file = rawFileSchema.parse({
    name: "a.csv",
    mirror: "mine/a.csv",
    urls: [`http://127.0.0.1:${port}/a.csv`],
  });
  const error = await assertRejects(
    () =>
      transferFile(file, join(directory, "a.csv"), {
        hosts: [`127.0.0.1:${port}`],
        partial: join(directory, "a.part"),
        backoffMs: [],
      }),
    TransferError,
  );
  assertStringIncludes(error.message, `/a.csv: can't be reached: tcp connect error`);
  assert(!error.message.includes("\n"));
  assert(
    error.message.endsWith(
      "; run again with a network, or give a folder that has the file with --mirror DIR",
    ),
  );
});

Deno.test("a broken chunked body is gone on with", async () => {
  const answer: Answer = ({ from, range, count }) =>
    count === 0
      ? {
        head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n",
        body: new TextEncoder().encode("10\r\n0123456789abcdef\r\nzz\r\n"),
      }
      : { head: range ? part(from) : ok(content.length), body: content.subarray(from) };
  // The first chunk is not the file's; the checksum finds out and everything is asked for again.
  assertSurvived(await attempt(answer));
});

Deno.test("the next URL is tried where one fails", async () => {
  const answer: Answer = ({ path }) =>
    path === "/good"
      ? { head: ok(content.length), body: content }
      : { head: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n" };
  const tried = await attempt(answer, { paths: ["/bad", "/good"] });
  assertSurvived(tried);
  assertEquals(tried.requests.map(({ path }) => path), ["/bad", "/good"]);
});

Deno.test("a mirror that is a base URL is asked first, at the mirror path", async () => {
  for (const base of ["/pub", "/pub/"]) {
    const answer: Answer = ({ path }) =>
      path === "/pub/x%20y/a.bin"
        ? { head: ok(content.length), body: content }
        : { head: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n" };
    const record = { mirror: "x y/a.bin" };
    const tried = await attempt(answer, { record, base });
    assertSurvived(tried);
    assertEquals(tried.requests.map(({ path }) => path), ["/pub/x%20y/a.bin"]);
  }
});

Deno.test("a server that keeps breaking off but gets on is asked as often as it takes", async () => {
  const large = new Uint8Array(9 << 20).map((_, i) => (i * 7) & 0xff);
  const answer: Answer = ({ from, range }) => ({
    head: range
      ? `HTTP/1.1 206 Partial Content\r\nContent-Length: ${large.length - from}\r\n` +
        `Content-Range: bytes ${from}-${large.length - 1}/${large.length}\r\n`
      : ok(large.length),
    body: large.subarray(from, from + (3 << 20)),
  });
  const tried = await attempt(answer, {
    record: { bytes: large.length, sha256: sha256(large) },
    transfer: { backoffMs: [1] },
  });
  assertEquals(tried.error, undefined);
  assertEquals(sha256(tried.result!), sha256(large));
});

Deno.test("a server that sends without end, and no length, is cut off at the most a file may have", async () => {
  for (const sha of [undefined, sha256(content)]) {
    const record = { bytes: undefined, sha256: sha };
    const endless: Answer = () => ({
      head: "HTTP/1.1 200 OK\r\n",
      body: new Uint8Array(8 << 20),
      hang: true,
    });
    const tried = await attempt(endless, {
      record,
      transfer: { maxBytes: 1 << 20, keepPartial: true },
    });
    assertRefused(
      tried,
      'must have at most 1048576 bytes, found more; if that is right, state its "b',
    );
    assertEquals(tried.requests.length, 1);
  }
});

Deno.test("an answer that announces more than a file may have is refused before it comes", async () => {
  let received = 0;
  const huge: Answer = () => ({ head: ok(2 ** 50), body: content, hang: true });
  const onBytes = (bytes: number) => received = bytes;
  for (const record of [{ bytes: undefined }, { bytes: undefined, sha256: undefined }, {}]) {
    assertRefused(await attempt(huge, { record, transfer: { onBytes } }), "found more");
  }
  assertEquals(received, 0);
});

Deno.test("a server that breaks off again and again without getting further is given up", async () => {
  const body = new Uint8Array(2 << 20);
  const again: Answer = () => ({ head: ok(3 << 20), body });
  const none: Answer = ({ from }) =>
    from > 0
      ? { head: "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n" }
      : { head: ok(3 << 20), body };
  for (
    const [answer, sha] of [[again, undefined], [again, sha256(body)], [
      none,
      sha256(body),
    ]] as const
  ) {
    const record = { bytes: undefined, sha256: sha };
    const tried = await attempt(answer, { record });
    assertRefused(tried, "gave up after 5 attempts");
    assert(tried.requests.length < 15, `${tried.requests.length} requests`);
  }
});

Deno.test("a file that may not be fetched from its host is refused without asking", async () => {
  const tried = await attempt(breaking(1), { transfer: { hosts: ["example.org"] } });
  assertRefused(tried, "which the source does not list");
  assertEquals(tried.requests, []);
});

Deno.test("a transfer without any place names the mirror path looked for", async () => {
  const directory = temporaryFolder();
  const file = rawFileSchema.parse({ name: "a.bin", mirror: "x/a.bin" });
  await assertRejects(
    () =>
      transferFile(file, join(directory, "a.bin"), { hosts: [], partial: join(directory, "part") }),
    TransferError,
    'where it would be "x/a.bin"',
  );
});
