/**
 * The contents of outputs, a file or those of a folder, as they are compared.
 *
 * @module
 */
import { readBytes } from "../files.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Difference } from "../store/certificate.ts";
import type { Manifest, OutputRecord } from "../store/trace.ts";
import { compareContents, Differences } from "./difference.ts";

/** Where contents that are to be compared are found. */
export interface Contents {
  manifest(digest: Sha256): Promise<Manifest | undefined>;
  pathOf(digest: Sha256): Promise<string>;
}

/** How two contents of an output differ; `undefined` if they say the same. */
export async function differenceOf(
  was: Pick<OutputRecord, "sha256" | "kind">,
  is: Pick<OutputRecord, "sha256" | "kind">,
  contents: Contents,
): Promise<Difference | undefined> {
  const into = new Differences();
  const [before, now] = [await filesOf(was, contents), await filesOf(is, contents)];
  for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const [a, b] = [before[name]?.sha256, now[name]?.sha256];
    if (a === b) continue;
    if (a === undefined || b === undefined) {
      into.other(() => ({ at: name }), [a ? "a file" : "absent", b ? "a file" : "absent"]);
      continue;
    }
    const [old, current] = [
      readBytes(await contents.pathOf(a)),
      readBytes(await contents.pathOf(b)),
    ];
    compareContents(old ?? new Uint8Array(), current ?? new Uint8Array(), { name, into });
  }
  return into.result();
}

async function filesOf(
  { sha256, kind }: Pick<OutputRecord, "sha256" | "kind">,
  contents: Contents,
): Promise<Manifest> {
  return kind === "file" ? { "": { sha256, bytes: 0 } } : await contents.manifest(sha256) ?? {};
}
