/**
 * Writes the report: one self-contained page with verdicts, tables, figures and what they rest on, and
 * the tables as files.
 *
 * @module
 */
import { z } from "zod";
import { defineStage, namesIn } from "../pipeline/stage.ts";

const params = z.strictObject({
  text: z.string().optional().describe("Markdown with {{table NAME}} and the like"),
  title: z.string().min(1).optional().describe("By default the first analysis' title"),
  authors: z.string().min(1).optional(),
  link: z.string().regex(/^https?:\/\/\S+$/, "must be an http or https address").optional(),
});

/** Validated params of `report`. */
export type ReportParams = z.infer<typeof params>;

export const report = defineStage({
  name: "report",
  params,
  inputs: {
    results: { many: true, content: "results" },
    shown: { many: true, content: "shown results" },
    figures: { many: true, content: "figures" },
  },
  outputs: {
    page: { kind: "file", exactness: "exact", publish: () => "report.html" },
    tables: { kind: "folder", exactness: "exact", publish: () => "tables" },
  },
  async check({ text }, { inputs }) {
    const [results, shown] = ["results", "shown"].map((input) =>
      (inputs[input] ?? []).map(({ node }) => node).sort().join(", ") || "none"
    );
    if (results === "none" || results !== shown) {
      const message = "must have results and shown of the same stages, found results of " +
        `${results} and shown of ${shown}; wire both of each stage that aggregates`;
      return [{ path: [], message }];
    }
    if (text === undefined) return [];
    const { textViolations } = await import("../analysis/page/markdown.ts");
    const { BUILT_IN } = await import("../analysis/spec/tables.ts");
    const tables = namesIn(inputs["shown"] ?? [], "table");
    const known = {
      table: tables && [...tables, ...BUILT_IN],
      figure: namesIn(inputs["figures"] ?? [], "figure"),
    };
    return textViolations(text, known).map(({ path, message }) => ({
      path: ["text", ...path],
      message,
    }));
  },
});
