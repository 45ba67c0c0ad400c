import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "node:path";
import { ConfigError, UsageError } from "../../pipeline/errors.ts";
import { keyOf, keyOnBackend } from "../../pipeline/key/ingredients.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { CachedStore } from "../../pipeline/store/remote/cached_store.ts";
import { putSyntheticResults } from "../rig/synthetic_results.ts";
import { hashFile, sha256 } from "../../pipeline/key/hash.ts";
import { addressText, parseAddress } from "../../pipeline/store/remote/address.ts";
import { Breaker } from "../../pipeline/store/remote/breaker.ts";
import { RemoteCache } from "../../pipeline/store/remote/cache.ts";
import { s3Settings } from "../../pipeline/store/remote/credentials.ts";
import { parseNetrc } from "../../pipeline/store/remote/http.ts";
import { openRemote } from "../../pipeline/store/remote/remote.ts";
import { LIMITS, type Limits } from "../../pipeline/store/remote/requests.ts";
import { CacheServer } from "../rig/cache_server.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const CONTENT = new Uint8Array(3 << 20).map((_, index) => index * 31 + (index >> 8));
const WANTED = { sha256: sha256(CONTENT), bytes: CONTENT.length };
const PATH = `/cas/${WANTED.sha256}`;
const TRACE = {
  ...{ key: sha256("k"), instance: "a", stage: "a", run: "a.b", ingredients: {}, sources: {} },
  ...{ outputs: {}, metrics: {}, started: "", seconds: 0, machine: {} },
};

async function cacheAt(
  url: string,
  limits: Partial<Limits> = {},
  variables: Record<string, string> = {},
) {
  const notes: string[] = [], refused: string[] = [];
  const cache = new RemoteCache(
    await openRemote(parseAddress(url), variables),
    {
      onNote: (note) => notes.push(note),
      onRefused: (path, why) => refused.push(`${path} ${why}`),
    },
    { limits: { ...LIMITS, pauseMs: 1, ...limits } },
  );
  return { cache, notes, refused };
}

function newFile(): string {
  return join(temporaryFolder(), "content");
}

/** An answer that ends after some bytes, though it said there would be more. */
function cutOff(content: Uint8Array<ArrayBuffer>, { at, from = 0 }: { at: number; from?: number }) {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(content.slice(from, at));
    },
    pull() {
      throw new Error("The line is dead");
    },
  });
  return new Response(body, {
    status: from > 0 ? 206 : 200,
    headers: from > 0 ? { "content-range": `bytes ${from}-${content.length - 1}/*` } : {},
  });
}

Deno.test("a fetch that is cut off is continued, by another process too", async () => {
  await using server = new CacheServer([[PATH, CONTENT]]);
  const path = newFile();
  server.misbehave = ({ headers }, content) =>
    headers.has("range") ? new Response(null, { status: 503 }) : cutOff(content!, { at: 2 << 20 });
  const first = await cacheAt(server.url);
  assertEquals(await first.cache.fetchBlob(WANTED, path), false);
  const begun = Deno.statSync(path).size;
  assert(begun > 0 && begun <= 2 << 20, String(begun));
  server.misbehave = () => undefined;
  server.asked.length = 0;
  const second = await cacheAt(server.url);
  assertEquals(await second.cache.fetchBlob(WANTED, path), true);
  assertEquals(server.asked.map(({ headers }) => headers.get("range")), [`bytes=${begun}-`]);
  assertEquals(hashFile(path), WANTED.sha256);
});

Deno.test("a beginning that is not the content's is fetched again, and a server that knows no ranges will do", async () => {
  await using server = new CacheServer([[PATH, CONTENT]]);
  const path = newFile();
  Deno.writeFileSync(path, new Uint8Array(1 << 20));
  const { cache, refused } = await cacheAt(server.url);
  assertEquals(await cache.fetchBlob(WANTED, path), true);
  assertEquals(hashFile(path), WANTED.sha256);
  assertEquals(refused, []);
  Deno.truncateSync(path, 1 << 20);
  server.misbehave = (_, content) => new Response(content);
  assertEquals(await cache.fetchBlob(WANTED, path), true);
  assertEquals(hashFile(path), WANTED.sha256);
});

Deno.test("of an answer that never ends no more is read than the content has", async () => {
  await using server = new CacheServer([[PATH, CONTENT]]);
  let sent = 0;
  server.misbehave = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 1 << 16;
          controller.enqueue(new Uint8Array(1 << 16));
        },
      }),
    );
  const { cache, refused } = await cacheAt(server.url);
  const path = newFile();
  assertEquals(await cache.fetchBlob(WANTED, path), false);
  assertEquals(Deno.statSync(path).size, 0, "nothing of it is kept");
  assertMatch(refused.join(), /cas\/[0-9a-f]+ it must have 3145728 bytes, and has more/);
  assert(sent < 64 << 20, `${sent} bytes`);
});

