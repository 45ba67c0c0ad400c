/**
 * The instance that a command is about.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import type { Instance } from "../plan/graph.ts";
import { suggestion } from "../suggestion.ts";
import type { Options } from "./options.ts";
import type { Wiring } from "./wiring.ts";

/**
 * The instance that the command line names.
 *
 * @throws {UsageError} If it names none, or none that the experiment has.
 */
export function instanceOf({ all, name: run }: Wiring, { command, operands }: Options): Instance {
  const [wanted] = operands;
  if (wanted === undefined) {
    throw new UsageError(`Cannot run "${command}": it needs an instance, e.g. ${example(all)}`);
  }
  const instance = all.find(({ name }) => name === wanted);
  if (instance) return instance;
  const names = all.map(({ name }) => name);
  throw new UsageError(
    `Cannot run "${command}" for "${wanted}": no such instance in ${run}${
      suggestion(wanted, names)
    }`,
  );
}

/** One of those that vary over most axes: it shows how names are made. */
function example(all: readonly Instance[]): string {
  const max = Math.max(...all.map(({ node }) => node.each.length));
  return all.find(({ node }) => node.each.length === max)!.name;
}
