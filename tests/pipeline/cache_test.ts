import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { lookAt } from "../../pipeline/files.ts";
import type { Trace } from "../../pipeline/store/trace.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import type { LatestRun } from "../../pipeline/store/latest.ts";
import { seal, unseal } from "../../pipeline/store/sealed.ts";
import { CacheServer } from "../rig/cache_server.ts";
import { projectAt, recallHere, reproduceHere } from "../rig/in_process.ts";
import { type Ended, type TestProject, toyProject, unwrapped } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const TOY = [
  ...["gather", "steps/ann/1", "steps/ann/2", "steps/bob/1", "steps/bob/2"],
  ...["word/ann", "word/bob"],
];

let toyContent: Promise<CacheServer["content"]> | undefined;

/** A server that has all that the toy project makes. */
async function filled(): Promise<CacheServer> {
  toyContent ??= (async () => {
    await using server = new CacheServer();
    using first = toyProject();
    await first.executed("--cache", server.url, "--push");
    return server.content;
  })();
  return new CacheServer(await toyContent);
}

function executed({ events }: Ended): string[] {
  return events.flatMap((event) => event.event === "executed" ? [event.instance] : []).sort();
}

function damaged({ events }: Ended): string[] {
  return events.flatMap((event) =>
    event.event === "damaged" ? [`${event.path}: ${event.message}`] : []
  );
}

function notes({ events }: Ended): string[] {
  return events.flatMap((event) => event.event === "note" ? [event.message] : []);
}

function reproduce(project: TestProject, ...args: string[]): Promise<Ended> {
  return project.run(["reproduce", "--json", ...args]);
}

/** The traces that a server has, by their path. */
function tracesOf({ content }: CacheServer): [path: string, trace: Trace][] {
  return [...content].filter(([path]) => path.startsWith("/ac/")).map(([path, text]) => [
    path,
    unseal(new TextDecoder().decode(text), path) as Trace,
  ]);
}

/** The record of a project's latest run. */
function recordIn(project: TestProject): LatestRun {
  return unseal(project.read("outputs/store/runs/toy.smoke.json"), "it") as LatestRun;
}

Deno.test("a second clone reproduces from the cache alone, and fetches only what it publishes", async () => {
  await using server = new CacheServer();
  using first = toyProject();
  using second = toyProject();
  const cache = ["--cache", server.url];
  assertEquals(await first.executed(...cache, "--push"), TOY);
  assertEquals(await second.executed(...cache), []);
  for (const name of ["report/page.txt", "parts/1ann.txt"]) {
    assertEquals(second.read(`outputs/toy.smoke/${name}`), first.read(`outputs/toy.smoke/${name}`));
  }
  assertEquals(second.read("lock/toy.smoke.lock"), first.read("lock/toy.smoke.lock"));
  // The page, the list of the parts, and of the four parts those that differ.
  assertEquals(server.count("GET", "/cas/"), 4);
  const audit = await second.run(["audit"]);
  assertEquals(audit.code, 0, audit.stdout + audit.stderr);
  assertMatch(unwrapped(audit.stdout), /\d+ blobs of results that came from a cache were not/);

  server.asked.length = 0;
  assertEquals(await second.executed(...cache), []);
  // In words it is remembered, once nothing is so new that an edit might not show.
  const ends = await second.run(["reproduce", ...cache]);
  assertStringIncludes(unwrapped(ends.stdout), "0 ran, 7 up to date");
  assertEquals(server.asked.length, 0, "a run with nothing to do asks nobody");

  const exported = await second.run(["export", "word/ann", "--to", "ann.txt"]);
  assertEquals(exported.code, 1);
  assertMatch(
    unwrapped(exported.stderr),
    /came from http:\S+, and the artifact was not fetched; run/,
  );
  for (const format of ["crate", "slsa", "sbom"]) {
    const { code, stderr } = await second.run(["export", "--format", format, "--to", format]);
    assertEquals(code, 1);
    assertMatch(unwrapped(stderr), /came from http:\S+, and .* not fetched; run "deno task pull"/);
    assertEquals(lookAt(second.path(format)), undefined);
  }

  for (const args of [["bundle", "--to", "toy.tar"], ["verify", "--page", "toy.html", "gather"]]) {
    const { code, stderr } = await second.run(args);
    assertEquals(code, 1);
    assertMatch(
      unwrapped(stderr),
      /^Cannot take [^;]*: results of this run came from http:\S+, and not all of their files were fetched; run "deno task pull" with the same experiment and profile first/,
    );
    assertEquals([...Deno.readDirSync(second.root)].filter(({ name }) => /toy\./.test(name)), []);
  }

  const begun = `outputs/store/incoming/${"0".repeat(64)}`;
  second.write(begun, "the beginning of something");
  const collected = await second.run(["gc", "--delete"]);
  assertEquals(collected.code, 0, collected.stderr);
  assertEquals(lookAt(second.path(begun)), undefined);
  const repair = await second.run(["audit", "--repair"]);
  assertEquals(repair.code, 0, repair.stdout + repair.stderr);
  assertEquals(await second.executed(), [], "what was not fetched is nothing to repair");
});

