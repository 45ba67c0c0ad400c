/**
 * The certificates in an audit file: what executions past all caches showed of the run's results.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { isOf, toCertificate } from "../store/certificate.ts";
import { unseal } from "../store/sealed.ts";
import type { Trace } from "../store/trace.ts";
import type { AuditFile } from "./audit_file.ts";
import type { Report } from "./finding.ts";
import { FormError, readRecord } from "./record.ts";

/** Where the certificate of a key is. */
export function certificateName(key: string): string {
  return `certificates/${key}.json`;
}

/** Every certificate must be sealed, and of a result of the run. Whether what it saw was seen nobody can tell. */
export function checkCertificates(
  { files }: AuditFile,
  traces: ReadonlyMap<string, Trace>,
  report: Report,
): void {
  const byName = new Map([...traces.values()].map((trace) => [certificateName(trace.key), trace]));
  for (const where of files.keys()) {
    if (!where.startsWith("certificates/")) continue;
    const trace = byName.get(where);
    const found = problemOf(files.get(where)!, where, trace);
    if (found === undefined) continue;
    const expected = `a certificate of ${trace?.instance ?? "a result of the run"}`;
    report({ what: "certificate", where, expected, found });
  }
}

function problemOf(
  content: Uint8Array<ArrayBuffer>,
  where: string,
  trace: Trace | undefined,
): string | undefined {
  if (trace === undefined) return "one of no key of the run";
  try {
    const certificate = readRecord(content, where, (text) => toCertificate(unseal(text, where)));
    if (certificate === undefined) return "something else";
    const sameSizes = Object.entries(trace.outputs).every(([name, { bytes }]) =>
      certificate.outputs[name]?.bytes === bytes
    );
    return isOf(certificate, trace) && sameSizes ? undefined : "one of another result";
  } catch (error) {
    if (!(error instanceof LockstepError) || error instanceof FormError) throw error;
    return error.message;
  }
}
