import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { baked, OVENS } from "./made_up.ts";

const TEXT = `Cakes *rise*; see [the table](#rise) and [nothing](#nowhere).

## How far

{{table rise}}

### Steam alone

{{table steam}}

## Timed

Differs each time.

{{table steam_time}}
`;

const TRACE = "../trace/index.html#";
/** Elements that have no end tag in HTML. */
const VOID = new Set(["meta", "br", "hr", "img", "link"]);

/** Checks nesting and returns the tags in order. */
function tagsOf(page: string): { name: string; attributes: string }[] {
  const open: string[] = [];
  const tags: { name: string; attributes: string }[] = [];
  const text = page.replace(/<!doctype html>/, "")
    .replaceAll(/<(style|script)\b[^>]*>.*?<\/\1>/gs, "");
  const rest = text.replace(
    /<(\/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[\w:-]+(?:="[^"]*")?)*)\s*(\/?)>/g,
    (_, end, name, attributes, empty) => {
      if (end) assertEquals(open.pop(), name, `closing ${name}`);
      else {
        tags.push({ name, attributes });
        if (!empty && !VOID.has(name)) open.push(name);
      }
      return "";
    },
  );
  assertEquals(open, []);
  assert(!/[<>]/.test(rest), rest.match(/.{0,40}[<>].{0,40}/s)?.[0] ?? "stray mark");
  return tags;
}

/** What a reader sees of a page, without its tags. */
function wordsOf(page: string): string {
  return page.replaceAll(/<(style|script)\b[^>]*>.*?<\/\1>/gs, "").replace(/<[^>]*>/g, " ").replace(
    /\s+/g,
    " ",
  );
}

/** The hrefs of a page's rows from an anchor to the next group of rows, in order. */
function linksFrom(page: string, anchor: string): string[] {
  const start = page.search(new RegExp(`<tr\\s+id="${anchor.replaceAll(/[.~]/g, "\\$&")}"`));
  assert(start > 0, `rows ${anchor}`);
  const rest = page.slice(start + 1);
  const ends = [rest.search(/<tr\s+id=/), rest.indexOf("</tbody>")].map((end) => end >>> 0);
  return [...rest.slice(0, Math.min(...ends)).matchAll(/href="([^"]*)"/g)].map((match) =>
    match[1]!
  );
}

