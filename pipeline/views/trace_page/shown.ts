/**
 * What the trace page and the facts beside it are made of.
 *
 * @module
 */
import type { Makers, Manifests } from "../ancestry.ts";
import type { Certificate } from "../../store/certificate.ts";
import type { LatestRun } from "../../store/latest.ts";
import type { Trace } from "../../store/trace.ts";

/** A recorded run as the page shows it. */
export interface ShownRun {
  /** `fusion.smoke`. */
  readonly name: string;
  readonly run: LatestRun;
}

/** Everything the page is made of. */
export interface Shown {
  readonly runs: readonly ShownRun[];
  /** By key: all that the runs name, and what those came from. */
  readonly traces: ReadonlyMap<string, Trace>;
  readonly manifests: Manifests;
  readonly makers: Makers;
  /** By key. */
  readonly certificates: ReadonlyMap<string, Certificate>;
  /** Paths below `outputs/`, by {@linkcode publishedBytes}. */
  readonly published: ReadonlyMap<string, readonly string[]>;
}

/** What is published, as one name: the key that made it, and its content. */
export function publishedBytes(key: string, sha256: string): string {
  return `${key} ${sha256}`;
}
