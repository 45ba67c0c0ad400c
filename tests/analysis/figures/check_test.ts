import { assertEquals, assertStringIncludes } from "@std/assert";
import { figureViolations } from "../../../analysis/figures/check.ts";
import { type Figure, figuresSchema } from "../../../analysis/spec/figures.ts";
import type { Known } from "../../../analysis/spec/names.ts";
import { PLANT_FIGURES, plants } from "./made_up.ts";

const study = plants();
const KNOWN: Known = {
  axes: Object.fromEntries(
    study.axes.map(({ name, values }) => [name, values.map(({ value }) => value)]),
  ),
  metrics: Object.keys(study.metrics),
  tables: Object.fromEntries(
    Object.values(study.tidy).map(({ name, axes, columns }) =>
      [name, { columns: Object.keys(columns), axes }] as const
    ),
  ),
  sources: ["Table 7", "Figure 9"],
};

function violations(name: string, changed: Record<string, unknown>, known = KNOWN) {
  const figures = figuresSchema.parse({ [name]: { ...PLANT_FIGURES[name], ...changed } });
  return figureViolations(figures, known).map(({ path, message }) =>
    `${path.join(".")}: ${message}`
  );
}

function ownSpec(changed: Record<string, unknown>) {
  const { spec } = PLANT_FIGURES["own"] as Extract<Figure, { template: "vega-lite" }>;
  return violations("own", { spec: { ...spec, ...changed } });
}

Deno.test("figures that name what there is are taken", () => {
  assertEquals(figureViolations(PLANT_FIGURES, KNOWN), []);
  assertEquals(figureViolations(PLANT_FIGURES, { axes: KNOWN.axes }), []);
});

Deno.test("a misspelt axis, value, metric, table, column or source is refused where it is written", () => {
  const cases: [string, Record<string, unknown>, string][] = [
    [
      "sprouted",
      { metric: "sprotued" },
      'sprouted.metric: there is no metric "sprotued"; did you mean "sprouted"?',
    ],
    [
      "sprouted",
      { rows: ["watering", "sol"] },
      'sprouted.rows.1: there is no axis "sol"; did you mean "soil"?',
    ],
    ["sprouted", { panels: ["sol"] }, 'sprouted.panels.0: there is no axis "sol"'],
    ["sprouted", { where: { sol: "clay" } }, 'sprouted.where.sol: there is no axis "sol"'],
    [
      "sprouted",
      { where: { soil: ["clay", "loam"] } },
      'sprouted.where.soil.1: there is no value of soil "loam"',
    ],
    [
      "sprouted",
      { sources: ["Table 8"] },
      'sprouted.sources.0: there is no published source "Table 8"',
    ],
    [
      "sprouted_changes",
      { against: { watering: "non" } },
      'against.watering: there is no value of watering "non"',
    ],
    [
      "growth",
      { table: "grow" },
      'growth.table: there is no table among what the inputs measure, "grow"',
    ],
    ["growth", { x: { column: "dya", title: "Day" } }, 'growth.x.column: there is no column "dya"'],
    [
      "growth",
      { y: [{ column: "hight", title: "H" }] },
      'growth.y.0.column: there is no column "hight"',
    ],
    ["leaves", { series: ["branches"] }, 'leaves.series.0: there is no axis or column "branches"'],
    ["leaves", { lines: ["leef"] }, 'leaves.lines.0: there is no axis or column "leef"'],
  ];
  for (const [name, changed, expected] of cases) {
    const [first] = violations(name, changed);
    assertStringIncludes(first ?? "nothing refused", expected);
  }
});

Deno.test("an arrow to a box that is not there is refused", () => {
  const [panel] = (PLANT_FIGURES["scheme"] as Extract<Figure, { template: "diagram" }>).panels;
  const wrong = violations("scheme", { panels: [{ ...panel, arrows: [["tank", "pip"]] }] });
  assertEquals(wrong, [
    'scheme.panels.0.arrows.0.1: there is no box "pip"; did you mean "pipe"?',
  ]);
});

Deno.test("a specification of one's own draws from tidy tables alone", () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ data: { url: "https://example.org/x.csv" } }, "own.spec.data: must be a tidy table"],
    [{ data: { values: [{ a: 1 }] } }, "own.spec.data: must be a tidy table"],
    [{ data: { sequence: { start: 0, stop: 9 } } }, "own.spec.data: must be a tidy table"],
    [{ data: { name: "runz" } }, "own.spec.data: must name a tidy table (runs, hours"],
    [{ datasets: { runs: [] } }, "own.spec.datasets: must not be there"],
    [{ mark: "image" }, "own.spec.mark: must not be an image"],
    [{ layer: [{ mark: { type: "image" } }] }, "own.spec.layer.0.mark.type: must not be an image"],
    [
      { mark: { type: "point", href: "https://example.org" } },
      "own.spec.mark.href: must not be there",
    ],
    [{ encoding: { href: { field: "soil" } } }, "own.spec.encoding.href: must not be there"],
    [{ encoding: { url: { field: "soil" } } }, "own.spec.encoding.url: must not be there"],
    [
      { transform: [{ lookup: "soil", from: { data: { url: "x" } } }] },
      "from.data: must be a tidy",
    ],
    [{ transform: [{ sample: 3 }] }, "own.spec.transform.0.sample: must not be there"],
    [{ transform: [{ calculate: "random()", as: "x" }] }, "must not call random()"],
    [{ transform: [{ calculate: "1 + now( )", as: "x" }] }, "must not call now()"],
  ];
  for (const [changed, expected] of cases) {
    assertStringIncludes(ownSpec(changed)[0] ?? "nothing refused", expected);
  }
  assertEquals(ownSpec({ transform: [{ calculate: "datum.sprouted * 100", as: "x" }] }), []);
});
