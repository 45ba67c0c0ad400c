/**
 * Shows a run's events to people: a line for each instance that ended, and on a terminal below them
 * what is running, how far it is and when it should be done.
 *
 * @module
 */
import { type Event, type Listener, unreachable } from "../event.ts";
import { remainingSeconds } from "../views/live.ts";
import type { StageProgress } from "../stage.ts";

/** Where a view writes. */
export interface Sink {
  write(text: string): void;
  /** Whether lines can be overwritten. */
  readonly isTerminal: boolean;
  readonly columns: () => number;
}

/** Exit code of a process that a closed pipe ends: 128 + SIGPIPE. */
const BROKEN_PIPE = 141;

/** Standard output. */
export function standardOutput(): Sink {
  const encoder = new TextEncoder();
  return {
    isTerminal: Deno.stdout.isTerminal() && Deno.env.get("TERM") !== "dumb",
    columns: () => {
      try {
        // Some pseudo-terminals say 0.
        return Deno.consoleSize().columns || 80;
      } catch {
        return 80;
      }
    },
    write(text) {
      const bytes = encoder.encode(text);
      try {
        for (let done = 0; done < bytes.length;) {
          done += Deno.stdout.writeSync(bytes.subarray(done));
        }
      } catch (error) {
        // Whoever read this has seen enough, as `head` does.
        if (error instanceof Deno.errors.BrokenPipe) Deno.exit(BROKEN_PIPE);
        throw error;
      }
    },
  };
}

/** Seconds for people: `4.2 s`, `1 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.round(seconds) / 60;
  if (minutes < 60) return `${Math.floor(minutes)} min ${Math.round(seconds) % 60} s`;
  return `${Math.floor(minutes / 60)} h ${Math.round(minutes) % 60} min`;
}

/** One JSON object a line. */
export function jsonView(sink: Sink): Listener {
  return (event) => sink.write(`${JSON.stringify(event)}\n`);
}

interface Running {
  readonly since: number;
  progress?: StageProgress;
}

const REDRAW_MS = 120;
/** How many of an instance's metrics its line has room for. */
const FIGURES_SHOWN = 3;

