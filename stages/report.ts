/**
 * Writes the report: one self-contained page with the tables, the figures and what they rest on.
 *
 * @module
 */
import { basename } from "node:path";
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { readJson } from "./results/inputs.ts";
import { latenciesSchema } from "./results/latency/latencies.ts";
import { compareText } from "./results/order.ts";
import { pageHtml } from "./results/page/page.ts";
import { resultsSchema } from "./results/results.ts";

const params = z.strictObject({});

export const report = defineStage({
  name: "report",
  params,
  inputs: { results: {}, latencies: {}, tables: {}, latency_tables: {}, figures: { many: true } },
  // It shows latencies, which differ each time.
  outputs: {
    page: { kind: "file", exactness: "measured", publish: () => "report/index.html" },
  },
  // deno-lint-ignore require-await
  async run(context) {
    const source = context.input("results");
    const results = readJson(source.path, resultsSchema, { what: "aggregate.results" });
    const latencies = readJson(context.input("latencies").path, latenciesSchema, {
      what: "aggregate_latency.latencies",
    });
    const figures = context.inputs("figures")
      .flatMap((artifact) => [...artifact.files])
      .filter(([name]) => name.endsWith(".svg"))
      .map(([name, path]) => ({ name: basename(name, ".svg"), svg: Deno.readTextFileSync(path) }))
      .sort((a, b) => compareText(a.name, b.name));
    const filesOf = (input: string) => [...context.input(input).files.keys()].sort(compareText);
    const page = pageHtml(results, {
      latencies,
      figures,
      tableFiles: [
        ...filesOf("tables"),
        ...filesOf("latency_tables").map((name) => `latency/${name}`),
      ],
      resultsSha256: source.sha256,
    });
    Deno.writeTextFileSync(context.output("page"), page);
  },
});
