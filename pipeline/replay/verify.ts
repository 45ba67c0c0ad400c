/**
 * Verifies an audit file: all that its records must agree on, and that what gathers results (tables,
 * verdicts, the report) and whatever else can run here comes out of the recorded code again, bit for bit.
 * It needs no store, no package, no network and no GPU, and runs in Deno and in a browser alike.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import type { Sha256 } from "../key/hash.ts";
import type { StageProgress } from "../stage.ts";
import { lockName } from "../store/lockfile.ts";
import { codeOf, isCommand, type OutputRecord, type Trace } from "../store/trace.ts";
import { type Archive, digestOf, inMemory } from "./archive.ts";
import { type AuditFile, type AuditIndex, readAuditFile } from "./audit_file.ts";
import type { Finding, Report } from "./finding.ts";
import { compareLines } from "./lock_lines.ts";
import { checkRecords, type Records } from "./records.ts";
import { textIn } from "./record.ts";
import { repeat, type Repeated } from "./repeat.ts";
import { missingFor } from "./replay.ts";
import { type Choice, type Choices, gathering } from "./uses.ts";

/** How to verify. */
export interface VerifyOptions {
  /** The text of a lock that the run's must equal, by its name: as one from version control. */
  readonly lock?: (name: string) => string | undefined;
  /** The code that stages must have, by name: as that of a checkout. */
  readonly code?: (stages: readonly string[]) => Promise<ReadonlyMap<string, Code>>;
  /** The same of a stage that is a program, from the names of its files. */
  readonly commandCode?: (trace: Trace) => Code | undefined;
  /**
   * Which instances are to run again, all that they need being there; by default what gathers and what
   * follows from that, and of the others those that can.
   */
  readonly again?: Choice;
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
  /** Instances that did not run again: the file decides which can, so that whoever reads must see them. */
  readonly notRepeated: readonly NotRepeated[];
}

/** An instance that did not run again. */
export interface NotRepeated {
  readonly instance: string;
  /** `computes on wasm`. */
  readonly why: string;
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
  file: Uint8Array<ArrayBuffer> | Archive,
  { lock, choices }: Pick<VerifyOptions, "lock"> & { readonly choices?: Choices } = {},
): Inspected {
  const archive = file instanceof Uint8Array ? inMemory(file) : file;
  const whole = { sha256: digestOf(archive), bytes: archive.length };
  const findings: Finding[] = [];
  const report: Report = (finding) => findings.push(finding);
  try {
    const read = readAuditFile(archive);
    const records = checkRecords(read, report, choices);
    if (lock !== undefined) checkAgainst(lock, read, report);
    return { ...whole, findings, index: read.index, root: read.root, records };
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
  file: Uint8Array<ArrayBuffer> | Archive,
  options: VerifyOptions = {},
): Promise<Verified> {
  const { onStep = () => {} } = options;
  const { records, ...inspected } = inspect(file, options);
  const traces = records?.traces ?? new Map<string, Trace>();
  options.onInstances?.(Object.keys(inspected.index?.instances ?? {}));
  const findings = [...inspected.findings];
  if (options.code !== undefined) findings.push(...await checkCode([...traces], options));
  const mustRun = options.again ?? gathering(traces);
  const hinders = options.again ? () => "were not asked for" : hindrance;
  const repeated: Repeated[] = [];
  const notRepeated: NotRepeated[] = [];
  for (const [instance, trace] of traces) {
    const must = mustRun(trace, instance);
    const why = must ? undefined : hinders(trace, records!);
    if (why !== undefined) {
      notRepeated.push({ instance, why });
      continue;
    }
    onStep({ instance });
    const result = await repeat(instance, records!, (progress) => onStep({ instance, progress }));
    onStep({ instance, result });
    // Nobody promised that it can run here: it may need what only the engine has.
    if (!must && result.failure !== undefined) {
      notRepeated.push({ instance, why: "cannot run here" });
      continue;
    }
    repeated.push(result);
    findings.push(...result.findings);
  }
  return { ...inspected, findings, repeated, notRepeated };
}

/** Why an instance is not tried that need not run again; `undefined` if it is. */
function hindrance(trace: Trace, records: Records): string | undefined {
  const { "platform.backend": backend, alone } = trace.ingredients;
  if (isCommand(trace)) return "are programs";
  if (backend !== undefined) return `compute on ${backend}`;
  if (alone !== undefined) return "measure time";
  // Of small results alone, which a file holds, it is known that they are made soon.
  const isHere = ({ sha256 }: OutputRecord) =>
    [{ sha256 }, ...Object.values(records.manifests.get(sha256) ?? {})]
      .every(({ sha256 }) => records.blob(sha256) !== undefined);
  const isWhole = Object.values(trace.outputs).every(isHere) &&
    missingFor(trace, records).length === 0;
  return isWhole ? undefined : "are not whole in it";
}

/** Which stages ran other code than a checkout's. */
async function checkCode(
  traces: readonly (readonly [instance: string, trace: Trace])[],
  { code, commandCode }: VerifyOptions,
): Promise<Finding[]> {
  const modules = traces.filter(([, trace]) => !isCommand(trace));
  const current = await code!([...new Set(modules.map(([, { stage }]) => stage))]);
  return codeFindings(
    traces,
    (trace) => isCommand(trace) ? commandCode?.(trace) : current.get(trace.stage),
  );
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
