import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Event } from "../../pipeline/event.ts";
import { type LiveRun, LiveState } from "../../pipeline/views/live.ts";
import { type OutputsServer, serveOutputs } from "../../pipeline/views/serve.ts";
import { livePage } from "../../pipeline/views/serve/live_page.ts";
import { toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** Where an artifact is. */
const BLOB = `store/blobs/ab/${"c".repeat(62)}`;

/** A folder of outputs with a store, beside a secret, and a server of it. */
function outputs(): { folder: string; server: OutputsServer } & AsyncDisposable {
  const root = temporaryFolder();
  const folder = join(root, "outputs");
  const write = (name: string, text: string) => {
    Deno.mkdirSync(join(root, name, ".."), { recursive: true });
    Deno.writeTextFileSync(join(root, name), text);
  };
  write("secret.txt", "secret");
  write("outputs2/secret.txt", "secret");
  write("outputs/.gitignore", "*");
  write("outputs/store/blobs/ab/cd", "blob");
  write(`outputs/${BLOB}`, "<b>artifact</b>");
  write("outputs/store/published.json", "{}");
  write("outputs/report/index.html", "<h1>Report</h1>");
  write("outputs/fusion.smoke/report.html", "<h1>Fusion</h1>");
  write("outputs/figures/a b&<i>.svg", "<svg/>");
  write("outputs/tables/one.csv", "a,b\n");
  Deno.writeFileSync(join(folder, "figures/one.png"), new Uint8Array([1, 2, 3]));
  Deno.symlinkSync("../../secret.txt", join(folder, "tables/leak.txt"));
  Deno.symlinkSync("../outputs2", join(folder, "sibling"));
  Deno.symlinkSync("store", join(folder, "shop"));
  Deno.symlinkSync("loop", join(folder, "loop"));
  Deno.symlinkSync("one.csv", join(folder, "tables/same.csv"));
  const server = serveOutputs(folder, { port: 0 });
  return {
    folder,
    server,
    async [Symbol.asyncDispose]() {
      await server.stop();
    },
  };
}

/** Sends a request as it is written: `fetch` would tidy the path. */
async function raw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(request));
  return await new Response(connection.readable).text();
}

Deno.test("files are served with their types, folders as lists or by their index page", async () => {
  await using site = outputs();
  const get = async (path: string) => {
    const response = await fetch(new URL(path, site.server.url));
    const type = response.headers.get("content-type");
    return [response.status, type, await response.text()] as const;
  };
  const html = "text/html; charset=utf-8";
  assertEquals(await get("report/"), [200, html, "<h1>Report</h1>"]);
  assertEquals(await get("report"), [200, html, "<h1>Report</h1>"]);
  assertEquals(await get("tables/one.csv"), [200, "text/csv; charset=utf-8", "a,b\n"]);
  assertEquals(await get("tables/same.csv"), [200, "text/csv; charset=utf-8", "a,b\n"]);
  const binary = "application/octet-stream";
  assertEquals(await get(BLOB), [200, binary, "<b>artifact</b>"], "the trace page leads there");
  assertEquals(await get("figures/one.png"), [200, "image/png", "\x01\x02\x03"]);
  const name = "a%20b%26%3Ci%3E.svg";
  assertEquals(await get(`figures/${name}`), [200, "image/svg+xml", "<svg/>"]);
  const [status, type, list] = await get("figures/");
  assertEquals([status, type], [200, html]);
  assertStringIncludes(list, `<a href="${name}">a b&amp;&lt;i&gt;.svg</a>`);
  const [, , top] = await get("");
  assertStringIncludes(top, '<a href="/fusion.smoke/report.html">fusion.smoke/report.html</a>');
  assertStringIncludes(top, '<a href="tables/">tables/</a>');
  for (const hidden of ["store", ".gitignore", "sibling", "shop", "loop"]) {
    assert(!top.includes(hidden), `${hidden} is not listed`);
  }
});

