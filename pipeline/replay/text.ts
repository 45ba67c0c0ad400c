/**
 * A verification as lines for people.
 *
 * @module
 */
import { megabytes } from "../amounts.ts";
import { findingText } from "./finding.ts";
import type { Step, Verified } from "./verify.ts";

/** A line for an instance that ran again; `undefined` before it has. */
export function stepText({ instance, result }: Step): string | undefined {
  if (result === undefined) return undefined;
  const { outputs, findings, seconds, failure } = result;
  if (failure !== undefined) return printable(`again   ${instance}: not possible: ${failure}`);
  const same = outputs.filter(({ recorded, again }) => recorded === again).length;
  const verdict = findings.length > 0
    ? "differs"
    : same < outputs.length
    ? "it measures time"
    : "same bits";
  const counted = `${same} of ${outputs.length} outputs in ${seconds.toFixed(1)} s`;
  return printable(`again   ${instance}: ${verdict}, ${counted}`);
}

/** What a verification came to: findings, then what the file is. */
export function verifiedText(
  { sha256, bytes, findings, index, root, repeated, notRepeated }: Verified,
): string[] {
  const lines = findings.map(findingText);
  if (index !== undefined) {
    const { experiment, profile, backend, commit, instances, leftOut } = index;
    const left = Object.values(leftOut);
    const names = Object.keys(index.files);
    const count = (folder: string) => names.filter((name) => name.startsWith(`${folder}/`)).length;
    lines.push(
      `run     ${experiment}.${profile} on ${backend}`,
      `commit  ${commit ?? "unknown"}`,
      `holds   ${megabytes(bytes)}: ${Object.keys(instances).length} instances, ${
        count("traces")
      } traces, ${count("blobs")} ` +
        `blobs, ${count("certificates")} certificates; ${left.length} left out, ` +
        megabytes(left.reduce((sum, size) => sum + size, 0)),
      `root    sha256 ${root}`,
    );
  }
  const passed =
    repeated.filter(({ findings, outputs }) =>
      findings.length === 0 && outputs.every(({ recorded, again }) => recorded === again)
    ).length;
  if (notRepeated.length > 0) {
    const stages = Map.groupBy(
      notRepeated,
      ({ instance, why }) => `${instance.split("/")[0]}, which ${why}`,
    );
    const shown = [...stages].map(([stage, { length }]) => `${length} of ${stage}`).join("; ");
    lines.push(`not run ${notRepeated.length} instances: ${shown}`);
  }
  const all = Object.keys(index?.instances ?? {}).length;
  lines.push(
    `file    sha256 ${sha256}`,
    findings.length === 0
      ? `sound   every digest holds; ${passed} of ${all} instances ran again and left the same bits`
      : `unsound ${findings.length} findings`,
  );
  return lines.map(printable);
}

/**
 * A text that a terminal shows as it is: whoever made the file chose some of it. What controls a terminal
 * is escaped, as JSON has it; a further line begins so that it can't be taken for one of the verifier's.
 */
export function printable(text: string): string {
  const codeOf = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text
    .replace(/[^\P{C}\n]|[\u2028\u2029]/gu, (found) => found.split("").map(codeOf).join(""))
    .replaceAll("\n", "\n        | ");
}
