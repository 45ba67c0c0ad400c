/**
 * The part of the audit that holds certificates to the results they are of.
 *
 * @module
 */
import { join } from "node:path";
import { entriesBelow } from "../../files.ts";
import { isSha256 } from "../../key/hash.ts";
import { isOf, toCertificate } from "../../store/certificate.ts";
import { readSealed } from "../../store/sealed.ts";
import { type Audit, type Finding, isHalfWritten } from "./finding.ts";
import type { IntactTraces } from "./traces.ts";

/** A certificate must be as it was written; one of a result that is gone is left over. */
export function auditCertificates({ store, findings }: Audit, { byKey }: IntactTraces): void {
  for (const { subfolder, name, path, isFile } of entriesBelow(join(store.root, "certificates"))) {
    const key = subfolder + name.replace(/\.json$/, "");
    const trace = isSha256(key) ? byKey.get(key) : undefined;
    const report = (problem: Finding["problem"], message: string) => {
      const instances = trace === undefined ? [] : [trace.instance];
      findings.push({ problem, what: "record", path, instances, message });
    };
    if (!isFile || !isSha256(key) || !name.endsWith(".json")) {
      const isLeftover = isFile && isHalfWritten(name);
      if (isLeftover) report("leftover", "a file half written");
      else report("orphaned", "its name is not that of a certificate");
      continue;
    }
    const certificate = readSealed(path, {
      parse: toCertificate,
      onDamage: (_, message) => report("altered", message),
    });
    if (certificate === undefined) continue;
    if (certificate.key !== key) report("altered", "it is the certificate of another key");
    else if (trace === undefined) report("leftover", "no trace has its key");
    else if (!isOf(certificate, trace)) report("leftover", "its key has another result");
  }
}
