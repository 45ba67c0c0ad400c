import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { figureViolations } from "../../../analysis/figures/check.ts";
import { figuresSchema } from "../../../analysis/spec/figures.ts";
import { ENCODINGS, FUSIONS } from "../../../models/names.ts";

const read = (path: string) =>
  // deno-lint-ignore no-explicit-any
  parse(Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url))) as any;

/** What a paper's folder calls its axes' values; with the operators and encodings that there are. */
function namesOf(paper: string): string[] {
  const { axes } = read(`experiments/${paper}/analysis.yaml`);
  // deno-lint-ignore no-explicit-any
  return Object.values(axes).flatMap((axis: any) => Object.keys(axis.values ?? {}));
}

Deno.test("each paper's figures are valid and name its own axes and metrics", () => {
  const fusion = read("experiments/fusion/figures.yaml");
  const cases = [
    { paper: "fusion", figures: fusion.accuracy, metrics: "metrics" },
    { paper: "fusion", figures: fusion.latency, metrics: "timings" },
    { paper: "intensity", figures: read("experiments/intensity/figures.yaml"), metrics: "metrics" },
  ];
  for (const { paper, figures, metrics } of cases) {
    const analysis = read(`experiments/${paper}/analysis.yaml`);
    const known = {
      axes: Object.fromEntries(
        // deno-lint-ignore no-explicit-any
        Object.entries(analysis.axes).map(([name, axis]: [string, any]) =>
          [name, Object.keys(axis.values ?? {})] as const
        ),
      ),
      metrics: Object.keys(metrics === "timings" ? analysis.timings.metrics : analysis.metrics),
    };
    assertEquals(figureViolations(figuresSchema.parse(figures), known), [], paper);
  }
});

Deno.test("no code of figures names an operator, an encoding, a data set or a run", () => {
  const names = new Set([...namesOf("fusion"), ...namesOf("intensity"), ...FUSIONS, ...ENCODINGS]);
  // One is a number that anything may have, the other the outline of a box with parameters.
  for (const ordinary of ["learned", ...Array.from({ length: 10 }, (_, digit) => `${digit}`)]) {
    names.delete(ordinary);
  }
  assert(names.size > 15, [...names].join());
  const root = new URL("../../../", import.meta.url);
  const files = [
    ...[...Deno.readDirSync(new URL("analysis/figures", root))].map(({ name }) =>
      `analysis/figures/${name}`
    ),
    ...["stages/plot.ts", "stages/plot.run.ts"],
  ];
  const wrong = files.flatMap((file) => {
    const text = Deno.readTextFileSync(new URL(file, root)).toLowerCase();
    return [...names].filter((name) =>
      // English words are names in quotes alone.
      new RegExp(/^(add|relative)$/.test(name) ? `["'\`]${name}["'\`]` : `\\b${name}\\b`).test(text)
    ).map((name) => `${file}: ${name}`);
  });
  assertEquals(wrong, []);
});
