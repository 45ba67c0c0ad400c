import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { RESULTS_FORMAT } from "../../analysis/results.ts";
import { renderPng } from "../../analysis/figures/render.ts";
import { canonical } from "../../pipeline/key/canonical.ts";
import type { Artifact } from "../../pipeline/stage.ts";
import { aggregate } from "../../stages/aggregate.ts";
import { plot } from "../../stages/plot.ts";
import { PLANT_FIGURES, plants } from "../analysis/figures/made_up.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** At least one figure of each template. */
const NAMES = ["sprouted", "hours", "printed", "growth", "scheme", "own"];
const FIGURES = Object.fromEntries(NAMES.map((name) => [name, PLANT_FIGURES[name]]));

function results(): Artifact {
  const path = join(temporaryFolder(), "results.json");
  Deno.writeTextFileSync(
    path,
    JSON.stringify({ format: RESULTS_FORMAT, study: plants() }),
  );
  return artifact(path);
}

async function drawn(from: Artifact, params: unknown = { figures: FIGURES, scale: 1 }) {
  const directory = temporaryFolder();
  const { outputs } = await runStage(plot, params, { directory, inputs: { results: from } });
  const folder = outputs["figures"]!;
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort()
    .map((name) => [name, Deno.readFileSync(join(folder, name))] as const);
}

Deno.test("all figures are drawn as SVG and PNG, with the same bytes in one process again", async () => {
  const from = results();
  const first = await drawn(from);
  assertEquals(
    first.map(([name]) => name),
    NAMES.flatMap((name) => [`${name}.png`, `${name}.svg`]).sort(),
  );
  assertEquals(await drawn(from), first);
});

Deno.test("a PNG is as many times the SVG's size as asked for, and its text is drawn", async () => {
  const figures = { sprouted: PLANT_FIGURES["sprouted"] };
  const [[, png], [, text]] = await drawn(results(), { figures, scale: 2 }) as [
    [string, Uint8Array],
    [string, Uint8Array],
  ];
  const svg = new TextDecoder().decode(text);
  assertEquals([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const width = new DataView(png.buffer, png.byteOffset).getUint32(16);
  assert(Math.abs(width - 2 * Number(svg.match(/width="([\d.]+)"/)![1])) <= 2);
  const blank = await renderPng(svg.replace(/<text\b[^>]*>.*?<\/text>/gs, ""), { scale: 2 });
  assert(png.length > 1.5 * blank.length, `${png.length} against ${blank.length} without text`);
});

Deno.test("an unknown template is refused", async () => {
  const figures = { pie: { template: "pie", title: "Pie" } };
  await assertRejects(() => drawn(results(), { figures }));
});

Deno.test("a misspelt axis is found before anything runs, at its place in the params", async () => {
  const figures = { sprouted: { ...PLANT_FIGURES["sprouted"], rows: ["wattering"] } };
  const axes = { soil: ["clay"], watering: ["none"], season: ["0"] };
  const surroundings = { axes, grid: axes, inputs: {} };
  assertEquals(await plot.check!(plot.params.parse({ figures }), surroundings), [{
    path: ["figures", "sprouted", "rows", 0],
    message: 'there is no axis "wattering"; did you mean "watering"?',
  }]);
});

Deno.test("a misspelt metric is found before anything runs, among those of the results it draws", async () => {
  const figures = { sprouted: { ...PLANT_FIGURES["sprouted"], metric: "sprotued" } };
  const axes = { soil: ["clay"], watering: ["none"], season: ["0"] };
  const params = aggregate.params.parse({ metrics: { sprouted: { title: "Sprouted" } } });
  const holds = aggregate.outputs["results"]!.holds!(params);
  const feed = { node: "aggregate", output: "results", each: [], at: [{}], measures: {} };
  const surroundings = { axes, grid: axes, inputs: { results: [{ ...feed, holds }] } };
  const found = await plot.check!(plot.params.parse({ figures }), surroundings);
  assertEquals(
    found.map(({ path, message }) => [path.join("."), message])[0],
    ["figures.sprouted.metric", 'there is no metric "sprotued"; did you mean "sprouted"?'],
  );
});

Deno.test("a figure's name can't lead its file out of the folder", () => {
  const named = (name: string) =>
    plot.params.safeParse({ figures: { [name]: PLANT_FIGURES["sprouted"] } }).success;
  assertEquals([named("sprouted_2"), named("../sprouted"), named("a b")], [true, false, false]);
});

Deno.test("plot needs to read nothing but its input and the package cache", async () => {
  const from = results();
  const directory = temporaryFolder();
  const root = new URL("../..", import.meta.url).pathname;
  const main = join(temporaryFolder(), "main.ts");
  Deno.writeTextFileSync(
    main,
    `import { run } from ${JSON.stringify(join(root, "stages/plot.run.ts"))};
    await run({
      params: ${JSON.stringify(canonical(plot.params.parse({ figures: FIGURES, scale: 1 })))},
      input: () => ({ path: ${JSON.stringify(from.path)} }),
      output: () => ${JSON.stringify(directory)},
      progress: () => {},
    });`,
  );
  const info = new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync();
  const cache = JSON.parse(new TextDecoder().decode(info.stdout)).npmCache as string;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-check", "--no-prompt", `--config=${join(root, "deno.json")}`],
      ...[`--allow-read=${from.path},${cache}`, `--allow-write=${directory}`, main],
    ],
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  for (const [name, bytes] of await drawn(from)) {
    assertEquals(Deno.readFileSync(join(directory, name)), bytes, name);
  }
});
