/**
 * Audit files: what one is, and trials by a hostile hand. Whatever is altered must be found and named,
 * however much else was made to agree with it.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { type Finding, findingText } from "../../pipeline/replay/finding.ts";
import { recordBytes } from "../../pipeline/replay/record.ts";
import { verifiedText } from "../../pipeline/replay/text.ts";
import { verify } from "../../pipeline/replay/verify.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import { Forger, opened, relisted } from "../rig/forge.ts";
import { type AuditFile, auditFileOf } from "../rig/audit_file.ts";
import { numbersOf } from "../rig/numbers.ts";
import { toyProject, unwrapped } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const VERIFIER = fileURLToPath(new URL("../../pipeline/replay/main.ts", import.meta.url));

/** The audit file of a toy run, with its lock; made once. */
let made: Promise<AuditFile> | undefined;
function audited() {
  return made ??= (async () => {
    using project = toyProject();
    return await auditFileOf(project);
  })();
}

async function findings(
  file: Uint8Array<ArrayBuffer>,
  options: Parameters<typeof verify>[1] = {},
): Promise<readonly Finding[]> {
  return (await verify(file, options)).findings;
}

Deno.test("the same run gives the same audit file, byte for byte, and it is sound", async () => {
  using project = toyProject();
  await project.executed();
  for (const name of ["a.tar", "sub/b.tar"]) {
    const { code, stderr } = await project.run(["bundle", "toy.smoke", "--to", name]);
    assertEquals(code, 0, stderr);
  }
  const [a, b] = ["a.tar", "sub/b.tar"].map((name) => Deno.readFileSync(project.path(name)));
  assertEquals(a, b);
  const verified = await project.run([
    "verify",
    "a.tar",
    "--json",
    "--lock",
    "lock/toy.smoke.lock",
  ]);
  assertEquals(verified.code, 0, verified.stdout + verified.stderr);
  const last = verified.events.at(-1) as unknown as Record<string, unknown>;
  assertEquals([last["event"], last["findings"], last["sha256"]], ["verified", 0, sha256(a!)]);
  const all = await project.run(["verify", "a.tar", "**"]);
  assertStringIncludes(all.stdout, "7 of 7 instances ran again and left the same bits");
});

Deno.test("what is too large stays out, and is listed; what tables are made from never does", async () => {
  using project = toyProject();
  await project.executed();
  const ended = await project.run(["bundle", "--to", "a.tar", "--largest", "2B", "--json"]);
  assertEquals(ended.code, 0, ended.stderr);
  const { index, files } = opened(Deno.readFileSync(project.path("a.tar")));
  // "Ann" and "Bob": as sha256sum has them.
  assertEquals(
    Object.entries(index.leftOut),
    [
      ["17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646", 3],
      ["cd9fb1e148ccd8442e5aa74904cc73bf6fb54d1d54d333bd596aa9bb4bb4e961", 3],
    ].filter(([digest]) => !files.has(`blobs/${digest}`)),
  );
  assertEquals(Object.keys(index.leftOut).length, 2);
  const verified = await project.run(["verify", "a.tar"]);
  assertEquals(verified.code, 0, verified.stdout);
  const again = await project.run(["verify", "a.tar", "steps/ann/1"]);
  assertEquals(again.code, 1);
  assertStringIncludes(
    again.stdout,
    "17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646",
  );
  const refused = await project.run(["bundle", "--to", "a.tar", "--largest", "much"]);
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertStringIncludes(refused.stderr, "it must be a size such as 500kB");
});

Deno.test("a trace that came from a shared cache is bundled as if it were made here", async () => {
  const { file } = await audited();
  const forger = new Forger(file);
  const received = { from: "https://cache.example" };
  forger.set("steps/ann/1", { ...forger.trace("steps/ann/1"), received });
  assertEquals(await forger.file(), file);
});

