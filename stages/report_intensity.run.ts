/**
 * Runs stage `report_intensity`, which `report_intensity.ts` declares.
 *
 * @module
 */
import type { StageContext } from "../pipeline/stage.ts";
import { readJson } from "./results/inputs.ts";
import { pageHtml } from "./results/intensity/page.ts";
import { resultsSchema, speedsSchema } from "./results/intensity/results.ts";
import { compareText } from "./results/order.ts";
import { figuresOf } from "./results/page/figures.ts";
import { sourcesSchema, traceLinks } from "./results/sources.ts";
import type { ReportIntensityParams } from "./report_intensity.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<ReportIntensityParams>): Promise<void> {
  const source = context.input("results");
  const results = readJson(source.path, resultsSchema, { what: "aggregate_intensity.results" });
  const sources = readJson(context.input("sources").path, sourcesSchema, {
    what: "aggregate_intensity.sources",
  });
  const timed = context.input("speeds");
  const speeds = readJson(timed.path, speedsSchema, {
    what: "aggregate_speed.speeds",
  });
  const figures = figuresOf(context.inputs("figures"));
  const filesOf = (input: string, folder: string) =>
    [...context.input(input).files.keys()].sort(compareText).map((name) =>
      `../tables/${folder}/${name}`
    );
  const page = pageHtml(results, {
    speeds,
    figures,
    tableFiles: [
      ...filesOf("tables", "intensity"),
      ...filesOf("speed_tables", "intensity_speed"),
    ],
    resultsSha256: source.sha256,
    speedsSha256: timed.sha256,
    trace: traceLinks(sources),
  });
  Deno.writeTextFileSync(context.output("page"), page);
}
