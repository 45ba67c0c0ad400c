/**
 * What failed in a run, each failure once however many instances had it.
 *
 * @module
 */
import type { Event } from "../event.ts";
import { cut, hanging } from "./layout.ts";

const NAMES_SHOWN = 3;

/** Gathers failures and what could not run for them. */
export class Failures {
  /** A message, which does not name its instance, to the instances that failed with it. */
  readonly #same = new Map<string, string[]>();
  readonly #stopped: string[] = [];
  readonly #skipped: string[] = [];

  /** Takes a failure; returns whether it is the first of its kind. */
  failed({ instance, message }: Extract<Event, { event: "failed" }>): boolean {
    const instances = this.#same.get(message);
    instances?.push(instance);
    if (!instances) this.#same.set(message, [instance]);
    return !instances;
  }

  /** Takes note of what the end of the run stopped. */
  stopped({ instance }: Extract<Event, { event: "stopped" }>): void {
    this.#stopped.push(instance);
  }

  /** Takes note of what could not run. */
  skipped({ instance }: Extract<Event, { event: "skipped" }>): void {
    this.#skipped.push(instance);
  }

  /** What failed and what did not run for it, for the end of a run, in lines of at most a width. */
  lines(width: number): string[] {
    return [
      ...[...this.#same].flatMap(([message, instances]) => [
        ...labelled("failed", instances, width),
        cut(`${INDENT}${message.split("\n")[0]}`, width),
      ]),
      ...labelled("stopped", this.#stopped, width),
      ...labelled("not run", this.#skipped, width),
    ];
  }
}

const INDENT = " ".repeat(10);

function labelled(label: string, names: readonly string[], width: number): string[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, NAMES_SHOWN).join(", ");
  const more = names.length - NAMES_SHOWN;
  const text = more > 0 ? `${shown}, … and ${more} more` : shown;
  const [first = "", ...rest] = hanging(text, { width, indent: INDENT });
  return [`${label.padEnd(INDENT.length)}${first.slice(INDENT.length)}`, ...rest];
}
