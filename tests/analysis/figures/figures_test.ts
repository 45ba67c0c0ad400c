import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type CurvesPanel, curvesSpec } from "../../../analysis/figures/curves_chart.ts";
import { figureSvg } from "../../../analysis/figures/draw.ts";
import { COLOURS, FAINT, INK, seriesLook } from "../../../analysis/figures/theme.ts";
import { stretched } from "../../../analysis/figures/curves.ts";
import { figuresSchema } from "../../../analysis/spec/figures.ts";
import type { Study } from "../../../analysis/study.ts";
import { PLANT_FIGURES, plants, plantTitles } from "./made_up.ts";
import { assertWellFormed, contrast, elementText, sizeOf, textsOf } from "./svg.ts";

/** Where rings of seeds are from the left of their panel. */
function ringsAt(svg: string): number[] {
  return [...svg.matchAll(/<path transform="translate\(([\d.]+),[\d.]+\)"[^>]*stroke="#0072B2"/g)]
    .map(([, x]) => Number(x));
}

const NAMES = Object.keys(PLANT_FIGURES);

async function drawn(
  name: string,
  { study = plants(), ...changed }: { study?: Study; [key: string]: unknown } = {},
) {
  const figure = figuresSchema.parse({ [name]: { ...PLANT_FIGURES[name], ...changed } })[name]!;
  const svg = await figureSvg(study, name, figure);
  const texts = textsOf(svg);
  return {
    svg,
    texts: texts.map(({ text }) => text),
    placed: texts,
    words: elementText(svg, "desc"),
  };
}

Deno.test("every template is well-formed, named, described, and cuts no text", async () => {
  for (const name of NAMES) {
    const { svg, placed, words } = await drawn(name);
    assertWellFormed(svg);
    assertStringIncludes(
      elementText(svg, "title"),
      (PLANT_FIGURES[name] as { title: string }).title,
    );
    assert(words.length > 10, name);
    const [width, height] = sizeOf(svg);
    assert(width <= 1280, `${name} is ${width} wide`);
    assert(placed.length > 3, `${name} has texts`);
    for (const { text, box: [left, top, right, bottom] } of placed) {
      assert(!text.includes("…"), `${name}: ${text}`);
      const inside = left >= 0 && top >= 0 && right <= width && bottom <= height;
      assert(inside, `${name}: “${text}” at ${[left, top, right, bottom]} of ${[width, height]}`);
    }
  }
});

Deno.test("texts have a contrast of 4.5, marks of 3, on a white page and the marks on a dark one", async () => {
  for (const name of NAMES) {
    for (const { fill } of (await drawn(name)).placed) assert([INK, FAINT].includes(fill), fill);
  }
  assert(contrast(FAINT, "#ffffff") >= 4.5 && contrast(INK, "#ffffff") >= 4.5);
  assertEquals(contrast("#000000", "#ffffff"), 21);
  for (const colour of COLOURS) {
    for (const page of ["#ffffff", "#161716"]) {
      assert(contrast(colour, page) >= 3, `${colour} on ${page}`);
    }
  }
});

Deno.test("the first six colours are apart for readers who see no red or no green", () => {
  // Machado, Oliveira & Fernandes 2009, full protanopia and deuteranopia; CIE 1976 differences.
  const visions = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [
      ...[-0.003882, -0.048116, 1.051998],
    ]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [
      -0.01182,
      0.04294,
      0.968881,
    ]],
  ];
  const xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
  const times = (matrix: number[][], [a = 0, b = 0, c = 0]: number[]) =>
    matrix.map(([x = 0, y = 0, z = 0]) => x * a + y * b + z * c);
  const lab = (colour: string, vision: number[][]) => {
    const linear = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const seen = times(vision, linear).map((v) => Math.min(1, Math.max(0, v)));
    const [x = 0, y = 0, z = 0] = times(xyz, seen).map((v, i) => v / [0.95047, 1, 1.08883][i]!)
      .map((v) => v > 0.008856 ? Math.cbrt(v) : 7.787 * v + 16 / 116);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  const six = COLOURS.slice(0, 6);
  for (const [index, colour] of six.entries()) {
    for (const other of six.slice(0, index)) {
      for (const vision of visions) {
        const [a, b] = [lab(colour, vision), lab(other, vision)];
        const apart = Math.hypot(...a.map((value, i) => value - b[i]!));
        assert(apart > 15, `${colour} and ${other}: ${apart}`);
      }
    }
  }
});

