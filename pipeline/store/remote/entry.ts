/**
 * A trace as a cache holds it: sealed, as in a store, and checked as it arrives for whatever does not
 * need to be believed.
 *
 * @module
 */
import { LockstepError } from "../../errors.ts";
import type { Backend } from "../../stage.ts";
import { keyOnBackend } from "../../key/ingredients.ts";
import type { Sha256 } from "../../key/hash.ts";
import { seal } from "../sealed.ts";
import { disagreements, type Received, type Trace } from "../trace.ts";
import { parseTrace } from "../traces.ts";

/** The text of a trace for a cache: all but where it was received from. */
export function sendTrace(trace: Trace): string {
  const { received: _, ...own } = trace;
  return seal(own);
}

/** Under which key an answer was asked for. */
export interface AskedFor extends Received {
  readonly key: Sha256;
  /** Whether it is that of a backend, under which a result on any adapter may be. */
  readonly onBackend?: Backend;
}

/**
 * The trace in a cache's answer.
 *
 * @throws {LockstepError} If it is not one of its key: sealed, with ingredients that give the key and
 *   outputs that are those of the ingredients.
 */
export function receiveTrace(text: string, asked: AskedFor): Trace {
  const { key, onBackend, ...received } = asked;
  const trace = parseTrace(text, onBackend === undefined ? { key, path: "it" } : { path: "it" });
  const isAsked = onBackend === undefined || keyOnBackend(trace.ingredients, onBackend) === key;
  const problem = isAsked ? problemOf(trace) : "it is of another key";
  if (problem !== undefined) throw new LockstepError(`Cannot trust it: ${problem}`);
  return { ...trace, received };
}

const PROBLEMS = {
  key: "its ingredients do not give its key",
  stage: "its stage is not that of its ingredients",
  outputs: "its outputs are not those of its ingredients",
} as const;

function problemOf(trace: Trace): string | undefined {
  const [first] = disagreements(trace);
  return first && PROBLEMS[first.what];
}
