import axe from "axe-core";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hashFile } from "../../pipeline/key/hash.ts";
import { baked, OVENS } from "../analysis/page/made_up.ts";
import { type Browser, startBrowser } from "../rig/browser.ts";
import { copyOfThisProject } from "../rig/this_project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

interface Said {
  readonly violations: string[];
  readonly passes: number;
  /** Pixels by which the page is wider than the window. */
  readonly overflow: number;
  readonly background: string;
  /** What the page asked for besides itself. */
  readonly requests: number;
}

/** Runs axe on the open page and tells what it finds, and how the page looks. */
async function inspect(browser: Browser): Promise<Said> {
  await browser.evaluate(axe.source);
  return await browser.evaluate<Said>(`axe.run().then(({ violations, passes }) => ({
    violations: violations.map(({ id, nodes }) => id + " " + nodes[0].html.slice(0, 100)),
    passes: passes.length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    background: getComputedStyle(document.documentElement).backgroundColor +
      getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color,
    requests: performance.getEntriesByType("resource").length,
  }))`);
}

/** Looks at a page in light and dark, wide and narrow. */
async function inspectInAllLooks(browser: Browser, url: string | URL): Promise<void> {
  const backgrounds = new Set<string>();
  for (const dark of [false, true]) {
    for (const width of [1100, 500]) {
      await browser.open(url, { dark, width });
      const said = await inspect(browser);
      assertEquals(said.violations, [], `${dark ? "dark" : "light"}, ${width} wide`);
      assert(said.passes > 15, `axe looked at the page: ${said.passes} rules passed`);
      assert(said.overflow <= 0, `at ${width} the page is ${said.overflow} px too wide`);
      assert(said.requests <= 1, "the page asks for nothing but the runs' facts");
      backgrounds.add(said.background);
    }
  }
  // A page that is alone misses the facts, and says where they are.
  assertEquals(browser.complaints.filter((each) => !each.includes("ERR_FILE_NOT_FOUND")), []);
  assertEquals(backgrounds.size, 2, "light and dark differ");
}

/** Writes a page to a file and returns its URL. */
function written(page: string): URL {
  const path = join(temporaryFolder(), "page.html");
  Deno.writeTextFileSync(path, page);
  return pathToFileURL(path);
}

/** A word that no line has room for. */
const LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";

async function madeUpPage(): Promise<string> {
  const { page } = await baked({
    timed: true,
    without: ["sun/nut/1"],
    ovens: { ...OVENS, electric: { kind: "sample", title: LONG } },
    report: { title: `On ${LONG}`, authors: "A. Baker", link: "https://example.org/cakes" },
  });
  return page;
}

Deno.test("in Chromium the page breaks no accessibility rule, in light and dark, wide and narrow", async () => {
  await using browser = await startBrowser("the report");
  if (browser === undefined) return;
  await inspectInAllLooks(browser, written(await madeUpPage()));
});

Deno.test("no table of the page has to be scrolled, on a desktop, half of one and a telephone", async () => {
  await using browser = await startBrowser("the report's tables");
  if (browser === undefined) return;
  const url = written(await madeUpPage());
  for (const width of [1280, 1000, 390]) {
    await browser.open(url, { width });
    const wide = await browser.evaluate<string[]>(
      `[...document.querySelectorAll(".scroll")].filter((each) =>
        each.querySelector("table") && each.scrollWidth > each.clientWidth
      ).map((each) => each.querySelector("table").id)`,
    );
    assertEquals(wide, [], `${width} wide`);
  }
});

Deno.test("axe as it is used here does find a fault", async () => {
  await using browser = await startBrowser("a faulty page");
  if (browser === undefined) return;
  await browser.open(written(
    '<!doctype html><html lang="en"><title>x</title><body><img src="data:,"></body></html>',
  ));
  const { violations } = await inspect(browser);
  assert(violations.some((each) => each.startsWith("image-alt")), violations.join());
});

