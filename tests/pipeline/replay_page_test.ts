/**
 * Pages on which instances run again: in Chromium, opened as a file and from a server, as they were
 * written and as a hostile hand left them.
 *
 * @module
 */
import axe from "axe-core";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { pathToFileURL } from "node:url";
import { choicesOf, pack, unpack } from "../../pipeline/replay/page/material.ts";
import { replayPage } from "../../pipeline/replay/page/page.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import { inspect } from "../../pipeline/replay/verify.ts";
import { type Browser, type Look, startBrowser } from "../rig/browser.ts";
import { Forger } from "../rig/forge.ts";
import { numbersOf } from "../rig/numbers.ts";
import { type TestProject, toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";
import { copyOfThisProject } from "../rig/this_project.ts";

const MATERIAL = /(id="material">)([^<]*)/;

/** A page's audit file. */
async function materialOf(page: string): Promise<Uint8Array<ArrayBuffer>> {
  return await unpack(MATERIAL.exec(page)![2]!);
}

/** What the cards of an open page say once all have run. */
interface Card {
  readonly instance: string;
  readonly state: string;
  readonly text: string;
  readonly findings: string;
  readonly digests: readonly (readonly string[])[];
  /** How often a curve changed while it ran. */
  readonly drawn: number;
}

/** Opens a page, waits for its records, presses the button that runs all, and waits for that. */
async function runAll(
  browser: Browser,
  url: string | URL,
  look: Look = {},
): Promise<{ records: string; cards: Card[] }> {
  await browser.open(url, look);
  const records = await browser.evaluate<string>(`(async () => {
    const state = () => document.querySelector("#records").dataset.state;
    while (!state()) await new Promise((resolve) => setTimeout(resolve, 20));
    return state() + ": " + document.querySelector("main").innerText;
  })()`);
  const cards = await browser.evaluate<Card[]>(`(async () => {
    const all = document.querySelector("#all"), sections = [...document.querySelectorAll("section")];
    const drawn = new Map(sections.map((section) => [section, 0]));
    for (const section of sections) {
      const line = section.querySelector("polyline");
      if (line) new MutationObserver(() => {
        if (section.dataset.state === "runs") drawn.set(section, drawn.get(section) + 1);
      }).observe(line, { attributes: true });
    }
    if (all?.disabled ?? true) return [];
    all.click();
    const isOver = () => sections.every(({ dataset }) => /same|differs/.test(dataset.state)) && !all.disabled;
    while (!isOver()) await new Promise((resolve) => setTimeout(resolve, 20));
    return sections.map((section) => ({
      instance: section.dataset.instance,
      state: section.dataset.state,
      text: section.querySelector("output").textContent,
      findings: section.querySelector("ul")?.textContent ?? "",
      digests: [...section.querySelectorAll("tbody tr")].map((row) =>
        [...row.cells].map(({ textContent }) => textContent)),
      drawn: drawn.get(section),
    }));
  })()`);
  return { records, cards };
}

/** What the open page says of an instance that it ran on WebGPU. */
function onWebgpu(browser: Browser, instance: string): Promise<string> {
  return browser.evaluate(`(async () => {
    const section = document.querySelector('section[data-instance="${instance}"]');
    section.querySelector("button.webgpu").click();
    while (section.dataset.state === "runs") await new Promise((resolve) => setTimeout(resolve, 20));
    return section.dataset.state + ": " + section.innerText;
  })()`);
}

/** Writes a page to a file and gives its URL. */
function written(page: string): URL {
  const path = `${temporaryFolder()}/page.html`;
  Deno.writeTextFileSync(path, page);
  return pathToFileURL(path);
}

async function pageBy(project: TestProject, ...args: string[]): Promise<string> {
  const ended = await project.run(["verify", "--page", "page.html", ...args, "--overwrite"]);
  assertEquals(ended.code, 0, ended.stderr);
  return project.read("page.html");
}

let made: Promise<string> | undefined;
/** A page of two of a toy run's instances, which holds the whole run; made once. */
function toyPage(): Promise<string> {
  return made ??= (async () => {
    using project = toyProject();
    await project.executed();
    const { code, stderr } = await project.run(["bundle", "--to", "toy.tar"]);
    assertEquals(code, 0, stderr);
    return await replayPage(Deno.readFileSync(project.path("toy.tar")), ["steps/ann/1", "gather"]);
  })();
}

Deno.test("a page holds what its instances need, says its size, and is of the same bytes each time", async () => {
  using project = toyProject();
  await project.executed();
  const args = ["verify", "--page", "a.html", "steps/ann"];
  const { code, stdout, stderr } = await project.run(args);
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /^2 of 7 instances, 0\.\d MB\nwrote .*a\.html\n$/);
  const page = project.read("a.html");
  assertEquals(await pageBy(project, "steps/ann"), page);
  const choices = choicesOf(["steps/ann/1", "steps/ann/2"]);
  const { findings, index } = inspect(await materialOf(page), { choices });
  assertEquals(findings, []);
  // With what they came from, and nothing else.
  assertEquals(Object.keys(index!.instances), ["steps/ann/1", "steps/ann/2", "word/ann"]);
  assertEquals((await project.run(args)).code, 2, "something is there");
  // From an audit file it is the same page.
  assertEquals((await project.run(["bundle", "--to", "a.tar"])).code, 0);
  assertEquals(await pageBy(project, "a.tar", "steps/ann"), page);
  const none = await project.run(["verify", "--page", "b.html", "a.tar"]);
  assertEquals([none.code, none.stdout], [2, ""]);
  assertStringIncludes(none.stderr, "it needs instances, e.g. gather");
  const small = await project.run(["bundle", "--to", "b.tar", "--largest", "0B"]);
  assertEquals(small.code, 0, small.stderr);
  const without = await project.run(["verify", "--page", "b.html", "b.tar", "steps/ann"]);
  assertEquals(without.code, 1, without.stdout);
  assertStringIncludes(without.stderr, "Cannot take text of word/ann: it must be in the store, or");
  const unknown = await project.run(["verify", "--page", "b.html", "step"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(unknown.stderr, "it matches no instance");
});

Deno.test("in Chromium instances run again from a file and from a server, and give the same bits", async () => {
  await using browser = await startBrowser("a page that runs instances again");
  if (browser === undefined) return;
  const page = await toyPage();
  const asked: string[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    asked.push(new URL(url).pathname);
    return new Response(page, { headers: { "content-type": "text/html" } });
  });
  for (const url of [written(page), `http://127.0.0.1:${server.addr.port}/page.html`]) {
    const { records, cards } = await runAll(browser, url);
    assertMatch(records, /^same: [^]*All records agree: \d+ digests and 7 keys/);
    assertEquals(cards.map(({ instance, state }) => [instance, state]), [
      ["steps/ann/1", "same"],
      ["gather", "same"],
    ]);
    for (const [name, recorded, again, verdict] of cards.flatMap(({ digests }) => digests)) {
      assertEquals([again, verdict], [recorded, "same bits"], name);
    }
  }
  assertEquals(asked.filter((path) => path !== "/favicon.ico"), ["/page.html"]);
  assertEquals(browser.complaints.filter((each) => !each.includes("favicon")), []);
});

Deno.test("in Chromium the page breaks no accessibility rule once all ran, in light and dark, wide and narrow", async () => {
  await using browser = await startBrowser("a page that runs instances again");
  if (browser === undefined) return;
  const forger = new Forger(await materialOf(await toyPage()));
  forger.alter("gather", "page", (text) => text.replace("Bob 67", "Bob 76"));
  const page = (await toyPage()).replace(MATERIAL, `$1${await pack(await forger.file())}`);
  for (const look of [{ dark: false, width: 1100 }, { dark: true, width: 400 }]) {
    const { cards } = await runAll(browser, written(page), look);
    assertEquals(cards.map(({ state }) => state), ["same", "differs"]);
    await browser.evaluate(axe.source);
    const said = await browser.evaluate<{ broken: string[]; passes: number; overflow: number }>(
      `axe.run().then(({ violations, passes }) => ({
        broken: violations.map(({ id, nodes }) => id + " " + nodes[0].html.slice(0, 100)),
        passes: passes.length,
        overflow: document.documentElement.scrollWidth - innerWidth,
      }))`,
    );
    assertEquals(said.broken, []);
    assert(said.passes > 15 && said.overflow <= 0, JSON.stringify(said));
  }
});

/** Edits of what is written in a page, beside its material, and what is said of those that are seen. */
const WRITTEN: Readonly<Record<string, readonly [from: RegExp, to: string, named?: RegExp]>> = {
  "the title": [/<title>.*?<\/title>/, "<title>Run again: other.paper</title>"],
  "the heading": [/<h1>.*?<\/h1>/, "<h1>Run again: other.paper</h1>"],
  "a commit, a stage and seconds": [
    /<main>/,
    "<main><dl><dt>Commit<dd>0000</dl><p>Stage other; the recorded run took 9.9 s.</p>",
  ],
  "recorded digests": [/(?<=<code>)[0-9a-f]{64}/g, "0".repeat(64)],
  "the name of what ran": [/<h2>gather<\/h2>/, "<h2>report</h2>"],
  "a card": [
    /<\/main>/,
    '<section data-instance="gather" data-state="same"><h2>report</h2><table><tbody>' +
    `<tr data-output="page"><td>page<td><code>${"0".repeat(64)}</code><td><code class="again">` +
    '</code><td class="same">same bits</table><output></output></section></main>',
  ],
  "a line below": [/<script/, "<p>All records agree</p><script"],
  "the list of instances": [/"gather"/g, '"report"', /trace +the page: .* found report/],
  "no list of instances": [/(id="instances">)[^<]*/, "$17", /its instances are no list/],
};

Deno.test("in Chromium a page shows what its records say, whatever else was written into it", async () => {
  await using browser = await startBrowser("an edited page");
  if (browser === undefined) return;
  const page = await toyPage();
  const index = inspect(await materialOf(page), {
    choices: choicesOf(["steps/ann/1", "gather"]),
  }).index!;
  const shown = async (text: string) => {
    const { records } = await runAll(browser, written(text));
    const all = await browser.evaluate<string>("document.title + document.body.innerText");
    return { records, all: all.replaceAll(/in \d+\.\d s, in this browser/g, "in some time") };
  };
  const { all: before } = await shown(page);
  assertStringIncludes(before, `Run again: ${index.experiment}.${index.profile}`);
  assertStringIncludes(before, "Stage step");
  assertStringIncludes(before, "same bits");
  for (const [name, [from, to, named]] of Object.entries(WRITTEN)) {
    const { records, all } = await shown(outsideMaterial(page, (text) => text.replace(from, to)));
    if (named === undefined) assertEquals(all, before, name);
    else assertMatch(records, named, name);
  }
});

/** The page with what is before its material edited. */
function outsideMaterial(page: string, edit: (text: string) => string): string {
  const at = page.indexOf('<script type="application/octet-stream"');
  return edit(page.slice(0, at)) + page.slice(at);
}

/** Alterations by a hand that makes digests agree, and what the page must say. */
const FORGERIES: Readonly<Record<string, readonly [(forger: Forger) => void, RegExp]>> = {
  "an input": [
    (forger) => forger.alter("steps/ann/1", "state", (text) => text.replace("40", "41")),
    /input +gather, input states .*must be what an instance of the run made/,
  ],
  "an output": [
    (forger) => forger.alter("gather", "page", (text) => text.replace("Bob 67", "Bob 76")),
    /gather: differs .*output page at line 5: recorded .*Bob 76.* again .*Bob 67/,
  ],
  "code": [
    (forger) =>
      forger.ingredients(
        "gather",
        (own) =>
          own["code"] = forger.keep(`export async function run(context) {
          let reached = [];
          for (const url of [ORIGIN + "/fetched", "https://example.org/"]) {
            try { await fetch(url); reached.push(url); } catch {}
          }
          try { await import(ORIGIN + "/imported"); reached.push("import"); } catch {}
          Deno.writeTextFileSync(context.output("page"), "reached " + reached);
        }`.replaceAll("ORIGIN", JSON.stringify(origin))),
      ),
    /gather: differs .*output page at line 1: recorded "All", again "reached "/,
  ],
  "a metric": [
    (forger) =>
      forger.set("steps/ann/1", { ...forger.trace("steps/ann/1"), metrics: { value: 41 } }),
    /steps\/ann\/1: differs .*metric value: must be 40, found 41/,
  ],
  "a param": [
    (forger) => forger.ingredients("gather", (own) => own["params.title"] = '"Best"'),
    /gather: differs .*output page at line 1: recorded "All", again "Best"/,
  ],
  "which run was which": [
    (forger) =>
      forger.ingredients("gather", (own) => {
        const [one, two] = ["1", "2"].map((seed) =>
          `inputs.states[steps.state{"name":"bob","seed":"${seed}"}]`
        );
        [own[one!], own[two!]] = [own[two!]!, own[one!]!];
      }),
    /input +gather, input states .*"name":"bob".*must be made by what its label names/,
  ],
  "a run that is not gathered": [
    (forger) =>
      forger.ingredients("gather", (own) => {
        delete own['inputs.logs[steps.log{"name":"bob","seed":"2"}]'];
      }),
    /input +gather, input logs .*must be log of steps\/bob\/2, which the run has/,
  ],
  "a key": [
    (forger) => forger.set("gather", { ...forger.trace("gather"), key: sha256("other") }),
    /key +gather, key from its ingredients: must be/,
  ],
  "a size": [
    (forger) => {
      const { outputs, ...trace } = forger.trace("steps/ann/1");
      const state = { ...outputs["state"]!, bytes: 999 };
      forger.set("steps/ann/1", { ...trace, outputs: { ...outputs, state } });
    },
    /blob +blobs\/\w+, state of steps\/ann\/1: must be 999 bytes/,
  ],
  "a name": [
    (forger) => {
      const [one, two] = ["steps/ann/1", "steps/ann/2"].map((name) => forger.trace(name));
      forger.set("steps/ann/1", two!);
      forger.set("steps/ann/2", one!);
    },
    /input +gather, input states .*"name":"ann".*must be made by what its label names/,
  ],
};
let origin = "";

Deno.test("in Chromium an altered input, output or code is seen and named, and reaches no network", async (test) => {
  await using browser = await startBrowser("altered pages");
  if (browser === undefined) return;
  const asked: string[] = [];
  let page = await toyPage();
  const material = await materialOf(page);
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    asked.push(new URL(url).pathname);
    return new Response(page, { headers: { "content-type": "text/html" } });
  });
  origin = `http://127.0.0.1:${server.addr.port}`;
  for (const [name, [edit, named]] of Object.entries(FORGERIES)) {
    await test.step(name, async () => {
      const forger = new Forger(material);
      edit(forger);
      page = page.replace(MATERIAL, `$1${await pack(await forger.file())}`);
      const { records, cards } = await runAll(browser, `${origin}/page.html`);
      const said = cards.map(({ instance, state, findings }) =>
        `${instance}: ${state} ${findings}`
      );
      assertMatch([records, ...said].join("\n"), named);
    });
  }
  assertEquals(
    asked.filter((path) => path !== "/favicon.ico"),
    Object.keys(FORGERIES).map(() => "/page.html"),
  );
});