Deno.test("every label of the study is shown, titles for names, each panel with its kind of data", async () => {
  const study = plants();
  for (const name of ["sprouted", "sprouted_bars", "hours", "growth"]) {
    const { texts } = await drawn(name);
    for (const title of plantTitles(study, "watering")) {
      assert(texts.includes(title), `${name}: ${title}`);
    }
    assert(texts.includes("Clay · full data"), name);
    assert(texts.includes("Fine sand · sample of the data"), name);
    assert(texts.includes('Peat <wet> & "ash" · synthetic data'), name);
  }
});

Deno.test("a forest shows a ring for each seed, mean and spread, and printed values on real data alone", async () => {
  const { svg, texts, words } = await drawn("sprouted");
  // Three soils, three waterings, five seasons.
  assertEquals(svg.match(/stroke="#0072B2"/g)?.length, 45);
  // Table 7 has Clay twice and Fine sand once; Peat is synthetic.
  assertEquals(svg.match(/stroke="#D55E00"/g)?.length, 3);
  // 92 and 0.4, -0.3, 0.1, -0.2, 0: their standard deviation is sqrt(0.3 / 4).
  assert(texts.includes("92.00 ± 0.27, 5 seeds; Table 7: 91.5"), texts.join("\n"));
  assert(texts.includes("72.00 ± 0.27, 5 seeds"));
  for (const text of texts.filter((each) => each.includes("seeds; Table"))) {
    assertStringIncludes(words, text);
  }
});

Deno.test("differences are paired by seed, with Student's interval", async () => {
  const { texts } = await drawn("sprouted_changes");
  // Differences 2 + [0.4, -0.7, 0.4, -0.3, 0.2]; the interval by SciPy.
  assert(texts.includes("+2.00 [+1.40, +2.60], 5 seeds; Table 7: +1.5"), texts.join("\n"));
  assert(texts.includes("Seeds sprouted, minus that of Unwatered, points"));
  assert(!texts.includes("Unwatered"), "the baseline has no row");
});

Deno.test("no interval is drawn of two seeds", async () => {
  const figure = { study: plants({ seasons: 2 }) };
  const three = { study: plants({ seasons: 3 }) };
  const intervals = (svg: string) =>
    svg.match(/<line [^>]*stroke="#1b1b1b"[^>]*stroke-width="2"/g)?.length;
  for (const name of ["sprouted", "sprouted_changes", "sprouted_bars"]) {
    assertEquals(intervals((await drawn(name, figure)).svg), undefined, name);
    assert(intervals((await drawn(name, three)).svg)! >= 6, name);
  }
  assert(
    (await drawn("sprouted_changes", figure)).texts.some((text) =>
      /^\+\d.\d\d, 2 seeds/.test(text)
    ),
  );
});

Deno.test("no axis and no interval goes beyond a metric's max", async () => {
  const study = plants();
  const column = study.tidy["runs"]!.columns["sprouted"]!.map((_, row) => row % 2 === 0 ? 1 : 0.9);
  const runs = {
    ...study.tidy["runs"]!,
    columns: { ...study.tidy["runs"]!.columns, sprouted: column },
  };
  const full = { ...study, tidy: { ...study.tidy, runs } };
  for (const name of ["sprouted", "sprouted_bars"]) {
    const { texts, svg } = await drawn(name, { study: full });
    const ticks = texts.filter((text) => /^\d+$/.test(text)).map(Number);
    assert(ticks.length > 3 && Math.max(...ticks) === 100, `${name}: ${ticks}`);
    // The plotting area is 440 wide, and its end is 100.
    assert(ringsAt(svg).every((x) => x <= 440), name);
    if (name === "sprouted") assertEquals(Math.max(...ringsAt(svg)), 440);
  }
});

Deno.test("panels that are compared share one axis, others have their own", async () => {
  const ticks = (texts: readonly string[]) => texts.filter((text) => /^\d+$/.test(text)).length;
  const shared = await drawn("hours", { axis: "shared" });
  const own = await drawn("hours");
  assert(ticks(own.texts) > 2 * ticks(shared.texts));
  // Unwatered takes 12 hours on clay and 252 on peat.
  const longest = (svg: string) =>
    [...svg.matchAll(/d="M0,[\d.]+h([\d.]+)v16h-[\d.]+Z"[^>]*fill="#0072B2"/g)].map(([, width]) =>
      Number(width)
    );
  const [sharedBars, ownBars] = [longest(shared.svg), longest(own.svg)];
  assertEquals([sharedBars.length, ownBars.length], [9, 9]);
  assert(Math.abs(sharedBars[6]! / sharedBars[0]! - 21) < 0.1, `${sharedBars}`);
  assert(Math.abs(ownBars[6]! / ownBars[0]! - 1) < 0.1, `${ownBars}`);
  const title = "Hours of work, hours per field (less is better)";
  assertEquals(shared.texts.filter((text) => text === title).length, 1);
  assertEquals(own.texts.filter((text) => text === title).length, 3);
});

