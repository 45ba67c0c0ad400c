/**
 * Whether names that an experiment writes are those of things that are there.
 *
 * @module
 */
import type { Feed, Surroundings, Violation } from "../../pipeline/stage.ts";
import { suggestion } from "../../pipeline/suggestion.ts";
import type { Where } from "./axes.ts";

export type Path = Violation["path"];

/** What can be named. What is left out is not known, and not checked. */
export interface Known {
  /** Axes with the values of any profile. */
  readonly axes: Surroundings["axes"];
  readonly metrics?: readonly string[] | undefined;
  /** What printed numbers are from. */
  readonly sources?: readonly string[] | undefined;
  readonly tables?: ReadonlyMap<string, KnownTable> | undefined;
}

/** A tidy table as a plan knows it. */
export interface KnownTable {
  readonly columns: readonly string[];
  /** Axes that all of its rows have. */
  readonly axes: readonly string[];
  /** Whether rows may have other axes too: models that were measured beside each other. */
  readonly open: boolean;
}

/** The tables that some outputs measure. @param options.open Whether their rows may have any axes. */
export function measuredTables(
  feeds: readonly Feed[],
  options: { readonly open?: boolean } = {},
): Map<string, KnownTable> {
  const tables = new Map<string, KnownTable>();
  for (const { each, measures } of feeds) {
    for (const [name, columns] of Object.entries(measures)) {
      const before = tables.get(name);
      const own = columns.filter((column) => column !== "*" && !each.includes(column));
      tables.set(name, {
        columns: [...new Set([...before?.columns ?? [], ...own])],
        axes: [...new Set([...before?.axes ?? [], ...each])],
        open: options.open || before?.open || columns.includes("*"),
      });
    }
  }
  return tables;
}

/** Collects names of nothing, each at the key that has it. */
export class Names {
  readonly found: Violation[] = [];
  readonly known: Known;

  constructor(known: Known) {
    this.known = known;
  }

  add(path: Path, message: string): void {
    this.found.push({ path, message });
  }

  oneOf(
    path: Path,
    name: string,
    { what, possible }: { what: string; possible: readonly string[] | undefined },
  ): boolean {
    if (possible === undefined || possible.includes(name)) return true;
    this.add(path, `there is no ${what} "${name}"${suggestion(name, possible)}`);
    return false;
  }

  metric(path: Path, metric: string): void {
    this.oneOf(path, metric, { what: "metric", possible: this.known.metrics });
  }

  source(path: Path, source: string): void {
    this.oneOf(path, source, { what: "published source", possible: this.known.sources });
  }

  table(path: Path, name: string): KnownTable | undefined {
    const { tables } = this.known;
    const possible = tables && [...tables.keys()];
    this.oneOf(path, name, { what: "table among what the inputs measure,", possible });
    return tables?.get(name);
  }

  column(path: Path, column: string, table: KnownTable | undefined): void {
    this.oneOf(path, column, { what: "column", possible: table?.columns });
  }

  /** An axis of the experiment, and of a table where one is given. */
  axis(path: Path, axis: string, table?: KnownTable): boolean {
    const possible = Object.keys(this.known.axes);
    if (!this.oneOf(path, axis, { what: "axis", possible })) return false;
    if (table === undefined || table.open || table.axes.includes(axis)) return true;
    this.add(
      path,
      `what is measured here does not vary over "${axis}"; it does over ` +
        (table.axes.join(", ") || "nothing"),
    );
    return false;
  }

  value(path: Path, axis: string, value: string): void {
    const possible = this.known.axes[axis] ?? [];
    this.oneOf(path, value, { what: `value of ${axis}`, possible });
  }

  /** Coordinates; a table's columns of texts select too: `split: test`. */
  where(path: Path, where: Where = {}, table?: KnownTable): void {
    for (const [axis, values] of Object.entries(where)) {
      if (table?.columns.includes(axis)) continue;
      if (!this.axis([...path, axis], axis, table)) continue;
      [values].flat().forEach((value, i) =>
        this.value([...path, axis, ...Array.isArray(values) ? [i] : []], axis, String(value))
      );
    }
  }
}
