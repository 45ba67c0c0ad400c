import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { hashFile, type Sha256, sha256 } from "../../pipeline/key/hash.ts";
import { writeLatest } from "../../pipeline/store/latest.ts";
import { writeSealed } from "../../pipeline/store/sealed.ts";
import { LocalStore } from "../../pipeline/store/local_store.ts";
import type { Trace } from "../../pipeline/store/trace.ts";
import { collectShown, isSealedPage, keepTracePage } from "../../pipeline/views/trace_page.ts";
import { tracePage } from "../../pipeline/views/trace_page/page.ts";
import { toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const PAGE = "outputs/trace/index.html";
const EVIL = `<script>alert("x")</script>&'`;

/** Every fragment that a page links to leads to one of its ids, each of which is there once. */
function assertLinked(page: string): void {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map((match) => match[1]!);
  assertEquals(ids.length, new Set(ids).size);
  const fragments = [...page.matchAll(/href="#([^"]*)"/g)].map((match) => match[1]!);
  assert(fragments.length > 5);
  for (const fragment of fragments) assert(ids.includes(fragment), `nothing has id ${fragment}`);
}

/** The part of a page that belongs to an instance. */
function sectionOf(page: string, name: string): string {
  const section = page.match(/<section[\s\S]*?<\/section>/g)?.find((text) =>
    text.includes(`<h4 id="${name}">`)
  );
  assert(section !== undefined, `${name} has a section`);
  return section;
}

/** A store with hand-written traces, and what a run of them would have recorded. */
function store(): {
  root: string;
  store: LocalStore;
  put: (trace: Partial<Trace>) => Promise<Trace>;
} {
  const root = temporaryFolder();
  const store = new LocalStore(join(root, "store"));
  const put = async (trace: Partial<Trace>): Promise<Trace> => {
    const whole: Trace = {
      key: sha256(JSON.stringify(trace)),
      instance: "word/ann",
      stage: "word",
      run: "toy.smoke",
      ingredients: { stage: "word", code: sha256("code"), deno: "2" },
      sources: {},
      outputs: {},
      metrics: {},
      started: "2026-01-01T00:00:00.000Z",
      seconds: 1,
      machine: { os: "linux" },
      ...trace,
    };
    await store.putTrace(whole);
    return whole;
  };
  return { root, store, put };
}

function record(keys: Record<string, Sha256>, store: LocalStore, profile = "smoke"): void {
  writeLatest({ experiment: "toy", profile, backend: "wasm", set: [], keys }, store);
}

Deno.test("the trace page leads from a run's instance to its inputs, its files and their bytes", async () => {
  using project = toyProject();
  await project.executed();
  const page = project.read(PAGE);
  assertLinked(page);
  const gather = sectionOf(page, "toy.smoke/gather");
  const [, state] = /href="#([0-9a-f]{64})">steps\/ann\/1, state</.exec(gather)!;
  const steps = sectionOf(page, "toy.smoke/steps/ann/1");
  assertStringIncludes(steps, `<span id="${state}">`);
  const [, text] = /href="#([0-9a-f]{64})">word\/ann, text</.exec(steps)!;
  const word = sectionOf(page, "toy.smoke/word/ann");
  assertStringIncludes(word, "<code>&quot;Ann&quot;</code>");
  // From the section to the bytes, by the link that a browser would take.
  const [, link] = new RegExp(`<span id="${text}"><a href="([^"]*)"`).exec(word)!;
  const path = new URL(link!, `file://${project.path(PAGE)}`);
  assertEquals(hashFile(path.pathname), text);
  assertEquals(Deno.readTextFileSync(path), "Ann");
  assertStringIncludes(
    gather,
    '<a href="../toy.smoke/report/page.txt">outputs/toy.smoke/report/page.txt</a>',
  );
  for (const [, href] of page.matchAll(/href="(\.\.\/[^"]*)"/g)) {
    assert(Deno.statSync(new URL(href!, `file://${project.path(PAGE)}`)).isFile, href);
  }
});

