import { assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { figureViolations } from "../../../analysis/figures/check.ts";
import { figuresSchema } from "../../../analysis/spec/figures.ts";

const read = (path: string) =>
  // deno-lint-ignore no-explicit-any
  parse(Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url))) as any;

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
