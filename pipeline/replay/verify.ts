/**
 * Verifies an audit file: all that its records must agree on, and that what gathers results (tables,
 * verdicts, the report) comes out of the recorded code again, bit for bit. It needs no store, no
 * package, no network and no GPU, and runs in Deno and in a browser alike.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import type { Backend, StageProgress } from "../stage.ts";
import { lockName } from "../store/lockfile.ts";
import { codeOf, isCommand, type OutputRecord, type Trace } from "../store/trace.ts";
import { type AuditFile, type AuditIndex, readAuditFile } from "./audit_file.ts";
import { difference, furthest, type Leaf } from "./difference.ts";
import type { Finding, Report } from "./finding.ts";
import { compareLines } from "./lock_lines.ts";
import { checkRecords, type Records } from "./records.ts";
import { textIn } from "./record.ts";
import { missingFor, replay } from "./replay.ts";
import { type Choices, gathers } from "./uses.ts";

/** How to verify. */
export interface VerifyOptions {
  /** The text of a lock that the run's must equal, by its name: as one from version control. */
  readonly lock?: (name: string) => string | undefined;
  /** The code that stages must have, by name: as that of a checkout. */
  readonly code?: (stages: readonly string[]) => Promise<ReadonlyMap<string, Code>>;
  /** The same of a stage that is a program, from the names of its files. */
  readonly commandCode?: (trace: Trace) => Code | undefined;
  /** Which instances are to run again; by default those that gather what others made. */
  readonly again?: (instance: string, trace: Trace) => boolean;
  /** Called with the names of the file's instances before any runs; what it throws ends the verification. */
  readonly onInstances?: (names: readonly string[]) => void;
  /** Called as an instance begins to run, while it does, and as it ended. */
  readonly onStep?: (step: Step) => void;
}

/** Digests of a stage's code, and of the list of its packages' modules if it has any. */
export type Code = ReturnType<typeof codeOf>;

/** An instance that runs again. */
export interface Step {
  readonly instance: string;
  readonly progress?: StageProgress;
  /** Once it has ended. */
  readonly result?: Repeated;
}

/** An instance that ran again. */
export interface Repeated {
  readonly instance: string;
  readonly seconds: number;
  readonly outputs: readonly RepeatedOutput[];
  readonly findings: readonly Finding[];
}

/** An output as it is recorded and as it came out again. */
export interface RepeatedOutput {
  readonly name: string;
  readonly recorded: Sha256;
  readonly again: Sha256 | undefined;
}

/** What a verification saw. */
export interface Verified {
  /** Digest of the whole file. */
  readonly sha256: Sha256;
  readonly bytes: number;
  readonly findings: readonly Finding[];
  /** What could be read; absent if the file is no audit file. */
  readonly index?: AuditIndex;
  /** Digest of the index. */
  readonly root?: Sha256;
  readonly repeated: readonly Repeated[];
  /** Instances that did not run again: the file decides what gathers, so that whoever reads must see them. */
  readonly notRepeated: readonly string[];
}

/** An audit file whose records were checked. */
export interface Inspected extends Omit<Verified, "repeated" | "notRepeated"> {
  /** Absent if the file is no audit file. */
  readonly records?: Records;
}

/**
 * Checks what an audit file's records must agree on, and runs nothing.
 *
 * @param options.choices What a page's file holds, where not all that a run's does.
 */
export function inspect(
  bytes: Uint8Array<ArrayBuffer>,
  { lock, choices }: Pick<VerifyOptions, "lock"> & { readonly choices?: Choices } = {},
): Inspected {
  const whole = { sha256: sha256(bytes), bytes: bytes.length };
  const findings: Finding[] = [];
  const report: Report = (finding) => findings.push(finding);
  try {
    const file = readAuditFile(bytes);
    const records = checkRecords(file, report, choices);
    if (lock !== undefined) checkAgainst(lock, file, report);
    return { ...whole, findings, index: file.index, root: file.root, records };
  } catch (error) {
    // What else was found is of no use to whoever holds something that was not written here.
    if (!(error instanceof LockstepError)) throw error;
    const found = error.message;
    const refusal = { what: "file", where: "the file", expected: "an audit file", found } as const;
    return { ...whole, findings: [refusal] };
  }
}