Deno.test("a run that never was is not bundled, and nothing is written over", async () => {
  using project = toyProject();
  await project.executed();
  const unknown = await project.run(["bundle", "toi.smoke"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(unknown.stderr, 'did you mean "toy.smoke"?');
  project.write("mine.tar", "mine");
  const inWay = await project.run(["bundle", "--to", "mine.tar"]);
  assertEquals(inWay.code, 2);
  assertEquals(project.read("mine.tar"), "mine");
  const store = [...Deno.readDirSync(project.path("outputs/store/blobs"))];
  Deno.removeSync(project.path(`outputs/store/blobs/${store[0]!.name}`), { recursive: true });
  const lost = await project.run(["bundle", "--to", "lost.tar"]);
  assertEquals(lost.code, 1, lost.stdout);
  assertEquals([...Deno.readDirSync(project.root)].filter(({ name }) => name.includes("lost")), []);
});

Deno.test("the verifier needs no package, no network and no right but to read the file", async () => {
  const { file } = await audited();
  const folder = temporaryFolder(), path = `${folder}/a.tar`;
  Deno.writeFileSync(path, file);
  const verifier = (args: readonly string[]) =>
    new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        ...["--no-npm", "--no-remote", "--no-lock"],
        `--allow-read=${path}`,
        VERIFIER,
        ...args,
      ],
      clearEnv: true,
      env: { HOME: folder, DENO_DIR: `${folder}/cache`, NO_COLOR: "1" },
    }).output();
  const { code, stdout, stderr } = await verifier([path, "**"]);
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertEquals(code, 0, text);
  assertStringIncludes(text, "7 of 7 instances ran again and left the same bits");
  assertEquals((await verifier([path, "gather", "nosuch"])).code, 2);
  const forger = new Forger(file);
  forger.ingredients("gather", (own) => {
    own["code"] = forger.keep('export const run = () => import("npm:" + "left-pad@1.3.0");');
  });
  Deno.writeFileSync(path, await forger.file());
  const fetching = await verifier([path]);
  const said = new TextDecoder().decode(fetching.stdout) +
    new TextDecoder().decode(fetching.stderr);
  assertEquals(fetching.code, 1);
  assert(said.includes("--no-npm is specified") && !said.includes("Download"), said);
  Deno.writeFileSync(path, file.with(file.length >> 1, file[file.length >> 1]! ^ 1));
  assertEquals((await verifier([path])).code, 1);
});

Deno.test("a pattern that no instance matches is refused, and nothing is called sound", async () => {
  using project = toyProject();
  Deno.writeFileSync(project.path("a.tar"), (await audited()).file);
  const { code, stdout, stderr } = await project.run(["verify", "a.tar", "gather", "nosuch"]);
  assertEquals([code, stdout], [2, ""]);
  assertStringIncludes(unwrapped(stderr), "Cannot verify nosuch: it matches no instance");
});

Deno.test("other programs read an audit file", async () => {
  const { file } = await audited();
  const folder = temporaryFolder();
  Deno.writeFileSync(`${folder}/a.tar`, file);
  let ended: Deno.CommandOutput;
  try {
    ended = await new Deno.Command("tar", { args: ["xf", "a.tar"], cwd: folder }).output();
  } catch {
    return console.warn("SKIPPED: this machine has no tar");
  }
  assertEquals([ended.code, new TextDecoder().decode(ended.stderr)], [0, ""]);
  for (const [name, content] of opened(file).files) {
    assertEquals(Deno.readFileSync(`${folder}/${name}`), content, name);
  }
});

Deno.test("300 random alterations of bytes are all found, without running anything", async () => {
  const { file } = await audited();
  const number = numbersOf("audit file bytes");
  const alter = [
    (at: number) => file.with(at, file[at]! ^ 1 << number(8)),
    (at: number) => file.with(at, number(256) === file[at] ? file[at]! ^ 255 : number(256)),
    (at: number) => Uint8Array.of(...file.subarray(0, at), ...file.subarray(at + 1 + number(700))),
    (at: number) => Uint8Array.of(...file.subarray(0, at), number(256), ...file.subarray(at)),
    (at: number) => Uint8Array.of(...file, ...file.subarray(at)),
    // Two blocks change places.
    (at: number) => {
      const [one, two] = [at - at % 512, number(file.length / 512 | 0) * 512];
      const swapped = file.slice();
      swapped.set(file.subarray(one, one + 512), two);
      swapped.set(file.subarray(two, two + 512), one);
      return swapped;
    },
  ];
  for (let trial = 0; trial < 300; trial++) {
    const altered = alter[trial % alter.length]!(number(file.length)) as Uint8Array<ArrayBuffer>;
    if (altered.length === file.length && altered.every((byte, at) => byte === file[at])) continue;
    const found = await findings(altered, { again: () => false });
    assert(found.length > 0, `trial ${trial}`);
    assert(found.every((each) => findingText(each).length > 20), `trial ${trial}`);
  }
});

