/**
 * Where whole instances are made by programs that outlive the engine, such as a cluster's jobs: each
 * takes its inputs from the store and keeps its result there itself.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import type { Unlike } from "../event.ts";
import type { Bundle } from "../key/bundle_format.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Ingredients } from "../key/ingredients.ts";
import type { Platform } from "../key/platform.ts";
import type { Instance } from "../plan/graph.ts";
import type { StageProgress } from "../stage.ts";
import type { Trace } from "../store/trace.ts";

/** An instance that is to be made. */
export interface QueueOrder {
  readonly instance: Instance;
  readonly key: Sha256;
  readonly ingredients: Ingredients;
  readonly bundle: Bundle;
  readonly platform: Platform;
  /** The outputs of an upstream instance. */
  readonly outputs: (upstream: Instance) => Trace["outputs"];
  /** Mirror folder or base URL. */
  readonly mirror: string | undefined;
  /** Whether it is made even if its key has a result. */
  readonly forced: boolean;
}

/** Whoever waits for an instance. */
export interface QueueWatch {
  /** May come several times. */
  started(): void;
  progress(progress: StageProgress): void;
  /** Somebody else had it queued before: who. */
  waiting(owner: string): void;
}

/** How an instance ended that did not fail. */
export type QueueEnding =
  /** Its trace is in the store. */
  | {
    readonly ended: "made";
    readonly unlike: readonly Unlike[];
    readonly pinned: readonly string[];
  }
  /** Its trace was in the store before. */
  | { readonly ended: "found" }
  /** What some upstream instances made is missing or damaged. */
  | { readonly ended: "damaged"; readonly upstream: readonly string[] };

/** An instance that failed where it was made: the message was explained there. */
export class QueueFailure extends LockstepError {
  readonly key: Sha256;
  /** The last lines that it printed. */
  readonly output: readonly string[];

  constructor(message: string, { key, output }: { key: Sha256; output: readonly string[] }) {
    super(message);
    this.key = key;
    this.output = output;
  }
}

/** See the module's comment. */
export interface Queue {
  /**
   * Queues an instance, unless it is queued already, and waits for its end.
   *
   * @throws {QueueFailure} If it failed.
   * @throws The signal's reason, if it was aborted before: what is queued stays so.
   */
  make(order: QueueOrder, watch: QueueWatch, signal: AbortSignal): Promise<QueueEnding>;
}
