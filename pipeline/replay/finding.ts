/**
 * What a verifier finds.
 *
 * @module
 */

/** One thing that is not as it must be. */
export interface Finding {
  /** What kind of thing it is about. */
  readonly what:
    | "file"
    | "index"
    | "lock"
    | "trace"
    | "key"
    | "input"
    | "blob"
    | "code"
    | "certificate"
    | "result";
  /** Where: a file of the archive, an instance and what of it. */
  readonly where: string;
  readonly expected: string;
  readonly found: string;
}

/** Takes a finding. */
export type Report = (finding: Finding) => void;

/** A finding as a line for people. */
export function findingText({ what, where, expected, found }: Finding): string {
  return `${what.padEnd(6)}  ${where}: must be ${expected}, found ${found}`;
}