Deno.test("a picture of each run leads to its stages, what is fed right of what feeds it", async () => {
  using project = toyProject();
  await project.executed();
  const page = project.read(PAGE);
  const boxes = [...page.matchAll(/<a\s+href="#stage\.toy\.smoke\/(\w+)">\s*<rect\s+x="(\d+)"/g)];
  const left = new Map(boxes.map(([, name, x]) => [name, Number(x)]));
  assertEquals([...left.keys()].sort(), ["gather", "steps", "word"]);
  assert(left.get("word")! < left.get("steps")! && left.get("steps")! < left.get("gather")!);
  assertEquals(page.match(/<path\s+d="/g)?.length, 2, "word to steps, steps to gather");
  assertStringIncludes(page, '<h3 id="stage.toy.smoke/steps">');
  assertStringIncludes(page, "deno task bundle toy.smoke");
  assertStringIncludes(page, "deno task verify --page again.html --experiment toy --profile smoke");
});

Deno.test("the page is written when a run changed something or it is missing, and only then", async () => {
  using project = toyProject();
  await project.executed();
  const path = project.path(PAGE);
  const first = Deno.statSync(path);
  assertEquals(await project.executed(), []);
  assertEquals(Deno.statSync(path).ino, first.ino, "nothing to do: not touched");
  Deno.removeSync(path);
  assertEquals(await project.executed(), []);
  assert(isSealedPage(project.read(PAGE)), "made again");
  assertEquals(await project.executed("--profile", "slow", "--set", "steps.delayMs=0"), [
    "gather",
    "steps/ann/1",
    "steps/ann/2",
    "steps/bob/1",
    "steps/bob/2",
  ]);
  const both = project.read(PAGE);
  assertLinked(both);
  // One result of two runs: one section, and a way in by either name.
  assertStringIncludes(
    sectionOf(both, "toy.slow/word/ann"),
    '<span id="toy.smoke/word/ann">toy.smoke/word/ann</span>',
  );
});

Deno.test("audit reports an altered or missing trace page, and --repair makes it again", async () => {
  using project = toyProject();
  await project.executed();
  const page = project.read(PAGE);
  project.write(PAGE, page.replace("steps", "stops"));
  const altered = await project.run(["audit"]);
  assertEquals(altered.code, 1);
  assertStringIncludes(altered.stdout, "its content does not match its seal");
  Deno.removeSync(project.path(PAGE));
  assertStringIncludes((await project.run(["audit"])).stdout, "missing   output");
  project.write(PAGE, page.slice(0, -1));
  assertEquals((await project.run(["audit", "--repair"])).code, 0);
  assertEquals(project.read(PAGE), page);
});

Deno.test("profile, backend, commit and days of a run are beside the page, and in no artifact", async () => {
  using project = toyProject();
  const git = (...args: string[]) => {
    const { success, stdout } = new Deno.Command("git", {
      args: ["-C", project.root, "-c", "user.name=a", "-c", "user.email=a@b.c", ...args],
    }).outputSync();
    assert(success, args.join(" "));
    return new TextDecoder().decode(stdout).trim();
  };
  project.write(".gitignore", "outputs/\n");
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "all");
  const commit = git("rev-parse", "HEAD");
  await project.executed();
  const facts = (outputs = "outputs") => {
    const script = project.read(`${outputs}/trace/runs.js`);
    assert(isSealedPage(script, "runs.js"));
    return new Function("lockstepRuns", script.replace("globalThis.", "return ")).call(
      undefined,
      (runs: { name: string }[]) => runs.find(({ name }) => name === "toy.smoke"),
    );
  };
  const { days, ...known } = facts();
  assertEquals(known, {
    ...{ name: "toy.smoke", profile: "smoke", backend: "wasm", set: [], commit },
    from: [],
  });
  const today = new Date().toISOString().slice(0, 10);
  assert(days[0] <= today && days[1] <= today && days[0] >= "2026", days.join());
  // What a run makes is no edit, neither results nor the lock; another file is one.
  await project.executed("--profile", "slow", "--set", "steps.delayMs=0");
  assertEquals(facts().commit, commit);
  await project.executed("--outputs", "out[1]");
  assertEquals(facts("out[1]").commit, commit);
  Deno.removeSync(project.path("out[1]"), { recursive: true });
  // As in a hook of another repository.
  const hook = { GIT_DIR: project.path("outputs/.git"), GIT_INDEX_FILE: project.path("nowhere") };
  assertEquals((await project.run(["reproduce", "--force", "gather"], hook)).code, 0);
  assertEquals(facts().commit, commit);
  const noGit = { PATH: project.path("outputs") };
  assertEquals((await project.run(["reproduce", "--force", "gather"], noGit)).code, 0);
  assertEquals(facts().commit, `${commit}, not compared with the files`);
  project.write("notes.txt", "x");
  await project.executed("--force", "gather");
  assertEquals(facts().commit, `${commit}, edited`);
  assertStringIncludes(project.read(PAGE), `<code>${commit}, edited</code>`);
  assertEquals((await project.run(["audit"])).code, 0);
});

Deno.test("what names and params hold is text on the page, never markup", async () => {
  const { store: own, put } = store();
  const digest = await own.put("x");
  const trace = await put({
    instance: `word/${EVIL}`,
    ingredients: {
      stage: "word",
      code: sha256("code"),
      [`params.${EVIL}`]: JSON.stringify(EVIL),
      "params.link": JSON.stringify(`https://example.org/"><script>`),
      "params.trap": '"javascript:alert(1)"',
      [`inputs.${EVIL}`]: digest,
      [`packages.${EVIL}`]: EVIL,
    },
    sources: { [EVIL]: digest },
    outputs: {
      [EVIL]: {
        sha256: digest,
        bytes: 1,
        kind: "file",
        exactness: "exact",
      },
    },
    metrics: { [EVIL]: 1 },
    machine: { [EVIL]: EVIL },
  });
  record({ [trace.instance]: trace.key }, own);
  writeSealed(join(own.root, "published.json"), {
    [`a/${EVIL}#%`]: {
      ...{ run: "toy.smoke", instance: trace.instance, key: trace.key, sha256: digest, bytes: 1 },
    },
  });
  const page = tracePage(await collectShown({ store: own, workspace: own }));
  own.close();
  assertEquals(page.match(/<script/g)?.length, 1, "the page's own");
  assert(!/href="(?!#|\.\.\/|https?:)/.test(page), "no other kind of link");
  assertStringIncludes(page, 'href="../a/%3Cscript%3Ealert(%22x%22)%3C/script%3E%26&#39;%23%25"');
  const text = page.replace(/<(style|script)>[\s\S]*?<\/\1>/g, "").replace(/<\/?[a-z][^<>]*>/g, "");
  assertEquals(text.replace("<!doctype html>", "").match(/[<>]/g), null);
});

Deno.test("bytes that several made are there once and name all their makers", async () => {
  const { store: own, put } = store();
  const digest = await own.put("the same");
  const outputs = { text: { sha256: digest, bytes: 8, kind: "file", exactness: "exact" } } as const;
  const traces: Trace[] = [];
  for (const instance of ["word/ann", "word/bob", "word/<cy>"]) {
    traces.push(await put({ instance, outputs }));
  }
  record(Object.fromEntries(traces.map(({ instance, key }) => [instance, key])), own);
  const page = tracePage(await collectShown({ store: own, workspace: own }));
  own.close();
  assertLinked(page);
  assertEquals(page.split(`id="${digest}"`).length, 2);
  const first = sectionOf(page, "toy.smoke/word/ann");
  assertStringIncludes(first, `<a href="#${traces[1]!.key}">word/bob, text</a>`);
  assertStringIncludes(first, `<a href="#${traces[2]!.key}">word/&lt;cy&gt;, text</a>`);
  assertStringIncludes(
    sectionOf(page, "toy.smoke/word/bob"),
    `the same bytes as <a href="#${digest}">word/ann, text</a>`,
  );
});

Deno.test("a long list of params is folded, one that links lead to is not", async () => {
  const { store: own, put } = store();
  const names = Array.from({ length: 60 }, (_, n) => `n${n}`);
  const trace = await put({
    ingredients: {
      code: sha256("code"),
      ...Object.fromEntries(names.map((name) => [`params.${name}`, `"${name}"`])),
    },
    outputs: Object.fromEntries(names.map((name) => [name, {
      ...{ sha256: sha256(name), bytes: 1, kind: "file", exactness: "exact" } as const,
    }])),
  });
  record({ [trace.instance]: trace.key }, own);
  const page = tracePage(await collectShown({ store: own, workspace: own }));
  own.close();
  const folded = page.match(/<details>[\s\S]*?<\/details>/g)!;
  assert(folded.some((part) => part.includes("&quot;n59&quot;")));
  for (const part of folded) assert(!part.includes(" id="), part);
});

Deno.test("an input that no latest run made is followed to the earlier result", async () => {
  const { store: own, put } = store();
  const digest = await own.put("early");
  const early = await put({
    instance: "word/old",
    outputs: { text: { sha256: digest, bytes: 5, kind: "file", exactness: "exact" } },
  });
  const late = await put({
    instance: "gather",
    ingredients: { code: sha256("code"), "inputs.text": digest, "inputs.lost": sha256("lost") },
  });
  record({ gather: late.key }, own);
  const page = tracePage(await collectShown({ store: own, workspace: own }));
  own.close();
  assertLinked(page);
  assertStringIncludes(page, '<h2 id="earlier">');
  assertStringIncludes(page, `<section id="${early.key}"`);
  assertStringIncludes(page, "this store has no trace of it");
});

Deno.test("a store without a run has an empty page, and the page needs no network", async () => {
  const { root, store: own } = store();
  await keepTracePage(root, { store: own, workspace: own }, { changed: false });
  own.close();
  const page = Deno.readTextFileSync(join(root, "trace/index.html"));
  assert(isSealedPage(page));
  assert(!/src=|<link|<img|<iframe|@import|url\(/.test(page));
});
