/**
 * Verifies an audit file: all that its records must agree on, and that what gathers results (tables,
 * verdicts, the report) comes out of the recorded code again, bit for bit. It needs no store, no
 * package, no network and no GPU, and runs in Deno and in a browser alike.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import type { StageProgress } from "../stage.ts";
import type { Trace } from "../store/trace.ts";
import { type AuditFile, type AuditIndex, readAuditFile } from "./audit_file.ts";
import { difference } from "./difference.ts";
import type { Finding } from "./finding.ts";
import { checkRecords, compareLines, type Records } from "./records.ts";
import { missingFor, replay } from "./replay.ts";
import { gathers } from "./uses.ts";

/** How to verify. */
export interface VerifyOptions {
  /** The text of a lock that the run's must equal, as one from version control. */
  readonly lock?: string;
  /** Which instances are to run again; by default those that gather what others made. */
  readonly again?: (instance: string, trace: Trace) => boolean;
  /** Called as an instance begins to run, while it does, and as it ended. */
  readonly onStep?: (step: Step) => void;
}

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
}

/** An audit file whose records were checked. */
export interface Inspected extends Omit<Verified, "repeated"> {
  /** Absent if the file is no audit file. */
  readonly records?: Records;
}

/** Checks what an audit file's records must agree on, and runs nothing. */
export function inspect(
  bytes: Uint8Array<ArrayBuffer>,
  { lock }: Pick<VerifyOptions, "lock"> = {},
): Inspected {
  const whole = { sha256: sha256(bytes), bytes: bytes.length };
  const findings: Finding[] = [];
  const report = (finding: Finding) => void findings.push(finding);
  let file: AuditFile;
  try {
    file = readAuditFile(bytes);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    report({ what: "file", where: "the file", expected: "an audit file", found: error.message });
    return { ...whole, findings };
  }
  const records = checkRecords(file, report);
  if (lock !== undefined) checkAgainst(lock, file, report);
  return { ...whole, findings, index: file.index, root: file.root, records };
}

/** Verifies an audit file. Whatever is wrong with it is a finding. */
export async function verify(
  bytes: Uint8Array<ArrayBuffer>,
  options: VerifyOptions = {},
): Promise<Verified> {
  const { again = (_, trace) => gathers(trace), onStep = () => {} } = options;
  const { records, ...inspected } = inspect(bytes, options);
  const repeated: Repeated[] = [];
  for (const [instance, trace] of records?.traces ?? []) {
    if (!again(instance, trace)) continue;
    onStep({ instance });
    const result = await repeat(instance, records!, (progress) => onStep({ instance, progress }));
    onStep({ instance, result });
    repeated.push(result);
  }
  const findings = [...inspected.findings, ...repeated.flatMap((each) => each.findings)];
  return { ...inspected, findings, repeated };
}

/** The run's lock must be one from elsewhere, or as much of it as the file is about. */
function checkAgainst(
  lock: string,
  { index, files }: AuditFile,
  report: (finding: Finding) => void,
): void {
  const name = Object.keys(index.files).find((path) => path.startsWith("lock/")) ?? "lock/";
  const found = new TextDecoder().decode(files.get(name));
  compareLines(`${name}, against the lock given`, { expected: lock, found, report });
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
  const missing = missingFor(trace, records);
  if (missing.length > 0) return failed(`that it lacks ${missing.join(", ")}`);
  try {
    const made = await replay(trace, records, { onProgress });
    // What it measured is another with every run.
    const timed = trace.ingredients["alone"] !== undefined;
    const outputs = Object.entries(trace.outputs).map(
      ([name, { sha256: recorded }]): RepeatedOutput => {
        const output = made.outputs[name];
        if (output?.sha256 !== recorded && !timed) {
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