Deno.test("of 200 random alterations of a page's material none gives other bytes unseen", async () => {
  const page = await toyPage();
  const text = MATERIAL.exec(page)![2]!, bytes = await unpack(text);
  const number = numbersOf("page");
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=<! ";
  for (let trial = 0; trial < 200; trial++) {
    const at = number(text.length), letter = letters[number(letters.length)]!;
    const altered = [
      text.slice(0, at) + letter + text.slice(at + 1),
      text.slice(0, at) + text.slice(at + 1 + number(100)),
      text.slice(0, at) + letter + text.slice(at),
      text.slice(0, at),
    ][trial % 4]!;
    const unpacked = await unpack(altered).catch(() => undefined);
    if (unpacked === undefined) continue;
    const isSame = unpacked.length === bytes.length &&
      unpacked.every((byte, i) => byte === bytes[i]);
    assert(isSame || inspect(unpacked).findings.length > 0, `trial ${trial}`);
  }
});

Deno.test("in Chromium material that cannot be unpacked is said to be so", async () => {
  await using browser = await startBrowser("a damaged page");
  if (browser === undefined) return;
  const page = await toyPage();
  const number = numbersOf("damaged page");
  for (let trial = 0; trial < 10; trial++) {
    const text = MATERIAL.exec(page)![2]!, at = number(text.length - 8);
    const damaged = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
    const { records } = await runAll(browser, written(page.replace(MATERIAL, `$1${damaged}`)));
    assertMatch(records, /^differs: [^]*(cannot be unpacked|findings: this page holds)/);
  }
});

