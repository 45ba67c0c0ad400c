/**
 * A study of plants: axes, metrics and tables that no code knows. Values follow from a formula, so
 * that tests can say what must be shown.
 *
 * @module
 */
import { type Figures, figuresSchema } from "../../../analysis/spec/figures.ts";
import { metricsSchema } from "../../../analysis/spec/axes.ts";
import { paperSchema } from "../../../analysis/spec/published.ts";
import { axisOf, type PublishedValue, type Study } from "../../../analysis/study.ts";
import type { TidyTable, Value } from "../../../analysis/tidy/table.ts";

const SOILS = [["clay", "Clay"], ["sand", "Fine sand"], ["peat", 'Peat <wet> & "ash"']] as const;
const WATERINGS = [
  ["none", "Unwatered"],
  ["drip", "Drip"],
  ["flood", "Flooded every second evening"],
] as const;

/** A study with some seasons, which are its seeds. */
export function plants({ seasons = 5, soils = 3 } = {}): Study {
  const places = SOILS.slice(0, soils).flatMap(([soil], s) =>
    WATERINGS.flatMap(([watering], w) =>
      Array.from(
        { length: seasons },
        (_, season) => ({ soil, watering, season: `${season}`, s, w, season_: season }),
      )
    )
  );
  const at = (place: typeof places[number]) => ({
    soil: place.soil,
    watering: place.watering,
    season: place.season,
  });
  const wobble = (season: number) => [0, 0.4, -0.3, 0.1, -0.2][season % 5]!;
  const tables = [
    table(
      "runs",
      ["soil", "watering", "season"],
      places.map((place) => ({
        ...at(place),
        // 90, 92, 94 percent on clay; 10 less on each further soil.
        sprouted: (90 - 10 * place.s + 2 * place.w + wobble(place.season_ + place.w)) / 100,
      })),
    ),
    table(
      "hours",
      ["soil", "watering", "season"],
      places.map((place) => ({
        ...at(place),
        // Flooding takes twice as long in every season.
        hours: (10 + place.season_) * (place.w === 2 ? 2 : 1) * (1 + 10 * place.s),
      })),
    ),
    table(
      "growth",
      ["soil", "watering", "season"],
      places.flatMap((place) =>
        Array.from({ length: 8 }, (_, index) => ({
          ...at(place),
          day: index + 1,
          height: (index + 1) * (1 + place.w) + wobble(place.season_),
          wilted: 1 / (index + 1 + place.w) + 0.02 * wobble(place.season_),
        }))
      ),
    ),
    table(
      "leaves",
      ["soil", "watering", "season"],
      places.filter(({ w }) => w > 0).flatMap((place) =>
        [1, 2].flatMap((branch) =>
          [0, 1, 2].flatMap((leaf) =>
            Array.from({ length: 300 }, (_, position) => ({
              ...at(place),
              branch,
              leaf,
              position,
              green: 0.5 + 0.1 * branch + 0.05 * leaf - position / 1000 +
                0.01 * wobble(place.season_),
            }))
          )
        )
      ),
    ),
  ];
  return {
    title: "Plants",
    confidence: 0.95,
    seeds: "season",
    axes: [
      axis("soil", "Soil", SOILS.slice(0, soils)),
      { ...axis("watering", "Watering", WATERINGS), baseline: "none" },
      axis(
        "season",
        "Season",
        Array.from({ length: seasons }, (_, i) => [`${i}`, `${i}`] as const),
      ),
    ],
    metrics: metricsSchema.parse({
      sprouted: {
        title: "Seeds sprouted",
        unit: "percent",
        scale: 100,
        better: "greater",
        max: 100,
      },
      hours: {
        title: "Hours of work",
        table: "hours",
        unit: "hours per field",
        digits: 1,
        better: "less",
        change: "ratio",
      },
      wilted: { title: "Leaves wilted", table: "growth", better: "less" },
    }),
    tidy: Object.fromEntries(tables.map((each) => [each.name, each])),
    corpora: [
      { at: { soil: "clay" }, kind: "official", title: "Clay", note: "" },
      { at: { soil: "sand" }, kind: "sample", title: "Sand", note: "" },
      { at: { soil: "peat" }, kind: "synthetic", title: "Peat", note: "" },
    ],
    published: [
      ...SOILS.flatMap(([soil]) => [printed({ soil, watering: "drip" }, 91.5)]),
      printed({ soil: "clay", watering: "none" }, 90),
      ...[1.5, 2.5, -0.5].map((value, season) => ({
        ...printed({ soil: "clay", watering: "drip", season: `${season}` }, value),
        source: "Figure 9",
        against: { watering: "none" },
      })),
    ],
    paper: paperSchema.parse({ reading_error: 0.1 }),
  };
}

