/**
 * What the paper prints beside what was measured.
 *
 * @module
 */
import type { Metric } from "../spec/axes.ts";
import { metricOf, provenanceOf, publishedOf, type PublishedValue, type Study } from "../study.ts";
import type { At } from "../tidy/table.ts";
import { decimal, printedDigits } from "./format.ts";

/** A question to the paper: of which condition, averaged over what, in which table of its. */
export interface Printed {
  readonly metric: string;
  readonly at: At;
  readonly over?: Readonly<Record<string, readonly string[]>>;
  readonly source?: string | undefined;
}

/** `59.22 ± 1.07`, `about 62` or `lowest`. */
export function printedText({ value, spread, words, rounding }: PublishedValue): string {
  const digits = printedDigits(rounding);
  const number = value === null ? [] : [decimal(value, digits)];
  const text = [words, ...number].filter((part) => part !== "").join(" ");
  return spread === null ? text : `${text} ± ${decimal(spread, digits)}`;
}

/**
 * What the paper prints for a condition that was measured, or for its change from `against`; nothing
 * beside synthetic data, nor beside an average over less than the paper's.
 */
export function printedBeside(
  study: Study,
  question: Printed & { readonly against?: At },
): PublishedValue | undefined {
  const { metric, at, over = {} } = question;
  if (provenanceOf(study, { ...at, ...over as Record<string, string[]> }).kind === "synthetic") {
    return undefined;
  }
  const whole = Object.entries(over).every(([axis, values]) =>
    study.published.every((each) =>
      each.metric !== metric || each.at[axis] === undefined || values.includes(each.at[axis])
    )
  );
  return whole ? publishedOf(study, question) : undefined;
}

/** A printed change: as such, or that of two printed means of one source. */
export function printedChange(
  study: Study,
  question: Printed & { readonly against: At },
): { readonly value: number; readonly digits: number } | undefined {
  const direct = printedBeside(study, question);
  if (direct?.value != null) {
    return { value: direct.value, digits: printedDigits(direct.rounding) };
  }
  const { against, ...own } = question;
  const first = printedBeside(study, own);
  const second = printedBeside(study, {
    ...own,
    at: { ...own.at, ...against },
    source: first?.source,
  });
  if (first?.value == null || second?.value == null) return undefined;
  const metric = metricOf(study, own.metric);
  return {
    value: changeOf(metric, first.value, second.value),
    digits: metric.change === "ratio"
      ? metric.digits
      : Math.max(printedDigits(first.rounding), printedDigits(second.rounding)),
  };
}

/** How a printed value compares with another, as changes of its metric are shown. */
export function changeOf({ change }: Pick<Metric, "change">, value: number, other: number): number {
  return change === "ratio" ? 100 * (value / other - 1) : value - other;
}
