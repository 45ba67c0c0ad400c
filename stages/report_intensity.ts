/**
 * Writes the report on the language models: one self-contained page.
 *
 * @module
 */
import { basename } from "node:path";
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { readJson } from "./results/inputs.ts";
import { pageHtml } from "./results/intensity/page.ts";
import { resultsSchema, speedsSchema } from "./results/intensity/results.ts";
import { compareText } from "./results/order.ts";

export const reportIntensity = defineStage({
  name: "report_intensity",
  params: z.strictObject({}),
  inputs: {
    results: {},
    speeds: {},
    tables: {},
    speed_tables: {},
    figures: { many: true },
  },
  // It shows speeds, which differ each time.
  outputs: {
    page: { kind: "file", exactness: "measured", publish: () => "report/intensity.html" },
  },
  // deno-lint-ignore require-await
  async run(context) {
    const source = context.input("results");
    const results = readJson(source.path, resultsSchema, { what: "aggregate_intensity.results" });
    const speeds = readJson(context.input("speeds").path, speedsSchema, {
      what: "aggregate_speed.speeds",
    });
    const figures = context.inputs("figures")
      .flatMap((artifact) => [...artifact.files])
      .filter(([name]) => name.endsWith(".svg"))
      .map(([name, path]) => ({ name: basename(name, ".svg"), svg: Deno.readTextFileSync(path) }))
      .sort((a, b) => compareText(a.name, b.name));
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
    });
    Deno.writeTextFileSync(context.output("page"), page);
  },
});