Deno.test("the page is well formed, its ids are unique and its references lead somewhere", async () => {
  const { page } = await baked({ timed: true, report: { text: TEXT } });
  tagsOf(page);
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map((match) => match[1]!);
  assertEquals(ids.filter((id, index) => ids.indexOf(id) < index), []);
  const references = [
    ...[...page.matchAll(/href="#([^"]*)"/g)].map((match) => match[1]!),
    ...[...page.matchAll(/url\(#([^)]*)\)/g)].map((match) => match[1]!),
    ...[...page.matchAll(/aria-labelledby="([^"]*)"/g)].flatMap((match) => match[1]!.split(" ")),
  ];
  assert(references.length > 30);
  for (const id of references) assert(ids.includes(id), `nothing has the id ${id}`);
  assertStringIncludes(page, '<a href="#rise">the table</a> and nothing.');
});

Deno.test("the page asks for nothing but the runs' facts beside it, and every file that it links is written", async () => {
  const { page, files } = await baked({ timed: true });
  const addresses = [...page.matchAll(/\b(?:src|href|xlink:href|action)="([^"]*)"/g)]
    .map((match) => match[1]!);
  const allowed =
    /^(#|\.\.\/trace\/runs\.js$|\.\.\/trace\/index\.html#[0-9a-f]{64}$|figures\/risen\.(svg|png)$)/;
  const others = addresses.filter((address) => !allowed.test(address));
  assertEquals(others.map((address) => address.replace(/^tables\//, "")).sort(), files);
  assert(!/@import|url\((?!#)|<link|<iframe/.test(page));
  assertEquals(page.match(/<script\b[^>]*>/g), ["<script>", '<script src="../trace/runs.js">']);
});

Deno.test("headings descend one level at a time, headers have a scope and tables a number", async () => {
  const { page } = await baked({ timed: true, report: { text: TEXT } });
  const tags = tagsOf(page);
  const levels = tags.filter((tag) => /^h[1-6]$/.test(tag.name)).map((tag) => Number(tag.name[1]));
  assertEquals(levels[0], 1);
  assertEquals(levels.filter((level) => level === 1).length, 1);
  levels.reduce((last, level) => {
    assert(level <= last + 1, `h${level} after h${last}`);
    return level;
  });
  for (const tag of tags) if (tag.name === "th") assertStringIncludes(tag.attributes, "scope=");
  const tables = tags.filter((tag) => tag.name === "table").length;
  const numbers = [...page.matchAll(/<caption><b>Table (\d+)\.<\/b>/g)].map((match) => match[1]);
  assertEquals(numbers, Array.from({ length: tables }, (_, index) => String(index + 1)));
});

Deno.test("every body row of every table fills all columns", async () => {
  const { page } = await baked({ timed: true });
  for (const [table] of page.matchAll(/<table.*?<\/table>/gs)) {
    const columns = table.match(/<th\s+scope="col"/g)!.length;
    for (const [body] of table.matchAll(/<tbody.*?<\/tbody>/gs)) {
      let spanned = 0;
      for (const [row] of body.matchAll(/<tr\b.*?<\/tr>/gs)) {
        const own = row.match(/<t[dh]\b/g)!.length;
        assertEquals(own + (spanned > 0 ? 1 : 0), columns, row);
        spanned = Math.max(spanned - 1, Number(row.match(/rowspan="(\d+)"/)?.[1] ?? 1) - 1);
      }
    }
  }
});

Deno.test("text from outside is escaped wherever it is shown", async () => {
  const evil = `</style></script><script>alert("x")</script> & 'co'`;
  const { page } = await baked({
    ovens: { gas: { kind: "sample", title: evil } },
    report: { title: evil, authors: evil },
    claims: [{
      id: evil,
      statement: evil,
      metric: "rise",
      at: { oven: "gas", flavour: "nut" },
      against: { flavour: "plain" },
    }],
  });
  tagsOf(page);
  assert(!page.includes("<script>alert"));
  assertStringIncludes(
    page,
    "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;co&#39;",
  );
});

Deno.test("the page says first which data is not the paper's, whatever the text leaves out", async () => {
  const { page } = await baked({ report: { text: "Nothing but this.\n" } });
  const words = wordsOf(page);
  assertStringIncludes(words, "Electric oven ran on a sample of the data, not on all of it.");
  assertStringIncludes(words, "Sun &amp; mirror ran on synthetic data, which has no counterpart");
  assert(page.indexOf("Before you compare") < page.indexOf("<table"));
  const official = await baked({ ovens: { gas: OVENS.gas } });
  assert(!official.page.includes("Before you compare"));
});

Deno.test("an incomplete grid says which runs are missing, a whole one nothing", async () => {
  const { page } = await baked({ without: ["gas/nut/1", "sun/nut/2"] });
  const words = wordsOf(page);
  assertStringIncludes(words, "Incomplete. 2 runs of the grid missing");
  assertStringIncludes(words, "Gas oven, Nut, chopped, Batch 1");
  assert(!(await baked()).page.includes("Incomplete"));
});

Deno.test("seeds and arms that were asked for and not run at all are named once, in words", async () => {
  const batch = Array.from({ length: 12 }, (_, index) => String(index));
  const oven = [...Object.keys(OVENS), "steam"];
  const grid = { batch, oven, flavour: ["plain", "vanilla", "nut"], other: ["a", "b"] };
  const { page } = await baked({ without: ["gas/nut/1"], timed: true, grid });
  const words = wordsOf(page);
  assertStringIncludes(
    words,
    "Incomplete. Cakes, Oven: 3 of 4 were run, steam is missing. " +
      "Batch: 3 of 12 were run, 3 to 11 are missing. ",
  );
  // Only the gas oven was timed.
  assertStringIncludes(
    words,
    "Cakes: time, Oven: 1 of 4 were run, Electric oven, steam and Sun &amp; mirror are missing. " +
      "1 run of the grid missing besides Gas oven, Nut, chopped, Batch 1",
  );
  assertEquals(words.match(/3 to 11 are missing/g)?.length, 1);
  assert(!(await baked({ grid: { batch: ["0", "1", "2"] } })).page.includes("Incomplete"));
});

Deno.test("verdicts come before everything else, in words, and lead to what they rest on", async () => {
  const { page } = await baked({ ovens: { gas: OVENS.gas } });
  const verdict = page.search(
    /<td class="verdict good"[^>]*><a\s+class="number"\s+href="#rests-C2">reproduced<\/a>/,
  );
  assert(verdict > 0 && verdict < page.indexOf("How far cakes rise"));
  assert(/<tr\s+id="rests-C2"/.test(page));
});

Deno.test("what hangs on what the paper leaves open has a section of its own after the verdicts", async () => {
  const claim = {
    ...{ id: "C2", statement: "Vanilla helps", metric: "rise" },
    ...{ at: { flavour: "vanilla" }, against: { flavour: "plain" }, smallest: 1 },
  };
  const { sun: _, ...ovens } = OVENS;
  const { page } = await baked({ ovens, sensitivity: { axis: "oven", claims: [claim] } });
  const section = page.slice(page.indexOf(">What hangs on what the paper leaves open</h2>"));
  assert(section.length < page.length && page.indexOf(section) > page.indexOf(">What held</h2>"));
  assertStringIncludes(
    wordsOf(section),
    "The verdict on none of 1 conclusion hangs on what the paper leaves open. Table 4. Conclusions by what was",
  );
  assert(!(await baked()).page.includes("What hangs"));
});

Deno.test("claims that were not run are one sentence instead of rows", async () => {
  const { page } = await baked();
  assertStringIncludes(wordsOf(page), "1 of 2 claims was not covered by what was run: C10.");
  const claims = page.slice(page.indexOf('<table id="claims"'), page.indexOf("</table>"));
  assert(claims.includes("C2") && !claims.includes("C10"));
  const chances = page.slice(page.indexOf('<table id="chances"'), page.indexOf('id="every_run"'));
  assert(chances.includes("C2") && !chances.includes("C10"));
  const { page: none } = await baked({ ovens: { sun: OVENS.sun } });
  assert(!none.includes('<table id="claims"'));
  assertStringIncludes(wordsOf(none), "covered by what was run: C2, C10. ");
  assert(!none.includes("no evidence"));
});

Deno.test("a paper's claim that ran on synthetic data alone says that this is no evidence", async () => {
  const claim = {
    ...{ id: "C7", statement: "Nuts help in the sun", metric: "rise", smallest: 1 },
    ...{ at: { oven: "sun", flavour: "nut" }, against: { flavour: "plain" } },
  };
  const { page } = await baked({ claims: [claim] });
  assertStringIncludes(
    wordsOf(page),
    "None of the claims was covered by what was run: C7. C7 ran on synthetic data alone: that is no " +
      "evidence for a paper&#39;s claim.",
  );
  const own = await baked({ claims: [{ ...claim, source: "own" }] });
  assert(!own.page.includes("no evidence"));
});

Deno.test("a column without anything is on no page, and in every file", async () => {
  const { page, tables } = await baked({ ovens: { sun: OVENS.sun } });
  const heads = (id: string) =>
    [...page.slice(page.indexOf(`<table id="${id}"`)).split("</thead>")[0]!
      .matchAll(/<th\s[^>]*>([^<]*)</g)].map(([, title]) => title);
  assertEquals(heads("rise").includes("Paper"), false);
  assertEquals(heads("rise").length, 6);
  assertStringIncludes(Deno.readTextFileSync(join(tables, "rise.md")), "Paper");
});

Deno.test("what the text does not place is added: tables, figures, the paper's numbers, every run", async () => {
  const { page } = await baked({ report: { text: TEXT } });
  const titles = [...page.matchAll(/<h2 id="[^"]*">([^<]*)<\/h2>/g)].map((match) => match[1]);
  assertEquals(titles, [
    "What held",
    "How far",
    "Timed",
    "Other figures",
    "The paper&#39;s own numbers, re-analysed",
    "Every run, one by one",
    "Where the numbers come from",
  ]);
  const placed = await baked({
    report: { text: "## Rests\n\n{{table comparisons}}\n\n## All\n\n{{runs}}\n\n{{paper}}\n" },
  });
  assertEquals(placed.page.match(/<table\s+id="comparisons"/g)?.length, 1);
  assertEquals(placed.page.match(/<table\s+id="every_run"/g)?.length, 1);
});

Deno.test("a declared table that is empty in this run leaves no heading, or a sentence below text", async () => {
  const { page } = await baked({ report: { text: TEXT } });
  assert(!page.includes("Steam alone"));
  const timed = page.slice(page.indexOf(">Timed</h2>"));
  assert(timed.indexOf("Differs each time.") < timed.indexOf("Nothing of this was run."));
  assertEquals(page.match(/Nothing of this was run/g)?.length, 1);
});

Deno.test("the header names authors, link, runs and the values of every axis", async () => {
  const { page } = await baked({
    report: { title: "On cakes", authors: "A. Baker", link: "https://example.org/cakes" },
  });
  const header = wordsOf(page.slice(page.indexOf("<header"), page.indexOf("</header>")));
  assertStringIncludes(header, "On cakes A. Baker https://example.org/cakes Profile, backend");
  assertStringIncludes(header, "27 runs Oven");
  assertStringIncludes(header, "Flavour Plain, Vanilla, Nut, chopped");
  assertStringIncludes(header, "The flour of Gas oven.");
});

Deno.test("several analyses are one report: claims in order, each table once", async () => {
  const { page, tables, analyses } = await baked({ timed: true });
  const claims = page.slice(page.indexOf('<table id="claims"'), page.indexOf("</table>"));
  assert(claims.indexOf(">C2<") > 0 && claims.indexOf(">C3<") > claims.indexOf(">C2<"));
  assertEquals(page.match(/<table\s+id="comparisons"/g)?.length, 1);
  // C10 comes after C3, as its number does; the file has also what was not run.
  const file = Deno.readTextFileSync(join(tables, "claims.md"));
  const rows = [...file.matchAll(/^\| (C\d+)/gm)].map((match) => match[1]);
  assertEquals(rows, ["C2", "C3", "C10"]);
  for (const { results } of analyses) assertStringIncludes(page, TRACE + results.sha256);
});

Deno.test("a mean leads to its runs, and each run to the artifact it was read from", async () => {
  const { page, runs } = await baked();
  // Of 66.25, 66.30 and 66.45.
  const [, to] = /href="#([^"]*)"[^>]*>66.33 ± 0.10<\/a>/.exec(page)!;
  const own = runs.filter(({ at }) => at["oven"] === "gas" && at["flavour"] === "vanilla");
  assertEquals(linksFrom(page, to!).slice(0, 3), own.map(({ sha256 }) => TRACE + sha256));
});

Deno.test("a difference and what a claim rests on lead to pairs, and each pair to its two runs", async () => {
  const { page, runs } = await baked({ ovens: { gas: OVENS.gas } });
  const own = (flavour: string) =>
    runs.filter(({ at }) => at["flavour"] === flavour).map(({ sha256 }) => TRACE + sha256);
  const plain = own("plain");
  const expected = own("vanilla").flatMap((run, batch) => [run, plain[batch]!]);
  const means = [...page.matchAll(/href="#([^"]*)"[^>]*>\+5.02<\/a>/g)];
  assertEquals(means.length, 2, "once in the table, once under the claim");
  for (const [, to] of means) assertEquals(linksFrom(page, to!), expected);
});

Deno.test("a part that the text asks for and that has nothing in it says so; one that it does not ask for is left out", async () => {
  const asked = "## Choices\n\n{{sensitivity}}\n\n## The paper\n\n{{paper}}\n\n{{claims}}\n";
  const nothing = { batches: 0, ovens: {}, claims: [], published: [] };
  const said = (page: string) => page.match(/<p class="note">No .*?<\/p>/g) ?? [];
  const { page } = await baked({ ...nothing, report: { text: asked } });
  assertEquals(said(page), [
    '<p class="note">No choice that the paper leaves open was varied here.</p>',
    '<p class="note">No printed numbers here can be tested or held against each other.</p>',
    '<p class="note">No claims are judged here.</p>',
  ]);
  tagsOf(page);
  assertStringIncludes(page, ">Choices</h2>");
  assertEquals(said((await baked(nothing)).page), []);
  assertEquals(said((await baked({ report: { text: "{{claims}}" } })).page), []);
});

Deno.test("a page without a single run still opens", async () => {
  const { page } = await baked({ batches: 0, ovens: {} });
  tagsOf(page);
  assertStringIncludes(page, "Nothing has been measured yet.");
});
