/**
 * What all templates ask of a study: panels in display order with titles, labels, what is compared.
 *
 * @module
 */
import { provenanceOf } from "../provenance.ts";
import { axisOf, baselineOf, byAxes, keyOf, type Study, titleOf } from "../study.ts";
import type { Metric, Where } from "../spec/axes.ts";
import { capitalized, changeUnit, withUnit } from "../tables/format.ts";
import type { At } from "../tidy/table.ts";

/** A panel's title and what it shows. */
export interface Panel<T> {
  readonly at: At;
  readonly title: string;
  readonly members: readonly T[];
}

/**
 * A panel for each combination of some axes that members have, in display order. Its title says where
 * it is, and of what kind the data there is.
 */
export function panelsOf<T extends { readonly at: At }>(
  study: Study,
  members: readonly T[],
  { axes, where, name = titleOf }: {
    readonly axes: readonly string[];
    readonly where: Where;
    readonly name?: typeof titleOf;
  },
): Panel<T>[] {
  const named = labelAxes(members, axes);
  return [...Map.groupBy(ordered(study, members, axes), ({ at }) => keyOf(pick(at, axes))).values()]
    .map((own) => {
      const at = pick(own[0]!.at, axes);
      const place = labelOf(study, at, named, name);
      const { text } = provenanceOf(study, { ...where, ...at });
      return { at, title: [place, text].filter((part) => part !== "").join(" · "), members: own };
    });
}

/** Members by the values of some axes, as these are displayed. */
export function ordered<T extends { readonly at: At }>(
  study: Study,
  members: readonly T[],
  axes: readonly string[],
): T[] {
  const compare = byAxes(study, axes);
  return members.toSorted((a, b) => compare(a.at, b.at));
}

/** Some axes, and after them all others on which members differ: no two conditions look like one. */
export function withOthers(
  members: readonly { readonly at: At }[],
  axes: readonly string[],
  elsewhere: readonly string[],
): string[] {
  const all = new Set(members.flatMap(({ at }) => Object.keys(at)));
  const others = [...all].filter((axis) =>
    !axes.includes(axis) && !elsewhere.includes(axis) &&
    new Set(members.map(({ at }) => at[axis])).size > 1
  );
  return [...axes, ...others];
}

/** Those axes that a label must name: the first, and any on which members differ. */
export function labelAxes(
  members: readonly { readonly at: At }[],
  axes: readonly string[],
): string[] {
  return axes.filter((axis, index) =>
    index === 0 || new Set(members.map(({ at }) => at[axis])).size > 1
  );
}

/**
 * Coordinates as a label; a column that is no axis is named with its value: `Block 2`.
 *
 * @param name How a value is called: its title, or for legends its short one.
 */
export function labelOf(study: Study, at: At, axes: readonly string[], name = titleOf): string {
  return axes.filter((axis) => at[axis] !== undefined).map((axis) =>
    axisOf(study, axis) === undefined
      ? `${capitalized(axis.replaceAll("_", " "))} ${at[axis]}`
      : name(study, axis, at[axis]!)
  ).join(", ");
}

/** Some of a place's coordinates. */
export function pick(at: At, axes: readonly string[]): At {
  return Object.fromEntries(
    axes.filter((axis) => at[axis] !== undefined).map((axis) => [axis, at[axis]!]),
  );
}

/** What changes are taken from where a figure does not say: the baseline of the axis that has one. */
export function againstOf(study: Study, axes: readonly string[]): At | null {
  return baselineOf(study, [...axes, ...study.axes.map(({ name }) => name)]);
}

/** An axis's title: what is measured, its unit, and which way is better where that is down. */
export function axisTitle(metric: Metric, against?: string): string {
  const less = metric.better === "less" ? " (less is better)" : "";
  if (against === undefined) return withUnit(metric.title, metric.unit) + less;
  const what = metric.change === "ratio" ? "change from" : "minus that of";
  return withUnit(`${metric.title}, ${what} ${against}`, changeUnit(metric)) + less;
}
