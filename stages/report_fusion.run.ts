/**
 * Runs stage `report_fusion`, which `report_fusion.ts` declares.
 *
 * @module
 */
import type { StageContext } from "../pipeline/stage.ts";
import { readJson } from "./results/inputs.ts";
import { latenciesSchema } from "./results/latency/latencies.ts";
import { compareText } from "./results/order.ts";
import { figuresOf } from "./results/page/figures.ts";
import { pageHtml } from "./results/page/page.ts";
import { resultsSchema } from "./results/results.ts";
import { sourcesSchema, traceLinks } from "./results/sources.ts";
import type { ReportFusionParams } from "./report_fusion.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<ReportFusionParams>): Promise<void> {
  const source = context.input("results");
  const results = readJson(source.path, resultsSchema, { what: "aggregate.results" });
  const sources = readJson(context.input("sources").path, sourcesSchema, {
    what: "aggregate.sources",
  });
  const timed = context.input("latencies");
  const latencies = readJson(timed.path, latenciesSchema, {
    what: "aggregate_latency.latencies",
  });
  const filesOf = (input: string) => [...context.input(input).files.keys()].sort(compareText);
  const page = pageHtml(results, {
    latencies,
    figures: figuresOf(context.inputs("figures")),
    tableFiles: [
      ...filesOf("tables"),
      ...filesOf("latency_tables").map((name) => `latency/${name}`),
    ],
    resultsSha256: source.sha256,
    latenciesSha256: timed.sha256,
    trace: traceLinks(sources),
  });
  Deno.writeTextFileSync(context.output("page"), page);
}
