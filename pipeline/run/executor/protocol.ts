/**
 * What passes between the engine and a stage's process.
 *
 * On standard input: one line with the task; later perhaps {@linkcode STOP}. It stays open while the
 * engine lives; its end ends the process. On standard output: messages, each between a mark that only
 * the engine and the host know and the end of its line. Whatever else comes there is what the stage
 * printed.
 *
 * @module
 */
import type { ProcessPlatform, Task } from "../executor.ts";
import type { StageProgress } from "../../stage.ts";

/** The first line on standard input. */
export interface Assignment {
  /** Unguessable, new with every task. */
  readonly token: string;
  /** The engine's process. */
  readonly engine: number;
  readonly task: Task;
}

/** The line on standard input that asks the stage to stop. */
export const STOP = "stop";

/** No message is longer. */
export const MAX_MESSAGE_BYTES = 1 << 20;

/**
 * Why a stage failed: `expected` is for the user, `access` an undeclared access, `memory` what does
 * not fit into it, `bug` the rest.
 */
export type FailureKind = "expected" | "access" | "memory" | "bug";

/** A message from the process. `ready` is the first, before the stage's code is loaded. */
export type Message =
  | ({ readonly type: "ready"; readonly contract: string } & ProcessPlatform)
  | ({ readonly type: "progress" } & StageProgress)
  | { readonly type: "metric"; readonly name: string; readonly value: number }
  | { readonly type: "pin"; readonly name: string; readonly value: string }
  | { readonly type: "done" }
  | { readonly type: "failed"; readonly kind: FailureKind; readonly message: string };

/** What comes before a message. Its first byte is none that people print. */
export function markOf(token: string): string {
  return `\x01${token} `;
}

/** What keeps a figure from being recorded; `undefined` for nothing. */
export function metricProblem(name: unknown, value: unknown): string | undefined {
  if (
    typeof name !== "string" || !/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u.test(name) || name.trim() === ""
  ) {
    return `its name must be 1 to 200 printable characters, found ${JSON.stringify(name)}`;
  }
  if (typeof value !== "number" || !Number.isFinite(value)) {
    return `its value must be a finite number, found ${String(value)}`;
  }
  return undefined;
}

/** What keeps something from being pinned; `undefined` for nothing. */
export function pinProblem(name: unknown, value: unknown): string | undefined {
  for (const text of [name, value]) {
    if (
      typeof text !== "string" || text.length > 400 ||
      !/^(?!#)[^\s\p{C}]+(?: [^\s\p{C}]+)*$/u.test(text)
    ) {
      return "name and value must be words with single spaces between them, at most 400 characters, " +
        `found ${JSON.stringify(text)}`;
    }
  }
  return undefined;
}

/** What keeps progress from being reported; `undefined` for nothing. Figures need not be finite. */
export function progressProblem(progress: unknown): string | undefined {
  const { done, total, unit, values } = Object(progress);
  if (!Number.isFinite(done) || !Number.isFinite(total)) {
    return `done and total must be finite numbers, found ${String(done)} and ${String(total)}`;
  }
  if (typeof unit !== "string") return `unit must be a text, found ${String(unit)}`;
  if (values === undefined) return undefined;
  const isRecord = values !== null && typeof values === "object";
  if (isRecord && Object.values(values).every((value) => typeof value === "number")) {
    return undefined;
  }
  return `values must be numbers by name, found ${JSON.stringify(values)}`;
}