/** Verifies an audit file. Whatever is wrong with it is a finding. */
export async function verify(
  bytes: Uint8Array<ArrayBuffer>,
  options: VerifyOptions = {},
): Promise<Verified> {
  const { again = (_, trace) => gathers(trace), onStep = () => {} } = options;
  const { records, ...inspected } = inspect(bytes, options);
  const traces = [...records?.traces ?? []];
  options.onInstances?.(Object.keys(inspected.index?.instances ?? {}));
  const findings = [...inspected.findings];
  if (options.code !== undefined) {
    const modules = traces.filter(([, trace]) => !isCommand(trace));
    const current = await options.code([...new Set(modules.map(([, { stage }]) => stage))]);
    const codeNow = (trace: Trace) =>
      isCommand(trace) ? options.commandCode?.(trace) : current.get(trace.stage);
    findings.push(...codeFindings(traces, codeNow));
  }
  const repeated: Repeated[] = [];
  for (const [instance, trace] of traces) {
    if (!again(instance, trace)) continue;
    onStep({ instance });
    const result = await repeat(instance, records!, (progress) => onStep({ instance, progress }));
    onStep({ instance, result });
    repeated.push(result);
    findings.push(...result.findings);
  }
  const notRepeated = traces.filter(([instance, trace]) => !again(instance, trace))
    .map(([instance]) => instance);
  return { ...inspected, findings, repeated, notRepeated };
}

/** Which stages ran other code than theirs. */
function codeFindings(
  traces: readonly (readonly [instance: string, trace: Trace])[],
  codeNow: (trace: Trace) => Code | undefined,
): Finding[] {
  const findings = new Map<string, Finding>();
  for (const [instance, trace] of traces) {
    const [ran, wanted] = [codeOf(trace), codeNow(trace)];
    for (const what of ["code", "packages"] as const) {
      const [expected = "none", found = "none"] = [wanted?.[what], ran[what]];
      const id = `${trace.stage} ${what} ${found}`;
      // Once for all instances of a stage.
      if (expected === found || findings.has(id)) continue;
      const where = `${what} of stage ${trace.stage}, of ${instance}`;
      findings.set(id, { what: "code", where, expected, found });
    }
  }
  return [...findings.values()];
}

/** The run's lock must be one from elsewhere. */
function checkAgainst(
  lock: NonNullable<VerifyOptions["lock"]>,
  { index, files }: AuditFile,
  report: Report,
): void {
  const name = lockName(index), where = `${name}, against the one given`;
  const expected = lock(name), found = textIn(files.get(name));
  if (expected !== undefined) compareLines(where, { expected, found, report });
  else report({ what: "lock", where, expected: "given", found: "no lock of this run" });
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
  const findings: Finding[] = [];
  const differ = (where: string, expected: string, found: string) =>
    findings.push({ what: "result", where: `${instance}, ${where}`, expected, found });
  const failed = (found: string): Repeated => {
    differ("run again", "possible", found.split("\n").slice(0, MAX_LINES).join("\n"));
    return { instance, seconds: 0, outputs: [], findings };
  };
  if (isCommand(trace)) return failed("a program, which reproduce alone runs");
  const missing = missingFor(trace, records);
  if (missing.length > 0) return failed(`that it lacks ${missing.join(", ")}`);
  try {
    const made = await replay(trace, records, { onProgress });
    // What it measured is another with every run; a lock holds no metric of such an instance.
    const isTimed = ({ exactness }: OutputRecord) => exactness === "measured";
    const timed = Object.values(trace.outputs).some(isTimed);
    const outputs = Object.entries(trace.outputs).map(
      ([name, record]): RepeatedOutput => {
        const recorded = record.sha256;
        const output = made.outputs[name];
        if (output?.sha256 !== recorded && !isTimed(record)) {
          const where = output === undefined ? "" : difference(recorded, output.files, records);
          differ(`output ${name}${where}`, output?.sha256 ?? "nothing", recorded);
        }
        return { name, recorded, again: output?.sha256 };
      },
    );
    for (const name of new Set([...Object.keys(trace.metrics), ...Object.keys(made.metrics)])) {
      const [recorded, again] = [trace.metrics[name], made.metrics[name]];
      if (recorded !== again && !timed) {
        differ(`metric ${name}`, String(again ?? "none"), String(recorded ?? "none"));
      }
    }
    return { instance, seconds: made.seconds, outputs, findings };
  } catch (error) {
    // Whatever is in the file may have led to it.
    return failed(error instanceof Error ? error.message : String(error));
  }
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
