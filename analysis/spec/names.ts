/**
 * Whether names that an experiment writes are those of things that are there.
 *
 * @module
 */
import type { Measured, Surroundings, Violation } from "../../pipeline/stage.ts";
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
  readonly tables?: Readonly<Record<string, Measured>> | undefined;
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

  table(path: Path, name: string): Measured | undefined {
    const { tables } = this.known;
    const possible = tables && Object.keys(tables);
    this.oneOf(path, name, { what: "table among what the inputs measure,", possible });
    return tables?.[name];
  }

  column(path: Path, column: string, table: Measured | undefined): void {
    this.oneOf(path, column, { what: "column", possible: table?.columns });
  }

  /** An axis of the experiment, and of a table where one is given. */
  axis(path: Path, axis: string, table?: Measured): boolean {
    const possible = Object.keys(this.known.axes);
    if (!this.oneOf(path, axis, { what: "axis", possible })) return false;
    if (table === undefined || table.axes.includes(axis)) return true;
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
  where(path: Path, where: Where = {}, table?: Measured): void {
    for (const [axis, values] of Object.entries(where)) {
      if (table?.columns.includes(axis)) continue;
      if (!this.axis([...path, axis], axis, table)) continue;
      [values].flat().forEach((value, i) =>
        this.value([...path, axis, ...Array.isArray(values) ? [i] : []], axis, String(value))
      );
    }
  }
}
