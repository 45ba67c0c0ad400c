import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "../../pipeline/cli/commands.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import { CacheServer } from "../rig/cache_server.ts";
import { canMount, onDevice } from "../rig/device.ts";
import { type TestProject, toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** A command on a store where nothing can be written. */
interface Case {
  readonly args: readonly string[];
  /** Whether it does its work even so; by default it is refused. */
  readonly works?: boolean;
}

/** Where a project's commands write, and what they read besides. */
interface Place {
  readonly project: TestProject;
  /** On the device. */
  readonly at: string;
  /** Another device. */
  readonly away: string;
  readonly cache: string;
}

const reads = (...args: string[]): Case => ({ args, works: true });
const writes = (...args: string[]): Case => ({ args });
const NEW = ["--set", "steps.rate=9"];

/** Every command, with what of it reads and what writes. */
const CASES: Readonly<Record<Command, (place: Place) => readonly Case[]>> = {
  reproduce: () => [reads("reproduce", "--dry-run", ...NEW), writes("reproduce", ...NEW)],
  plan: () => [reads("plan"), reads("plan", ...NEW), writes("plan", "--calibrate", ...NEW)],
  why: () => [reads("why", "gather")],
  status: () => [reads("status")],
  logs: () => [reads("logs", "steps/ann/1")],
  metrics: () => [reads("metrics")],
  export: ({ at, away }) => [
    reads("export", "gather", "--output", "page", "--to", join(away, "page"), "--overwrite"),
    writes("export", "gather", "--output", "page", "--to", join(at, "page")),
    writes("export", "gather", "--output", "parts", "--to", join(at, "parts")),
    ...["crate", "slsa", "sbom"].map((format) =>
      writes("export", "--format", format, "--to", join(at, format))
    ),
  ],
  sign: ({ project, away }) => [
    reads("sign", project.path("signed"), "--check", "--key", join(away, "public.pem")),
    writes("sign", project.path("unsigned"), "--key", join(away, "private.pem")),
  ],
  graph: () => [reads("graph")],
  diff: ({ at }) => [
    reads("diff", "toy.smoke", "kept"),
    writes("diff", "toy.smoke", "kept", "--page", join(at, "diff.html")),
  ],
  trace: () => [reads("trace", "gather")],
  audit: () => [reads("audit"), writes("audit", "--repair")],
  certify: () => [writes("certify", "word/ann")],
  selfaudit: () => [],
  bundle: ({ at, away }) => [
    reads("bundle", "--overwrite", "--to", join(away, "toy.tar")),
    writes("bundle", "--to", join(at, "toy.tar")),
  ],
  verify: ({ at, away }) => [
    reads("verify", join(away, "toy.tar")),
    writes("verify", join(away, "toy.tar"), "word/ann", "--page", join(at, "page.html")),
  ],
  gc: () => [reads("gc")],
  tag: () => [reads("tag"), writes("tag", "more")],
  push: ({ cache }) => [reads("push", "--cache", cache)],
  pull: ({ cache }) => [writes("pull", "--cache", cache, "--set", "steps.rate=2")],
  // Of a page that is served, `serve_test.ts` says that nothing is written.
  serve: () => [],
  // It knows a machine, and no store.
  doctor: () => [],
  new: () => [writes("new", "mine")],
  schema: () => [writes("schema")],
  completions: () => [reads("completions", "bash")],
  help: () => [reads("help")],
  version: () => [reads("version")],
};

/** A project in which there is something for each command to do. */
async function prepare(at: string, away: string, cache: string): Promise<Place> {
  const project = toyProject(at);
  const template = fileURLToPath(new URL("../../experiments/_template/", import.meta.url));
  for (const { name } of Deno.readDirSync(template)) {
    project.write(`experiments/_template/${name}`, Deno.readTextFileSync(join(template, name)));
  }
  const pair = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  for (
    const [name, format, key] of [
      ["private", "pkcs8", pair.privateKey],
      ["public", "spki", pair.publicKey],
    ] as const
  ) {
    const bytes = new Uint8Array(await crypto.subtle.exportKey(format, key));
    const label = `${name.toUpperCase()} KEY-----\n`;
    const text = `-----BEGIN ${label}${bytes.toBase64()}\n-----END ${label}`;
    Deno.writeTextFileSync(join(away, `${name}.pem`), text, { mode: 0o600 });
  }
  for (const name of ["signed", "unsigned"]) project.write(name, name);
  const commands = [
    ["reproduce", "--set", "steps.rate=2", "--cache", cache, "--push"],
    ["reproduce"],
    ["gc", "--delete", "--latest", "1"],
    ["push", "--cache", cache],
    ["tag", "kept"],
    ["bundle", "--to", join(away, "toy.tar")],
    ["sign", project.path("signed"), "--key", join(away, "private.pem")],
  ];
  for (const args of commands) await run(project, args);
  return { project, at, away, cache };
}

async function run(project: TestProject, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await project.run(args);
  assertEquals(code, 0, `${args.join(" ")}\n${stdout}${stderr}`);
  // How long something took is another each time.
  return stdout.replaceAll(/\d+(\.\d+)? s\b/g, "… s");
}

/** All files below a folder but the catalogue, which is none of a command's results, and what fills the disk. */
function filesBelow(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { name, isFile, isDirectory } of Deno.readDirSync(folder)) {
    const path = join(folder, name);
    if (isDirectory) { for (const [below, digest] of filesBelow(path)) found.set(below, digest); }
    else if (isFile && name !== FILLER && !name.startsWith("catalog.sqlite")) {
      found.set(path, sha256(Deno.readFileSync(path)));
    }
  }
  return found;
}

