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
    return { kind: "expected", message };
  }
  if (name === "MemoryError" || lacksMemory(error)) return { kind: "memory", message };
  return { kind: "bug", message: ownFrames(error.stack ?? message) };
}

/** A stack without the engine's frames. */
function ownFrames(stack: string): string {
  const engine = new URL("./", import.meta.url).href;
  return stack.split("\n").filter((line) => !(/^\s+at /.test(line) && line.includes(engine)))
    .join("\n");
}

/** Whether an array was to be larger than memory; a negative or fractional length is a bug. */
function lacksMemory({ name, message }: Error): boolean {
  if (name !== "RangeError") return false;
  const length = /^Invalid typed array length: (.+)$/.exec(message)?.[1];
  return message === "Array buffer allocation failed" || Number(length) >= 2 ** 32;
}