Deno.test("a server that takes connections and never answers is given up, and then not asked", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const held: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) held.push(connection);
  })();
  const { cache, notes } = await cacheAt(`http://127.0.0.1:${listener.addr.port}`, {
    answerMs: 50,
  });
  const keys = Array.from({ length: 100 }, (_, n) => sha256(String(n)));
  const found = await Promise.all(keys.map((key) => cache.trace(key)));
  assert(found.every((each) => each === "unknown"));
  assertEquals(notes.length, 1);
  assertMatch(notes[0]!, /no answer in 0.05 s/);
  assert(held.length <= 2 * LIMITS.parallel, `${held.length} connections`);
  for (const connection of held) connection.close();
  listener.close();
  await accepting;
});

Deno.test("an answer that stops in the middle is given up", async () => {
  await using server = new CacheServer([[PATH, CONTENT]]);
  const open: ReadableStreamDefaultController[] = [];
  server.misbehave = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          open.push(controller);
          controller.enqueue(CONTENT.slice(0, 100));
        },
      }),
    );
  const { cache, notes } = await cacheAt(server.url, { stallMs: 50 });
  assertEquals(await cache.fetchBlob(WANTED, newFile()), false);
  assertMatch(notes.join(), /fewer than 8192 bytes in 0.05 s/);
  for (const controller of open) {
    try {
      controller.close();
    } catch { /* it was cancelled */ }
  }
});

/** A server that takes connections and answers a PUT with a text and nothing else, reading no more of it. */
function answering(text: string | undefined) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const held: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      held.push(connection);
      const head = new Uint8Array(16);
      await connection.read(head);
      const isPut = new TextDecoder().decode(head).startsWith("PUT");
      const answer = isPut
        ? text
        : "HTTP/1.1 404 None\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
      if (answer !== undefined) await connection.write(new TextEncoder().encode(answer));
    }
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      held.forEach((connection) => connection.close());
      listener.close();
      await accepting;
    },
  };
}

Deno.test("a server that answers before it has read a file is heard, and one that reads none of it is given up", async () => {
  const path = newFile();
  // More than connections hold; of a hole nothing is on the disk.
  const blob = { sha256: sha256("large"), bytes: 1 << 28 };
  Deno.writeFileSync(path, new Uint8Array());
  Deno.truncateSync(path, blob.bytes);
  const table = [
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 507 Full\r\ncontent-length: 0\r\n\r\n", /status 507/],
    ["HTTP/1.1 100 Continue\r\n\r\n".repeat(40), /fewer than 8192 bytes in 0.2 s/],
    [`${"HTTP/1.1 103 Hints\r\na: b\r\n\r\n".repeat(40)}HTTP/1.1 507 Full\r\n\r\n`, /status 507/],
    ["HTTP/1.1 201 Created\r\n\r\n", /status 201 before it had been sent all/],
    ["220 mail.example.org\r\n\r\n", /the answer is not one of HTTP\/1.1/],
    ["SSH-2.0-OpenSSH_9.2\r\n", /fewer than 8192 bytes in 0.2 s/],
    [undefined, /fewer than 8192 bytes in 0.2 s/],
  ] as const;
  for (const [answer, wanted] of table) {
    await using server = answering(answer);
    const { cache, notes } = await cacheAt(server.url, { stallMs: 200, attempts: 1 });
    assertEquals(await cache.putBlob(blob, path), "failed");
    assertMatch(notes.join(), wanted);
  }
});

Deno.test("a breaker opens after failures in a row, and closes with an answer", () => {
  const said: string[] = [];
  const breaker = new Breaker({ failures: 3, restMs: 1e6, onOpen: (reason) => said.push(reason) });
  breaker.failed("a");
  breaker.failed("b");
  breaker.answered();
  breaker.failed("c");
  breaker.failed("d");
  assertEquals(breaker.isOpen, false);
  breaker.failed("e");
  assertEquals(breaker.isOpen, true);
  assertEquals(said, ["e"]);
});