Deno.test("nothing outside of outputs is served, nor the store but for artifacts, nor hidden files", async () => {
  await using site = outputs();
  const { host } = new URL(site.server.url);
  const paths = [
    "/../secret.txt",
    "/tables/../../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/%2e%2e%2fsecret.txt",
    "/..%5csecret.txt",
    "/%252e%252e/secret.txt",
    "//etc/passwd",
    "/%00",
    "/%ff",
    "/tables/leak.txt",
    "/sibling/secret.txt",
    "/sibling/",
    "/../outputs2/secret.txt",
    "/store/",
    "/store/published.json",
    "/store/blobs/",
    "/store/blobs/ab/",
    "/store/blobs/ab/cd",
    `/${BLOB}.tmp`,
    "/./store/published.json",
    "/%73tore/published.json",
    "/tables/../store/published.json",
    "/shop/published.json",
    "/shop/",
    "/loop",
    "/.gitignore",
    `/${"a".repeat(5000)}`,
    "/nothing",
  ];
  for (const path of paths) {
    const text = await raw(
      site.server.url,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    assert(/^HTTP\/1.1 4\d\d /.test(text), `${path}: ${text.slice(0, 200)}`);
    assert(!/secret|blob|root:/.test(text), path);
  }
});

Deno.test("the server is on the loopback address, reads only, and answers no other name", async () => {
  await using site = outputs();
  const { hostname, host } = new URL(site.server.url);
  assertEquals(hostname, "127.0.0.1");
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
    const response = await fetch(`${site.server.url}tables/one.csv`, { method });
    assertEquals([method, response.status], [method, 405]);
    await response.body?.cancel();
  }
  assertEquals(Deno.readTextFileSync(join(site.folder, "tables/one.csv")), "a,b\n");
  const head = await fetch(`${site.server.url}tables/one.csv`, { method: "HEAD" });
  assertEquals([head.status, head.headers.get("content-length"), await head.text()], [
    200,
    "4",
    "",
  ]);
  const rebound = await raw(
    site.server.url,
    "GET /live HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
  );
  assert(rebound.startsWith("HTTP/1.1 421 "), rebound);
  const elsewhere = Deno.networkInterfaces().find(({ family, address }) =>
    family === "IPv4" && !address.startsWith("127.")
  );
  if (elsewhere) {
    const port = Number(host.split(":")[1]);
    const reached = await Deno.connect({ hostname: elsewhere.address, port }).catch(() =>
      undefined
    );
    reached?.close();
    assertEquals(reached, undefined);
  }
});

const PLAN: Event = {
  event: "plan",
  experiment: "toy",
  profile: "smoke",
  backend: "wasm",
  backendReason: "as asked",
  instances: 4,
  jobs: 2,
  stages: [],
  estimateSeconds: null,
};

Deno.test("a live run's state counts endings, and derives throughput from progress", () => {
  const state = new LiveState({
    name: "toy.smoke",
    instances: [["a/1", "a"], ["a/2", "a"], ["b/1", "b"], ["b/2", "b"]],
  });
  const start = (instance: string): Event => ({
    event: "started",
    instance,
    key: "0",
    reason: "first run",
    estimateSeconds: null,
  });
  const step = (done: number, loss: number): Event => ({
    event: "progress",
    instance: "b/1",
    done,
    total: 100,
    unit: "steps",
    values: { loss },
  });
  state.take(PLAN, 1000);
  state.take({ event: "cached", instance: "a/1", key: "0" }, 1000);
  state.take(start("a/2"), 1000);
  state.take(start("b/1"), 2000);
  // A resumed training: it starts at 40, and that it was there is not its pace.
  state.take(step(40, 0.9), 3000);
  state.take(step(60, 0.7), 5000);
  state.take({ event: "progress", instance: "b/1", done: 60, total: 100, unit: "steps" }, 5000);
  const failed = { event: "failed", key: "0", output: [] } as const;
  state.take({ ...failed, instance: "a/2", message: "Cannot" }, 5000);
  const run = state.snapshot(6000);
  assertEquals([run.cached, run.executed, run.failed, run.skipped], [1, 0, 1, 0]);
  assertEquals(run.stages, { a: { total: 2, ended: 2 }, b: { total: 2, ended: 0 } });
  assertEquals(run.running.map(({ instance, rate }) => [instance, rate]), [["b/1", 10]]);
  assertEquals(run.running[0]!.progress!.values, { loss: 0.7 });
  assertEquals(run.running[0]!.curves, { loss: [[40, 0.9], [60, 0.7]] });
  assertEquals(run.failures.map(({ instance, message }) => [instance, message]), [[
    "a/2",
    "Cannot",
  ]]);
});

