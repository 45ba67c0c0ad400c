/**
 * Conclusions by what was chosen where the paper leaves it open.
 *
 * @module
 */
import { NO_EVIDENCE } from "../claims/judged.ts";
import type { Reading, Sensitivity } from "../claims/sensitivity.ts";
import { axisOf, metricOf, type Study, titleOf } from "../study.ts";
import { counted, decimal, intervalText, percent, signed } from "./format.ts";
import { bounds, figures, once, only, tableOf, words } from "./making.ts";
import { linkOf, notesOn, type Sheet } from "./places.ts";
import { linked, type Table } from "./table.ts";

/** A row for each conclusion and choice, the default first. */
export function sensitivityTable(sheet: Sheet, { axis, readings }: Sensitivity): Table {
  const { study } = sheet;
  const choice = (value: string) => titleOf(study, axis, value);
  const isFirst = ({ moved }: Reading) => moved === null;
  const digits = ({ judged: { comparison } }: Reading) => metricOf(study, comparison.metric).digits;
  const size = (value: number, row: Reading) =>
    (row.judged.comparison.against === null ? decimal : signed)(value, digits(row));
  const change = (value: number, row: Reading) => signed(value, digits(row));
  return tableOf<Reading>(readings, [
    once(words("Claim", "claim", ({ claims }) => claims.join(", "))),
    once(words("Conclusion", "compared", ({ text }) => text)),
    only("metric", ({ judged }) => judged.comparison.metric),
    words(
      axisOf(study, axis)?.title ?? axis,
      axis,
      (row) => row.choice,
      (row) => choice(row.choice),
    ),
    figures("Seeds", "n", ({ judged }) => judged.outcome.n),
    figures(
      "Effect",
      "mean",
      ({ judged }) => judged.outcome.mean,
      (mean, row) => linked(size(mean, row), linkOf(sheet, row.judged.comparison)),
    ),
    ...bounds<Reading>(
      `${percent(study.confidence)} interval`,
      ({ judged }) => judged.outcome.interval,
      size,
    ),
    figures("Moved by", "moved", ({ moved }) => moved?.mean ?? null, (mean, row) => {
      const interval = row.moved?.interval;
      const ends = interval ? ` ${intervalText(interval, (end) => change(end, row))}` : "";
      return change(mean, row) + ends;
    }),
    only("moved_low", ({ moved }) => moved?.interval?.[0] ?? null),
    only("moved_high", ({ moved }) => moved?.interval?.[1] ?? null),
    words("Verdict alone", "verdict", ({ judged }) => judged.verdict),
    words("Hangs on it?", "hangs", hangsText, (row) => isFirst(row) ? "" : hangsText(row)),
  ], {
    id: "sensitivity",
    caption: "Conclusions by what was chosen where the paper leaves it open",
    named: ({ claims, text, choice }) => [...claims, text, choice],
    begins: isFirst,
    notes: [
      `Each choice is changed by itself. Moved by: the effect's mean paired change from ` +
      `“${
        choice(axisOf(study, axis)?.baseline ?? "")
      }”, with its interval; one that has zero in it is within chance. A condition that knows no such choice is ` +
      "taken as by default; an average is over what was run. Verdicts are of each comparison alone, uncorrected: they show what moves, " +
      "not which claim holds.",
      ...notesOn(study, {
        places: readings.map(({ judged }) => judged.comparison.at),
        timed: readings.some(({ judged }) =>
          metricOf(study, judged.comparison.metric).timed === true
        ),
      }),
    ],
  });
}

function hangsText({ moved }: Reading): string {
  if (moved === null) return "default";
  const changed = [...moved.sign ? ["sign"] : [], ...moved.from === null ? [] : ["verdict"]];
  if (changed.length === 0) return "no";
  return changed.join(" and ") + (moved.resolved ? "" : ", within chance");
}

/** Why nothing was read in several ways. */
function unreadText(read: number, { all, synthetic }: Sensitivity["unread"]): string {
  if (read + all === 0) return "";
  const claims = counted(read + all, "conclusion");
  const only = synthetic === 0
    ? ""
    : `; of ${decimal(synthetic)} what ran is synthetic data, and ${NO_EVIDENCE}`;
  return `None of ${claims} was read under several choices that the paper leaves open${only}.`;
}

/** What hangs on which choice, in a sentence or two; empty if no claims are read. */
export function sensitivityText(study: Study, { axis, readings, unread }: Sensitivity): string {
  const conclusions = Map.groupBy(readings, ({ text, claims }) => JSON.stringify([text, claims]));
  const read = [...conclusions.values()].filter((own) => own.length > 1);
  if (read.length === 0) return unreadText(conclusions.size, unread);
  const hanging = (own: readonly Reading[], by: (row: Reading) => boolean) => own.filter(by);
  const say = (by: (row: Reading) => boolean) =>
    read.flatMap((own) => {
      const choices = hanging(own, by).map(({ choice }) => titleOf(study, axis, choice));
      const { claims, text } = own[0]!;
      return choices.length === 0
        ? []
        : [`${claims.join(", ")} (${text}) on ${choices.join(", ")}`];
    });
  const verdicts = say(({ moved }) => moved !== null && moved.from !== null);
  const signs = say(({ moved }) => moved !== null && moved.from === null && moved.sign);
  const changed = read.flat().filter(({ moved }) => moved && (moved.from !== null || moved.sign));
  const within = changed.filter(({ moved }) => !moved!.resolved).length;
  const whose = within === changed.length
    ? within === 1 ? "That effect moves" : "All of these effects move"
    : `${within} of these ${changed.length} effects ${within === 1 ? "moves" : "move"}`;
  const open = read.filter(([first]) => first!.judged.verdict === "underpowered").length;
  const count = verdicts.length === 0 ? "none" : String(verdicts.length);
  const first =
    `The verdict on ${count} of ${
      counted(read.length, "conclusion")
    } hangs on what the paper leaves open` +
    (verdicts.length === 0 ? "" : `: ${verdicts.join("; ")}`);
  return [
    `${first}.`,
    ...signs.length === 0
      ? []
      : [`The sign alone, not the verdict, changes of ${signs.join("; ")}.`],
    ...within === 0 ? [] : [`${whose} no further than chance may.`],
    ...open === 0
      ? []
      : [`${counted(open, "conclusion")} ${open === 1 ? "was" : "were"} underpowered as chosen.`],
  ].join(" ");
}