/** One data set, two operators, two seeds. */
const TINY = `
  tiny:
    grid:
      dataset: [short]
      encoding: [sinusoidal]
      operator: [add, concat]
      seed: [0, 1]
    exclude: []
    stages:
      tokenize: { params: { subset: { train: 60, test: 20 }, max_length: 64 } }
      train: { params: { d_model: 8, heads: 2, layers: 1, d_ff: 8, batch: 20, epochs: 1 } }
`;

Deno.test("clicks lead from a mean in the report over runs, training and tokens to the raw bytes", async () => {
  await using browser = await startBrowser("the way from a number to its bytes");
  if (browser === undefined) return;
  using project = copyOfThisProject(TINY);
  const ended = await project.run(["reproduce", "--profile", "tiny", "--backend", "wasm"]);
  assertEquals(ended.code, 0, ended.stdout + ended.stderr);
  const report = pathToFileURL(project.path("outputs/fusion.tiny/report.html"));
  const shown = (expression: string) => browser.evaluate<string>(expression);

  const links = [
    ...Deno.readTextFileSync(report)
      .matchAll(/href="\.\.\/trace\/index\.html#([0-9a-f]*)"/g),
  ].map((match) => match[1]!);
  const trace = project.read("outputs/trace/index.html");
  assert(links.length > 20);
  for (const digest of links) assertStringIncludes(trace, `<span id="${digest}">`);

  await browser.open(report);
  const facts = await shown(`document.querySelector("#run").innerText`);
  assertMatch(
    facts,
    /^Profile\s+tiny\s+Backend\s+wasm\s+(Commit\s+\S+(, edited)?\s+)?Made\s+20\d\d-/,
  );
  // The mean of the second operator: over two seeds.
  await shown(`(() => {
    const means = [...document.querySelectorAll("main td a.number")]
      .filter(({ textContent }) => /^[\\d.]+ ± [\\d.]+$/.test(textContent));
    means[1].dataset.mean = "";
    return means[1].textContent;
  })()`);
  await browser.follow("[data-mean]");
  assertMatch(
    await shown(`document.querySelector(":target").textContent`),
    /Concat\s*0/,
  );
  // Two clicks from the mean: the trace of the evaluation of one of its runs.
  await shown(`document.querySelector(":target td a").dataset.first = ""`);
  await browser.follow("[data-first]");
  const section = ":target:is(section), section:has(:target)";
  const heading = () =>
    shown(`document.querySelector("${section}").querySelector("h4").textContent`);
  assertEquals(await heading(), "evaluate/short/sinusoidal/concat/0");
  assertMatch(await shown("location.pathname"), /\/outputs\/trace\/index\.html$/);
  /** Marks the first link in the section's row that starts with a name, for the click. */
  const mark = (name: string) =>
    shown(`(() => {
      document.querySelector("[data-next]")?.removeAttribute("data-next");
      const row = [...document.querySelector("${section}").querySelectorAll("tr")]
        .find((each) => each.cells[0].textContent === "${name}");
      row.querySelector("a").dataset.next = "";
      return row.querySelector("a").textContent;
    })()`);
  for (
    const [name, maker, arrives] of [
      ["weights", "train/short/sinusoidal/concat/0, weights", "train/short/sinusoidal/concat/0"],
      ["tokens", "tokenize/short, tokens", "tokenize/short"],
      ["raw", "download/short, raw", "download/short"],
    ] as const
  ) {
    assertEquals(await mark(name), maker);
    await browser.follow("[data-next]");
    assertEquals(await heading(), arrives);
  }
  const named = await mark("raw/train.csv");
  const bytes = new URL(await browser.follow("[data-next]"));
  assertEquals(hashFile(fileURLToPath(bytes)), named);
  assertMatch(await shown("document.body.innerText"), /^"\d","/);
  assertEquals(browser.complaints, []);

  await inspectInAllLooks(browser, pathToFileURL(project.path("outputs/trace/index.html")));
  await browser.open(pathToFileURL(project.path("outputs/trace/index.html")), { width: 1000 });
  const graph = await shown(`(() => {
    const { scrollWidth, clientWidth } = document.querySelector(".dag");
    return scrollWidth + " of " + clientWidth;
  })()`);
  const [needs, has] = graph.split(" of ").map(Number);
  assert(needs! <= has!, `the graph of the run takes ${graph} pixels`);
});