Deno.test("an S3 server's redirect is refused and named, and no other host is sent the session's token", async () => {
  await using other = new CacheServer();
  await using server = new CacheServer();
  server.misbehave = () =>
    new Response(null, { status: 307, headers: { location: `${other.url}/x?secret` } });
  const { cache, notes } = await cacheAt("s3://bucket", {}, {
    ...{ AWS_ENDPOINT_URL: server.url, AWS_SESSION_TOKEN: "token" },
    ...{ AWS_ACCESS_KEY_ID: "A", AWS_SECRET_ACCESS_KEY: "B" },
  });
  assertEquals(await cache.trace(sha256("k")), "unknown");
  assertEquals(await cache.putTrace(TRACE), "failed");
  assertEquals(other.asked, []);
  assert(server.asked.length > 0);
  assertEquals(
    notes.filter((note) => note.endsWith(`it redirects to ${other.url} (status 307)`)).length,
    2,
  );
});

Deno.test("a server that says yes to everything, and not how much it has, is given the blob", async () => {
  await using server = new CacheServer();
  server.misbehave = ({ method }) =>
    method === "HEAD" ? new Response(new ReadableStream({ start: (c) => c.close() })) : undefined;
  const { cache } = await cacheAt(server.url);
  const path = newFile();
  Deno.writeFileSync(path, CONTENT);
  assertEquals(await cache.putBlob(WANTED, path), "put");
  assertEquals(server.content.get(PATH), CONTENT);
});

Deno.test("a login page that says yes to everything has taken no result", async () => {
  await using server = new CacheServer();
  const page = "<!doctype html><title>Welcome</title>";
  for (const answer of [() => new Response(page), () => new Response(null)]) {
    server.misbehave = answer;
    const { cache, notes } = await cacheAt(server.url);
    assertEquals(await cache.putTrace(TRACE), "failed");
    assertMatch(notes.join(), /did not take a result: it said that it took a result, and has/);
  }
  // It may come in between.
  server.misbehave = ({ method }) => method === "PUT" ? new Response(page) : undefined;
  const { cache, notes } = await cacheAt(server.url);
  assertEquals(await cache.putTrace(TRACE), "failed");
  assertMatch(notes.join(), /and does not have it/);
});

Deno.test("a file that an S3 server takes only in parts is named before anything is sent", async () => {
  await using server = new CacheServer();
  const { cache, notes } = await cacheAt("s3://bucket", {}, { AWS_ENDPOINT_URL: server.url });
  // Amazon's limit for one PUT is 5 GiB.
  const blob = { sha256: sha256("large"), bytes: 5 * 1024 ** 3 + 1 };
  assertEquals(await cache.putBlob(blob, newFile()), "failed");
  assertEquals(server.asked, []);
  assertEquals(notes.length, 1);
  assertMatch(notes[0]!, /s3:\/\/bucket takes no file of more than 5368709120 bytes/);
  const plain = await cacheAt(server.url);
  const headers = { "content-length": String(blob.bytes) };
  server.misbehave = () => new Response(null, { headers });
  assertEquals(await plain.cache.putBlob(blob, newFile()), "there", "others have no such limit");
});

Deno.test("two who send the first trace of a key at once leave one of them there", async () => {
  await using server = new CacheServer();
  // A server that knows no conditions on what it writes says so.
  server.misbehave = ({ method, headers }) =>
    method === "PUT" && headers.has("if-none-match")
      ? new Response(null, { status: 501 })
      : undefined;
  const { cache } = await cacheAt(server.url);
  assertEquals(await cache.putTrace(TRACE), "put");
  server.misbehave = ({ method }) =>
    method === "PUT" ? new Response(null, { status: 412 }) : undefined;
  assertEquals(await cache.putTrace({ ...TRACE, key: sha256("l") }), "there");
});

Deno.test("an address is a URL of a server or a bucket, as it is or with a slash at its end", () => {
  for (
    const text of ["http://a:80/", "https://example.org/b/c", "s3://bucket", "s3://bucket/p/q"]
  ) {
    assertEquals(
      addressText(parseAddress(`${text.replace(/\/$/, "")}/`)),
      new URL(text).href.replace(/\/$/, ""),
    );
  }
  for (const text of ["", "bucket", "/tmp/cache", "file:///tmp", "s3:///a", "http://a/b?c=d"]) {
    assertThrows(() => parseAddress(text), UsageError, "Cannot use --cache");
  }
});

