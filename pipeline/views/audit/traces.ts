/**
 * The part of the audit that reads every trace, and compares the catalogue with them.
 *
 * @module
 */
import { join } from "node:path";
import { explain } from "../../errors.ts";
import { keyOf } from "../../key/ingredients.ts";
import type { Sha256 } from "../../key/hash.ts";
import { toRow, wrongFields } from "../../store/catalog.ts";
import { entriesBelow, type Entry, lookAt, readText, sameStat } from "../../files.ts";
import type { Trace } from "../../store/trace.ts";
import { parseTrace, traceFile } from "../../store/traces.ts";
import { type Audit, isHalfWritten, type OtherResult } from "./finding.ts";

/** The traces of a store that are intact. */
export interface IntactTraces {
  readonly byKey: ReadonlyMap<Sha256, Trace>;
  readonly others: readonly OtherResult[];
}

/** Reads every trace. */
export function auditTraces(audit: Audit): IntactTraces {
  const byKey = new Map<Sha256, Trace>();
  const others: OtherResult[] = [];
  for (const entry of entriesBelow(join(audit.store.root, "traces"))) {
    const { name, path } = entry;
    const named = traceFile(entry);
    if (!named) {
      const problem = isHalfWritten(name) ? "leftover" : "orphaned";
      const message = "its name is not that of a trace";
      audit.findings.push({ problem, what: "trace", path, instances: [], message });
      continue;
    }
    const trace = readTrace(entry, named.key, audit);
    if (!trace) continue;
    if (named.isOther) others.push({ path, trace });
    else byKey.set(named.key, trace);
  }
  return { byKey, others };
}

function readTrace({ path }: Entry, key: Sha256, { store, findings }: Audit): Trace | undefined {
  const altered = (message: string): undefined => {
    const known = store.catalog.trace(key);
    const instances = known ? [known.instance] : [];
    const run = known ? { run: known.run } : {};
    findings.push({ problem: "altered", what: "trace", path, instances, message, ...run });
  };
  try {
    const trace = parseTrace(readText(path) ?? "", { key, path });
    return keyOf(trace.ingredients) === key
      ? trace
      : altered("its ingredients do not give its key");
  } catch (error) {
    return altered(explain(error));
  }
}

/**
 * Compares the catalogue with the traces. Rows of files that changed since are used by nobody; any
 * other must say what its trace says.
 */
export function auditCatalog(audit: Audit, { byKey }: IntactTraces): void {
  const { store, findings } = audit;
  for (const row of store.catalog.traces()) {
    const trace = byKey.get(row.key as Sha256);
    const stat = lookAt(store.tracePath(row.key))?.stat;
    if (!trace || !stat || !sameStat(row, stat)) continue;
    const wrong = wrongFields(row, toRow(trace, stat));
    if (wrong.length === 0) continue;
    findings.push({
      problem: "altered",
      what: "catalogue",
      path: join(store.root, "catalog.sqlite"),
      instances: [trace.instance],
      message: `its row of ${row.key} has another ${wrong.join(", ")} than the trace`,
    });
  }
}
