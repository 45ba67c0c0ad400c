/**
 * Shows a run's events to people: a line for each instance that ended, and on a terminal below them
 * what is running, how far it is and when it should be done.
 *
 * @module
 */
import { counted } from "../amounts.ts";
import { type Event, type Listener, unreachable } from "../event.ts";
import { shorten } from "../key/shorten.ts";
import { Failures } from "./failures.ts";
import { cut, duration, figure, hanging, widthOf } from "./layout.ts";
import { LiveLines } from "./live_lines.ts";
import type { Sink } from "./sink.ts";

/** Shows a run. `close` ends what is updated in place. */
export interface View {
  readonly listener: Listener;
  close(): void;
}

/** One JSON object a line. */
export function jsonView(sink: Sink): View {
  return { listener: (event) => sink.write(`${JSON.stringify(event)}\n`), close() {} };
}

/**
 * Text for people.
 *
 * @param o.quiet Only failures and the final line.
 */
export function textView(sink: Sink, o: { readonly quiet?: boolean } = {}): View {
  const view = new TextView(sink, o.quiet ?? false);
  return { listener: (event) => view.take(event), close: () => view.close() };
}

const INDENT = " ".repeat(10);

class TextView {
  readonly #sink: Sink;
  readonly #quiet: boolean;
  readonly #live: LiveLines;
  readonly #failures = new Failures();
  readonly #ended = new Set<string>();
  #total = 0;
  #interrupted = false;

  constructor(sink: Sink, quiet: boolean) {
    this.#sink = sink;
    this.#quiet = quiet;
    this.#live = new LiveLines(sink);
  }

  close(): void {
    this.#live.close();
  }

  take(event: Event): void {
    this.#live.take(event);
    this.#count(event);
    switch (event.event) {
      case "plan":
        return this.#plan(event);
      case "started": {
        // On a terminal it is among the lines below.
        if (this.#live.isShown) return;
        const line = `${this.#counter()} ${event.instance} starts: ${event.reason}`;
        return this.#print(cut(line, this.#sink.columns()));
      }
      case "waiting":
        return this.#print(
          this.#labelled("", `${event.instance} is being made by ${event.owner}; waiting for it`),
        );
      case "executed":
        return this.#executed(event);
      case "nondeterministic":
        return this.#say(this.#labelled("differs", unlike(event)));
      case "failed":
        if (this.#failures.failed(event)) this.#failed(event);
        return;
      case "stopped":
        return this.#failures.stopped(event);
      case "skipped":
        return this.#failures.skipped(event);
      case "damaged":
        return this.#say(this.#labelled("damaged", `${event.path}\n${event.message}`));
      case "note":
        return this.#print(this.#labelled("note", event.message));
      case "page":
        return this.#print(this.#labelled("page", event.path));
      case "lock": {
        const text = this.#labelled("lock", `${event.path}: ${event.message}`);
        return event.holds ? this.#print(text) : this.#say(text);
      }
      case "interrupted":
        this.#interrupted = true;
        return this.#say(event.message);
      case "summary":
        return this.#summary(event);
      case "cached":
      case "progress":
      case "log":
      case "published":
        return;
      default:
        unreachable(event);
    }
  }

  /** How many instances there are, and which of them ended. */
  #count(event: Event): void {
    switch (event.event) {
      case "plan":
        this.#total = event.instances;
        return;
      case "started":
        this.#ended.delete(event.instance);
        return;
      case "cached":
      case "executed":
      case "failed":
      case "stopped":
      case "skipped":
        this.#ended.add(event.instance);
        return;
    }
  }

  #plan(event: Extract<Event, { event: "plan" }>): void {
    const { estimateSeconds: seconds, instances, jobs } = event;
    const about = seconds === null || seconds === 0 ? "" : `, about ${duration(seconds)}`;
    this.#print(this.#labelled("Lockstep", `${event.experiment}, profile ${event.profile}`));
    this.#print(this.#labelled("backend", `${event.backend}: ${event.backendReason}`));
    this.#print(
      this.#labelled(
        "plan",
        `${counted(instances, "instance")} on ${counted(jobs, "job")}${about}`,
      ),
    );
  }

  #executed({ instance, seconds, metrics }: Extract<Event, { event: "executed" }>): void {
    let line = `${this.#counter()} ${instance}  ${duration(seconds)}`;
    for (const [name, value] of Object.entries(metrics)) {
      const longer = `${line}  ${name} ${figure(value)}`;
      if (widthOf(longer) > this.#sink.columns()) break;
      line = longer;
    }
    this.#print(line);
  }

  /** A failure, and the last lines that its stage printed, which are shown as they are. */
  #failed({ instance, message, output }: Extract<Event, { event: "failed" }>): void {
    const printed = output.length === 0
      ? ""
      : `\n${INDENT}its last output:\n${output.map((line) => `${INDENT}  ${line}`).join("\n")}`;
    this.#say(`${this.#counter()} ${instance}  FAILED\n${this.#indented(message)}${printed}`);
  }

  #summary(event: Extract<Event, { event: "summary" }>): void {
    for (const line of this.#failures.lines(this.#sink.columns())) this.#say(line);
    // How far it got is said already.
    if (this.#interrupted) return;
    const parts = [`${event.executed} ran`, `${event.cached} up to date`];
    if (event.failed > 0) parts.push(`${event.failed} failed or could not run`);
    this.#say(this.#labelled("done", `${parts.join(", ")}, ${duration(event.seconds)}`));
  }

  #counter(): string {
    return `[${String(this.#ended.size).padStart(String(this.#total).length)}/${this.#total}]`;
  }

  #labelled(label: string, text: string): string {
    return label.padEnd(INDENT.length) + this.#indented(text).slice(INDENT.length);
  }

  #indented(text: string): string {
    return hanging(text, { width: this.#sink.columns(), indent: INDENT }).join("\n");
  }

  /** Prints what `--quiet` leaves out. */
  #print(text: string): void {
    if (!this.#quiet) this.#say(text);
  }

  #say(text: string): void {
    this.#live.above(`${text}\n`);
  }
}

function unlike(event: Extract<Event, { event: "nondeterministic" }>): string {
  const { instance, what, name, first, again } = event;
  return `${instance}: ${what} "${name}" was made twice under one key, as ${shorten(first)} and ` +
    `${shorten(again)}\na stage must compute the same from the same; both results are kept`;
}