/** What is altered by a hand that makes digests agree, and the words by which it must be found. */
const FORGERIES: Readonly<
  Record<string, readonly [edit: (forger: Forger) => void, named: RegExp]>
> = {
  "an artifact, with its trace": [
    (forger) => forger.alter("steps/ann/1", "state", (text) => text.replace("40", "41")),
    /input +gather, input states \[steps\.state\{"name":"ann","seed":"1"\}\]: must be what an instance/,
  ],
  "an artifact, with all that names it": [
    (forger) => {
      const before = new Forger(FILE!);
      forger.alter("steps/ann/1", "state", (text) => text.replace("40", "41"));
      forger.rekey(before);
    },
    /result +gather, output page at line 2: recorded .*Ann 40.* again .*Ann 41/,
  ],
  "a cell of a table": [
    (forger) => forger.alter("gather", "page", (text) => text.replace("Bob 67", "Bob 76")),
    /result +gather, output page at line 5: recorded .*Bob 76.* again .*Bob 67/,
  ],
  "a file in a folder": [
    (forger) => forger.alter("gather", "parts", (text) => `${text}!`, "1ann.txt"),
    /result +gather, output parts at 1ann.txt, line 2: recorded/,
  ],
  "a param": [
    (forger) => forger.ingredients("gather", (own) => own["params.title"] = '"None"'),
    /result +gather, output page at line 1: recorded "All", again "None"/,
  ],
  "what the code computes": [
    (forger) => forger.ingredients("gather", (own) => own["code"] = forger.keep(GATHERS_NOTHING)),
    /result +gather, output page at line 1: recorded "All", again "nothing"/,
  ],
  "which run was which": [
    (forger) =>
      forger.ingredients("gather", (own) => {
        const [one, two] = ["1", "2"].map((seed) =>
          `inputs.states[steps.state{"name":"ann","seed":"${seed}"}]`
        );
        [own[one!], own[two!]] = [own[two!]!, own[one!]!];
      }),
    /input +gather, input states \[steps\.state\{"name":"ann","seed":"1"\}\]: must be made by what its label/,
  ],
  "a run that is not gathered": [
    (forger) =>
      forger.ingredients(
        "gather",
        (own) => delete own['inputs.states[steps.state{"name":"bob","seed":"2"}]'],
      ),
    /result +gather, output page at line 5/,
  ],
  "an ingredient, without the key": [
    (forger) => {
      const trace = forger.trace("steps/bob/2");
      forger.set("steps/bob/2", {
        ...trace,
        ingredients: { ...trace.ingredients, "params.rate": "2" },
      });
    },
    /key +steps\/bob\/2, key from its ingredients: must be [0-9a-f]{64}, found [0-9a-f]{64}/,
  ],
  "the size of a file": [
    (forger) => resize(forger, "steps/bob/2", "state"),
    /blob +blobs\/[0-9a-f]{64}, state of steps\/bob\/2: must be 7 bytes, found 6/,
  ],
  "the size of a folder": [
    (forger) => resize(forger, "steps/bob/2", "log"),
    /trace +steps\/bob\/2, log: must be 10 bytes in all, found 11/,
  ],
  "how an output is compared": [
    (forger) => {
      const trace = forger.trace("word/ann"), text = trace.outputs["text"]!;
      forger.set("word/ann", { ...trace, outputs: { text: { ...text, exactness: "measured" } } });
    },
    /trace +word\/ann, outputs\.text: must be file, exact, found file, measured/,
  ],
  "an output that nothing declares": [
    (forger) => {
      const trace = forger.trace("word/ann");
      forger.set("word/ann", {
        ...trace,
        outputs: { ...trace.outputs, more: trace.outputs["text"]! },
      });
    },
    /trace +word\/ann, outputs\.more: must be an ingredient/,
  ],
};

/** Code that gives the same whatever it is given. */
const GATHERS_NOTHING = `export async function run(context) {
  Deno.writeTextFileSync(context.output("page"), "nothing");
}`;

function resize(forger: Forger, instance: string, output: string): void {
  const trace = forger.trace(instance), record = trace.outputs[output]!;
  const resized = { ...record, bytes: record.bytes + 1 };
  forger.set(instance, { ...trace, outputs: { ...trace.outputs, [output]: resized } });
}

let FILE: Uint8Array<ArrayBuffer> | undefined;