Deno.test("bars of what the paper printed are hollow, and in panels that say whose they are", async () => {
  const { svg, texts } = await drawn("sprouted_bars");
  assert(texts.includes("The paper's Table 7 (Clay), not our runs"));
  assertEquals(svg.match(/fill="#0072B2"/g)?.length, 9);
  assertEquals(svg.match(/fill="none" stroke="#D55E00"|stroke="#D55E00"/g)?.length, 4);
  assert((await drawn("hours")).texts.some((text) => text.endsWith("; +100.0 [+100.0, +100.0] %")));
});

Deno.test("the paper's seeds are drawn as its own, with the error of reading them", async () => {
  const { texts, words } = await drawn("printed");
  assertStringIncludes(texts.join(" "), "Not our runs.");
  assertStringIncludes(texts.join(" "), "to about 0.1");
  assert(texts.includes("The paper's Figure 9 (Clay), not our runs"));
  // 1.5, 2.5 and -0.5; the interval by SciPy.
  assertStringIncludes(words, "Drip +1.17 [\u22122.63, +4.96], 3 seeds");
});

Deno.test("an axis reaches as far as the longest interval", async () => {
  const study = plants({ soils: 1, seasons: 3 });
  const { columns } = study.tidy["runs"]!;
  const sprouted = columns["sprouted"]!.map((_, row) =>
    columns["watering"]![row] === "drip" && columns["season"]![row] === "2" ? 0.9 : 0.7
  );
  const runs = { ...study.tidy["runs"]!, columns: { ...columns, sprouted } };
  const wide = { ...study, tidy: { ...study.tidy, runs } };
  const { svg, texts } = await drawn("sprouted_changes", { study: wide });
  // 0, 0 and 20; the interval by SciPy.
  assertStringIncludes(texts.join(" "), "+6.67 [\u221222.02, +35.35], 3 seeds");
  const [, shift, length] = svg.match(
    /<line transform="translate\(([\d.]+),[\d.]+\)" x2="(-?[\d.]+)"[^>]*stroke="#1b1b1b" stroke-width="2"/,
  )!;
  const ends = [Number(shift), Number(shift) + Number(length)].sort((a, b) => a - b);
  assert(ends[0]! >= 0 && ends[1]! <= 440 && ends[1]! - ends[0]! > 300, `${ends}`);
});

Deno.test("curves differ in dash and shape as well as colour, and the legend shows them", async () => {
  const { svg } = await drawn("growth");
  for (const [index, title] of plantTitles(plants(), "watering").entries()) {
    const { colour, dash } = seriesLook(index);
    // Three panels in two rows and the legend.
    const pattern = new RegExp(
      `<(?:path|line)[^>]*stroke="${colour}"[^>]*stroke-dasharray="${dash.join(",")}"`,
      "g",
    );
    assertEquals(svg.match(pattern)?.length, 7, title);
  }
  const looks = Array.from({ length: 64 }, (_, index) => seriesLook(index));
  assertEquals(new Set(looks.map(({ colour, dash }) => `${colour}/${dash}`)).size, 64);
});

Deno.test("curves say where each mean starts and ends, its range and its seeds", async () => {
  const { words, texts } = await drawn("growth");
  // Day d of watering w is d (1 + w) high.
  assertStringIncludes(
    words,
    "Drip from 2.00 at 1 to 16.00 at 8, lowest 2.00, highest 16.00 (5 seeds)",
  );
  assertStringIncludes(words, "Clay · full data: Height, cm, by day:");
  assert(texts.includes("Leaves wilted, % (less is better)"));
  // Heights have a tick at 5 too.
  for (const day of [1, 2, 3, 4, 6, 7, 8]) {
    assertEquals(texts.filter((text) => text === String(day)).length, 6, `day ${day}`);
  }
});

