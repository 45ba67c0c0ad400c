/**
 * Whether what an experiment says of its analysis names what is there: axes, their values, metrics,
 * tables, columns. Asked when a run is planned, so that a misspelling costs a second.
 *
 * @module
 */
import {
  type Measured,
  type Surroundings,
  tablesTogether,
  type Violation,
} from "../../pipeline/stage.ts";
import { askedBy, comparisonsOf } from "../claims/expected.ts";
import { keyOf, partsOf } from "../study.ts";
import { AGAINST, publishedValues } from "../printed.ts";
import type { StudyParams } from "../tidy/study_of.ts";
import type { Claim, Comparison } from "./claims.ts";
import { type Known, Names, type Path } from "./names.ts";
import { PUBLISHED_COLUMNS } from "./published.ts";
import {
  BUILT_IN,
  type ListTable,
  type Measure,
  type SummaryTable,
  type Tables,
} from "./tables.ts";

/** What is checked: the parts of an aggregate's params that name something. */
export interface Named extends Omit<StudyParams, "title" | "confidence"> {
  readonly claims: readonly Claim[];
  readonly elsewhere: readonly Claim[];
  readonly sensitivity?: { readonly axis: string; readonly claims: readonly Claim[] } | undefined;
  readonly tables: Tables;
}

/** Everything that names what is not there, at the key that names it. */
export function checkNames(named: Named, { axes, inputs }: Surroundings): Violation[] {
  const checker = new Checker(named, {
    axes,
    tables: tablesTogether(Object.values(inputs).flat().map(({ measures }) => measures)),
    metrics: Object.keys(named.metrics),
    sources: [...new Set(named.published.map(({ source }) => source))],
  });
  checker.all();
  if (checker.found.length === 0) checker.questions();
  return checker.found;
}

