/**
 * The lines at the foot of a terminal: what is running, how far it is and when it should be done.
 *
 * @module
 */
import type { Event } from "../event.ts";
import type { StageProgress } from "../stage.ts";
import { Pace } from "../views/pace.ts";
import { bar, cut, duration, figure } from "./layout.ts";
import type { Sink } from "./sink.ts";

interface Running {
  readonly since: number;
  progress?: StageProgress;
}

const REDRAW_MS = 120;

/** Keeps the lines up to date, below all else that is printed. */
export class LiveLines {
  readonly #sink: Sink;
  readonly #running = new Map<string, Running>();
  readonly #ended = new Set<string>();
  readonly #pace = new Pace();
  #total = 0;
  #drawn = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** Whether there are such lines: only where they can be overwritten. */
  get isShown(): boolean {
    return this.#sink.isTerminal;
  }

  /** Prints text above the lines. */
  above(text: string): void {
    this.#clear();
    this.#sink.write(text);
    this.#draw();
  }

  /** Takes the lines away. */
  close(): void {
    if (this.#timer !== undefined) clearInterval(this.#timer);
    this.#clear();
  }

  /** Takes note of an event. */
  take(event: Event): void {
    // Of ten thousand instances that are up to date it would keep count for nobody.
    if (!this.isShown) return;
    this.#pace.take(event, performance.now() / 1000);
    switch (event.event) {
      case "plan":
        this.#total = event.instances;
        this.#timer = setInterval(() => this.above(""), REDRAW_MS);
        return;
      case "cached":
        this.#ended.add(event.instance);
        return;
      case "started":
        this.#ended.delete(event.instance);
        this.#running.set(event.instance, { since: performance.now() });
        return;
      case "progress": {
        const running = this.#running.get(event.instance);
        if (running) running.progress = event;
        return;
      }
      case "executed":
      case "failed":
      case "stopped":
      case "skipped":
        this.#running.delete(event.instance);
        this.#ended.add(event.instance);
        return;
      case "interrupted":
      case "summary":
        this.#running.clear();
        return;
    }
  }

  #clear(): void {
    if (this.#drawn > 0) this.#sink.write(`\x1b[${this.#drawn}A\x1b[J`);
    this.#drawn = 0;
  }

  #draw(): void {
    if (!this.isShown || this.#running.size === 0) return;
    const now = performance.now();
    const width = this.#sink.columns() - 1;
    const lines = [...this.#running].map(([name, running]) => line(name, running, now));
    const ended = this.#ended.size;
    const left = this.#pace.remaining(now / 1000);
    lines.push(
      `  ${bar(this.#total > 0 ? ended / this.#total : 1)}  ${ended}/${this.#total} instances` +
        (left === undefined ? "" : `, about ${duration(left)} left`),
    );
    this.#sink.write(lines.map((line) => `${cut(line, width)}\n`).join(""));
    this.#drawn = lines.length;
  }
}

function line(instance: string, { since, progress }: Running, now: number): string {
  const parts = [`  ▸ ${instance}`, duration((now - since) / 1000)];
  if (progress) {
    const { done, total, unit, values } = progress;
    parts.push(bar(total > 0 ? done / total : 0), `${done}/${total} ${unit}`);
    for (const [name, value] of Object.entries(values ?? {})) {
      parts.push(`${name} ${figure(value)}`);
    }
  }
  return parts.join("  ");
}