function printed(at: Record<string, string>, value: number): PublishedValue {
  const rest = { page: "3", rounding: 0.05, spread: null, n: null, words: "" };
  return { source: "Table 7", metric: "sprouted", at, against: null, value, ...rest };
}

function axis(name: string, title: string, values: readonly (readonly [string, string])[]) {
  return {
    name,
    title,
    baseline: null,
    values: values.map(([value, title]) => ({ value, title, short: title, note: null })),
  };
}

function table(name: string, axes: string[], rows: readonly Record<string, Value>[]): TidyTable {
  const names = Object.keys(rows[0] ?? {});
  return {
    name,
    axes,
    columns: Object.fromEntries(names.map((each) => [each, rows.map((row) => row[each] ?? null)])),
    length: rows.length,
  };
}

/** A figure of each template. */
export const PLANT_FIGURES: Figures = figuresSchema.parse({
  sprouted: {
    template: "forest",
    title: "Seeds sprouted by watering",
    metric: "sprouted",
    rows: ["watering"],
    panels: ["soil"],
    sources: ["Table 7"],
  },
  sprouted_changes: {
    template: "forest",
    title: "What watering changes",
    metric: "sprouted",
    show: "changes",
    rows: ["watering"],
    panels: ["soil"],
    sources: ["Table 7"],
  },
  hours: {
    template: "bars",
    title: "Hours of work by watering",
    metric: "hours",
    rows: ["watering"],
    panels: ["soil"],
    change: true,
    axis: "own",
  },
  sprouted_bars: {
    template: "bars",
    title: "Seeds sprouted",
    metric: "sprouted",
    rows: ["watering"],
    panels: ["soil"],
    sources: ["Table 7"],
  },
  printed: {
    template: "published",
    title: "The paper's seasons",
    metric: "sprouted",
    rows: ["watering"],
    sources: ["Figure 9"],
  },
  growth: {
    template: "curves",
    title: "Growth by day",
    table: "growth",
    x: { column: "day", title: "Day" },
    y: [
      { column: "height", title: "Height, cm" },
      { column: "wilted", title: "Leaves wilted, %", scale: 100 },
    ],
    panels: ["soil"],
    series: ["watering"],
  },
  growth_changes: {
    template: "curves",
    title: "Growth against no water",
    table: "growth",
    x: { column: "day", title: "Day", from: 2 },
    y: [{ column: "height", title: "Height, cm" }],
    panels: ["soil"],
    series: ["watering"],
    against: { watering: "none" },
    marks: "band",
  },
  leaves: {
    template: "curves",
    title: "Green by position on the leaf",
    table: "leaves",
    x: { column: "position", title: "Position, mm" },
    y: [{ column: "green", title: "Green", domain: [0, 1] }],
    panels: ["soil", "watering"],
    series: ["branch"],
    lines: ["leaf"],
  },
  scheme: {
    template: "diagram",
    title: "How water reaches the root",
    description: "A tank feeds a pipe, which feeds the root.",
    legend: "Thick outline: learned. Dashed: computed. Square: data.",
    height: 330,
    panels: [{
      heading: "Drip",
      equation: "r = p(t)",
      width: 240,
      boxes: {
        tank: { x: 120, y: 84, text: "tank", note: "rain", kind: "data" },
        pipe: { x: 120, y: 180, text: "pipe", kind: "learned" },
        root: { x: 120, y: 276, text: "root", kind: "step" },
      },
      arrows: [["tank", "pipe"], ["pipe", "root"]],
    }],
  },
  own: {
    template: "vega-lite",
    title: "Sprouted by season",
    description: "A point for each run.",
    spec: {
      data: { name: "runs" },
      width: 300,
      height: 160,
      mark: "point",
      encoding: {
        x: { field: "season", type: "nominal" },
        y: { field: "sprouted", type: "quantitative", scale: { zero: false } },
        shape: { field: "watering", type: "nominal" },
      },
    },
  },
});

/** What an axis calls one of its values. */
export function plantTitles(study: Study, name: string): string[] {
  return axisOf(study, name)!.values.map(({ title }) => title);
}
