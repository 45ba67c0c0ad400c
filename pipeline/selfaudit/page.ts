/**
 * The report of a self-audit as one self-contained HTML page.
 *
 * @module
 */
import { type Html, html, htmlPage } from "../html.ts";
import { rate, type Tally } from "./tally.ts";

/** What was audited, for the page's head. */
export interface Audited {
  readonly experiment: string;
  readonly profile: string;
  readonly seed: number;
  readonly times: number;
  /** What was not tried, since there is no store. */
  readonly untried?: string;
}

/** The page. */
export function selfAuditPage(tallies: readonly Tally[], audited: Audited): string {
  const { experiment, profile, seed, times, untried } = audited;
  const all = totals(tallies);
  const body = html`
    <h1>The engine, audited by mutation</h1>
    <p>${experiment}, profile ${profile}, seed ${seed}, at most ${times} alterations of a kind.</p>
    <p><strong>${all.tried} alterations: ${all.missed} of ${all
      .expected} reactions missed (${percent(all.missed, all.expected)}), ${all.spurious} of ${all
      .unexpected} spurious (${percent(all.spurious, all.unexpected)}).</strong></p>
    ${untried === undefined ? null : html`
      <p class="failed">Not tried: ${untried}; there was no store.</p>
    `}
    <p>Missed: an instance that is handed something else and keeps its key, code that a stage reaches and
    that may change under it, stored bytes that the audit takes for whole. Spurious: an instance that would
    run again for nothing.</p>
    <table>
      <thead>
        <tr>${HEAD.map((name) => html`<th scope="col">${name}</th>`)}</tr>
      </thead>
      <tbody>${tallies.map((tally) =>
        html`
          <tr>${cells(tally).map((cell) => html`<td>${cell}</td>`)}</tr>
        `
      )}</tbody>
    </table>
    ${listed("Missed", tallies.map(({ kind, missed }) => [kind, missed]))}
    ${listed("Spurious, with causes", tallies.map(({ kind, spurious }) => [kind, spurious]))}
  `;
  return htmlPage("Self-audit", { body });
}

/** The columns of a tally in a table. */
export const HEAD = [
  "altered",
  "times",
  "refused",
  "due",
  "missed",
  "not due",
  "spurious",
] as const;

/** A tally as such a row. */
export function cells({ kind, missed, spurious, ...counts }: Tally): string[] {
  const { tried, refused, expected, unexpected } = counts;
  return [
    kind,
    ...[tried, refused, expected, missed.length, unexpected, spurious.length].map(String),
  ];
}

/** The sums of all kinds. */
export function totals(tallies: readonly Tally[]) {
  const sum = (of: (tally: Tally) => number) => tallies.reduce((all, tally) => all + of(tally), 0);
  return {
    tried: sum(({ tried }) => tried),
    expected: sum(({ expected }) => expected),
    unexpected: sum(({ unexpected }) => unexpected),
    missed: sum(({ missed }) => missed.length),
    spurious: sum(({ spurious }) => spurious.length),
  };
}

/** A part in percent, for people. */
export function percent(count: number, of: number): string {
  const value = rate(count, of);
  return `${value === 0 ? "0" : value.toPrecision(2)} %`;
}

function listed(
  title: string,
  groups: readonly (readonly [kind: string, what: readonly string[]])[],
): Html {
  const found = groups.filter(([, what]) => what.length > 0);
  return html`<h2>${title}</h2>${
    found.length === 0
      ? html`
        <p>None.</p>
      `
      : found.map(([kind, what]) =>
        html`
          <h3>${kind}</h3>
          <ul>${what.map((each) => html`<li>${each}</li>`)}</ul>
        `
      )
  }`;
}