Deno.test("what was altered is named, whatever was made to agree with it", async (test) => {
  FILE = (await audited()).file;
  assertEquals(await findings(await new Forger(FILE).file()), [], "a forger who alters nothing");
  for (const [name, [edit, named]] of Object.entries(FORGERIES)) {
    await test.step(name, async () => {
      const forger = new Forger(FILE!);
      edit(forger);
      const text = (await findings(await forger.file())).map(findingText).join("\n");
      assert(named.test(text), text || "nothing was found");
    });
  }
});

Deno.test("files that are missing, too many, renamed or listed wrongly are named", async () => {
  const { file } = await audited();
  const names = [...opened(file).files.keys()];
  const trace = names.find((name) => name.startsWith("traces/"))!;
  const blob = names.findLast((name) => name.startsWith("blobs/"))!;
  const lock = names.find((name) => name.startsWith("lock/"))!;
  const text = async (edit: (files: Map<string, Uint8Array>) => void) =>
    (await findings(relisted(file, edit))).map(findingText).join("\n");
  const bytes = new TextEncoder().encode("more");
  assertEquals(await text(() => {}), "");
  for (const name of [trace, blob, lock]) {
    assertStringIncludes(await text((files) => files.delete(name)), name);
  }
  assertStringIncludes(
    await text((files) => files.set(trace, bytes)),
    `${trace}: must be an intact trace`,
  );
  assertStringIncludes(await text((files) => files.set(blob, bytes)), blob);
  const other = `traces/${"0".repeat(64)}.json`;
  assertStringIncludes(await text((files) => files.set(other, files.get(trace)!)), other);
  const unnamed = `blobs/${sha256(bytes)}`;
  assertStringIncludes(
    await text((files) => files.set(unnamed, bytes)),
    `${unnamed}: must be named by a trace`,
  );
  assertStringIncludes(
    await text((files) => files.set("readme", bytes)),
    "readme: must be in a folder",
  );
  const edited = (files: Map<string, Uint8Array>) => {
    const was = new TextDecoder().decode(files.get(lock));
    files.set(lock, new TextEncoder().encode(was.replaceAll("value=67", "value=76")));
  };
  assert(
    /steps\/bob\/2: must be .*value=67, found .*value=76/.test(await text(edited)),
    await text(edited),
  );
});

Deno.test("whoever alters the code and all that follows is found out by a lock from elsewhere alone", async () => {
  const { file, lock } = await audited();
  assertEquals(await findings(file, { lock: () => lock }), []);
  const forger = new Forger(file);
  const wanted = forger.text("gather", "page").replace("Bob 67", "Bob 76");
  forger.alter("gather", "page", () => wanted);
  const parts = ["1ann", "2ann", "1bob", "2bob"].map((name) => `${name}.txt`)
    .map((name) => [name, forger.text("gather", "parts", name)]);
  forger.ingredients("gather", (own) => {
    own["code"] = forger.keep(`export async function run(context) {
      Deno.writeTextFileSync(context.output("page"), ${JSON.stringify(wanted)});
      for (const [name, text] of ${JSON.stringify(parts)}) {
        Deno.writeTextFileSync(context.output("parts") + "/" + name, text);
      }
    }`);
  });
  const forged = await forger.file();
  assertEquals(await findings(forged), [], "the file alone agrees with itself");
  const text = (await findings(forged, { lock: () => lock })).map(findingText).join("\n");
  assert(
    /lock +lock\/toy\.smoke\.lock, against the one given, gather: must be key=/.test(text),
    text,
  );
});

Deno.test("a run's certificates go with it, and must be of its results", async () => {
  using project = toyProject();
  await project.executed();
  const certified = await project.run(["certify", "gather", "--times", "1"]);
  assertEquals(certified.code, 0, certified.stdout + certified.stderr);
  assertEquals((await project.run(["bundle", "--to", "a.tar"])).code, 0);
  const verified = await project.run(["verify", "a.tar"]);
  assertEquals(verified.code, 0, verified.stdout);
  assertStringIncludes(unwrapped(verified.stdout), "19 blobs, 1 certificates;");
  const file = Deno.readFileSync(project.path("a.tar"));
  const { index, files } = opened(file);
  const own = `certificates/${index.instances["gather"]}.json`;
  const text = (await findings(relisted(file, (all) => {
    const edited = new TextDecoder().decode(all.get(own)).split("\nsha256")[0]!;
    const certificate = JSON.parse(edited.replaceAll(/"bytes": \d+/g, '"bytes": 1')) as object;
    all.set(own, recordBytes({ ...certificate, metrics: { value: 1 } }));
    all.set(`certificates/${"0".repeat(64)}.json`, files.get(own)!);
  }))).map(findingText).join("\n");
  assertStringIncludes(
    text,
    `${own}: must be a certificate of gather, found one of another result`,
  );
  assertStringIncludes(text, "found one of no key of the run");
});

