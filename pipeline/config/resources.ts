/**
 * What an instance of a stage takes of a machine, as an experiment's file says it.
 *
 * @module
 */
import { z } from "zod";
import type { Resources } from "../stage.ts";
import { parseSize, parseTime } from "../amounts.ts";

/** Far above any machine: what is larger is a slip of the pen. */
const MAX_COUNT = 10_000;
const MAX_BYTES = 2 ** 60;
/** A timer holds no more than 24 days. */
const MAX_SECONDS = 20 * 24 * 3600;

const isWithin = (amount: number | undefined, min: number, max: number) =>
  amount !== undefined && amount >= min && amount <= max;

/** `resources` of a stage, in the file and in a profile. */
export const resourcesSchema = z.strictObject({
  cpus: z.int().min(1).max(MAX_COUNT).optional().describe("Processors (default: 1)"),
  memory: z.string().refine((text) => isWithin(parseSize(text), 1, MAX_BYTES), {
    message: "must be a size such as 512MB, 8GB or 16GiB",
  }).optional().describe("Memory that it counts with, 8GB (default: it is not counted)"),
  gpus: z.int().min(0).max(MAX_COUNT).optional().describe(
    "Adapters it has to itself (default: 1 where a numeric stage computes on WebGPU, else 0)",
  ),
  time: z.string().refine((text) => isWithin(parseTime(text), 1, MAX_SECONDS), {
    message: "must be a time such as 90m, 2h30m or 1d, 20d at most",
  }).optional().describe(
    "How long it may take, 2h30m (default: as long as it takes; of a program, a day)",
  ),
});

/** `resources` after validation. */
export type ResourcesEntry = z.infer<typeof resourcesSchema>;

/** What the file says of a stage and a profile says otherwise, value by value. */
export function resourcesOf(...entries: readonly (ResourcesEntry | undefined)[]): Resources {
  const { cpus, memory, gpus, time }: ResourcesEntry = Object.assign({}, ...entries);
  return {
    ...cpus === undefined ? {} : { cpus },
    ...memory === undefined ? {} : { memoryBytes: parseSize(memory)! },
    ...gpus === undefined ? {} : { gpus },
    ...time === undefined ? {} : { timeSeconds: parseTime(time)! },
  };
}
