import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { aggregate } from "../../stages/aggregate.ts";
import { plotFusion } from "../../stages/plot_fusion.ts";
import { plotLatency } from "../../stages/plot_latency.ts";
import { stretched } from "../../stages/results/chart/gates_chart.ts";
import type { Artifact } from "../../pipeline/stage.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import {
  AG,
  ARXIV,
  gatheredLatencies,
  type MadeUp,
  madeUpInputs,
  SHORT,
} from "./results/made_up.ts";
import { temporaryFolder } from "../rig/temporary.ts";

async function resultsOf(grids: readonly MadeUp[], params: unknown = {}): Promise<Artifact> {
  const directory = temporaryFolder();
  const inputs = madeUpInputs(directory, grids);
  const run = await runStage(aggregate, params, { directory, inputs });
  return artifact(run.outputs["results"]!);
}

async function drawn(
  results: Artifact,
  params: { kind: string; title?: string; published?: unknown },
) {
  const directory = temporaryFolder();
  const run = await runStage(plotFusion, params, { directory, inputs: { results } });
  const folder = run.outputs["figures"]!;
  return {
    svg: Deno.readTextFileSync(join(folder, `${params.kind}.svg`)),
    png: Deno.readFileSync(join(folder, `${params.kind}.png`)),
  };
}

/** Text of every <text> element, in drawing order. */
function texts(svg: string): string[] {
  return [...svg.matchAll(/<text\b[^>]*>(.*?)<\/text>/gs)].map((match) =>
    match[1]!.replace(/<[^>]*>/g, " ").replace(/ +/g, " ").trim()
  );
}

