/**
 * `selfaudit`: has the engine audit itself by mutation, and prints what it missed and what reacted for
 * nothing.
 *
 * @module
 */
import { resolvePlatform } from "../key/platform.ts";
import { cells, HEAD, percent, selfAuditPage, totals } from "../selfaudit/page.ts";
import { selfAudit } from "../selfaudit/selfaudit.ts";
import type { Tally } from "../selfaudit/tally.ts";
import { column, wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { outputsFolder } from "./session.ts";
import { loadStages, openExperiment } from "./wiring.ts";
import { writeWholeText } from "./write_whole.ts";

/** How many alterations of a kind are made where nobody says. */
const TIMES = 20;
/** How many findings of a kind are printed; the page has all. */
const SHOWN = 5;

/** Audits the engine; 1 if it missed something. */
export async function auditEngine(
  project: Project,
  options: Options,
  print: Print,
): Promise<number> {
  // What is wrong with the experiment as it is comes first.
  const { experiment, all } = await openExperiment(project, options);
  const { profile, mirror, seed } = options;
  const times = options.times ?? TIMES;
  const named = [...new Set(all.map(({ node }) => node.stage.name))];
  const tallies: Tally[] = [];
  const progress = progressLine(options);
  const untried = await selfAudit(
    {
      ...{ root: project.root, outputs: outputsFolder(project, options), profile, mirror },
      experiment: experiment.name,
      stages: await loadStages(project, named),
      platform: await resolvePlatform(options.backend === "auto" ? "wasm" : options.backend),
    },
    { seed, times, progress },
    (tally) => {
      tallies.push(tally);
      if (options.json) print(JSON.stringify({ event: "selfaudit", ...tally }));
    },
  );
  progress("");
  const audited = {
    ...{ experiment: experiment.name, profile, seed, times },
    ...(untried === undefined ? {} : { untried: untried.what }),
  };
  const sum = totals(tallies);
  if (options.json) print(JSON.stringify({ event: "selfaudit-summary", ...audited, ...sum }));
  else {
    printText(tallies, print);
    if (untried !== undefined) {
      wrapping(print)(
        `not tried: ${untried.what}: no store at ${untried.store}; run "deno task reproduce" first`,
      );
    }
  }
  if (options.page !== undefined) {
    await writeWholeText(options.page, selfAuditPage(tallies, audited));
    if (!options.json) print(`wrote ${options.page}`);
  }
  return sum.missed > 0 ? 1 : 0;
}

/** Says on a terminal what is being tried, in one line; "" for nothing more. */
function progressLine({ json }: Options): (what: string) => void {
  if (json || !Deno.stderr.isTerminal()) return () => {};
  return (what) => Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${what.slice(0, 78)}`));
}

function printText(tallies: readonly Tally[], print: Print): void {
  const rows = tallies.map(cells);
  const columns = HEAD.map((name, index) => column(name, rows.map((row) => row[index]!)));
  for (let row = 0; row <= rows.length; row++) {
    print(columns.map((cells) => cells[row]!).join("  ").trimEnd());
  }
  const lines = wrapping(print);
  for (const { kind, missed, spurious } of tallies) {
    printFindings(`missed, ${kind}`, missed, lines);
    printFindings(`spurious, ${kind}`, spurious, lines);
  }
  const { tried, missed, expected, spurious, unexpected } = totals(tallies);
  lines(
    `\n${tried} alterations: ${missed} of ${expected} reactions missed (${
      percent(missed, expected)
    }), ` +
      `${spurious} of ${unexpected} spurious (${percent(spurious, unexpected)})`,
  );
}

function printFindings(
  title: string,
  found: readonly string[],
  print: (line: string) => void,
): void {
  if (found.length === 0) return;
  print(`\n${title}:`);
  for (const line of found.slice(0, SHOWN)) print(`  ${line}`);
  if (found.length > SHOWN) print(`  and ${found.length - SHOWN} more; --page and --json have all`);
}
