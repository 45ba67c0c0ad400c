/**
 * What of a store can go.
 *
 * @module
 */

/** What goes only where it is asked for: nothing can make it again, or it is work to go on from. */
export const ON_REQUEST = ["checkpoints", "aside", "interrupted"] as const;

/** What a file or folder is. */
export type Kind =
  | "trace"
  | "blob"
  | "code"
  | "certificates"
  | "logs"
  | "scratch"
  | "incoming"
  | "remembered"
  | (typeof ON_REQUEST)[number];

/** One file or folder that can go. */
export interface Item {
  readonly kind: Kind;
  /** Of a trace or a blob, where one is known. */
  readonly stage?: string;
  readonly path: string;
  readonly bytes: number;
  /** What a process that is at work on it holds, in the folder of locks. */
  readonly lock?: string;
}
