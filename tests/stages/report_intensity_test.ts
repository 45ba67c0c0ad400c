import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { aggregateIntensity } from "../../stages/aggregate_intensity.ts";
import { aggregateSpeed } from "../../stages/aggregate_speed.ts";
import { plotIntensity } from "../../stages/plot_intensity.ts";
import { reportIntensity } from "../../stages/report_intensity.ts";
import { spreadOf } from "../../stages/results/intensity/loss_chart.ts";
import type { Results } from "../../stages/results/intensity/results.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { CHAIN, languageInputs, type MadeUpText, SHAKESPEARE } from "./results/made_up_language.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const published = {
  losses: { tinyshakespeare: { "0": 1.4602, "4": 1.4671 } },
  averages: { "0": 1.161, "4": 1.16 },
  model: { context: 256, d: 384, heads: 6, layers: 6 },
  iterations: { tinyshakespeare: 5000 },
};
const claims = [
  {
    id: "B2",
    statement: "Run 4 is <worse> & slower",
    smallest: 0.005,
    tolerance: 0.005,
    compare: [{ dataset: "tinyshakespeare", run: 4, direction: "greater", published: 0.0069 }],
  },
  {
    id: "B3",
    statement: "Slower",
    metric: "speed",
    smallest: 1,
    tolerance: 5,
    compare: [{ dataset: "average", run: 4, published: -31 }],
  },
];

async function reported(texts: readonly MadeUpText[], title = "Learning to Look Harder") {
  const directory = temporaryFolder();
  const inputs = languageInputs(directory, texts);
  const params = { published, claims, title };
  const { outputs } = await runStage(aggregateIntensity, params, { directory, inputs });
  const results = artifact(outputs["results"]!);
  const timed = await runStage(aggregateSpeed, { published, claims }, {
    directory: temporaryFolder(),
    inputs: { results, speeds: inputs.speeds },
  });
  const speeds = artifact(timed.outputs["speeds"]!);
  const svgs: Record<string, string> = {};
  const figures = [];
  for (const kind of ["losses", "intensities"]) {
    const own = temporaryFolder();
    const drawn = await runStage(plotIntensity, { kind }, {
      directory: own,
      inputs: { results },
    });
    const folder = drawn.outputs["figures"]!;
    figures.push(artifact(folder, { figure: kind }));
    svgs[kind] = Deno.readTextFileSync(join(folder, `${kind}.svg`));
    const png = Deno.readFileSync(join(folder, `${kind}.png`));
    assertEquals([...png.subarray(1, 4)], [..."PNG"].map((letter) => letter.charCodeAt(0)));
  }
  const run = await runStage(reportIntensity, {}, {
    directory,
    inputs: {
      results,
      sources: artifact(outputs["sources"]!),
      speeds,
      tables: artifact(outputs["tables"]!),
      speed_tables: artifact(timed.outputs["tables"]!),
      figures,
    },
  });
  return {
    page: Deno.readTextFileSync(run.outputs["page"]!),
    results: JSON.parse(Deno.readTextFileSync(results.path)) as Results,
    svgs,
    inputs,
    digests: { results: results.sha256, speeds: speeds.sha256 },
  };
}

/** Text of every <text> element, in drawing order. */
function texts(svg: string): string[] {
  return [...svg.matchAll(/<text\b[^>]*>(.*?)<\/text>/gs)].map((match) =>
    match[1]!.replace(/<[^>]*>/g, " ").trim()
  );
}

Deno.test("the losses figure has two rows, a column for each text and a line for each run", async () => {
  const { svgs } = await reported([SHAKESPEARE, CHAIN]);
  const shown = texts(svgs.losses!);
  for (const measure of ["Training loss, nats", "Validation loss, nats"]) {
    assertEquals(shown.filter((text) => text === measure).length, 1);
  }
  assertEquals(shown.filter((text) => text === "Tiny Shakespeare · full data").length, 1);
  assertEquals(shown.filter((text) => text === "Chain of order 1 · synthetic data").length, 1);
  assertEquals(shown.filter((text) => text === "Iteration").length, 4);
  assertEquals(shown.filter((text) => text === "Run 4, bypassed").length, 1);
  assertStringIncludes(svgs.losses!, "Run 4 1.4687");
});

Deno.test("bands reach from the lowest to the highest seed, and the start is left out", async () => {
  const { results } = await reported([SHAKESPEARE]);
  const at = { dataset: "tinyshakespeare", variant: "0", field: "validationLoss" } as const;
  const [half, end, ...rest] = spreadOf(results, at);
  assertEquals(rest, []);
  assertEquals([half!.iteration, end!.iteration], [2500, 5000]);
  assertEquals([end!.low, end!.high], [1.46, 1.464]);
  assertAlmostEquals(end!.mean, (1.46 + 1.464 + 1.461) / 3, 1e-12);
});

Deno.test("the intensities figure leaves bypassed predictors out and means over seeds", async () => {
  const { svgs, results } = await reported([SHAKESPEARE]);
  const shown = texts(svgs.intensities!);
  assert(shown.includes("Run 4") && !shown.includes("Run 4, bypassed"), shown.join("\n"));
  assert(shown.includes("Block 1") && shown.includes("Block 2"));
  const profile = results.intensities.find((each) => each.variant === "4" && each.block === 1)!;
  // Seeds 0, 1 and 2 end at 0.80, 0.81 and 0.82.
  profile.byPosition.forEach((value, i) =>
    assertAlmostEquals(value, [0.2, 0.5, 0.6, 0.81][i]!, 1e-12)
  );
  assertStringIncludes(svgs.intensities!, "Run 4 starts at 0.20 and ends at 0.81");
});