class Checker extends Names {
  readonly #named: Named;
  /** A metric's table; `undefined` where that is not known. */
  readonly #tableOf = (metric: string | undefined): Measured | undefined =>
    this.known.tables?.[this.#named.metrics[metric ?? ""]?.table ?? ""];

  constructor(named: Named, known: Known) {
    super(known);
    this.#named = named;
  }

  all(): void {
    this.axes();
    this.metrics();
    this.published();
    this.paper();
    this.claims(this.#named.claims, ["claims"]);
    if (this.#named.sensitivity !== undefined) this.sensitivity(this.#named.sensitivity);
    for (const [name, spec] of Object.entries(this.#named.tables)) {
      const path = ["tables", name];
      if (BUILT_IN.includes(name) || name.startsWith("every_")) {
        this.add(path, "must have another name: every analysis has a table of this one");
      }
      if ("list" in spec) this.list(path, spec);
      else this.summary(path, spec);
    }
  }

  axes(): void {
    const { axes, seeds } = this.#named;
    if (seeds !== "seed") this.axis(["seeds"], seeds);
    for (const [axis, { baseline, values }] of axes) {
      if (!this.axis(["axes", axis], axis)) continue;
      for (const [value] of values) this.value(["axes", axis, "values", value], axis, value);
      if (baseline !== undefined) this.value(["axes", axis, "baseline"], axis, baseline);
    }
  }

  metrics(): void {
    for (const [name, metric] of Object.entries(this.#named.metrics)) {
      const path = ["metrics", name];
      const written = metric.table === "runs" ? path : [...path, "table"];
      const table = this.table(written, metric.table);
      if (table === undefined) continue;
      const column = metric.column ?? name;
      this.column(metric.column === undefined ? path : [...path, "column"], column, table);
      metric.same.forEach((each, i) => this.column([...path, "same", i], each, table));
      if (metric.within !== undefined) this.column([...path, "within"], metric.within, table);
      this.where([...path, "floor"], metric.floor, table);
    }
  }

  published(): void {
    const metrics = this.#metricsAnywhere();
    const columns = [...new Set(this.#named.published.flatMap((row) => Object.keys(row)))]
      .filter((column) => !PUBLISHED_COLUMNS.some((each) => each === column));
    const axisOf = (column: string) =>
      column.startsWith(AGAINST) ? column.slice(AGAINST.length) : column;
    const axes = Object.keys(this.known.axes);
    const possible = [...axes, ...PUBLISHED_COLUMNS];
    // Columns are the header's: what is wrong with one is said once.
    const known = columns.filter((column) =>
      this.oneOf(["published"], axisOf(column), {
        what: "axis or column",
        possible: column === axisOf(column) ? possible : axes,
      })
    );
    const places = new Set<string>();
    this.#named.published.forEach((row, index) => {
      const path = ["published", index];
      this.oneOf([...path, "metric"], row.metric, { what: "metric", possible: metrics });
      for (const column of known) {
        const value = row[column] ?? "";
        if (value !== "") this.value([...path, column], axisOf(column), String(value));
      }
      const { page: _, value, spread: __, n: ___, words: ____, ...place } = row;
      const key = JSON.stringify(Object.entries(place).sort());
      if (places.has(key)) {
        this.add(path, `${row.source} has this ${row.metric} already, in a row before`);
      }
      places.add(key);
      const { max = Infinity } = this.#named.metrics[row.metric] ?? {};
      const isChange = Object.entries(row).some(([column, own]) =>
        column.startsWith(AGAINST) && own !== ""
      );
      if (!isChange && Number(value) > max) {
        this.add([...path, "value"], `must be at most ${max}, the metric's max, found ${value}`);
      }
    });
  }

  /** Metrics described here, and those of claims that are judged elsewhere by the same numbers. */
  #metricsAnywhere(): string[] {
    const elsewhere = this.#named.elsewhere.flatMap(({ metric, compare }) => [
      ...[metric, ...compare.map((each) => each.metric)],
    ]);
    return [
      ...Object.keys(this.#named.metrics),
      ...elsewhere.filter((metric) => metric !== undefined),
    ];
  }

  paper(): void {
    this.#named.paper.whole.forEach(({ at, column }, index) => {
      const path = ["paper", "whole", index];
      this.where([...path, "at"], at);
      this.column([...path, "column"], column, this.known.tables?.["corpora"]);
    });
    this.#named.paper.size.forEach((size, index) => {
      const path = ["paper", "size", index];
      this.where([...path, "at"], size.at);
      const table = this.known.tables?.[size.table];
      if (table === undefined) {
        // The sizes of models are often written once, for aggregates of which one knows no sizes.
        if (size.table !== "runs") this.table([...path, "table"], size.table);
        return;
      }
      for (const kind of ["equals", "at_least"] as const) {
        for (const column of Object.keys(size[kind])) {
          this.column([...path, kind, column], column, table);
        }
      }
    });
  }

  /** Claims that are judged on each value of an axis, as if they named it. */
  sensitivity({ axis, claims }: NonNullable<Named["sensitivity"]>): void {
    if (!this.axis(["sensitivity", "axis"], axis)) return;
    const baseline = this.#named.axes.find(([name]) => name === axis)?.[1].baseline;
    if (baseline === undefined) {
      this.add(
        ["sensitivity", "axis"],
        `must be an axis with a baseline, found none of "${axis}"`,
      );
      return;
    }
    claims.forEach((claim, index) => {
      const named = comparisonsOf(claim).find(({ at, against, than, over }) =>
        [at, against ?? {}, than ?? {}, over].some((part) => axis in part)
      );
      if (named === undefined) return;
      this.add(
        ["sensitivity", "claims", index],
        `must say nothing of "${axis}", found a value of it`,
      );
    });
    const chosen = claims.map((claim) => ({ ...claim, at: { ...claim.at, [axis]: baseline } }));
    this.claims(chosen, ["sensitivity", "claims"]);
  }

  claims(claims: readonly Claim[], place: Path): void {
    claims.forEach((claim, index) => {
      const path = [...place, index];
      const twin = claims.findIndex(({ id }) => id === claim.id);
      if (twin < index) this.add([...path, "id"], `two claims are called "${claim.id}"`);
      this.#claim(claim, path);
    });
  }

  #claim(claim: Claim, path: Path): void {
    this.#parts(path, claim, claim.metric);
    claim.compare.forEach((own, each) => {
      const place = [...path, "compare", each];
      const written = Object.keys(own).length === 0 ? path : place;
      const metric = own.metric ?? claim.metric;
      this.#parts(place, own, metric);
      if (metric === undefined) return this.add(place, "a comparison must have a metric");
      this.#sides(written, comparisonsOf(claim)[each]!);
      const over = { ...claim.over, ...own.over };
      const named = { ...claim.at, ...own.at, ...over };
      const lacking = this.#tableOf(metric)?.axes.filter((axis) =>
        axis !== this.#named.seeds && !(axis in named)
      ) ?? [];
      if (lacking.length === 0) {
        return;
      }
      this.add(
        written,
        `at must name a value of every axis of the metric's runs but ${this.#named.seeds}, found ` +
          `none of ${lacking.join(" or ")}; name it, or average over its values with over`,
      );
    });
  }

  /** Whether a comparison has two sides that differ, where its test needs them, under every seed. */
  #sides(path: Path, comparison: Comparison): void {
    const { at, against, than, over, test } = comparison;
    const { seeds } = this.#named;
    const twice = Object.keys(over).find((axis) => axis in at);
    if (twice !== undefined) {
      this.add(path, `at names a value of "${twice}" and over averages over it; name it in one`);
    }
    if ([at, against ?? {}, than ?? {}, over].some((part) => seeds in part)) {
      this.add(path, `a comparison must be of all values of ${seeds}, found some of them named`);
    }
    if (against === null) {
      if (test === "difference" || test === "sign") {
        this.add(
          path,
          `the test ${test} needs against, found none; name what differs in the condition to ` +
            "compare with, or judge the values themselves by the test within",
        );
      }
      return;
    }
    const same = partsOf(comparison).find(({ place, minus }) => keyOf(place) === keyOf(minus!));
    if (same === undefined) return;
    const place = Object.entries(same.place).map(([axis, value]) => `${axis} ${value}`).join(", ");
    this.add(path, `against must differ from at, found ${place} compared with itself`);
  }

  /** What a claim and its comparisons may both say. */
  #parts(path: Path, own: Claim | Claim["compare"][number], metric: string | undefined): void {
    if (own.metric !== undefined) this.metric([...path, "metric"], own.metric);
    const table = this.#tableOf(metric);
    for (const part of ["at", "against", "than"] as const) {
      this.where([...path, part], own[part], table);
    }
    for (const [axis, values] of Object.entries(own.over ?? {})) {
      if (!this.axis([...path, "over", axis], axis, table)) continue;
      values.forEach((value, i) => this.value([...path, "over", axis, i], axis, value));
    }
    if (typeof own.printed === "string") this.source([...path, "printed"], own.printed);
  }

  /** Whether each claim has what its test needs; asked once all names are known. */
  questions(): void {
    const { claims, sensitivity, metrics, seeds } = this.#named;
    const prints = { published: publishedValues(this.#named), metrics, seedAxis: seeds };
    const ask = (claim: Claim, path: Path) => {
      try {
        askedBy(claim, prints).forEach(({ comparison, printed }, each) => {
          if (typeof comparison.printed !== "string" || printed !== null) return;
          const own = claim.compare[each]!.printed === undefined ? [] : ["compare", each];
          this.add(
            [...path, ...own, "printed"],
            `${comparison.printed} has no number for ` +
              `${Object.values(comparison.at).join(", ")}, or none to compare it with`,
          );
        });
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        this.add(path, error.message.replace(/^\w+: /, ""));
      }
    };
    claims.forEach((claim, index) => ask(claim, ["claims", index]));
    sensitivity?.claims.forEach((claim, index) => ask(claim, ["sensitivity", "claims", index]));
  }

  summary(path: Path, spec: SummaryTable): void {
    const table = this.table(spec.table === "runs" ? path : [...path, "table"], spec.table);
    if (table === undefined) return;
    this.where([...path, "where"], spec.where, table);
    spec.rows.forEach((axis, i) => {
      this.axis([...path, "rows", i], axis, table);
      if (spec.rows.indexOf(axis) < i) this.add([...path, "rows", i], `"${axis}" is there twice`);
    });
    if (spec.across !== undefined) {
      this.axis([...path, "across"], spec.across, table);
      if (spec.rows.includes(spec.across)) {
        this.add([...path, "across"], `must be no axis of rows, found "${spec.across}"`);
      }
    }
    if (spec.published !== undefined) this.source([...path, "published"], spec.published);
    spec.columns.forEach((measure, i) => {
      const place = [...path, "columns", i];
      if (measure.metric !== undefined) this.metric([...place, "metric"], measure.metric);
      if (measure.column !== undefined) this.column([...place, "column"], measure.column, table);
      this.#measured(place, measure, [
        ...spec.rows,
        ...spec.across === undefined ? [] : [spec.across],
      ]);
      if (measure.source !== undefined) this.source([...place, "source"], measure.source);
      const own = this.#tableOf(measure.metric) ?? table;
      this.where([...place, "against"], measure.against, own);
      measure.over.forEach((axis, each) => {
        this.axis([...place, "over", each], axis, own);
        if (![...spec.rows, spec.across].includes(axis)) return;
        this.add(
          [...place, "over", each],
          `must be an axis that has no rows or columns of its own, found "${axis}"`,
        );
      });
      this.where([...place, "where"], measure.where, own);
    });
  }

  /** Whether a column of a table says of what it is, and of changes from what. */
  #measured(path: Path, { metric, column, show, against }: Measure, axes: readonly string[]): void {
    if (metric !== undefined && column !== undefined) {
      this.add(path, "must have a metric or a column, found both");
    } else if (metric === undefined && column === undefined && show !== "n") {
      this.add(path, `${show} must have a metric or a column, found neither`);
    }
    const changes = ["change", "change_sd", "change_interval", "wins_losses", "published_change"];
    if (!changes.includes(show) || against !== undefined) return;
    const baselines = new Map(this.#named.axes.map(([axis, { baseline }]) => [axis, baseline]));
    if (axes.some((axis) => baselines.get(axis) !== undefined)) return;
    this.add(
      path,
      `${show} must be from something: name it with against, or give an axis of the rows a baseline`,
    );
  }

  list(path: Path, spec: ListTable): void {
    const table = this.table([...path, "list"], spec.list);
    if (table === undefined) return;
    this.where([...path, "where"], spec.where, table);
    if (spec.group !== undefined) this.axis([...path, "group"], spec.group, table);
    const possible = [...table.columns, ...table.axes, ...Object.keys(this.#named.metrics)];
    spec.columns.forEach(({ column }, i) =>
      this.oneOf([...path, "columns", i, "column"], column, { what: "column", possible })
    );
  }
}
