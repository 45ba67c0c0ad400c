/**
 * Runs stage `report`, which `report.ts` declares.
 *
 * @module
 */
import { basename } from "node:path";
import type { Figure } from "../analysis/page/figure_html.ts";
import { merge } from "../analysis/page/merge.ts";
import { pageHtml } from "../analysis/page/page.ts";
import { readShown, readStudy } from "../analysis/results.ts";
import { writeTables } from "../analysis/tables/text.ts";
import type { Artifact, StageContext } from "../pipeline/stage.ts";
import type { ReportParams } from "./report.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<ReportParams>): Promise<void> {
  const { text, title, authors, link } = context.params;
  const [results, shown] = [context.inputs("results"), context.inputs("shown")];
  const merged = merge(results.map(({ path, sha256 }, index) => {
    const { sources, ...rest } = readShown(shown[index]!.path);
    return { results: { ...rest, study: readStudy(path) }, sources, sha256 };
  }));
  const page = pageHtml({
    title: title ?? merged.studies[0]!.title,
    ...{ authors, link, text, merged, figures: context.inputs("figures").flatMap(figuresOf) },
  });
  Deno.writeTextFileSync(context.output("page"), page);
  writeTables(context.output("tables"), [...merged.tables.values()]);
}

/** The figures in a folder, by name. */
function figuresOf({ files, sha256 }: Artifact): Figure[] {
  return [...files].filter(([name]) => name.endsWith(".svg")).map(([name, path]) => ({
    name: basename(name, ".svg"),
    svg: Deno.readTextFileSync(path),
    sha256,
  }));
}