Deno.test("the page shows verdicts on losses and on speeds in one table, escaped", async () => {
  const { page } = await reported([SHAKESPEARE]);
  assert(!page.includes("<worse>"));
  assertStringIncludes(page, "Run 4 is &lt;worse&gt; &amp; slower");
  const [first, second] = [page.indexOf(">B2<"), page.indexOf(">B3<")];
  assert(first > 0 && second > first && second < page.indexOf('id="what-was-run"'));
  assertEquals(page.match(/<td class="verdict good">(?:<a [^>]*>)?reproduced</g)?.length, 4);
});

Deno.test("the page says what is not as in the paper before any number", async () => {
  const { page } = await reported([{ ...SHAKESPEARE, steps: 10 }, CHAIN]);
  for (
    const notice of [
      "Chain of order 1 ran on synthetic text",
      "Tiny Shakespeare ran with a smaller model or shorter training",
    ]
  ) {
    const at = page.indexOf(notice);
    assert(at > 0 && at < page.indexOf("<table"), notice);
  }
  assert(!(await reported([SHAKESPEARE])).page.includes("Before you compare"));
});

Deno.test("the page's ids are unique, its references lead somewhere and it asks nothing of the network", async () => {
  const { page } = await reported([SHAKESPEARE, CHAIN]);
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map((match) => match[1]!);
  assertEquals(ids.length, new Set(ids).size);
  const references = [
    ...[...page.matchAll(/href="#([^"]*)"/g)].map((match) => match[1]!),
    ...[...page.matchAll(/url\(#([^)]*)\)/g)].map((match) => match[1]!),
    ...[...page.matchAll(/aria-labelledby="([^"]*)"/g)].flatMap((match) => match[1]!.split(" ")),
  ];
  assert(references.length > 10);
  for (const id of references) assert(ids.includes(id), `nothing has the id ${id}`);
  const addresses = [...page.matchAll(/\b(?:src|href)="([^"]*)"/g)].map((match) => match[1]!);
  for (const address of addresses) {
    assert(
      /^(#|\.\.\/tables\/intensity(_speed)?\/[\w.]+$|\.\.\/trace\/index\.html#[0-9a-f]{64}$)/
        .test(address),
      address,
    );
  }
  assert(addresses.includes("../tables/intensity_speed/table1.csv"));
});

Deno.test("every opened element of the page is closed", async () => {
  const { page } = await reported([SHAKESPEARE, CHAIN]);
  const open: string[] = [];
  const text = page.replace(/<!doctype html>/, "").replace(/<style>.*?<\/style>/s, "");
  for (const [, end, name, empty] of text.matchAll(/<(\/?)([A-Za-z][A-Za-z0-9]*)[^>]*?(\/?)>/g)) {
    if (end) assertEquals(open.pop(), name);
    else if (!empty && name !== "meta") open.push(name!);
  }
  assertEquals(open, []);
});

Deno.test("a page without a single run still opens", async () => {
  const { page } = await reported([]);
  assertStringIncludes(page, "No run has been trained yet");
});

Deno.test("losses, pairs, speeds and texts lead to the artifacts they were read from", async () => {
  const { page, inputs, digests } = await reported([SHAKESPEARE, CHAIN]);
  const linksFrom = (anchor: string) => {
    const rest = page.slice(page.indexOf(`<tr id="${anchor}"`) + 1);
    const end = Math.min(...["<tr id=", "</tbody>"].map((mark) => rest.indexOf(mark) >>> 0));
    return [...rest.slice(0, end).matchAll(/href="[^"#]*#([^"]*)"/g)].map((match) => match[1]!);
  };
  const own = (input: keyof typeof inputs, run: string) =>
    inputs[input].filter(({ at }) => at["dataset"] === "tinyshakespeare" && at["run"] === run)
      .map(({ sha256 }) => sha256);
  const [, runs] = /<a class="number" href="#([^"]*)">1.4687 ± 0.0018<\/a>/.exec(page)!;
  const four = own("histories", "4");
  assertEquals(linksFrom(runs!), four.flatMap((each, seed) => [each, own("runs", "4")[seed]!]));
  // Once among the differences, once under the claim.
  const means = [...page.matchAll(/<a class="number" href="#([^"]*)">\+0.0070<\/a>/g)];
  assertEquals(means.length, 2);
  for (const [, pairs] of means) {
    const base = own("histories", "0");
    assertEquals(linksFrom(pairs!), four.flatMap((each, seed) => [each, base[seed]!]));
  }
  const timed = linksFrom("timed-4");
  assertEquals(
    timed.slice().sort(),
    inputs.speeds.filter(({ at }) => at["run"] === "4")
      .map(({ sha256 }) => sha256).sort(),
  );
  for (const digest of [digests.results, digests.speeds, inputs.corpora[0]!.sha256]) {
    assertStringIncludes(page, `href="../trace/index.html#${digest}"`);
  }
});
