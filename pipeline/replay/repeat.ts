/**
 * Runs a recorded instance again, and says what comes out otherwise than its record says.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import type { Backend, StageProgress } from "../stage.ts";
import { isCommand, type OutputRecord, type Trace } from "../store/trace.ts";
import { difference, furthest, type Leaf } from "./difference.ts";
import type { Finding } from "./finding.ts";
import type { Records } from "./records.ts";
import { inputsIn, missingFor, replay, type Replayed } from "./replay.ts";

/** An instance that ran again. */
export interface Repeated {
  readonly instance: string;
  readonly seconds: number;
  readonly outputs: readonly RepeatedOutput[];
  readonly findings: readonly Finding[];
  /** Why it could not run, if it could not. */
  readonly failure?: string;
}

/** An output as it is recorded and as it came out again. */
export interface RepeatedOutput {
  readonly name: string;
  readonly recorded: Sha256;
  readonly again: Sha256 | undefined;
}

/** What is shown of a failure. */
const MAX_LINES = 12;

/** Runs a recorded instance again and compares what it leaves with its trace. */
export async function repeat(
  instance: string,
  records: Records,
  onProgress: (progress: StageProgress) => void = () => {},
): Promise<Repeated> {
  const trace = records.traces.get(instance)!;
  const finding = (where: string, expected: string, found: string): Finding => {
    return { what: "result", where: `${instance}, ${where}`, expected, found };
  };
  const failed = (reason: string): Repeated => {
    const failure = reason.split("\n").slice(0, MAX_LINES).join("\n");
    const findings = [finding("run again", "possible", failure)];
    return { instance, seconds: 0, outputs: [], findings, failure };
  };
  if (isCommand(trace)) return failed("a program, which reproduce alone runs");
  const missing = missingFor(trace, records);
  if (missing.length > 0) return failed(`that it lacks ${missing.join(", ")}`);
  try {
    const made = await replay(trace, records, { onProgress });
    const outputs = Object.entries(trace.outputs).map(([name, { sha256 }]): RepeatedOutput => {
      return { name, recorded: sha256, again: made.outputs[name]?.sha256 };
    });
    const unlike = [...differencesOf(trace, made, records)];
    const isHeld = unlike.some(({ measured }) => measured) && readsMeasured(trace, records) &&
      isSame(made, await replay(trace, records));
    const findings = unlike.filter(({ measured }) => isHeld || !measured)
      .map(({ where, expected, found }) => finding(where, expected, found));
    return { instance, seconds: made.seconds, outputs, findings };
  } catch (error) {
    // Whatever is in the file may have led to it.
    return failed(error instanceof Error ? error.message : String(error));
  }
}

/** A difference between what came out and what is recorded. */
type Unlike = Pick<Finding, "where" | "expected" | "found"> & {
  /** Whether it is in what the record calls measured: an output, or a metric beside one. */
  readonly measured: boolean;
};

function* differencesOf(trace: Trace, made: Replayed, records: Records): Generator<Unlike> {
  const isMeasured = ({ exactness }: OutputRecord) => exactness === "measured";
  for (const [name, record] of Object.entries(trace.outputs)) {
    const output = made.outputs[name], found = record.sha256;
    if (output?.sha256 === found) continue;
    const where = output === undefined ? "" : difference(found, output.files, records);
    const expected = output?.sha256 ?? "nothing";
    yield { where: `output ${name}${where}`, expected, found, measured: isMeasured(record) };
  }
  const measured = Object.values(trace.outputs).some(isMeasured);
  for (const name of new Set([...Object.keys(trace.metrics), ...Object.keys(made.metrics)])) {
    const [recorded, again] = [trace.metrics[name], made.metrics[name]];
    if (recorded === again) continue;
    const [expected, found] = [String(again ?? "none"), String(recorded ?? "none")];
    yield { where: `metric ${name}`, expected, found, measured };
  }
}

/**
 * Whether an instance is called measured since it reads what was measured, so that it may time nothing itself:
 * then it gives the same each time.
 */
function readsMeasured(trace: Trace, { traces }: Records): boolean {
  const read = new Set(inputsIn(trace).map(({ digest }) => digest));
  return trace.ingredients["alone"] === undefined &&
    [...traces.values()].some(({ outputs }) =>
      Object.values(outputs).some(({ sha256, exactness }) =>
        exactness === "measured" && read.has(sha256)
      )
    );
}

function isSame(one: Replayed, other: Replayed): boolean {
  const textOf = ({ outputs, metrics }: Replayed) =>
    JSON.stringify([Object.values(outputs).map(({ sha256 }) => sha256), metrics]);
  return textOf(one) === textOf(other);
}

/** What an instance gives on another backend than the recorded one. */
export interface Elsewhere {
  readonly seconds: number;
  /** Of each output that is JSON and in which numbers differ, the two furthest apart. */
  readonly apart: readonly (Leaf<number> & { readonly output: string })[];
  /** Of each metric. */
  readonly metrics: readonly Leaf<number | undefined>[];
}

/**
 * Runs a recorded instance on another backend: what it leaves is close at best, and whether that is close
 * enough depends on what it is for.
 *
 * @throws {LockstepError} If it can't run there.
 */
export async function repeatOn(
  backend: Backend,
  instance: string,
  { records, onProgress }: {
    readonly records: Records;
    readonly onProgress: (progress: StageProgress) => void;
  },
): Promise<Elsewhere> {
  const trace = records.traces.get(instance)!;
  const { outputs, metrics, seconds } = await replay(trace, records, { backend, onProgress });
  const apart = Object.entries(trace.outputs).flatMap(([output, { sha256 }]) => {
    const [recorded, again] = [records.blob(sha256), outputs[output]?.files.get("")];
    const leaf = recorded && again && furthest(recorded, again);
    return leaf === undefined ? [] : [{ output, ...leaf }];
  });
  return {
    ...{ seconds, apart },
    metrics: Object.entries(trace.metrics)
      .map(([at, recorded]) => ({ at, recorded, again: metrics[at] })),
  };
}
