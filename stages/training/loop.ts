/**
 * The loop that every training shares: steps, their losses read in groups, evaluations, checkpoints,
 * and an end that was asked for.
 *
 * @module
 */
import type { StageContext } from "../../pipeline/stage.ts";

/** One step. */
export interface Step<Loss> {
  /** Mean loss of its examples in nats. */
  readonly loss: Loss;
  readonly examples: number;
  readonly tokens: number;
}

/** What is trained. Between two calls its state is all there is: from it, training can resume. */
export interface Training<Progress extends { steps: number }, Loss> {
  readonly state: { readonly progress: Progress };
  /** Steps at most. */
  readonly steps: number;
  /** Whether to evaluate before the next step. */
  isDue(): boolean;
  evaluate(): Promise<void>;
  /** Whether it has ended; asked when no evaluation is due. */
  isDone(): boolean;
  step(): Step<Loss>;
  /** Takes the loss of a step over, in order of the steps, before the next evaluation or checkpoint. */
  record(loss: number, examples: number): void;
  /** The loss to show. */
  shownLoss(): number | undefined;
}

/** Losses that were not read yet. */
export interface Losses<Loss> {
  readonly length: number;
  push(step: Step<Loss>): void;
  /** Whether to read before the next step. */
  areMany(): boolean;
  /** Hands them over in order, and forgets them. */
  read(record: (loss: number, examples: number) => void): Promise<void>;
}

/** Where a training computes: how its losses are read and its state is saved. */
export interface Place<Loss> {
  readonly losses: Losses<Loss>;
  /** Saves the state as the newest checkpoint, where checkpoints are kept. */
  save(): Promise<void>;
}

/** Losses that are numbers already: each is read after its step. */
export class NumberLosses implements Losses<number> {
  readonly #steps: Step<number>[] = [];

  get length(): number {
    return this.#steps.length;
  }

  push(step: Step<number>): void {
    this.#steps.push(step);
  }

  areMany(): boolean {
    return true;
  }

  read(record: (loss: number, examples: number) => void): Promise<void> {
    for (const { loss, examples } of this.#steps.splice(0)) record(loss, examples);
    return Promise.resolve();
  }
}

/** Params of the loop. */
interface LoopParams {
  readonly checkpoint_every: number;
}

/** Milliseconds of computing after which the event loop is let in, to hear of the end. */
const YIELD_MS = 100;

/**
 * Trains to the end. Asked to stop, it saves the state and throws the signal's reason.
 *
 * What changes no bit: how losses are grouped, when checkpoints are saved, where it was stopped.
 */
export async function runTraining<Progress extends { steps: number }, Loss>(
  context: StageContext<LoopParams>,
  training: Training<Progress, Loss>,
  { losses, save }: Place<Loss>,
): Promise<void> {
  const { params, stopping } = context;
  const { progress } = training.state;
  const read = () => losses.read((loss, examples) => training.record(loss, examples));
  let yielded = performance.now();
  for (;;) {
    if (training.isDue()) await training.evaluate();
    if (training.isDone()) return;
    losses.push(training.step());
    progress.steps++;
    if (losses.areMany() || training.isDue()) await read();
    if (performance.now() - yielded > YIELD_MS) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      yielded = performance.now();
    }
    if (stopping.aborted || progress.steps % params.checkpoint_every === 0) {
      await read();
      await save();
    }
    stopping.throwIfAborted();
    const loss = losses.length === 0 ? training.shownLoss() : undefined;
    context.progress({
      done: progress.steps,
      total: training.steps,
      unit: "steps",
      ...(loss === undefined ? {} : { values: { loss } }),
    });
  }
}
