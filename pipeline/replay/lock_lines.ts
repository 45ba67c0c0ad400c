/**
 * The lock in an audit file: what the traces make it, line by line.
 *
 * @module
 */
import { sha256 } from "../key/hash.ts";
import { formatLock, lockName, lockOf } from "../store/lockfile.ts";
import type { Trace } from "../store/trace.ts";
import type { AuditFile } from "./audit_file.ts";
import type { Report } from "./finding.ts";
import { FormError, textIn } from "./record.ts";

/** The lock must say what the traces say. */
export function checkLock(
  { index, files }: AuditFile,
  traces: ReadonlyMap<string, Trace>,
  report: Report,
): void {
  const name = lockName(index);
  const content = files.get(name);
  for (const path of files.keys()) {
    if (!path.startsWith("lock/") || path === name) continue;
    report({ what: "lock", where: path, expected: name, found: path });
  }
  if (content === undefined) {
    report({ what: "lock", where: name, expected: "the run's lock", found: "nothing" });
    return;
  }
  // Of an instance without a trace that is said already.
  if (traces.size < Object.keys(index.instances).length) return;
  const expected = formatLock(index, lockOf(traces)), found = textIn(content);
  compareLines(name, { expected, found, report });
  if (expected === found && sha256(content) !== sha256(expected)) throw new FormError(name);
}

/** Reports each line that two texts do not share, by the instance it begins with. */
export function compareLines(
  where: string,
  { expected, found, report }: { expected: string; found: string; report: Report },
): void {
  if (expected === found) return;
  const byName = (text: string) =>
    new Map(text.split("\n").map((line) => [/^#|^\S+/.exec(line)?.[0] ?? "", line]));
  const [wanted, there] = [byName(expected), byName(found)];
  let reported = 0;
  for (const name of new Set([...wanted.keys(), ...there.keys()])) {
    const [line, other] = [wanted.get(name) ?? "no line", there.get(name) ?? "no line"];
    if (line === other) continue;
    const [a, b] = differingFields(line, other);
    reported++;
    report({ what: "lock", where: `${where}, ${name}`, expected: a, found: b });
  }
  if (reported > 0) return;
  report({ what: "lock", where, expected: "the same lines, sorted, each once", found: "others" });
}

function differingFields(line: string, other: string): [string, string] {
  const [a, b] = [line.split("  "), other.split("  ")];
  const only = (own: readonly string[], others: readonly string[]) =>
    own.filter((field) => !others.includes(field)).join("  ") || "nothing more";
  return [only(a, b), only(b, a)];
}