Deno.test("a live run's state stays small, however many events it takes", () => {
  const names = Array.from({ length: 500 }, (_, index) => `train/${index}`);
  const state = new LiveState({
    name: "toy.smoke",
    instances: names.map((name) => [name, "train"] as const),
  });
  state.take(PLAN, 0);
  names.forEach((instance, index) => {
    state.take(
      { event: "started", instance, key: "0", reason: "first run", estimateSeconds: null },
      index,
    );
    for (let done = 1; done <= 1000; done++) {
      const values = { loss: 1 / done, accuracy: done };
      state.take({ event: "progress", instance, done, total: 1000, unit: "steps", values }, index);
    }
    if (index === names.length - 1) return;
    const message = "x".repeat(100_000);
    state.take({ event: "failed", instance, key: "0", message, output: [message] }, index);
  });
  const run = state.snapshot(1000);
  assert(JSON.stringify(run).length < 200_000);
  const { loss = [] } = run.running[0]!.curves;
  assert(loss.length > 30 && loss.length <= 120);
  assertEquals(loss[0], [1, 1]);
  assert(loss.at(-1)![0] > 900, "the course reaches the present");
});

Deno.test("a loss that is no longer a number shows as such", () => {
  const state = new LiveState({ name: "toy.smoke", instances: [["train", "train"]] });
  state.take({
    event: "started",
    instance: "train",
    key: "0",
    reason: "first run",
    estimateSeconds: null,
  }, 0);
  for (const [done, loss] of [[1, 0.5], [2, 0.4], [3, NaN]] as const) {
    const values = { loss };
    state.take(
      { event: "progress", instance: "train", done, total: 3, unit: "steps", values },
      done,
    );
  }
  const page = livePage([JSON.parse(JSON.stringify(state.snapshot(9)))], 9);
  assertStringIncludes(page, "loss not finite");
  assert(!/points="[^"]*NaN/.test(page));
});

Deno.test("the live page shows the last lines that a running stage printed, as text", () => {
  const state = new LiveState({ name: "toy.smoke", instances: [["train", "train"]] });
  state.take({
    ...{ event: "started", instance: "train", key: "0", reason: "first run" },
    estimateSeconds: null,
  }, 0);
  for (let n = 0; n < 1000; n++) {
    state.take({ event: "log", instance: "train", text: `<b>line ${n}</b>\n` }, n);
  }
  const run = state.snapshot(2000);
  assertEquals(run.running[0]!.output.at(-1), "<b>line 999</b>");
  assert(run.running[0]!.output.length <= 10);
  assertStringIncludes(livePage([run], 2000), "&lt;b&gt;line 999&lt;/b&gt;");
});

Deno.test("the live page escapes what it shows and runs no script but its own", async () => {
  const evil = "<img src=x onerror=alert(1)>";
  const run: LiveRun = {
    ...new LiveState({ name: evil, instances: [] }).snapshot(0),
    failures: [{ instance: evil, ending: "failed", seconds: null, metrics: {}, message: evil }],
  };
  const page = livePage([run], 0);
  assert(!page.includes("<img"));
  assertStringIncludes(page, "&lt;img src=x onerror=alert(1)&gt;");
  await using site = outputs();
  const response = await fetch(`${site.server.url}live`);
  const text = await response.text();
  assertStringIncludes(text, "No run is going on");
  const script = /<script>([\s\S]*?)<\/script>/.exec(text)![1]!;
  const digest = createHash("sha256").update(script).digest("base64");
  assertStringIncludes(response.headers.get("content-security-policy")!, `'sha256-${digest}'`);
});

