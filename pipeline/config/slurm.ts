/**
 * What an experiment's file says of Slurm.
 *
 * @module
 */
import { z } from "zod";

/** What begins a name that Slurm and a shell take as it is. */
const word = z.string().max(200).regex(
  /^[\w.+/:@=,-]+$/,
  "must be one word of letters, digits and .+/:@=,-_",
);

/** Options of sbatch that are the engine's own, or that would change what an array of jobs is. */
const OWN =
  /^--(array|chdir|comment|dependency|error|export|input|job-name|nodes|ntasks|output|open-mode|parsable|requeue|no-requeue|wait|wrap)(=|$)/;

const option = z.string().max(200).regex(/^--[a-z][\w-]*(=[\w.+/:@=,%&|*()[\]-]+)?$/, {
  message: "must be a long option of sbatch in one word, --qos=low",
}).refine((text) => !OWN.test(text), {
  message: "must not be an option that the engine gives itself",
});

/** `slurm` of an experiment and of a stage. */
export const slurmSchema = z.strictObject({
  partition: word.optional(),
  account: word.optional(),
  modules: z.array(word).optional().describe("Loaded with module load before the stage runs"),
  max_running: z.int().min(1).optional().describe("Jobs of a stage that run at a time"),
  options: z.array(option).optional().describe("Further options of sbatch, such as --qos=low"),
});