Deno.test("an edit fetches what the instances read that it runs again, and makes the rest here", async () => {
  await using server = await filled();
  using project = toyProject();
  const cache = ["--cache", server.url];
  await project.executed(...cache);
  project.edit(
    "experiments/toy/experiment.yaml",
    "    inputs: { states",
    "    params: { title: Some }\n    inputs: { states",
  );
  assertEquals(await project.executed(...cache), ["gather"]);
  assertStringIncludes(project.read("outputs/toy.smoke/report/page.txt"), "Some\n");
  assertEquals((await project.run(["audit"])).code, 0);

  using offline = toyProject();
  await offline.executed(...cache);
  offline.edit(
    "experiments/toy/experiment.yaml",
    "    inputs: { states",
    "    params: { title: Some }\n    inputs: { states",
  );
  assertEquals(await offline.executed(), TOY, "without the cache, what was not fetched is made");
  assertEquals(
    offline.read("outputs/toy.smoke/report/page.txt"),
    project.read("outputs/toy.smoke/report/page.txt"),
  );
});

Deno.test("without --push a cache is only read", async () => {
  await using server = new CacheServer();
  using project = toyProject();
  assertEquals(await project.executed("--cache", server.url), TOY);
  assertEquals(server.content.size, 0);
  assertEquals(server.count("PUT"), 0);
});

Deno.test("a blob with other bytes is refused and named, and made here instead", async () => {
  await using server = await filled();
  for (const [path, bytes] of server.content) {
    if (path.startsWith("/cas/")) server.content.set(path, bytes.map((byte) => byte ^ 1));
  }
  using project = toyProject();
  using alone = toyProject();
  await alone.executed();
  const ended = await reproduce(project, "--cache", server.url);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  // Only `gather` is read, for it is published; to make it again, all is needed.
  assertEquals(executed(ended), TOY);
  assert(
    damaged(ended).some((text) => /cas\/[0-9a-f]{64}: refused: its content has digest/.test(text)),
  );
  assertEquals(
    project.read("outputs/toy.smoke/report/page.txt"),
    alone.read("outputs/toy.smoke/report/page.txt"),
  );
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a trace that does not hold together is refused and named", async () => {
  const forged: readonly (readonly [message: string, forge: (trace: Trace) => unknown])[] = [
    ["its ingredients do not give its key", ({ ingredients, ...trace }) => ({
      ...trace,
      ingredients: { ...ingredients, deno: "1.0.0" },
    })],
    ["its outputs are not those of its ingredients", ({ outputs, ...trace }) => ({
      ...trace,
      outputs: Object.fromEntries(
        Object.entries(outputs).map(([name, record]) => [
          name,
          { ...record, exactness: "measured" },
        ]),
      ),
    })],
    ["its outputs are not those of its ingredients", (trace) => ({ ...trace, outputs: {} })],
    ["its stage is not that of its ingredients", (trace) => ({ ...trace, stage: "other" })],
    ["must hold the trace of its key", (trace) => {
      const ingredients = { ...trace.ingredients, stage: "other" };
      return { ...trace, ingredients, key: keyOf(ingredients) };
    }],
  ];
  await using server = await filled();
  const messages = tracesOf(server).map(([path, trace], index) => {
    const [message, forge] = forged[index % forged.length]!;
    server.content.set(path, new TextEncoder().encode(seal(forge(trace))));
    return [path, message] as const;
  });
  using project = toyProject();
  const ended = await reproduce(project, "--cache", server.url);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  assertEquals(executed(ended), TOY);
  for (const [path, message] of messages) {
    const said = damaged(ended).filter((text) => text.includes(path));
    assertEquals(said.length, 1);
    assertStringIncludes(said[0]!, message);
  }
});