Deno.test("a curve of three whole numbers has a tick for each", async () => {
  const study = plants();
  const { table } = PLANT_FIGURES["growth"] as { table: string };
  const whole = study.tidy[table]!;
  const rows = [...whole.columns["day"]!.keys()].filter((row) =>
    Number(whole.columns["day"]![row]) < 4
  );
  const columns = Object.fromEntries(
    Object.entries(whole.columns).map(([name, all]) => [name, rows.map((row) => all[row]!)]),
  );
  const tidy = { ...study.tidy, [table]: { ...whole, columns, length: rows.length } };
  const { svg } = await drawn("growth", { study: { ...study, tidy } });
  // Labels of an axis that is below.
  const days = [...svg.matchAll(/translate\([0-9.]+,16\)"[^>]*>(\d)</g)].map(([, day]) => day);
  assertEquals(days.join(""), "123".repeat(6));
});

Deno.test("curves against a condition are differences under the same seed", async () => {
  const { words, texts } = await drawn("growth_changes");
  assertStringIncludes(words, "Drip from +2.00 at 2 to +8.00 at 8");
  assert(!texts.includes("Unwatered") && texts.includes("Height, cm, minus Unwatered"));
  // What differences are from keeps its look: the others look as in the figure of heights.
  const { svg } = await drawn("growth_changes");
  const titles = plantTitles(plants(), "watering");
  for (const [index, title] of titles.entries()) {
    const { colour, dash } = seriesLook(index);
    const line = `stroke="${colour}" stroke-width="2.2" stroke-dasharray="${dash.join(",")}"`;
    assertEquals(svg.includes(line), title !== "Unwatered", title);
  }
});

Deno.test("labels keep all their digits, whatever coordinates are rounded to", async () => {
  const metrics = plants().metrics;
  const sprouted = { ...metrics["sprouted"]!, digits: 4 };
  const { texts } = await drawn("sprouted", {
    study: { ...plants(), metrics: { ...metrics, sprouted } },
  });
  const shown = texts.flatMap((text) => text.match(/^\d+\.\d+(?= ± )/) ?? []);
  assert(shown.length > 0);
  for (const mean of shown) assert(/\.\d{4}$/.test(mean), mean);
});

Deno.test("columns that are no axes tell lines and colours apart, and wide grids wrap at four panels", async () => {
  const { svg, texts, words } = await drawn("leaves");
  assert(texts.includes("Branch 1") && texts.includes("Branch 2"));
  // Six panels, two branches of three leaves.
  assertEquals(svg.match(/stroke-opacity="0.4"|opacity="0.4"/g)?.length, 36);
  assertStringIncludes(words, "Branch 1 from 0.65 at 0 to 0.35 at 299");
  const tops = new Set(
    textsOf(svg).filter(({ text }) => text === "Position, mm").map(({ box }) => box[1]),
  );
  assertEquals(tops.size, 2);
});

Deno.test("panels of curves that share their first axis' value have the same axes, others their own", () => {
  const panel = (group: string, points: readonly (readonly [number, number])[]): CurvesPanel => {
    const mean = points.map(([x, y]) => ({ x, y }));
    const series = { label: "Rye", seeds: 1, mean, ends: mean, faint: [], band: [] };
    const axes = { x: "Day", axis: "Rise, mm", digits: 2, domain: undefined };
    return { ...axes, title: group, group, series: [series] };
  };
  const grid = [[
    panel("warm", [[1, 2], [4, 8]]),
    panel("warm", [[1, 5], [9, 6]]),
    panel("cold", [[1, 20], [2, 30]]),
  ]];
  const text = JSON.stringify(curvesSpec(grid, {
    ...{ title: "x", subtitle: "", labels: ["Rye"], looks: ["Rye"], width: 300, zero: false },
  }));
  const domains = (values: string) => text.split(`"domain":${values}`).length - 1;
  // A mean's line and its points, in each panel.
  assertEquals([domains("[2,8]"), domains("[1,9]")], [4, 4]);
  assertEquals([domains("[1,2]"), domains("[1,4]"), domains("[20,30]")], [2, 0, 0]);
});

Deno.test("long lines are drawn as means over stretches", () => {
  const line = Array.from({ length: 1000 }, (_, x) => ({ x, y: x % 2 }));
  const parts = stretched(line);
  assertEquals(parts.length, 125);
  assertEquals(parts[0], { x: 3.5, y: 0.5 });
  assertEquals(stretched(line.slice(0, 2)), line.slice(0, 2));
});

Deno.test("conditions that differ where a figure does not look are rows of their own", async () => {
  const { texts } = await drawn("sprouted", { panels: [] });
  assert(
    texts.includes("Unwatered, Clay") && texts.includes("Unwatered, Fine sand"),
    texts.join("\n"),
  );
});

Deno.test("a figure of nothing says so, and a panel of nothing is left out", async () => {
  const study = { ...plants(), tidy: {}, published: [] };
  for (const name of NAMES.filter((each) => !["scheme", "own"].includes(each))) {
    const { texts, words } = await drawn(name, { study });
    assert(texts.includes("Nothing was measured that this figure would show"), name);
    assertStringIncludes(words, "Nothing was measured");
  }
  assert(
    !(await drawn("sprouted", { where: { soil: ["clay"] } })).texts.join(" ").includes("sand"),
  );
});

Deno.test("arrows of a diagram have a head that exists", async () => {
  const { svg } = await drawn("scheme");
  const heads = [...svg.matchAll(/marker-end="url\(#([^)]*)\)"/g)].map((match) => match[1]!);
  assertEquals(heads.length, 2);
  for (const head of heads) assertStringIncludes(svg, `<marker id="${head}"`);
});
