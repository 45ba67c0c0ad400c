/** @module */
import type { ExecutorName } from "../config/executors.ts";
import type { Node } from "../config/nodes.ts";

/** Whether a node's instances are Slurm jobs. `asked` is what the command line says. */
export function isOnSlurm(
  { executor }: Pick<Node, "executor">,
  asked: ExecutorName | undefined,
): boolean {
  // Who has no cluster makes everything here, whatever the file says.
  return asked !== "local" && (executor ?? asked) === "slurm";
}
