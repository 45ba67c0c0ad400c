/**
 * Timing several models beside each other in one process.
 *
 * @module
 */
import type { StageContext } from "../../pipeline/stage.ts";

/**
 * Has models take turns, round by round, there and back: whatever slows the machine down slows all of
 * them, and one that slows down steadily slows no model more than another.
 *
 * @param time Gets a model and the round, from 0; rounds to warm up are below 0.
 */
export async function inTurn<Model>(
  models: readonly Model[],
  context: Pick<StageContext<{ warm_up: number; rounds: number }>, "params" | "progress">,
  time: (model: Model, round: number) => Promise<void>,
): Promise<void> {
  const { warm_up: warmUp, rounds } = context.params;
  for (let round = -warmUp; round < rounds; round++) {
    for (const model of round % 2 === 0 ? models : models.toReversed()) await time(model, round);
    context.progress({ done: warmUp + round + 1, total: warmUp + rounds, unit: "rounds" });
  }
}