const FILLER = "filler";

/** Leaves no room on a device. */
function fill(at: string): void {
  using file = Deno.openSync(join(at, FILLER), { write: true, create: true, append: true });
  try {
    for (;;) file.writeSync(new Uint8Array(4096));
  } catch (error) {
    assertMatch(String(error), /No space left/);
  }
}

async function remount(at: string, how: string): Promise<void> {
  const { success } = await new Deno.Command("mount", { args: ["-o", `remount,${how}`, at] })
    .output();
  assert(success);
}

const KINDS = {
  "a full disk": { close: fill, open: (at: string) => Deno.removeSync(join(at, FILLER)) },
  "a read-only disk": {
    close: (at: string) => remount(at, "ro"),
    open: (at: string) => remount(at, "rw"),
  },
};

for (const [kind, { close, open }] of Object.entries(KINDS)) {
  Deno.test({
    name:
      `on ${kind} each command that reads works, and each that writes says why not and leaves nothing`,
    ignore: !canMount(),
    async fn() {
      await using server = new CacheServer();
      const at = temporaryFolder(), away = temporaryFolder();
      await onDevice(at, ["-t", "tmpfs", "-o", "size=24m", "tmpfs"], async () => {
        const place = await prepare(at, away, server.url);
        const { project } = place;
        const cases = Object.values(CASES).flatMap((of) => of(place));
        const before = new Map<Case, string>();
        for (const one of cases) if (one.works) before.set(one, await run(project, one.args));
        const files = filesBelow(at);
        await close(at);
        for (const one of cases) {
          const what = `${one.args.join(" ")} on ${kind}`;
          if (one.works) assertEquals(await run(project, one.args), before.get(one), what);
          else await isRefused(project, one.args, what);
          assertEquals(filesBelow(at), files, what);
          // What was there before, such as a log that SQLite dropped, may have left some.
          if (kind === "a full disk") fill(at);
        }
        await open(at);
        await run(project, ["audit"]);
        for (const { args, works } of cases) if (!works) await run(project, args);
        await run(project, ["audit"]);
      });
    },
  });
}

/** A command must end with 1 and one message, which names a place on the device. */
async function isRefused(
  project: TestProject,
  args: readonly string[],
  what: string,
): Promise<void> {
  const { code, stderr } = await project.run(args);
  assertEquals(code, 1, `${what}\n${stderr}`);
  assertEquals(stderr.trim().split("\n").length, 1, `${what}\n${stderr}`);
  assertMatch(stderr, /room|No space left on the device|Read-only file system/, what);
  assert(stderr.includes(dirname(project.root)), `${what}\n${stderr}`);
}
