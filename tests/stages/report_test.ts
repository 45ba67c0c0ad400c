import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { aggregate } from "../../stages/aggregate.ts";
import { plotFusion } from "../../stages/plot_fusion.ts";
import { report } from "../../stages/report.ts";
import { rowsAnchor } from "../../stages/results/table.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import {
  AG,
  ARXIV,
  gatheredLatencies,
  type MadeUp,
  madeUpInputs,
  type MadeUpTimes,
  SHORT,
} from "./results/made_up.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const published = {
  table1: {
    ag_news: { add: [91.15, 0.08], concat: [90.93, 0.11], gate_scalar: [91.07, 0.09] },
  },
};

const claims = [{
  id: "A1",
  statement: "On ArXiv the <scalar> gate beats addition",
  compare: [{ dataset: "arxiv", operator: "gate_scalar", published: 6.51 }],
}, {
  id: "A7",
  statement: "The scalar gate takes longer",
  metric: "latency",
  compare: [{ dataset: "arxiv", operator: "gate_scalar" }],
}];

async function paged(
  grids: readonly MadeUp[],
  title = "Fusion Matters",
  times: readonly MadeUpTimes[] = [],
) {
  const directory = temporaryFolder();
  const inputs = madeUpInputs(directory, grids);
  const params = { published, title, claims };
  const { outputs } = await runStage(aggregate, params, { directory, inputs });
  const results = artifact(outputs["results"]!);
  const figures = [];
  for (const kind of ["delta", "curves"]) {
    const own = temporaryFolder();
    const drawn = await runStage(plotFusion, { kind }, { directory: own, inputs: { results } });
    figures.push(artifact(drawn.outputs["figures"]!, { figure: kind }));
  }
  const tables = artifact(outputs["tables"]!);
  const timed = await gatheredLatencies(results, { grids: times, params: { claims } });
  const sources = artifact(outputs["sources"]!);
  const run = await runStage(report, {}, {
    directory,
    inputs: { results, sources, tables, figures, ...timed },
  });
  return { page: Deno.readTextFileSync(run.outputs["page"]!), results, inputs, figures };
}

/** Elements that have no end tag in HTML. */
const VOID = new Set(["meta", "br", "hr", "img", "link"]);

/** Checks nesting and returns the tags in order. */
function tagsOf(page: string): { name: string; attributes: string }[] {
  const open: string[] = [];
  const tags: { name: string; attributes: string }[] = [];
  const text = page.replace(/<!doctype html>/, "").replace(/<style>.*?<\/style>/s, "");
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
  assert(!/[<>]/.test(rest), rest.match(/.{40}[<>].{40}/s)?.[0] ?? "stray mark");
  return tags;
}