Deno.test("an S3 key comes whole from the environment, or whole from a profile", () => {
  const folder = temporaryFolder();
  const files = {
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "credentials"),
    AWS_CONFIG_FILE: join(folder, "config"),
  };
  Deno.writeTextFileSync(
    files.AWS_SHARED_CREDENTIALS_FILE,
    "[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n[lab]\naws_access_key_id=C\n" +
      "aws_secret_access_key=D\naws_session_token = E\n",
  );
  Deno.writeTextFileSync(
    files.AWS_CONFIG_FILE,
    "# ours\n[profile lab]\nregion = eu-central-1\nendpoint_url = https://s3.example.org\n",
  );
  assertEquals(s3Settings(files), {
    credentials: { accessKeyId: "A", secretAccessKey: "B=" },
    region: "us-east-1",
  });
  assertEquals(s3Settings({ ...files, AWS_PROFILE: "lab" }), {
    credentials: { accessKeyId: "C", secretAccessKey: "D", sessionToken: "E" },
    region: "eu-central-1",
    endpoint: "https://s3.example.org",
  });
  const own = { AWS_ACCESS_KEY_ID: "F", AWS_SECRET_ACCESS_KEY: "G", AWS_REGION: "x" };
  assertEquals(s3Settings({ ...files, ...own }), {
    credentials: { accessKeyId: "F", secretAccessKey: "G" },
    region: "x",
  });
  assertEquals(s3Settings({ HOME: folder }), { region: "us-east-1" });
  assertThrows(() => s3Settings({ ...files, AWS_PROFILE: "x" }), ConfigError, "AWS_PROFILE x");
  assertThrows(
    () => s3Settings({ ...files, AWS_ACCESS_KEY_ID: "F" }),
    ConfigError,
    "one is missing",
  );
});

Deno.test("an S3 endpoint that is empty counts as none, and one that is no URL is refused by name", () => {
  const none = { HOME: temporaryFolder() };
  const empty = { AWS_ENDPOINT_URL_S3: "", AWS_ENDPOINT_URL: "", AWS_REGION: "", AWS_PROFILE: "" };
  assertEquals(s3Settings({ ...none, ...empty }), { region: "us-east-1" });
  const other = { AWS_ENDPOINT_URL_S3: "", AWS_ENDPOINT_URL: "http://localhost:9000" };
  assertEquals(s3Settings({ ...none, ...other }).endpoint, "http://localhost:9000");
  for (const name of ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
    for (const value of ["nonsense", "localhost:9000", "http://ann:secret@localhost"]) {
      assertThrows(
        () => s3Settings({ ...none, [name]: value }),
        ConfigError,
        `Cannot use ${name}: it must be a URL`,
      );
    }
  }
});

Deno.test("a name and a password come from the line of a host in .netrc", () => {
  const text = "# ours\nmachine a.org login ann password s#1\nmachine b.org\n  login bob\n" +
    "  password two\ndefault login guest password none\n";
  assertEquals(parseNetrc(text, "a.org"), { login: "ann", password: "s#1" });
  assertEquals(parseNetrc(text, "b.org"), { login: "bob", password: "two" });
  assertEquals(parseNetrc(text, "c.org"), { login: "guest", password: "none" });
  assertEquals(parseNetrc("machine a.org login ann", "c.org"), undefined);
});

Deno.test("a result on an adapter is found by who knows the backend alone, and no other's in its place", async () => {
  await using server = new CacheServer();
  const own = new LocalStore(temporaryFolder());
  const [plain] = await putSyntheticResults(own, { count: 1, maxBytes: 10 });
  const { cache, refused } = await cacheAt(server.url);
  const on = (params: Record<string, string>) => {
    const ingredients = { ...plain!.ingredients, ...params, "platform.backend": "webgpu" };
    const platform = { "platform.adapter": "a", "platform.driver": "b", "platform.features": "c" };
    return {
      ...plain!,
      key: keyOf({ ...ingredients, ...platform }),
      ingredients: { ...ingredients, ...platform },
    };
  };
  const trace = on({});
  assertEquals(await cache.putTrace(trace), "put");
  const wanted = keyOnBackend({ ...plain!.ingredients, "platform.backend": "wasm" }, "webgpu")!;
  const store = new CachedStore(temporaryFolder(), { cache });
  assertEquals(await store.keyOnAdapter(wanted, "webgpu"), trace.key);
  assertEquals((await store.trace(trace.key))?.received?.from, server.url);
  assertEquals(await store.trace(wanted), undefined, "under its own key alone");

  const other = on({ "params.number": "9" });
  await cache.putTrace(other);
  server.content.set(`/ac/${wanted}`, server.content.get(`/ac/${other.key}`)!);
  const deceived = new CachedStore(temporaryFolder(), { cache });
  assertEquals(await deceived.keyOnAdapter(wanted, "webgpu"), undefined);
  assertMatch(refused.join(), /it is of another key/);
  [own, store, deceived].forEach((each) => each.close());
});
