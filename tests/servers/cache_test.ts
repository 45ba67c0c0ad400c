/**
 * The shared cache on servers that others wrote. They take minutes, so they run by `deno task
 * test:servers` alone, which installs and requires the servers.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { streamKey, uniform } from "../../models/random.ts";
import { entriesBelow } from "../../pipeline/files.ts";
import { hashFile } from "../../pipeline/key/hash.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import { parseAddress } from "../../pipeline/store/remote/address.ts";
import { RemoteCache } from "../../pipeline/store/remote/cache.ts";
import { CachedStore } from "../../pipeline/store/remote/cached_store.ts";
import { openRemote } from "../../pipeline/store/remote/remote.ts";
import { LIMITS, type Limits } from "../../pipeline/store/remote/requests.ts";
import { Uploads } from "../../pipeline/store/remote/uploads.ts";
import { namedBy, type Trace } from "../../pipeline/store/trace.ts";
import { FAULTS, FaultyProxy } from "../rig/faulty_proxy.ts";
import { toyProject, unwrapped } from "../rig/project.ts";
import { startCeph } from "../rig/servers/ceph.ts";
import { startNginx } from "../rig/servers/nginx.ts";
import { isInstalled, type RunningServer } from "../rig/servers/processes.ts";
import { startSwift } from "../rig/servers/swift.ts";
import { putSyntheticResults } from "../rig/synthetic_results.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const SERVERS = [
  { name: "nginx with WebDAV", program: "nginx", start: startNginx },
  { name: "OpenStack Swift with s3api", program: "swift-proxy-server", start: startSwift },
  { name: "Ceph's S3 gateway", program: "radosgw", start: startCeph },
] as const;

const isRequired = Deno.env.get("LOCKSTEP_REQUIRE_SERVERS") !== undefined;
if (!isRequired) console.warn('skipped: tests on real servers; "deno task test:servers" runs them');

/** A test on each of the servers. */
function onEach(what: string, fn: (server: RunningServer) => Promise<void>): void {
  for (const { name, program, start } of SERVERS) {
    Deno.test({
      name: `${name}: ${what}`,
      ignore: !isRequired,
      async fn() {
        assert(isInstalled(program), `${program} must be installed, and is not`);
        await using server = await start();
        await fn(server);
      },
    });
  }
}

onEach("a second clone reproduces from the cache alone", async ({ url, variables }) => {
  using first = toyProject();
  using second = toyProject();
  const run = async (project: typeof first, ...args: string[]) => {
    const ended = await project.run([...args, "--cache", url], variables);
    assertEquals(ended.code, 0, ended.stdout + ended.stderr);
    return unwrapped(ended.stdout);
  };
  assertStringIncludes(await run(first, "reproduce", "--push"), "7 results put there");
  assertStringIncludes(await run(first, "push"), "7 there before");
  assertStringIncludes(await run(second, "reproduce"), "0 ran, 7 up to date");
  for (const name of ["lock/toy.smoke.lock", "outputs/toy.smoke/report/page.txt"]) {
    assertEquals(second.read(name), first.read(name));
  }
  assertStringIncludes(await run(second, "pull"), "7 of 7 instances here");
  const audit = await second.run(["audit", "--json"]);
  assertStringIncludes(audit.stdout, '"findings":0');
  assertStringIncludes(audit.stdout, '"elsewhere":0');
  for (const secret of ["secret", "lab:ann", "AWS_"]) {
    for (const { path, isFile } of entriesBelow(second.path("outputs/store"))) {
      if (isFile) assert(!Deno.readTextFileSync(path).includes(secret), `${secret} in ${path}`);
    }
  }
});

/** Never discouraged, so that every fault is met. */
const PATIENT: Limits = {
  ...LIMITS,
  ...{ answerMs: 1500, stallMs: 1500, pauseMs: 1, failures: Infinity },
};

/** As many as are to happen. */
const FAULTS_WANTED = 1000;
/** On a busy machine servers are late for a while, besides. */
const MAX_TRIES = 100;

onEach("1,000 faults give no wrong byte, and lose no result", async (server) => {
  const random = uniform(streamKey(1, "faults"), 1 << 16, { low: 0, high: 1 });
  let drawn = 0;
  const draw = () => random[drawn++ % random.length]!;
  await using proxy = new FaultyProxy({ target: server.port, rate: 0.3, draw });
  const variables = Object.fromEntries(
    Object.entries(server.variables).map(([name, value]) => [
      name,
      value.replace(`:${server.port}`, `:${proxy.port}`),
    ]),
  );
  const address = parseAddress(server.url.replace(`:${server.port}`, `:${proxy.port}`));
  const notes: string[] = [];
  const cache = async (of: typeof address, by: typeof variables) =>
    new RemoteCache(await openRemote(of, by), {
      onNote: (note) => notes.push(note),
      onRefused() {},
    }, { limits: PATIENT });
  const opened: LocalStore[] = [];
  const storeWith = (cache: RemoteCache) => {
    const store = new CachedStore(temporaryFolder(), { cache });
    opened.push(store);
    return store;
  };
  const own = new LocalStore(temporaryFolder());
  opened.push(own);
  const traces = await putSyntheticResults(own, { count: 12, maxBytes: 400_000 });
  // It remembers what it found to be wrong there, and then puts that again.
  const through = await cache(address, variables);
  let complete = 0;
  for (let round = 0; proxy.total < FAULTS_WANTED; round++) {
    assert(round < 300, `${proxy.total} faults in ${round} rounds`);
    for (let tries = 0;; tries++) {
      const uploads = new Uploads(own, through);
      for (const trace of traces) uploads.add(trace);
      await uploads.settle();
      if (uploads.counts.failed === 0) break;
      assert(tries < MAX_TRIES, `results can't be put there: ${notes.join("\n")}`);
    }
    const store = storeWith(through);
    if (await takeAll(store, traces)) complete++;
    assertSound(store);
  }
  for (const fault of FAULTS) assert(proxy.counts[fault] > 50, `${fault}: ${proxy.counts[fault]}`);
  assert(complete > 0, "some rounds got everything in spite of all");
  // What the faults left on the server, and what a healthy line makes of it.
  const mender = await cache(parseAddress(server.url), server.variables);
  const checked = storeWith(mender);
  await takeAll(checked, traces);
  const uploads = new Uploads(own, mender);
  for (const trace of traces) uploads.add(trace);
  await uploads.settle();
  const last = storeWith(await cache(parseAddress(server.url), server.variables));
  assertEquals(await takeAll(last, traces), true);
  assertSound(last);
  opened.forEach((store) => store.close());
});

/** Asks a store for all that traces name. Returns whether all of it came. */
async function takeAll(store: CachedStore, traces: readonly Trace[]): Promise<boolean> {
  const whole = await Promise.all(traces.map(async (wanted) => {
    const trace = await store.trace(wanted.key);
    if (!trace) return false;
    assertEquals(trace.outputs, wanted.outputs);
    assertEquals(trace.metrics, wanted.metrics);
    const states = await Promise.all(namedBy(trace).map((named) => store.verifyOutput(named)));
    return states.every((state) => state === "ok");
  }));
  return whole.every((each) => each);
}

/** Every blob of a store has the content of its name. */
function assertSound(store: LocalStore): void {
  for (const { subfolder, name, path } of entriesBelow(join(store.root, "blobs"))) {
    assertEquals(hashFile(path), subfolder + name);
  }
}