Deno.test("a checkout says whether the lock and the code in the file are its own", async () => {
  using project = toyProject();
  await project.executed();
  assertEquals((await project.run(["bundle", "--to", "a.tar"])).code, 0);
  const args = ["verify", "a.tar", "--checkout", "--json"];
  const same = await project.run(args);
  assertEquals(same.code, 0, same.stdout + same.stderr);
  project.edit("lib/grow.ts", "value * factor + 1", "value * factor + 2");
  const edited = await project.run(args);
  const found = edited.events.filter(({ event }) => event as string === "finding") as unknown[];
  assertEquals(
    (found as Finding[]).map(({ what, where }) => `${what}: ${where}`),
    ["code: code of stage steps, of steps/ann/1"],
  );
  Deno.removeSync(project.path("lock/toy.smoke.lock"));
  const unlocked = await project.run(["verify", "a.tar", "--checkout"]);
  assertEquals(unlocked.code, 1);
  assertStringIncludes(unwrapped(unlocked.stdout), "must be given, found no lock of this run");
});

Deno.test("an audit file is read in pieces, and one that changes meanwhile is found out", async () => {
  const { file } = await audited();
  const { index } = opened(file);
  // Each blob is at hand whole once alone: when an instance that reads it runs.
  const largest = Math.max(...[...opened(file).files.values()].map(({ length }) => length));
  let longest = 0, reads = 0, changed = false;
  const archive = {
    length: file.length,
    read(from: number, to: number) {
      longest = Math.max(longest, to - from);
      reads++;
      const part = file.slice(from, to);
      return changed ? part.map((byte) => byte ^ 1) : part;
    },
  };
  assertEquals((await verify(archive)).findings, []);
  assert(longest <= Math.max(largest, 1 << 20), `${longest} bytes at once`);
  assert(reads > Object.keys(index.files).length);
  const again = (_: unknown, instance: string) => instance === "gather";
  const onInstances = () => void (changed = true);
  const text = await verify(archive, { again, onInstances }).catch(({ message }) => message);
  assertStringIncludes(JSON.stringify(text), "it changed while the file was read");
});

Deno.test("what is no audit file is said to be none", async () => {
  const { file } = await audited();
  for (const bytes of [new Uint8Array(), new Uint8Array(5), file.slice(0, 700), file.slice(512)]) {
    const found = await findings(bytes);
    assertEquals(found.length, 1);
    assertStringIncludes(findingText(found[0]!), "must be an audit file, found Cannot read");
  }
});

/** What a machine says of itself and of its day: of a file alone nobody can tell. */
const UNPROVABLE = "commit set instance run started seconds machine sources".split(" ");

/** Puts something else at a random place of a JSON value, and returns where. */
function disturb(root: Record<string, unknown>, number: (bound: number) => number): string {
  let at = root as Record<string, unknown>, path = "";
  for (;;) {
    const keys = Object.keys(at).filter((key) => at !== root || !UNPROVABLE.includes(key));
    const key = keys[number(keys.length)]!;
    path += `.${key}`;
    const value = at[key];
    const isTree = typeof value === "object" && value !== null && Object.keys(value).length > 0;
    if (isTree && number(4) > 0) {
      at = value as Record<string, unknown>;
      continue;
    }
    const others = [null, -1, 0.5, "", "x", [], {}, true, "0".repeat(64), number(1000)];
    const kind = number(4);
    if (kind === 0) delete at[key];
    else if (kind === 1) at[`${key}x`] = value;
    else if (kind === 2 && typeof value === "string") at[key] = value.replace(/.$/, "7");
    else at[key] = others[number(others.length)];
    return path.slice(1);
  }
}

