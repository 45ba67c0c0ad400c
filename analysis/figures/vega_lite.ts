/**
 * Specifications of one's own over tidy tables, and what they may not do.
 *
 * @module
 */
import type { Violation } from "../../pipeline/stage.ts";
import type { VegaLite } from "../spec/figures.ts";
import type { Study } from "../study.ts";
import type { TidyTable } from "../tidy/table.ts";
import { type Chart, PAGE, titleOf } from "./theme.ts";

/** A specification with the tidy tables that it names. */
export function vegaLite(study: Study, { name, spec }: { name: string; spec: VegaLite }): Chart {
  const named = new Set<unknown>();
  walk(spec.spec, ({ key, value }) => {
    if (key === "data") named.add((value as { name?: unknown } | null)?.name);
  });
  const tables = Object.values(study.tidy).filter((table) => named.has(table.name));
  return {
    name,
    title: spec.title,
    description: spec.description,
    spec: {
      title: titleOf({ title: spec.title, subtitle: "" }, PAGE),
      ...spec.spec,
      datasets: Object.fromEntries(tables.map((table) => [table.name, recordsOf(table)])),
    },
  };
}

/**
 * What keeps a specification from being drawn from the tidy tables alone, with the same bits each
 * time: other data, links and images, chance, clock and screen.
 */
export function vegaLiteViolations(
  spec: Readonly<Record<string, unknown>>,
  tables?: readonly string[],
): Violation[] {
  const found: Violation[] = [];
  walk(spec, ({ key, value, path }) => {
    const refuse = (message: string) => found.push({ path, message });
    if (key === "data") {
      const { name, ...rest } = (value ?? {}) as Record<string, unknown>;
      if (typeof name !== "string" || Object.keys(rest).length > 0) {
        refuse(`must be a tidy table, { name: TABLE }, and nothing else`);
      } else if (tables !== undefined && !tables.includes(name)) {
        refuse(`must name a tidy table (${tables.join(", ")}), got "${name}"`);
      }
    } else if (key === "mark" || (key === "type" && path.at(-2) === "mark")) {
      if (value === "image") refuse("must not be an image: a figure is drawn from tables alone");
    } else if (["url", "href", "datasets", "sample", "usermeta"].includes(String(key))) {
      refuse(
        `must not be there: a figure is drawn from tidy tables alone, without chance or links`,
      );
    } else if (typeof value === "string") {
      const [, called] = value.match(CALLS) ?? [];
      if (called !== undefined) {
        refuse(`must not call ${called}(): a figure is the same wherever and whenever it is drawn`);
      }
    }
  });
  return found;
}

/** Functions of Vega's expressions whose value is not the table's. */
const CALLS =
  /\b(now|random|sample\w+|screen|windowSize|containerSize|pinch\w+|warn|info|debug|modify|data)\s*\(/;

/** Visits every key of a specification, data that is written into it apart. */
function walk(
  value: unknown,
  visit: (entry: { key: string | number; value: unknown; path: (string | number)[] }) => void,
  path: readonly (string | number)[] = [],
): void {
  if (typeof value !== "object" || value === null) return;
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  for (const [key, own] of entries) {
    const at = [...path, key];
    visit({ key, value: own, path: at });
    walk(own, visit, at);
  }
}

function recordsOf({ columns, length }: TidyTable): Record<string, unknown>[] {
  const names = Object.keys(columns);
  return Array.from(
    { length },
    (_, row) => Object.fromEntries(names.map((name) => [name, columns[name]![row]])),
  );
}
