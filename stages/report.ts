/**
 * Writes the report: one self-contained page with the tables, the figures and what they rest on.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { readJson } from "./results/inputs.ts";
import { compareText } from "./results/order.ts";
import { figuresOf } from "./results/page/figures.ts";
import { pageHtml } from "./results/page/page.ts";
import { resultsSchema } from "./results/results.ts";
import { sourcesSchema, traceLinks } from "./results/sources.ts";

const params = z.strictObject({});

export const report = defineStage({
  name: "report",
  params,
  inputs: { results: {}, sources: {}, tables: {}, figures: { many: true } },
  outputs: {
    page: { kind: "file", exactness: "numeric", publish: () => "report/index.html" },
  },
  // deno-lint-ignore require-await
  async run(context) {
    const source = context.input("results");
    const results = readJson(source.path, resultsSchema, { what: "aggregate.results" });
    const sources = readJson(context.input("sources").path, sourcesSchema, {
      what: "aggregate.sources",
    });
    const figures = figuresOf(context.inputs("figures"));
    const tableFiles = [...context.input("tables").files.keys()].sort(compareText);
    const page = pageHtml(results, {
      figures,
      tableFiles,
      resultsSha256: source.sha256,
      trace: traceLinks(sources),
    });
    Deno.writeTextFileSync(context.output("page"), page);
  },
});
