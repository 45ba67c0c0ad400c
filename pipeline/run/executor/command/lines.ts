/**
 * What a command's program writes to its standard output: events, a line of JSON each, among what it
 * prints. Takes any bytes in bounded memory.
 *
 * @module
 */
import { StageError } from "../../../errors.ts";
import type { StageProgress } from "../../../stage.ts";
import { MAX_MESSAGE_BYTES, metricProblem, progressProblem } from "../protocol.ts";

/** An event. */
export type CommandEvent =
  | ({ readonly type: "progress" } & StageProgress)
  | { readonly type: "metric"; readonly name: string; readonly value: number }
  | { readonly type: "failed"; readonly message: string };

/** How an event begins. */
const EVENT = /^\{\s*"type"\s*:/;
/** A line may be one as long as this much of it leaves that open. */
const START = 64;

/** Where what comes goes to. */
export interface LinesTarget {
  /** The stage, for messages. */
  readonly stage: string;
  event(event: CommandEvent): void;
  log(text: string): void;
}

/** Parts events from what is printed. */
export class Lines {
  readonly #decoder = new TextDecoder();
  readonly #target: LinesTarget;
  /** Of a line that has no end yet, what was not handed on: it is or may be an event. */
  #held = "";
  /** Whether a line's beginning was handed on as printed. */
  #printing = false;

  constructor(target: LinesTarget) {
    this.#target = target;
  }

  /** @throws {StageError} For a line that begins as an event and is none. */
  take(piece: Uint8Array): void {
    this.#take(this.#decoder.decode(piece, { stream: true }));
  }

  /** Takes the end: of the last line too, if nothing ends it. */
  end(): void {
    if (this.#held !== "") this.#line(this.#held, "");
    this.#held = "";
  }

  #take(text: string): void {
    let start = 0, printed = "";
    const flush = () => {
      if (printed !== "") this.#target.log(printed);
      printed = "";
    };
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = this.#held + text.slice(start, end);
      this.#held = "";
      start = end + 1;
      if (!this.#printing && EVENT.test(line)) {
        flush();
        this.#line(line, "\n");
      } else printed += `${line}\n`;
      this.#printing = false;
    }
    const rest = this.#held + text.slice(start);
    this.#held = "";
    const mayBeEvent = !this.#printing && rest.startsWith("{") &&
      (rest.length < START || EVENT.test(rest));
    if (mayBeEvent) {
      if (rest.length > MAX_MESSAGE_BYTES) {
        throw notAnEvent(rest, `at most ${MAX_MESSAGE_BYTES} characters`, this.#target.stage);
      }
      this.#held = rest;
    } else if (rest !== "") {
      this.#printing = true;
      printed += rest;
    }
    flush();
  }

  #line(line: string, end: string): void {
    if (EVENT.test(line)) this.#target.event(parseEvent(line, this.#target.stage));
    else this.#target.log(line + end);
  }
}

/**
 * The event in a line.
 *
 * @throws {StageError} If it is none.
 */
function parseEvent(line: string, stage: string): CommandEvent {
  let event: Record<string, unknown>;
  try {
    event = JSON.parse(line);
  } catch {
    throw notAnEvent(line, "it must be JSON, which has no NaN and no Infinity", stage);
  }
  const { type, name, value, message } = event;
  const problem = type === "progress"
    ? progressProblem(event)
    : type === "metric"
    ? metricProblem(name, value)
    : type === "failed"
    ? typeof message === "string" ? undefined : "its message must be a text"
    : "its type must be progress, metric or failed";
  if (problem !== undefined) throw notAnEvent(line, problem, stage);
  return event as unknown as CommandEvent;
}

function notAnEvent(line: string, rule: string, stage: string): StageError {
  const found = line.length <= 200 ? line : `${line.slice(0, 200)}…`;
  return new StageError(
    `Stage "${stage}" wrote a line that begins as an event, and is none: ${rule}\n  ${found}`,
  );
}