/** Throws unless every tag is closed in order and no mark is left unescaped. */
function assertWellFormed(svg: string) {
  const open: string[] = [];
  const rest = svg.replace(
    /<(\/?)([A-Za-z]+)((?:\s[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (_, end, name, __, empty) => {
      if (end) assertEquals(open.pop(), name);
      else if (!empty) open.push(name);
      return "";
    },
  );
  assertEquals(open, []);
  assert(!/[<>]|&(?!(amp|lt|gt|quot|#39);)/.test(rest), rest.slice(0, 200));
}

Deno.test("the delta figure shows each panel's data kind, means, intervals and a ring per seed", async () => {
  const { svg } = await drawn(await resultsOf([AG, ARXIV, SHORT]), { kind: "delta" });
  assertWellFormed(svg);
  const shown = texts(svg);
  assert(shown.includes("AG News · sample of the data"));
  assert(shown.includes("ArXiv-11 · full data"));
  assert(shown.includes("Synthetic, short · synthetic data"));
  assert(shown.includes("+6.51 [+2.55, +10.48], n = 5"), shown.join("\n"));
  // Two operators at five seeds on two datasets and one at two seeds on the third.
  assertEquals(svg.match(/stroke="#0072B2"/g)?.length, 22);
  assertStringIncludes(svg, "<desc");
});

Deno.test("figures have the same bytes when drawn twice in one process", async () => {
  const results = await resultsOf([AG, SHORT]);
  for (const kind of ["delta", "curves", "accuracy", "accuracy_bars", "gates", "operators"]) {
    const first = await drawn(results, { kind });
    const second = await drawn(results, { kind });
    assertEquals(first.svg, second.svg);
    assertEquals(first.png, second.png);
  }
});

Deno.test("the PNG is twice the SVG's size and its text is drawn", async () => {
  const { svg, png } = await drawn(await resultsOf([AG]), { kind: "delta" });
  assertEquals([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const width = new DataView(png.buffer, png.byteOffset).getUint32(16);
  assert(Math.abs(width - 2 * Number(svg.match(/width="([\d.]+)"/)![1])) <= 2);
  const blank = await (await import("../../analysis/figures/render.ts"))
    .renderPng(svg.replace(/<text\b[^>]*>.*?<\/text>/gs, ""), { scale: 2 });
  assert(png.length > 1.5 * blank.length, `${png.length} against ${blank.length} without text`);
});

Deno.test("one seed, odd names and many operators are drawn and named", async () => {
  const operators = ["add", "a_new_one", ...Array.from({ length: 9 }, (_, i) => `op_${i}`)];
  const odd = {
    ...AG,
    title: 'Odd <name> & "more"',
    correct: Object.fromEntries(operators.map((name, i) => [name, [6900 + i]])),
  };
  const results = await resultsOf([odd]);
  for (const kind of ["delta", "curves"]) {
    const { svg } = await drawn(results, { kind, title: "A <title> & more" });
    assertWellFormed(svg);
    assert(texts(svg).some((text) => text.startsWith("Odd &lt;name&gt; &amp; ")));
    assert(texts(svg).includes("A &lt;title&gt; &amp; more"));
  }
  const { svg } = await drawn(results, { kind: "delta" });
  assert(texts(svg).some((text) => text.endsWith("[no interval], n = 1")));
});

Deno.test("an interval far wider than the seeds is cut with an arrow and said so", async () => {
  const wide = { ...SHORT, correct: { add: [400, 400], gate_scalar: [401, 440] } };
  const { svg } = await drawn(await resultsOf([wide]), { kind: "delta" });
  assert(texts(svg).join(" ").includes("An arrow marks an interval"));
  const narrow = await drawn(await resultsOf([ARXIV]), { kind: "delta" });
  assert(!texts(narrow.svg).join(" ").includes("An arrow marks"));
});

Deno.test("the accuracy figure marks what the paper printed, only where the data corresponds", async () => {
  const published = { table1: { ag_news: { add: [91.15, 0.08] }, short: { add: [99, 0.1] } } };
  const { svg } = await drawn(await resultsOf([AG, SHORT], { published }), { kind: "accuracy" });
  assertWellFormed(svg);
  const shown = texts(svg);
  assert(shown.includes("91.19 ± 0.10, paper 91.15"), shown.join("\n"));
  assert(shown.includes("80.00 ± 0.28"));
  // One square for the one printed value; colour of no other mark.
  assertEquals(svg.match(/stroke="#D55E00"/g)?.length, 1);
});

Deno.test("the accuracy bars start at nought, the paper's own in a panel that says whose they are", async () => {
  const published = { arxiv: { gate_scalar: [67], add: [62] } };
  const { svg } = await drawn(await resultsOf([AG]), { kind: "accuracy_bars", published });
  assertWellFormed(svg);
  const shown = texts(svg);
  assert(shown.includes("The paper's Table 2 and Figure 4a (ArXiv), not our runs"));
  assert(shown.includes("91.19 ± 0.10") && shown.includes("about 67"), shown.join("\n"));
  // Three bars of ours are full, two of the paper's are hollow.
  assertEquals(svg.match(/fill="#0072B2"/g)?.length, 3);
  assertEquals(svg.match(/stroke="#D55E00"/g)?.length, 2);
});

Deno.test("the latency bars name the machine's and the paper's milliseconds apart", async () => {
  const results = await resultsOf([SHORT]);
  const passMs = { add: [[200, 202], [198, 200]], gate_scalar: [[220, 222], [216, 218]] };
  const { latencies } = await gatheredLatencies(results, {
    grids: [{ dataset: "short", passMs }],
    params: {
      published: [{
        dataset: "arxiv",
        table: "table2",
        figure: "Figure 4b",
        operators: [
          { operator: "gate_cnn", words: "slightly higher", milliseconds: 911 },
          { operator: "gate_scalar", words: "highest", milliseconds: 902 },
        ],
      }],
    },
  });
  const directory = temporaryFolder();
  const run = await runStage(plotLatency, {}, { directory, inputs: { results, latencies } });
  const svg = Deno.readTextFileSync(join(run.outputs["figures"]!, "latency.svg"));
  assertWellFormed(svg);
  const shown = texts(svg);
  assert(shown.includes("Synthetic, short · synthetic data, measured on this machine"));
  assert(shown.includes("The paper's Figure 4b (ArXiv), not our runs"));
  assert(shown.some((text) => text.startsWith("100 ± 0.71")), shown.join("\n"));
  assert(shown.some((text) => text.includes("; +9.5 [")), shown.join("\n"));
  assert(shown.includes("902; by Table 2 “highest”"));
});

Deno.test("the gate figure shows gated operators alone, long profiles as means of stretches", async () => {
  const { svg } = await drawn(await resultsOf([AG]), { kind: "gates" });
  assertWellFormed(svg);
  assert(texts(svg).includes("Gate-Scalar"));
  assert(!texts(svg).includes("Concat"));
  const profile = Array.from({ length: 1000 }, (_, position) => position % 2);
  const parts = stretched(profile, 128);
  assertEquals(parts.length, 125);
  assertEquals(parts[0], { position: 3.5, value: 0.5 });
  assertEquals(stretched([0.25, 0.75], 128), [
    { position: 0, value: 0.25 },
    { position: 1, value: 0.75 },
  ]);
});

Deno.test("the paper's figures are drawn from their values and marked as not ours", async () => {
  const paper_deltas = [{
    figure: "Figure 3",
    dataset: "arxiv",
    operator: "gate_scalar",
    deltas: [9.50, 2.55, 3.67, 7.83, 9.02],
  }];
  const { svg } = await drawn(await resultsOf([], { paper_deltas }), { kind: "published" });
  const shown = texts(svg).join(" ");
  assertStringIncludes(shown, "Not our runs.");
  assertStringIncludes(shown, "+6.51 [+2.55, +10.48], n = 5");
  assertStringIncludes(shown, "The paper's Figure 3 (ArXiv)");
});

Deno.test("every operator of the paper has its diagram, every arrow a head that exists", async () => {
  const { svg } = await drawn(await resultsOf([]), { kind: "operators" });
  assertWellFormed(svg);
  for (const name of ["Add", "Concat", "Gate-Scalar", "Gate-CNN"]) {
    assert(texts(svg).includes(name), name);
  }
  const heads = [...svg.matchAll(/marker-end="url\(#([^)]*)\)"/g)].map((match) => match[1]!);
  assert(heads.length > 15);
  for (const head of heads) assertStringIncludes(svg, `<marker id="${head}"`);
});

Deno.test("every epoch of a short training has its tick", async () => {
  // Made-up histories have eight epochs at seed 0.
  const { svg } = await drawn(await resultsOf([{ ...SHORT, correct: { add: [400] } }]), {
    kind: "curves",
  });
  for (let epoch = 1; epoch <= 8; epoch++) {
    const shown = texts(svg).filter((text) => text === String(epoch)).length;
    assertEquals(shown, 2, `epoch ${epoch} on both panels`);
  }
});

Deno.test("without runs a figure says that there is nothing to show", async () => {
  const results = await resultsOf([]);
  const delta = await drawn(results, { kind: "delta" });
  assert(texts(delta.svg).some((text) => text.startsWith("No operator was run")));
  const gates = await drawn(results, { kind: "gates" });
  assert(texts(gates.svg).includes("No evaluated operator has a gate"));
  const accuracy = await drawn(results, { kind: "accuracy" });
  assert(texts(accuracy.svg).includes("No run was evaluated"));
  const curves = await drawn(results, { kind: "curves" });
  assert(texts(curves.svg).includes("No run has a training history"));
});

Deno.test("an unknown kind and a foreign file are refused", async () => {
  const results = await resultsOf([SHORT]);
  await assertRejects(() => drawn(results, { kind: "pie" }));
  Deno.writeTextFileSync(results.path, "{}");
  await assertRejects(() => drawn(results, { kind: "delta" }), Error, 'field "format" is wrong');
});

Deno.test("plot needs to read nothing but its input and the package cache", async () => {
  const results = await resultsOf([AG]);
  const directory = temporaryFolder();
  const root = new URL("../..", import.meta.url).pathname;
  const script = `
    import { plotFusion } from ${JSON.stringify(join(root, "stages/plot_fusion.ts"))};
    import { run } from ${JSON.stringify(join(root, "stages/plot_fusion.run.ts"))};
    await run({
      params: plotFusion.params.parse({ kind: "delta" }),
      input: () => ({ path: ${JSON.stringify(results.path)} }),
      output: () => ${JSON.stringify(directory)},
    });`;
  const main = join(temporaryFolder(), "main.ts");
  Deno.writeTextFileSync(main, script);
  const info = new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync();
  const cache = JSON.parse(new TextDecoder().decode(info.stdout)).npmCache as string;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--no-prompt",
      `--config=${join(root, "deno.json")}`,
      `--allow-read=${results.path},${cache}`,
      `--allow-write=${directory}`,
      main,
    ],
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const here = await drawn(results, { kind: "delta" });
  assertEquals(Deno.readFileSync(join(directory, "delta.png")), here.png);
});