/** Asks until an answer satisfies, at most ten seconds. */
async function until<T>(ask: () => Promise<T>, enough: (found: T) => boolean): Promise<T> {
  for (let count = 0; count < 200; count++) {
    const found = await ask();
    if (enough(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("What was waited for did not come");
}

Deno.test("the progress of a run in another process shows, is pushed, and ends with it", async () => {
  using project = toyProject();
  // Made before anything ran: the server must not need a store.
  const server = serveOutputs(project.path("outputs"), { port: 0 });
  const live = async () => await (await fetch(`${server.url}live.json`)).json() as LiveRun[];
  const slow = ["reproduce", "--json", "--jobs", "2", "--set", "steps.delayMs=100"];
  const run = project.start([...slow, "--set", "steps.steps=40"]);
  try {
    assertEquals((await fetch(`${server.url}live/`)).status, 200);
    const [seen] = await until(live, ([first]) => (first?.running[0]?.rate ?? 0) > 0);
    assertEquals([seen!.name, seen!.instances, seen!.stages["word"]], [
      "toy.smoke",
      7,
      { total: 2, ended: 2 },
    ]);
    assert(seen!.running.length <= 2);
    assertEquals(seen!.running[0]!.progress!.total, 40);
    assertStringIncludes(await (await fetch(`${server.url}live`)).text(), "2 of 7 instances done");
    const news = await fetch(`${server.url}live/events`);
    assertEquals(news.headers.get("content-type"), "text/event-stream");
    const reader = news.body!.pipeThrough(new TextDecoderStream()).getReader();
    const { value } = await reader.read();
    assertStringIncludes(JSON.parse(value!.replace(/^data: /, "")), "<h1>toy.smoke</h1>");
    // Killed outright it leaves its file, and the lock that ended with it shows that.
    run.kill("SIGKILL");
    await run.status;
    assertEquals(await until(live, (found) => found.length === 0), []);
    assertEquals([...Deno.readDirSync(project.path("outputs/store/live"))].length, 1);
    await project.executed("--set", "steps.steps=40");
    assertEquals([...Deno.readDirSync(project.path("outputs/store/live"))], []);
    assertEquals((await project.run(["audit"])).code, 0);
    // A connection that stays open does not keep the server.
    await Promise.race([
      server.stop(),
      new Promise((_, reject) => setTimeout(() => reject(new Error("it did not stop")), 10_000)),
    ]);
    await reader.cancel().catch(() => {});
  } finally {
    await Promise.allSettled([run.stdout.cancel(), run.stderr.cancel(), server.stop()]);
  }
});

Deno.test("serve prints where it is, and an interrupt ends it at once", async () => {
  using project = toyProject();
  await project.executed();
  const served = project.start(["serve", "--json"]);
  const reader = served.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { url } = JSON.parse((await reader.read()).value!);
  assertEquals(
    await (await fetch(`${url}toy.smoke/report/page.txt`)).text(),
    project.read("outputs/toy.smoke/report/page.txt"),
  );
  const taken = await project.run(["serve", "--port", new URL(url).port]);
  assertEquals(taken.code, 1);
  assertStringIncludes(taken.stderr, `Cannot serve on port ${new URL(url).port}`);
  const open = await fetch(`${url}live/events`);
  const begun = performance.now();
  served.kill("SIGINT");
  assertEquals((await served.status).code, 0);
  assert(performance.now() - begun < 10_000);
  await Promise.allSettled([open.body!.cancel(), reader.cancel(), served.stderr.cancel()]);
  const wrong = await project.run(["serve", "--port", "70000"]);
  assertStringIncludes(wrong.stderr, "it must be a whole number from 0 to 65535");
});