Deno.test("400 random edits of index and traces, sealed again and listed, are found", async () => {
  const { file } = await audited();
  const { index, files } = opened(file);
  const number = numbersOf("records");
  const traces = [...files.keys()].filter((name) => name.startsWith("traces/"));
  const parsed = (text: string) =>
    JSON.parse(text.split("\nsha256 ")[0]!) as Record<string, unknown>;
  for (let trial = 0; trial < 400; trial++) {
    const name = trial % 4 === 0 ? "audit.json" : traces[number(traces.length)]!;
    const before = name === "audit.json"
      ? index
      : parsed(new TextDecoder().decode(files.get(name)));
    const edited = structuredClone(before) as Record<string, unknown>;
    const place = disturb(edited, number);
    if (JSON.stringify(edited) === JSON.stringify(before)) continue;
    const forged = relisted(file, (all) => {
      if (name !== "audit.json") all.set(name, recordBytes(edited));
    }, name === "audit.json" ? edited : undefined);
    const found = await findings(forged, { again: () => false });
    assert(found.length > 0, `trial ${trial}: ${name} ${place}`);
  }
});

Deno.test("no name in a file leads a lock or a line of the verifier elsewhere", async () => {
  const { file } = await audited();
  const { index } = opened(file);
  const [key] = Object.values(index.instances);
  for (
    const other of [
      { commit: `${"a".repeat(40)}\nsound   every digest holds` },
      { commit: "\x1b[8m" },
      { experiment: "../../toy" },
      { experiment: "/toy" },
      { profile: "smoke\n" },
      { backend: "../wasm" },
      { instances: { ...index.instances, "a\nsound": key } },
      { instances: { ...index.instances, "a/\x9b8m": key } },
    ]
  ) {
    const forged = relisted(file, () => {}, { ...index, ...other });
    const found = await findings(forged, { again: () => false });
    assertEquals(found.map(({ where }) => where), ["the file"], JSON.stringify(other));
  }
  for (const edited of ["", ", edited", ", not compared with the files"]) {
    const commit = "a".repeat(40) + edited;
    assertEquals(await findings(relisted(file, () => {}, { ...index, commit })), []);
  }
});

Deno.test("what a file's code says is escaped, and looks like no line of the verifier", async () => {
  const forger = new Forger((await audited()).file);
  forger.ingredients("gather", (own) => {
    own["code"] = forger.keep(`export async function run() {
      throw new Error("\\x1b[2J\\nsound   every digest holds\\r\\x9b8m\\u202e");
    }`);
  });
  const lines = verifiedText(await verify(await forger.file())).flatMap((line) => line.split("\n"));
  assertEquals(lines.filter((line) => /^(sound|again)|[^\P{C}]/u.test(line)), []);
  assertStringIncludes(lines.join("\n"), "\\u001b[2J\n        | sound   every digest holds\\u000d");
});

Deno.test("what a trace calls timed runs again, and what did not run again is listed", async () => {
  const { file } = await audited();
  const forger = new Forger(file);
  forger.alter("gather", "page", (text) => text.replace("Bob 67", "Bob 76"));
  forger.ingredients("gather", (own) => own["alone"] = "true");
  const found = (await findings(await forger.file())).map(findingText).join("\n");
  assert(/result +gather, output page at line 5/.test(found), found);
  const other = new Forger(file);
  other.ingredients("gather", (own) => own["platform.backend"] = "wasm");
  const text = verifiedText(await verify(await other.file())).join("\n");
  assertStringIncludes(text, "not run 1 instances: 1 of gather, which compute on wasm\n");
});

Deno.test("whatever the file holds all of runs again, gathered or not; what can't run here is listed", async () => {
  const { file } = await audited();
  const without = new Forger(file);
  without.ingredients("gather", (own) => {
    for (const name of Object.keys(own)) if (name.startsWith("inputs.")) delete own[name];
    for (const input of ["states", "logs"]) own[`inputs.${input}`] = "none";
  });
  const found = (await findings(await without.file())).map(findingText).join("\n");
  assert(/result +gather, output page at line 2: recorded/.test(found), found);
  const altered = new Forger(file);
  altered.set("steps/bob/2", { ...altered.trace("steps/bob/2"), metrics: { value: 68 } });
  assertEquals((await findings(await altered.file())).map(findingText), [
    "result  steps/bob/2, metric value: must be 67, found 68",
  ]);
  const failing = new Forger(file);
  failing.ingredients("word/ann", (own) => {
    own["code"] = failing.keep('export const run = () => fetch("https://example.org/");');
  });
  const verified = await verify(await failing.file());
  assertEquals(verified.findings, []);
  const text = verifiedText(verified).join("\n");
  assertStringIncludes(text, "not run 1 instances: 1 of word, which cannot run here\n");
});
