/**
 * What a bundle is to those who do not make one. Apart from what makes them, which is loaded when a
 * stage's code has changed.
 *
 * @module
 */
import { join } from "node:path";
import type { Sha256 } from "./hash.ts";

/** Changes when the options of `bundle.ts` or those of packages do: a record of before is of no use. */
export const BUNDLE_FORMAT = 3;

/** A stage's code, and what of it is an ingredient. */
export interface Bundle {
  /** Digest of its own module. */
  readonly code: Sha256;
  /** Digest of the manifest of its packages' modules; absent if it imports none. */
  readonly packages?: Sha256;
  /**
   * Source files and packages that went in, `models/gpt.ts` and `npm:zod@4.6.7`, with their digests:
   * to explain a change.
   */
  readonly sources: Readonly<Record<string, Sha256>>;
}

/** Where what a stage computes is defined: one file per stage, which exports `run`. */
export function runPath(root: string, stage: string): string {
  return join(root, "stages", `${stage}.run.ts`);
}

/** The folder of packages, beside the stage's module. */
export const PACKAGES_FOLDER = "packages";
