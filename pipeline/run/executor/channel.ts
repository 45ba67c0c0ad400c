/**
 * The engine's end of what a stage's process writes: parts messages from what the stage printed, in
 * time linear in the bytes and in bounded memory, whatever these bytes are.
 *
 * @module
 */
import { StageError } from "../../errors.ts";
import {
  markOf,
  MAX_MESSAGE_BYTES,
  type Message,
  metricProblem,
  pinProblem,
  progressProblem,
} from "./protocol.ts";

/** Where what comes goes to. */
export interface ChannelTarget {
  message(message: Message): void;
  log(text: string): void;
}

const NEWLINE = 10;

/** Takes a process's standard output piece by piece. */
export class Channel {
  readonly #mark: Uint8Array;
  readonly #target: ChannelTarget;
  readonly #decoder = new TextDecoder();
  /** The end of what came, where a mark may have begun. */
  #rest: Uint8Array = new Uint8Array();
  /** The message that is coming, without its mark; `undefined` between messages. */
  #message: Uint8Array[] | undefined;
  #messageBytes = 0;

  constructor(token: string, target: ChannelTarget) {
    this.#mark = new TextEncoder().encode(markOf(token));
    this.#target = target;
  }

  /** @throws {StageError} For a message that is none. */
  take(piece: Uint8Array): void {
    let bytes = this.#rest.length === 0 ? piece : concatenate([this.#rest, piece]);
    this.#rest = bytes.subarray(bytes.length);
    while (bytes.length > 0) {
      bytes = this.#message === undefined ? this.#takeLog(bytes) : this.#takeMessage(bytes);
    }
  }

  /** Takes the end. A message cut off in the middle is none. */
  end(): void {
    this.#log(this.#rest);
    this.#rest = new Uint8Array();
  }

  /** Hands on what comes before a mark; returns what comes after it. */
  #takeLog(bytes: Uint8Array): Uint8Array {
    const start = find(bytes, this.#mark);
    this.#log(bytes.subarray(0, start));
    const after = start + this.#mark.length;
    if (after <= bytes.length) {
      this.#message = [];
      this.#messageBytes = 0;
      return bytes.subarray(after);
    }
    this.#rest = bytes.slice(start);
    return bytes.subarray(bytes.length);
  }

  /** Keeps what belongs to the message; returns what comes after it. */
  #takeMessage(bytes: Uint8Array): Uint8Array {
    const newline = bytes.indexOf(NEWLINE);
    const part = newline < 0 ? bytes : bytes.subarray(0, newline);
    this.#messageBytes += part.length;
    if (this.#messageBytes > MAX_MESSAGE_BYTES) {
      throw new StageError(`a message must have at most ${MAX_MESSAGE_BYTES} bytes`);
    }
    this.#message!.push(part.slice());
    if (newline < 0) return bytes.subarray(bytes.length);
    const text = new TextDecoder().decode(concatenate(this.#message!));
    this.#message = undefined;
    this.#target.message(parseMessage(text));
    return bytes.subarray(newline + 1);
  }

  #log(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text !== "") this.#target.log(text);
  }
}

/** Where a mark, or as much of it as is there, begins in some bytes; their length if nowhere. */
function find(bytes: Uint8Array, mark: Uint8Array): number {
  const first = mark[0]!;
  let start = bytes.indexOf(first);
  while (start >= 0) {
    let same = 1;
    while (same < mark.length && bytes[start + same] === mark[same]) same++;
    if (same === mark.length || start + same === bytes.length) return start;
    start = bytes[start + 1] === first ? start + 1 : bytes.indexOf(first, start + 1);
  }
  return bytes.length;
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * The message in a text.
 *
 * @throws {StageError} If it is none: whoever wrote it is not the host.
 */
export function parseMessage(text: string): Message {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StageError("a message must be JSON");
  }
  const message = withFigures(Object(value));
  const problem = messageProblem(message);
  if (problem !== undefined) throw new StageError(problem);
  return message as unknown as Message;
}

/** JSON has no NaN and no infinity: a figure that is not finite comes as null. */
function withFigures(message: Record<string, unknown>): Record<string, unknown> {
  const { values } = message;
  if (values === null || typeof values !== "object") return message;
  const figures = Object.entries(values).map(([name, value]) => [name, value ?? NaN] as const);
  return { ...message, values: Object.fromEntries(figures) };
}

function messageProblem(message: Record<string, unknown>): string | undefined {
  switch (message["type"]) {
    case "done":
      return undefined;
    case "metric":
      return metricProblem(message["name"], message["value"]);
    case "pin":
      return pinProblem(message["name"], message["value"]);
    case "progress":
      return progressProblem(message);
    case "failed":
      return isText(message["message"]) && isText(message["kind"])
        ? undefined
        : "a failure must have a kind and a message";
    case "ready":
      return isText(message["contract"]) && isText(message["deno"]) && isAdapter(message["adapter"])
        ? undefined
        : "a process must say its contract, Deno and adapter";
    default:
      return `no message has the type ${JSON.stringify(message["type"])}`;
  }
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isAdapter(value: unknown): boolean {
  if (value === undefined) return true;
  const { name, features } = Object(value);
  return isText(name) && Array.isArray(features) && features.every(isText);
}
