/**
 * The audit: hashes every blob and trace of the store again and compares records, code, locks,
 * `outputs/` and the catalogue with them. It trusts no size, no time and no catalogue, opens nothing
 * but regular files, and changes nothing.
 *
 * @module
 */
import { readEndings } from "../run/ending.ts";
import { readPublications } from "../run/publications.ts";
import type { LocalStore } from "../store/local_store.ts";
import { auditBlobs } from "./audit/blobs.ts";
import { auditCertificates } from "./audit/certificates.ts";
import type { Audit, Finding, OtherResult } from "./audit/finding.ts";
import { auditEndings, auditOutputs, auditPublications, auditTracePage } from "./audit/outputs.ts";
import {
  auditCode,
  auditLocks,
  auditReferences,
  auditRuns,
  auditTags,
  watchedWorkspace,
} from "./audit/records.ts";
import { auditCatalog, auditTraces } from "./audit/traces.ts";

export type { Finding, OtherResult };

/** What an audit saw. */
export interface AuditResult {
  readonly findings: readonly Finding[];
  readonly files: number;
  readonly bytes: number;
  /** Locks whose experiment and profile were never run in this store: they could not be checked. */
  readonly unchecked: readonly string[];
  /** Results that keys have besides their own: their stages do not compute the same each time. */
  readonly others: readonly OtherResult[];
  /** Blobs that received traces name and that were not fetched. */
  readonly elsewhere: number;
}

/** Audits a project's store, locks and outputs. */
export async function auditStore(
  root: string,
  outputs: string,
  store: LocalStore,
): Promise<AuditResult> {
  const findings: Finding[] = [];
  const audit: Audit = { root, outputs, store, findings };
  const runs = auditRuns(audit);
  const endings = readEndings(watchedWorkspace(audit));
  const publications = auditEndings(audit, readPublications(watchedWorkspace(audit)), endings);
  const traces = auditTraces(audit);
  const { files, manifests, elsewhere } = await auditBlobs(audit, traces);
  auditReferences(audit, { runs, traces, publications });
  auditTags(audit, traces);
  const unchecked = auditLocks(audit, { runs, traces, endings });
  auditCode(audit);
  auditCertificates(audit, traces);
  const published = await auditOutputs(audit, publications, [...runs.keys()]);
  auditPublications(audit, publications, { byKey: traces.byKey, manifests });
  auditTracePage(audit, [...runs.keys()]);
  auditCatalog(audit, traces);
  const sized = [...files, ...published];
  return {
    findings,
    files: sized.length + traces.byKey.size + traces.others.length,
    bytes: sized.reduce((sum, file) => sum + file.bytes, 0),
    unchecked,
    others: traces.others,
    elsewhere,
  };
}