Deno.test("the page is well formed, its ids are unique and its references lead somewhere", async () => {
  const { page } = await paged([AG, ARXIV, SHORT]);
  tagsOf(page);
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map((match) => match[1]!);
  assertEquals(ids.length, new Set(ids).size);
  const references = [
    ...[...page.matchAll(/href="#([^"]*)"/g)].map((match) => match[1]!),
    ...[...page.matchAll(/url\(#([^)]*)\)/g)].map((match) => match[1]!),
    ...[...page.matchAll(/aria-labelledby="([^"]*)"/g)].flatMap((match) => match[1]!.split(" ")),
  ];
  assert(references.length > 10);
  for (const id of references) assert(ids.includes(id), `nothing has the id ${id}`);
});

Deno.test("the page asks nothing of the network", async () => {
  const { page } = await paged([AG, SHORT]);
  const addresses = [...page.matchAll(/\b(?:src|href|xlink:href|action)="([^"]*)"/g)]
    .map((match) => match[1]!);
  for (const address of addresses) {
    assert(
      /^(#|\.\.\/tables\/(\w+\/)?[\w.]+$|\.\.\/trace\/index\.html#[0-9a-f]{64}$)/.test(address),
      address,
    );
  }
  assert(!/@import|url\((?!#)|<script|<link|<iframe/.test(page));
});

Deno.test("headings descend one level at a time and every header cell has a scope", async () => {
  const { page } = await paged([AG, ARXIV]);
  const tags = tagsOf(page);
  const levels = tags.filter((tag) => /^h[1-6]$/.test(tag.name)).map((tag) => Number(tag.name[1]));
  assertEquals(levels[0], 1);
  assertEquals(levels.filter((level) => level === 1).length, 1);
  levels.reduce((last, level) => {
    assert(level <= last + 1, `h${level} after h${last}`);
    return level;
  });
  for (const tag of tags) if (tag.name === "th") assertStringIncludes(tag.attributes, "scope=");
  assertEquals(
    tags.filter((tag) => tag.name === "table").length,
    tags.filter((tag) => tag.name === "caption").length,
  );
});

Deno.test("every body row of every table fills all columns", async () => {
  const { page } = await paged([AG, ARXIV, SHORT]);
  for (const [table] of page.matchAll(/<table.*?<\/table>/gs)) {
    const columns = table.match(/<th scope="col"/g)!.length;
    for (const [body] of table.matchAll(/<tbody>.*?<\/tbody>/gs)) {
      let spanned = 0;
      assert(body.includes("<tr"));
      for (const [row] of body.matchAll(/<tr\b.*?<\/tr>/gs)) {
        const own = row.match(/<t[dh]\b/g)!.length;
        assertEquals(own + (spanned > 0 ? 1 : 0), columns, row);
        spanned = Math.max(spanned - 1, Number(row.match(/rowspan="(\d+)"/)?.[1] ?? 1) - 1);
      }
    }
  }
});

Deno.test("text from outside is escaped wherever it lands", async () => {
  const evil = `<script>alert("x")</script> & 'co'`;
  const { page } = await paged([{ ...AG, title: evil }], evil);
  tagsOf(page);
  assert(!page.includes("<script"));
  assertStringIncludes(
    page,
    "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;co&#39;",
  );
});

Deno.test("the page says first which data is not the paper's", async () => {
  const { page } = await paged([AG, ARXIV, SHORT]);
  const notice = page.indexOf("AG News ran on a sample of the paper");
  assert(notice > 0 && notice < page.indexOf("<table"));
  assertStringIncludes(page, "Synthetic, short ran on synthetic data");
  const official = await paged([ARXIV]);
  assert(!official.page.includes("Before you compare"));
});

Deno.test("verdicts stand above everything else and colour is not their only sign", async () => {
  const { page } = await paged([ARXIV]);
  const verdict = page.indexOf(
    '<td class="verdict good"><a class="number" href="#rests-A1">reproduced</a></td>',
  );
  assert(verdict > 0 && verdict < page.indexOf('id="what-was-run"'));
  const open = await paged([AG]);
  assertStringIncludes(
    open.page,
    '<td class="verdict open">not run</td>',
  );
});

Deno.test("the page shows the paper's number under ours and names the results it rests on", async () => {
  const { page, results } = await paged([AG]);
  const ours = page.indexOf("91.19 ± 0.10");
  const theirs = page.indexOf("91.15 ± 0.08");
  assert(ours > 0 && theirs > ours);
  assertStringIncludes(page, results.sha256);
});

Deno.test("the page tells how long the runs trained and with how many parameters", async () => {
  const { page } = await paged([AG]);
  // Made-up histories have 8, 7 or 6 epochs by seed.
  assertStringIncludes(page, '<td class="right">6–8</td>');
  assertStringIncludes(page, '<td class="right">123\u202f456</td>');
});

Deno.test("a page without a single run still opens", async () => {
  const { page } = await paged([]);
  tagsOf(page);
  assertStringIncludes(page, "No run has been evaluated yet");
});

Deno.test("latencies stand in a part of their own that says where they were measured", async () => {
  const passMs = { add: [[100, 101], [99, 100]], gate_scalar: [[110, 111], [108, 109]] };
  const { page } = await paged([ARXIV, SHORT], "Fusion Matters", [{ dataset: "short", passMs }]);
  tagsOf(page);
  const start = page.indexOf("Latency, measured on this machine</h2>");
  const table = page.indexOf('<table id="table2">');
  assert(start > 0 && table > start && table < page.indexOf("</section>", start));
  assertStringIncludes(page, "+9.5 [");
  assertStringIncludes(page, '<a href="../tables/latency/timings.csv">');
  // Claims on latency and on accuracy are in one table, in the order of their names.
  const verdicts = page.slice(page.indexOf('<table id="claims">'), page.indexOf("</table>"));
  assert(verdicts.indexOf(">A1<") > 0 && verdicts.indexOf(">A7<") > verdicts.indexOf(">A1<"));
  assert(!(await paged([ARXIV])).page.includes("Latency, measured"));
});

const TRACE = "../trace/index.html#";

/** The hrefs of a page's rows from an anchor to the next group of rows, in order. */
function linksFrom(page: string, anchor: string): string[] {
  const start = page.indexOf(`<tr id="${anchor}"`);
  assert(start > 0, `rows ${anchor}`);
  const rest = page.slice(start + 1);
  const end = Math.min(...["<tr id=", "</tbody>"].map((mark) => rest.indexOf(mark) >>> 0));
  return [...rest.slice(0, end).matchAll(/href="([^"]*)"/g)].map((match) => match[1]!);
}

Deno.test("a mean leads to its runs, and each run to the artifacts it was read from", async () => {
  const { page, inputs } = await paged([AG, ARXIV]);
  const [, to] = /<a class="number" href="#([^"]*)">91.11 ± 0.25<\/a>/.exec(page)!;
  const own = (list: typeof inputs.runs) =>
    list.filter(({ at }) => at["dataset"] === "ag_news" && at["operator"] === "gate_scalar")
      .map(({ sha256 }) => TRACE + sha256);
  const [runs, histories] = [own(inputs.runs), own(inputs.histories)];
  assertEquals(linksFrom(page, to!), runs.flatMap((run, seed) => [run, histories[seed]!]));
});

Deno.test("a difference and what a claim rests on lead to pairs, and each pair to its two runs", async () => {
  const { page, inputs } = await paged([AG, ARXIV]);
  const own = (operator: string) =>
    inputs.runs.filter(({ at }) => at["dataset"] === "arxiv" && at["operator"] === operator)
      .map(({ sha256 }) => TRACE + sha256);
  const [gate, add] = [own("gate_scalar"), own("add")];
  const expected = gate.flatMap((run, seed) => [run, add[seed]!]);
  // Once among the differences, once under the claim.
  const means = [...page.matchAll(/<a class="number" href="#([^"]*)">\+6.51<\/a>/g)];
  assertEquals(means.length, 2);
  for (const [, to] of means) assertEquals(linksFrom(page, to!), expected);
  assertStringIncludes(page, '<a class="number" href="#rests-A1">reproduced</a>');
  assertStringIncludes(page, '<tr id="rests-A1"');
});

Deno.test("tables, figures, corpora and the results themselves lead to their traces", async () => {
  const { page, results, inputs, figures } = await paged([AG, SHORT]);
  const tables = page.match(/<table /g)!.length;
  const captions = [...page.matchAll(/<a class="trace" href="([^"]*)" aria-label="Trace of this/g)];
  assertEquals(captions.length, tables);
  for (const [, to] of captions) assertEquals(to, TRACE + results.sha256);
  for (const { sha256 } of [...figures, ...inputs.corpora]) {
    assertStringIncludes(page, `href="${TRACE}${sha256}"`);
  }
  assert(page.indexOf(TRACE + results.sha256) < page.indexOf("<main"), "in the header");
});

Deno.test("rows of odd names have anchors of their own, which a URL takes as they stand", () => {
  const names = ["a-b", "a_b", "a b", "a~b", "ab", "a#b", "a%b", 'a"b', "ä"];
  const anchors = names.flatMap((one) => names.map((two) => rowsAnchor("runs", one, two)));
  assertEquals(new Set(anchors).size, names.length ** 2);
  for (const anchor of anchors) assert(/^[\w.~-]+$/.test(anchor), anchor);
});
