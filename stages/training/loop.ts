/**
 * The loop that every training shares: steps, their losses read in groups, evaluations, checkpoints,
 * and an end that was asked for.
 *
 * @module
 */
import type * as tf from "@tensorflow/tfjs";
import { MAX_UNREAD, readScalars } from "../../models/webgpu.ts";
import type { StageContext } from "../../pipeline/stage.ts";
import { saveState, type TrainingState } from "./state.ts";

/** One step that was sent to the device. */
export interface Step {
  /** Mean loss of its examples in nats; the loop disposes it. */
  readonly loss: tf.Scalar;
  readonly examples: number;
  readonly tokens: number;
}

/** What is trained. Between two calls `state` is all there is: from it, training can resume. */
export interface Training<Progress extends { steps: number }> {
  readonly state: TrainingState<Progress>;
  /** Steps at most. */
  readonly steps: number;
  /** Whether to evaluate before the next step. */
  isDue(): boolean;
  evaluate(): Promise<void>;
  /** Whether it has ended; asked when no evaluation is due. */
  isDone(): boolean;
  step(): Step;
  /** Takes the loss of a step over, in order of the steps, before the next evaluation or checkpoint. */
  record(loss: number, examples: number): void;
  /** The loss to show. */
  shownLoss(): number | undefined;
}

/** Params of the loop. */
interface LoopParams {
  readonly checkpoint_every: number;
  readonly chunk_tokens: number;
}

/** Milliseconds of computing after which the event loop is let in, to hear of the end. */
const YIELD_MS = 100;

/**
 * Trains to the end. Asked to stop, it saves the state and throws the signal's reason.
 *
 * What changes no bit: how losses are grouped, when checkpoints are saved, where it was stopped.
 */
export async function runTraining<Progress extends { steps: number }>(
  context: StageContext<LoopParams>,
  training: Training<Progress>,
): Promise<void> {
  const { params, stopping, checkpoints } = context;
  const { state } = training;
  const { progress } = state;
  const losses = new UnreadLosses(params.chunk_tokens, context.backend === "webgpu" ? 50 : 5);
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
      await saveState(checkpoints, state);
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

/**
 * Losses that were not read yet. Reading waits for the device: on a GPU that is done seldom. But what
 * is sent there for a step takes memory until it is done, so that many tokens do not wait unread.
 */
class UnreadLosses {
  readonly #steps: Step[] = [];
  readonly #maxTokens: number;
  readonly #maxSteps: number;
  #tokens = 0;

  constructor(chunkTokens: number, maxSteps: number) {
    this.#maxTokens = MAX_UNREAD * chunkTokens;
    this.#maxSteps = maxSteps;
  }

  get length(): number {
    return this.#steps.length;
  }

  push(step: Step): void {
    this.#steps.push(step);
    this.#tokens += step.tokens;
  }

  areMany(): boolean {
    return this.length >= this.#maxSteps || this.#tokens >= this.#maxTokens;
  }

  /** Waits for the losses, hands them over in order, and disposes them. */
  async read(record: (loss: number, examples: number) => void): Promise<void> {
    if (this.length === 0) return;
    const values = await readScalars(this.#steps.map(({ loss }) => loss));
    const steps = this.#steps.splice(0);
    this.#tokens = 0;
    for (const { loss } of steps) loss.dispose();
    for (const [i, { examples }] of steps.entries()) record(values[i]!, examples);
  }
}
