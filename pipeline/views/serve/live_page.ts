/**
 * The page of runs that go on. The server writes all of it, so that it can be read without scripts;
 * a script of a few lines puts in what changed.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type Html, html, htmlPage } from "../../html.ts";
import type { LiveEnding, LiveInstance, LiveRun } from "../live.ts";

/** Where the page's script gets its news. */
export const EVENTS_PATH = "/live/events";

const SCRIPT = `
const main = document.querySelector("main"), note = document.querySelector("#lost");
const source = new EventSource("${EVENTS_PATH}");
source.onmessage = ({ data }) => { main.innerHTML = JSON.parse(data); note.hidden = true; };
source.onerror = () => { note.hidden = false; };
`;

/** The content security policy under which the page's own script is the only one that runs. */
export const LIVE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; " +
  `script-src 'sha256-${createHash("sha256").update(SCRIPT).digest("base64")}'`;

/** The whole page at a time, in milliseconds since 1970. */
export function livePage(runs: readonly LiveRun[], now: number): string {
  const body = html`<p><a href="/">outputs</a></p>
<main>${liveRuns(runs, now)}</main>
<p id="lost" class="failed" hidden>The server does not answer.</p>
<script>${{ html: SCRIPT }}</script>`;
  // Without scripts the page is fetched again.
  const head = html`<noscript><meta http-equiv="refresh" content="3"></noscript>`;
  return htmlPage("Runs going on", { body, head });
}

/** The part of the page that changes. */
export function liveRuns(runs: readonly LiveRun[], now: number): Html {
  if (runs.length === 0) {
    return html`<h1>No run is going on</h1>
<p>Start one with <code>deno task reproduce</code>. It shows here.</p>`;
  }
  return html`${runs.map((run) => oneRun(run, now))}`;
}

function oneRun(run: LiveRun, now: number): Html {
  const { cached, executed, failed, skipped, instances } = run;
  const ended = cached + executed + failed + skipped;
  return html`
    <h1>${run.name}</h1>
    <p>${ended} of ${instances} instances done: ${executed} ran, ${cached} up to date${failed > 0
      ? html`, <span class="failed">${failed} failed</span>`
      : html``}${skipped > 0 ? `, ${skipped} could not run` : ""}.
    Backend ${run.backend}, ${run.jobs} jobs, process ${run.pid},
    ${time((now - run.started) / 1000)} so far${run.secondsLeft === null
      ? ""
      : `, about ${time(run.secondsLeft)} left`}.</p>
    ${bar(ended, instances, "all instances")}
    <h2>Stages</h2>
    <table>
    ${Object.entries(run.stages).map(([stage, { total, ended }]) =>
      html`
        <tr>
          <td>${stage}</td>
          <td class="number">${ended} of ${total}</td>
          <td>${bar(ended, total, stage)}</td>
        </tr>
      `
    )}</table>
    ${failures(run.failures)}
    <h2>Running</h2>
    ${run.running.length === 0 ? html`<p>Nothing at this moment.</p>` : html``}
    <div class="wide">
      <table>
    ${run.running.map((instance) => runningRow(instance, now))}</table>
    </div>
    ${recent(run.recent)}
  `;
}

function runningRow(
  { instance, reason, since, progress, rate, curves, output }: LiveInstance,
  now: number,
) {
  const values = Object.entries(progress?.values ?? {});
  return html`
    <tr>
      <td>${instance}<br><span class="note">${reason}</span></td>
      <td class="number">${time((now - since) / 1000)}</td>
      <td>${progress
        ? html`${
          bar(progress.done, progress.total, instance)
        }${progress.done} of ${progress.total} ${progress.unit}`
        : html``}${rate === null ? "" : `, ${figure(rate)} a second`}</td>
      <td>${values.map(([name, value]) =>
        html`<div>${name} ${figure(value)}${sparkline(name, curves[name] ?? [])}</div>`
      )}${output.length > 0 ? html`<pre>${output.join("\n")}</pre>` : html``}</td>
    </tr>
  `;
}

function failures(list: readonly LiveEnding[]): Html {
  if (list.length === 0) return html``;
  return html`<h2>Failed</h2>
<table>
${
    list.map(({ instance, message }) =>
      html`
        <tr>
          <td class="failed">${instance}</td>
          <td>${message}</td>
        </tr>
      `
    )
  }</table>`;
}

function recent(list: readonly LiveEnding[]): Html {
  if (list.length === 0) return html``;
  return html`
    <h2>Ended last</h2>
    <div class="wide">
      <table>
    ${list.map(({ instance, ending, seconds, metrics, message }) =>
      html`
        <tr>
          <td>${instance}</td>
          <td>${ending === "executed" ? "" : ending}</td>
          <td class="number">${seconds === null ? "" : time(seconds)}</td>
          <td>${ending === "skipped"
            ? message
            : Object.entries(metrics).slice(0, 4).map(([name, value]) => `${name} ${figure(value)}`)
              .join(", ")}</td>
        </tr>
      `
    )}</table>
    </div>
  `;
}

function bar(done: number, total: number, label: string): Html {
  const max = Math.max(total, 1);
  return html`<progress value="${
    Math.min(done, max)
  }" max="${max}" aria-label="${label}"></progress>`;
}

/** The course of a figure as a line, lowest value at the bottom. */
function sparkline(name: string, points: readonly (readonly [number, number])[]): Html {
  if (points.length < 2) return html``;
  const [width, height] = [160, 32];
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const scale = (value: number, all: readonly number[], size: number) => {
    const [low, high] = [Math.min(...all), Math.max(...all)];
    return high > low ? (value - low) / (high - low) * size : size / 2;
  };
  const line = points.map(([x, y]) =>
    `${scale(x, xs, width).toFixed(1)},${(height - scale(y, ys, height)).toFixed(1)}`
  ).join(" ");
  return html`
    <svg width="${width}" height="${height + 2}" viewBox="0 -1 ${width} ${height + 2}" role="img"
      aria-label="course of ${name}">
      <polyline points="${line}" />
    </svg>
  `;
}

/** A figure for people. JSON has no NaN and no infinity: in a live file they are `null`. */
function figure(value: number | null): string {
  if (value === null) return "not finite";
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}

/** Whole units, so that the page does not flicker. */
function time(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