/** One data set and two operators, which train for a moment. */
const TINY = `
  tiny:
    grid:
      dataset: [short]
      encoding: [sinusoidal]
      operator: [add, concat]
      seed: [0, 1]
    exclude: []
    stages:
      tokenize: { params: { subset: { train: 200, test: 40 }, max_length: 64 } }
      train: { params: { d_model: 8, heads: 2, layers: 1, d_ff: 8, batch: 10, epochs: 8 } }
`;

Deno.test("corpus, training, evaluation, tables, figures and report come out again, in Deno and Chromium", async () => {
  await using browser = await startBrowser("this project's stages", "webgpu");
  using project = copyOfThisProject(TINY);
  const ended = await project.run(["reproduce", "--profile", "tiny", "--backend", "wasm"]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  assertEquals((await project.run(["bundle", "fusion.tiny", "--to", "a.tar"])).code, 0);
  const { code, stdout } = await project.run(["verify", "a.tar", "**"]);
  assertEquals(code, 0, stdout);
  if (browser === undefined) return;
  const instances = [
    "tokenize",
    "train/short/sinusoidal/add/0",
    "evaluate/**/0",
    "aggregate",
    "report",
  ];
  const page = await pageBy(project, "--profile", "tiny", ...instances);
  const { records, cards } = await runAll(browser, written(page));
  assertMatch(records, /^same/);
  assertEquals(cards.filter(({ state }) => state !== "same"), []);
  assertEquals(cards.length, 6);
  const training = cards.find(({ instance }) => instance.startsWith("train/"))!;
  // How often follows from how long it takes here.
  assert(training.drawn > 0, "its curve was drawn");
  const near = await onWebgpu(browser, "evaluate/short/sinusoidal/add/0");
  const [, recorded, now] = /loss_nats: recorded (\S+), now (\S+),/.exec(near)!.map(Number);
  // Sums of float32 in another order: as far apart as the backends' own tests allow.
  assert(Math.abs(recorded! - now!) < 1e-4 * recorded!, near);
  assertEquals(browser.complaints, []);
});
