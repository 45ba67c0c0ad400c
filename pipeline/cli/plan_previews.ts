/**
 * What stages say of themselves in a plan.
 *
 * @module
 */
import { surroundingsOf } from "../plan/surroundings.ts";
import type { Preview } from "../stage.ts";
import { column, columns as widthThereIs, hanging } from "./layout.ts";
import type { Print } from "./project.ts";
import type { Session } from "./session.ts";

const GAP = "  ";

/** Asks the instances whose stages have something to say, in the order of the graph. */
export async function previewsOf(
  { graph, experiment }: Session,
): Promise<ReadonlyMap<string, Preview>> {
  const previews = new Map<string, Preview>();
  for (const instance of graph) {
    const { preview } = instance.node.stage;
    if (preview === undefined) continue;
    const said = await preview(instance.params, surroundingsOf(instance, experiment));
    const lines = "rows" in said ? [...said.rows, ...said.notes ?? []] : said;
    if (lines.length > 0) previews.set(instance.name, said);
  }
  return previews;
}

/** Prints what was said, an empty line after each. */
export function printPreviews(previews: ReadonlyMap<string, Preview>, print: Print): void {
  for (const [instance, preview] of previews) {
    const { title, notes } = "rows" in preview
      ? { title: ` ${preview.title}`, notes: preview.notes ?? [] }
      : { title: "", notes: preview };
    for (const line of hanging(`${instance}:${title}`, { width: widthThereIs() })) print(line);
    if ("rows" in preview && preview.rows.length > 0) {
      for (const line of tableLines(preview)) print(line);
    }
    for (const text of notes) {
      for (const line of hanging(text, { width: widthThereIs(), indent: GAP })) print(line);
    }
    print("");
  }
}

function tableLines({ columns, rows }: Extract<Preview, { rows: unknown }>): string[] {
  const cells = columns.map((heading, index) =>
    column(heading, rows.map((row) => row[index] ?? ""))
  );
  return ["", ...rows].map((_, line) => GAP + cells.map((each) => each[line]!).join(GAP).trimEnd());
}
