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

/** Options of sbatch that are the engine's own, or with which it would not queue what is asked for. */
const OWN = [
  ...["array", "chdir", "comment", "dependency", "error", "export", "input", "job-name", "nodes"],
  ...["ntasks", "output", "open-mode", "parsable", "requeue", "no-requeue", "wait", "wrap"],
  ...["clusters", "help", "hold", "test-only", "usage", "version"],
];

/** Whether sbatch takes it for one of these: it takes the beginning of a name for the name. */
function isOwn(option: string): boolean {
  const name = option.slice(2).split("=")[0]!;
  return OWN.some((own) => own.startsWith(name));
}

const option = z.string().max(200).regex(/^--[a-z][\w-]*(=[\w.+/:@=,%&|*()[\]-]+)?$/, {
  message: "must be a long option of sbatch in one word, --qos=low",
}).refine((text) => !isOwn(text), {
  message: "must not be an option that the engine gives itself, or the beginning of one",
});

/** `slurm` of an experiment and of a stage. */
export const slurmSchema = z.strictObject({
  partition: word.optional(),
  account: word.optional(),
  modules: z.array(word).optional().describe("Loaded with module load before the stage runs"),
  max_running: z.int().min(1).optional().describe("Jobs of a stage that run at a time"),
  options: z.array(option).optional().describe("Further options of sbatch, such as --qos=low"),
});
