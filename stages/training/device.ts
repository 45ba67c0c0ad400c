/**
 * Trainings whose tensors and losses are on a backend's device.
 *
 * @module
 */
import type * as tf from "@tensorflow/tfjs";
import { MAX_UNREAD, readScalars } from "../../models/webgpu.ts";
import type { StageContext } from "../../pipeline/stage.ts";
import type { Losses, Place, Step, Training } from "./loop.ts";
import { saveState, type TrainingState } from "./state.ts";

/** A step whose loss is a tensor. */
export type DeviceStep = Step<tf.Scalar>;

/** A training of such steps. */
export type DeviceTraining<Progress extends { steps: number }> = Training<Progress, tf.Scalar>;

/** The place of a training with tensors. */
export function onDevice<Progress>(
  context: StageContext<{ readonly chunk_tokens: number }>,
  state: TrainingState<Progress>,
): Place<tf.Scalar> {
  const { backend, checkpoints, params } = context;
  return {
    losses: new UnreadLosses(params.chunk_tokens, backend === "webgpu" ? 50 : 5),
    save: () => saveState(checkpoints, state),
  };
}

/**
 * Losses that were not read yet. Reading waits for the device: on a GPU that is done seldom. But what
 * is sent there for a step takes memory until it is done, so that many tokens do not wait unread.
 */
class UnreadLosses implements Losses<tf.Scalar> {
  readonly #steps: DeviceStep[] = [];
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

  push(step: DeviceStep): void {
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