/** Text for people. `close` takes the live lines away. */
export function textView(sink: Sink): { listener: Listener; close: () => void } {
  let total = 0, jobs = 1, liveLines = 0;
  const ended = new Set<string>();
  const cached = new Set<string>();
  let expected: number | null = null;
  let timer: ReturnType<typeof setInterval> | undefined;
  const begun = performance.now();
  const running = new Map<string, Running>();

  const clear = () => {
    if (liveLines > 0) sink.write(`\x1b[${liveLines}A\x1b[J`);
    liveLines = 0;
  };
  const print = (line: string) => {
    clear();
    sink.write(`${line}\n`);
    draw();
  };
  const draw = () => {
    if (!sink.isTerminal || running.size === 0) return;
    const now = performance.now();
    const width = sink.columns() - 1;
    const lines = [...running].map(([instance, { since, progress }]) => {
      const parts = [`  ▸ ${instance}`, duration((now - since) / 1000)];
      if (progress) {
        const share = progress.total > 0 ? progress.done / progress.total : 0;
        parts.push(bar(share), `${progress.done}/${progress.total} ${progress.unit}`);
        for (const [name, value] of Object.entries(progress.values ?? {})) {
          parts.push(`${name} ${figure(value)}`);
        }
      }
      return cut(parts.join("  "), width);
    });
    const left = remaining(now);
    lines.push(cut(
      `  ${bar(total > 0 ? ended.size / total : 1)}  ${ended.size}/${total} instances` +
        (left === undefined ? "" : `, about ${duration(left)} left`),
      width,
    ));
    sink.write(`${lines.join("\n")}\n`);
    liveLines = lines.length;
  };
  const remaining = (now: number): number | undefined =>
    remainingSeconds({
      elapsed: (now - begun) / 1000,
      expected,
      work: total - cached.size,
      done: ended.size - cached.size,
      running: [...running.values()].map(({ progress }) => progress),
    });
  const counter = () => `[${String(ended.size).padStart(String(total).length)}/${total}]`;

  const listener = (event: Event): void => {
    switch (event.event) {
      case "plan": {
        total = event.instances;
        jobs = event.jobs;
        expected = event.estimateSeconds;
        const about = expected === null || expected === 0 ? "" : `, about ${duration(expected)}`;
        print(`Lockstep  ${event.experiment}, profile ${event.profile}`);
        print(`backend   ${event.backend}: ${event.backendReason}`);
        print(`plan      ${total} instances on ${jobs} jobs${about}`);
        if (sink.isTerminal) {
          timer = setInterval(() => {
            clear();
            draw();
          }, REDRAW_MS);
        }
        return;
      }
      case "cached":
        ended.add(event.instance);
        cached.add(event.instance);
        return;
      case "started":
        ended.delete(event.instance);
        cached.delete(event.instance);
        running.set(event.instance, { since: performance.now() });
        if (!sink.isTerminal) {
          sink.write(`${counter()} ${event.instance} starts: ${event.reason}\n`);
        }
        return;
      case "waiting":
        print(`        ${event.instance} is being made by ${event.owner}; waiting for it`);
        return;
      case "progress": {
        const { event: _, instance, ...progress } = event;
        const entry = running.get(instance);
        if (entry) entry.progress = progress;
        return;
      }
      case "log":
        return;
      case "executed": {
        ended.add(event.instance);
        running.delete(event.instance);
        const figures = Object.entries(event.metrics).slice(0, FIGURES_SHOWN)
          .map(([name, value]) => `${name} ${figure(value)}`);
        print([`${counter()} ${event.instance}`, duration(event.seconds), ...figures].join("  "));
        return;
      }
      case "nondeterministic":
        print(
          `differs   ${event.instance}: output "${event.output}" was made twice under one key, as ` +
            `${event.first.slice(0, 12)}… and ${event.again.slice(0, 12)}…\n` +
            indent("a stage must compute the same from the same; both results are kept"),
        );
        return;
      case "failed":
        ended.add(event.instance);
        running.delete(event.instance);
        print(`${counter()} ${event.instance}  FAILED\n${indent(failureText(event))}`);
        return;
      case "stopped":
        ended.add(event.instance);
        running.delete(event.instance);
        print(`${counter()} ${event.instance}  not finished: ${event.because} failed`);
        return;
      case "skipped":
        ended.add(event.instance);
        print(`${counter()} ${event.instance}  not run: it needs ${event.because}`);
        return;
      case "damaged":
        print(`damaged   ${event.path}\n${indent(event.message)}`);
        return;
      case "published":
        return;
      case "page":
        print(`page      ${event.path}`);
        return;
      case "lock":
        print(`lock      ${event.path}: ${event.message}`);
        return;
      case "interrupted":
        running.clear();
        print(event.message);
        return;
      case "summary": {
        running.clear();
        const parts = [`${event.executed} ran`, `${event.cached} up to date`];
        if (event.failed > 0) parts.push(`${event.failed} failed or could not run`);
        print(`done      ${parts.join(", ")}, ${duration(event.seconds)}`);
        return;
      }
      default:
        unreachable(event);
    }
  };
  return {
    listener,
    close() {
      if (timer !== undefined) clearInterval(timer);
      clear();
    },
  };
}

/** A failure's message and what its stage printed last. */
function failureText({ message, output }: Extract<Event, { event: "failed" }>): string {
  return [message, ...(output.length > 0 ? ["its last output:", ...output] : [])].join("\n");
}

function bar(share: number): string {
  const cells = 20;
  const full = Math.round(Math.min(Math.max(share, 0), 1) * cells);
  return `${"█".repeat(full)}${"░".repeat(cells - full)}`;
}

function figure(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}

function indent(text: string): string {
  return text.split("\n").map((line) => `          ${line}`).join("\n");
}

/** Cuts a line to a terminal's width, so that it takes up one row. All its characters are narrow. */
function cut(line: string, width: number): string {
  const characters = [...line];
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join("")}…`;
}
