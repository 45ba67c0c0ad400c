/**
 * What a stage's failure is to the engine.
 *
 * @module
 */
import { refusal } from "../../errors.ts";
import type { FailureKind } from "./protocol.ts";

/** What went wrong, whose matter it is, and at which lines, without the engine's. */
export function failure(error: unknown): { kind: FailureKind; message: string } {
  if (!(error instanceof Error)) return { kind: "bug", message: String(error) };
  const { name, message } = error;
  if (name === "NotCapable") return { kind: "access", message };
  // The stage's bundle has its own copy of these classes, so the name decides.
  if (/^(LockstepError|StageError|ConfigError)$/.test(name) || refusal(message) !== undefined) {
    return { kind: "expected", message: withCauses(message, error, shortly) };
  }
  if (name === "MemoryError" || lacksMemory(error)) return { kind: "memory", message };
  return { kind: "bug", message: withCauses(ownFrames(error), error, ownFrames) };
}

/** How many errors beside the first are shown: a chain of causes may be endless, a group large. */
const MAX_CAUSES = 5;

/** A text and, below it, the errors behind an error; those that its message has already are left out. */
function withCauses(text: string, error: Error, show: (error: unknown) => string): string {
  const found = behind(error);
  const shown = found.slice(0, MAX_CAUSES).map((cause) => [messageOf(cause), show(cause)] as const)
    .filter(([message]) => message === "" || !error.message.includes(message));
  const more = found.length > MAX_CAUSES ? "\nand more" : "";
  return `${text}${shown.map(([, cause]) => `\ncaused by: ${cause}`).join("")}${more}`;
}

/** The errors behind an error, each once, nearest first; one more than are shown at most. */
function behind(error: Error): unknown[] {
  const found = new Set<unknown>([error]);
  for (const each of found) {
    if (!(each instanceof Error)) continue;
    if (each.cause !== undefined) found.add(each.cause);
    if (each instanceof AggregateError) {
      for (const one of each.errors.slice(0, MAX_CAUSES + 1)) found.add(one);
    }
    if (found.size > MAX_CAUSES + 1) break;
  }
  return [...found].slice(1);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error in a line: its name where that says more than that it is an error. */
function shortly(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return /^(Error|\w*StageError|LockstepError|ConfigError)$/.test(error.name)
    ? error.message
    : `${error.name}: ${error.message}`;
}

/** An error's stack without the engine's frames. */
function ownFrames(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const engine = new URL("./", import.meta.url).href;
  return String(error.stack ?? error.message).split("\n")
    .filter((line) => !(/^\s+at /.test(line) && line.includes(engine))).join("\n");
}

/** Whether an array was to be larger than memory; a negative or fractional length is a bug. */
function lacksMemory({ name, message }: Error): boolean {
  if (name !== "RangeError") return false;
  const length = /^Invalid typed array length: (.+)$/.exec(message)?.[1];
  return message === "Array buffer allocation failed" || Number(length) >= 2 ** 32;
}
