/**
 * Shows a comparison of two runs as text, or as one JSON object a line.
 *
 * @module
 */
import { type Comparison, describeCause, signed, stateCounts } from "../views/diff/comparison.ts";
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print } from "./project.ts";

/** How many names and figures a text shows before it says how many more there are. */
const NAMES_SHOWN = 6;
const LINES_SHOWN = 40;

/** Prints a comparison. */
export function printDiff(comparison: Comparison, options: Options, print: Print): void {
  if (options.json) printJson(comparison, print);
  else printText(comparison, print);
}

function printJson(comparison: Comparison, print: Print): void {
  const { before, now, runs, values } = comparison;
  const report = (event: string, fields: object) => print(JSON.stringify({ event, ...fields }));
  report("diff", { before: before.label, now: now.label });
  for (const instance of runs.onlyBefore) report("only", { side: "before", instance });
  for (const instance of runs.onlyNow) report("only", { side: "now", instance });
  for (const one of runs.both) {
    const plain = one.standing === "same" && one.metrics.length === 0;
    if (!plain) report("instance", { ...one, changes: one.changes ?? null });
  }
  for (const cause of runs.causes) report("cause", cause);
  for (const cutOff of runs.cutOffs) report("cut-off", cutOff);
  for (const value of values) report("values", value);
  report("diff-summary", { ...stateCounts(comparison), unexplained: runs.unexplained.length });
}

function printText(comparison: Comparison, printRow: Print): void {
  const print = wrapping(printRow);
  const { before, now, runs, values } = comparison;
  const { same, unmoved, changed, unstable, uncompared } = stateCounts(comparison);
  print(`A  ${before.label}\nB  ${now.label}\n`);
  print(
    `${runs.both.length} instances in both: ${same} the same, ${unmoved} with another key and the ` +
      `same result, ${changed} changed` +
      (uncompared ? `, ${uncompared} measured again and not compared` : "") +
      (unstable ? `, ${unstable} with another result under the same key` : ""),
  );
  if (runs.onlyBefore.length > 0) print(`only in A: ${listed(runs.onlyBefore)}`);
  if (runs.onlyNow.length > 0) print(`only in B: ${listed(runs.onlyNow)}`);
  for (const cause of runs.causes) {
    print(`\n${describeCause(cause)}`);
    for (const file of cause.sources) print(`    source changed: ${file}`);
    const { direct, through } = cause;
    if (direct.length > 0) print(`    itself: ${listed(direct)}`);
    if (through.length > 0) print(`    through inputs: ${listed(through)}`);
  }
  if (runs.unexplained.length > 0) {
    print(`\nwhy is not known, for the store lacks a trace: ${listed(runs.unexplained)}`);
  }
  if (runs.cutOffs.length > 0) print("\ncut off: another key, the same result");
  for (const { instance, spared } of runs.cutOffs) {
    print(`  ${instance}${spared.length > 0 ? `, so unchanged: ${listed(spared)}` : ""}`);
  }
  // A row that is broken is no row.
  printBounded("metrics", figureRows(comparison), printRow);
  printBounded(
    "values",
    values.flatMap(({ instance, output, words, numbers }) => [
      ...words.map(({ path, before, now }) =>
        `${instance}  ${output}  ${path}: ${before ?? "(absent)"} → ${now ?? "(absent)"}`
      ),
      ...(numbers > 0 ? [`${instance}  ${output}: ${numbers} numbers differ`] : []),
    ]),
    print,
  );
}

function figureRows({ runs }: Comparison): string[] {
  const rows = runs.both.flatMap(({ instance, metrics }) =>
    metrics.map(({ metric, before, now, difference }) => [
      `${instance}  ${metric}`,
      `${shown(before)} → ${shown(now)}`,
      difference === undefined ? "" : signed(difference),
    ])
  );
  const width = (column: number) => Math.max(...rows.map((row) => row[column]!.length));
  return rows.map(([name, values, difference]) =>
    `${name!.padEnd(width(0))}  ${values!.padEnd(width(1))}  ${difference}`.trimEnd()
  );
}

/** A figure to six digits, as its difference is given. */
function shown(figure: number | undefined): string {
  return figure === undefined ? "(absent)" : String(Number(figure.toPrecision(6)));
}

function printBounded(title: string, lines: readonly string[], print: Print): void {
  if (lines.length === 0) return;
  print(`\n${title}`);
  for (const line of lines.slice(0, LINES_SHOWN)) print(`  ${line}`);
  if (lines.length > LINES_SHOWN) {
    print(`  and ${lines.length - LINES_SHOWN} more; --json and --page show all`);
  }
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).join(", ");
  const more = names.length - NAMES_SHOWN;
  return `${shown}${more > 0 ? ` and ${more} more` : ""} (${names.length})`;
}
