/**
 * What `--finished` leaves out, for people.
 *
 * @module
 */
import { counted } from "../amounts.ts";
import type { Session } from "./session.ts";

/** How many instances of which stages are not finished; `undefined` if all are. */
export function leftOutNote(
  { leftOut, graph }: Pick<Session, "leftOut" | "graph">,
): string | undefined {
  if (leftOut.size === 0) return undefined;
  const stages = [...leftOut].map(([node, { missing, of }]) => `${node} ${missing} of ${of}`);
  const missing = [...leftOut.values()].reduce((sum, counts) => sum + counts.missing, 0);
  return `not finished, and left out: ${missing} of ${
    counted(graph.length + missing, "instance")
  } ` +
    `(${stages.join(", ")})`;
}