Deno.test("what the cache lost is made here, and nothing else", async () => {
  await using server = await filled();
  const [page] = tracesOf(server).flatMap(([, { outputs }]) => outputs["page"] ?? []);
  server.content.delete(`/cas/${page!.sha256}`);
  using project = toyProject();
  assertEquals(await project.executed("--cache", server.url), ["gather"]);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("a cache that can't be reached fails nothing, and is named once", async () => {
  using project = toyProject();
  const closed = new CacheServer();
  await closed[Symbol.asyncDispose]();
  const ended = await reproduce(project, "--cache", closed.url, "--push");
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  assertEquals(executed(ended), TOY);
  const [first, ...rest] = notes(ended).filter((note) =>
    note.includes("what is missing is made here")
  );
  assertMatch(first!, /^the cache http:\S+ .*onnection refused/);
  assertEquals(rest, []);
  assert(notes(ended).some((note) => note.includes("7 results could not be put there")));
});

Deno.test("a server that answers only with errors is asked a bounded number of times", async () => {
  await using server = await filled();
  server.misbehave = () => new Response("no", { status: 503 });
  using project = toyProject();
  const ended = await reproduce(project, "--cache", server.url);
  assertEquals(executed(ended), TOY);
  assert(server.asked.length <= 16, `${server.asked.length} requests`);
  server.misbehave = () => new Response("no", { status: 403 });
  server.asked.length = 0;
  using other = toyProject();
  assertEquals(executed(await reproduce(other, "--cache", server.url)), TOY);
  assert(server.asked.length <= 8, `${server.asked.length} requests to a server that refuses`);
});

Deno.test("an address with a password is refused, and the password is not printed, scheme or none", async () => {
  using project = toyProject();
  const urls = [
    ...["https://ann:secret@example.org/c", "ftp://ann:secret@example.org/c"],
    ...["ann:secret@example.org/c", "s3:ann:secret@bucket", "ann:sec\nret:secret@bucket"],
  ];
  for (const url of urls) {
    for (
      const [args, env] of [
        ...[[["--cache", url], {}], [[], { LOCKSTEP_CACHE: url }]] as const,
        [["--json"], { LOCKSTEP_CACHE: url }] as const,
      ]
    ) {
      const { code, stdout, stderr } = await project.run(["plan", ...args], env);
      assertEquals(code, 2);
      assertStringIncludes(stdout + stderr, "Cannot use --cache");
      assert(!(stdout + stderr).includes("secret"), stderr);
    }
  }
});

Deno.test("push puts a run there, pull fetches all of it, and then nothing is missing", async () => {
  await using server = new CacheServer();
  using first = toyProject();
  await first.executed();
  const env = { LOCKSTEP_CACHE: server.url };
  assertStringIncludes((await first.run(["push"], env)).stdout, "7 results put there");
  assertStringIncludes(
    (await first.run(["push"], env)).stdout,
    "0 results put there, 0.0 MB, 7 there",
  );
  for (const [path, bytes] of server.content) {
    if (path.startsWith("/cas/")) assertEquals(path, `/cas/${sha256(bytes)}`);
  }
  using second = toyProject();
  const pulled = await second.run(["pull"], env);
  assertEquals(pulled.code, 0, pulled.stderr);
  assertStringIncludes(pulled.stdout, "7 of 7 instances here");
  await server[Symbol.asyncDispose]();
  assertEquals(await second.executed(), []);
  const audit = await second.run(["audit", "--json"]);
  assertStringIncludes(audit.stdout, '"elsewhere":0');
});

Deno.test("a run that was pulled whole is recorded: bundle, export and audit need no other one", async () => {
  await using server = await filled();
  using made = toyProject();
  await made.executed();
  using project = toyProject();
  const env = { LOCKSTEP_CACHE: server.url };
  const records = () => [...Deno.readDirSync(project.path("outputs/store/runs"))];
  await project.run(["pull", "--only", "word"], env);
  assertEquals(records(), [], "a part of a run is none");
  project.write("lock/toy.smoke.lock", made.read("lock/toy.smoke.lock"));
  const pulled = await project.run(["pull"], env);
  assertStringIncludes(unwrapped(pulled.stdout), "recorded as the latest run of toy.smoke");
  const { keys, lock } = recordIn(project);
  assertEquals({ keys, lock }, (({ keys, lock }) => ({ keys, lock }))(recordIn(made)));
  assertEquals(lock, sha256(project.read("lock/toy.smoke.lock")));
  for (
    const args of [
      ["bundle"],
      ...["crate", "slsa", "sbom"].map((format) => ["export", "--format", format, "--to", format]),
      ["export", "word/ann", "--to", "ann.txt"],
      ["audit"],
    ]
  ) {
    const { code, stdout, stderr } = await project.run(args);
    assertEquals(code, 0, `${args}: ${stdout}${stderr}`);
  }
  assertEquals((await project.run(["verify", "toy.smoke.audit.tar"])).code, 0);
  assertEquals(await project.executed(), []);
  assertEquals(
    project.read("outputs/toy.smoke/report/page.txt"),
    made.read("outputs/toy.smoke/report/page.txt"),
  );

  // Nor is one of which something could not be had.
  const [page] = tracesOf(server).flatMap(([, { outputs }]) => outputs["page"] ?? []);
  server.content.delete(`/cas/${page!.sha256}`);
  using partial = toyProject();
  const lacking = await partial.run(["pull", "--json"], env);
  assertEquals(lacking.code, 1);
  assertStringIncludes(lacking.stdout, '"recorded":false');
  assertEquals([...Deno.readDirSync(partial.path("outputs/store/runs"))], []);
});

/** An authority of one's own and a certificate of `localhost` by it; `undefined` without OpenSSL. */
async function ownAuthority() {
  const cwd = temporaryFolder();
  const script = `
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=ours
    openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=localhost
    echo subjectAltName=DNS:localhost >names
    openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \\
      -extfile names -out cert.pem`;
  const { success } = await new Deno.Command("sh", { args: ["-ec", script], cwd }).output();
  if (!success) return undefined;
  const read = (name: string) => Deno.readTextFileSync(join(cwd, name));
  return { authority: join(cwd, "ca.pem"), cert: read("cert.pem"), key: read("key.pem") };
}

Deno.test("over TLS large and small files go up and come down, one after another", async () => {
  const own = await ownAuthority();
  if (!own) return console.warn("skipped: a cache over TLS; it needs openssl");
  await using server = new CacheServer([], own);
  using first = toyProject();
  // Larger than what is sent from memory.
  first.edit("experiments/toy/experiment.yaml", "{ text: Ann }", `{ text: ${"Ann".repeat(1e5)} }`);
  const cache = ["--cache", server.url], env = { NODE_EXTRA_CA_CERTS: own.authority };
  const refused = await first.run(["reproduce", "--push", ...cache]);
  assertStringIncludes(unwrapped(refused.stdout), "7 results could not be put there");
  const pushed = await first.run(["push", ...cache], env);
  assertStringIncludes(pushed.stdout, "7 results put there", pushed.stderr);
  const again = await first.run(["push", ...cache], env);
  assertStringIncludes(again.stdout, "7 there before");
  for (const [path, bytes] of server.content) {
    if (path.startsWith("/cas/")) assertEquals(path, `/cas/${sha256(bytes)}`);
  }
  using second = toyProject();
  second.write("experiments/toy/experiment.yaml", first.read("experiments/toy/experiment.yaml"));
  const pulled = await second.run(["pull", ...cache], env);
  assertStringIncludes(pulled.stdout, "7 of 7 instances here", pulled.stderr);
});

Deno.test("pull and plan say that a cache can't be reached, and pull fails", async () => {
  using project = toyProject();
  const closed = new CacheServer();
  await closed[Symbol.asyncDispose]();
  const cache = ["--cache", closed.url];
  const pulled = await project.run(["pull", ...cache]);
  assertEquals(pulled.code, 1, pulled.stdout);
  assertStringIncludes(unwrapped(pulled.stdout), "7 unknown, since the cache could not be asked");
  assertMatch(unwrapped(pulled.stderr), /note: the cache http:\S+ .*onnection refused/);
  const planned = await project.run(["plan", "--json", ...cache, "--only", "word/ann"]);
  assertEquals(notes(planned).filter((note) => /could not be asked/.test(note)).length, 1);
});

Deno.test("plan says what the cache has, and writes none of it", async () => {
  await using server = await filled();
  using project = toyProject();
  const { stdout } = await project.run(["plan", "--cache", server.url]);
  assertStringIncludes(unwrapped(stdout), "7 instances, 7 up to date");
  assertEquals([...Deno.readDirSync(project.path("outputs/store/traces"))], []);
});

/** A pair of keys, in files of a project. */
async function keys(project: TestProject, name: string): Promise<{ own: string; public: string }> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const write = async (kind: "PRIVATE" | "PUBLIC", file: string, form: "pkcs8" | "spki") => {
    const key = kind === "PRIVATE" ? pair.privateKey : pair.publicKey;
    const bytes = new Uint8Array(await crypto.subtle.exportKey(form, key));
    project.write(
      file,
      `-----BEGIN ${kind} KEY-----\n${bytes.toBase64()}\n-----END ${kind} KEY-----\n`,
    );
    Deno.chmodSync(project.path(file), 0o600);
    return project.path(file);
  };
  return {
    own: await write("PRIVATE", `${name}.pem`, "pkcs8"),
    public: await write("PUBLIC", `${name}.pub`, "spki"),
  };
}

Deno.test("with --trusted only what a trusted key signed is taken, also of what is here already", async () => {
  await using server = await filled();
  using signer = toyProject();
  const [ann, bob] = [await keys(signer, "ann"), await keys(signer, "bob")];
  const cache = ["--cache", server.url];
  using project = toyProject();
  const unsigned = await reproduce(project, ...cache, "--trusted", ann.public);
  assertEquals(executed(unsigned), TOY, "nothing is signed");
  assertEquals(
    notes(unsigned).filter((note) => note.includes("none of the trusted keys")).length,
    1,
  );

  // Who signs puts a signed trace where one is that nobody signed.
  await signer.executed();
  const pushed = await signer.run(["push", ...cache, "--key", ann.own]);
  assertStringIncludes(pushed.stdout, "7 results put there");
  const before = new Map(server.content);
  const again = await signer.run(["push", ...cache, "--key", ann.own]);
  assertStringIncludes(unwrapped(again.stdout), "7 there before");
  assertEquals(server.content, before);
  using trusting = toyProject();
  assertEquals(
    await trusting.executed(...cache, "--trusted", bob.public, "--trusted", ann.public),
    [],
  );
  using other = toyProject();
  assertEquals(await other.executed(...cache, "--trusted", bob.public), TOY);
  using careless = toyProject();
  assertEquals(await careless.executed(...cache), [], "a signature is in nobody's way");
  const careful = await reproduce(careless, ...cache, "--trusted", bob.public);
  assertEquals(executed(careful), TOY, "what was taken unchecked counts for nothing then");
  assertStringIncludes(damaged(careful).join(), "no trusted key signed it");
  assertEquals((await careless.run(["audit"])).code, 0);
});

Deno.test("an envelope whose signature is not ours keeps no signed trace out, and ours stays", async () => {
  await using server = await filled();
  using project = toyProject();
  const ann = await keys(project, "ann");
  await project.executed();
  const push = async () =>
    unwrapped((await project.run(["push", "--cache", server.url, "--key", ann.own])).stdout);
  for (const [path] of tracesOf(server)) {
    const payload = server.content.get(path)!.toBase64();
    const envelope = {
      ...{ payload, payloadType: "application/vnd.lockstep.trace" },
      signatures: [{ keyid: "a".repeat(64), sig: btoa("junk") }],
    };
    server.content.set(path, new TextEncoder().encode(JSON.stringify(envelope)));
  }
  assertStringIncludes(await push(), "7 results put there");
  assertStringIncludes(await push(), "7 there before");
});

Deno.test("a signed trace that is another key's, or altered, is not taken", async () => {
  await using server = await filled();
  using project = toyProject();
  const ann = await keys(project, "ann");
  await project.executed();
  assertEquals((await project.run(["push", "--cache", server.url, "--key", ann.own])).code, 0);
  const paths = [...server.content.keys()].filter((path) => path.startsWith("/ac/"));
  const [first, ...rest] = paths.map((path) => server.content.get(path)!);
  // Each has the next one's, but for the last, of which the signature is of something else.
  const last = JSON.parse(new TextDecoder().decode(first));
  const payload = atob(last.payload).replace('"seconds"', '"seconds "');
  const altered = new TextEncoder().encode(JSON.stringify({ ...last, payload: btoa(payload) }));
  [...rest, altered].forEach((content, index) => server.content.set(paths[index]!, content));
  using reader = toyProject();
  const ended = await reproduce(reader, "--cache", server.url, "--trusted", ann.public);
  assertEquals(executed(ended), TOY);
  assertEquals(damaged(ended).filter((text) => text.includes("the trace of its key")).length, 6);
});

/** A toy project whose steps compute something else on each backend. */
function numericProject(): TestProject {
  const project = toyProject();
  project.edit("stages/steps.ts", "checkpoints: true,", "checkpoints: true,\n  numeric: true,");
  project.edit("stages/steps.run.ts", 'text + " " + state.value', "context.backend + state.value");
  return project;
}

Deno.test("results of another platform are taken only where that is asked for, and marked", async () => {
  await using server = new CacheServer();
  const cache = ["--cache", server.url];
  using first = numericProject();
  await first.executed(...cache, "--push", "--backend", "wasm");
  using refusing = numericProject();
  const steps = TOY.filter((name) => name.startsWith("steps"));
  const made = await refusing.executed(...cache, "--backend", "cpu");
  assertEquals(made, ["gather", ...steps]);
  assert(!refusing.read("outputs/trace/runs.js").includes("another platform"));

  using accepting = numericProject();
  const accept = [...cache, "--backend", "cpu", "--accept-platform", "wasm"];
  const ended = await reproduce(accepting, ...accept);
  assertEquals(executed(ended), []);
  assertStringIncludes(notes(ended).join(), "4 results of wasm accepted");
  assertStringIncludes(
    accepting.read("outputs/trace/runs.js"),
    '"backend": "cpu; 4 results of another platform: wasm"',
  );
  assertStringIncludes(accepting.read("outputs/toy.smoke/report/page.txt"), "wasm");
  assertEquals([...Deno.readDirSync(accepting.path("lock"))].length, 1, "no lock but Deno's");
  assertEquals((await accepting.run(["audit"])).code, 0);
  using pulling = numericProject();
  const pulled = await pulling.run(["pull", "--json", ...accept]);
  assertEquals([pulled.code, notes(pulled)], [0, ["4 results of wasm accepted"]]);
  // Asked for once is not asked for the next time.
  assertEquals(await accepting.executed(...cache, "--backend", "cpu"), ["gather", ...steps]);
  const { code, stderr } = await accepting.run(["reproduce", ...accept, "--locked"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "a lock is of one platform");
});

Deno.test("a run that left artifacts in the cache is remembered, until one of them is here", async () => {
  await using server = await filled();
  using project = toyProject();
  const cache = ["--cache", server.url];
  const here = projectAt(project.root, { stages: ["word", "steps", "gather"], experiment: "toy" });
  // What was just written is not trusted to stay as it is.
  for (let round = 0; round < 3; round++) {
    if (round > 0) await new Promise((resolve) => setTimeout(resolve, 2200));
    assertEquals((await reproduceHere(here, cache)).executed, []);
  }
  const memory = await recallHere(here, cache);
  assert(memory !== undefined);
  assertEquals(memory.upToDate, 7);
  assertEquals(await recallHere(here), undefined, "without the cache it is another command");
  const [word] = tracesOf(server).flatMap(([, { outputs }]) => outputs["text"] ?? []);
  const path = `outputs/store/blobs/${word!.sha256.slice(0, 2)}/${word!.sha256.slice(2)}`;
  project.write(path, "something else");
  assertEquals(await recallHere(here, cache), undefined);
  Deno.removeSync(project.path(path));
  assert(await recallHere(here, cache) !== undefined);
});
