/**
 * What can be made of a grid that is not finished: what gathers is given the results there are, and
 * nothing that computes one runs.
 *
 * @module
 */
import type { Binding, Graph, Instance } from "./graph.ts";
import type { Decision } from "./plan.ts";

/** A graph without what is not finished. */
export interface Finished {
  readonly graph: Graph;
  /** By stage, how many of its instances were left out, and how many there are. */
  readonly leftOut: ReadonlyMap<string, { readonly missing: number; readonly of: number }>;
}

/**
 * Leaves out the instances that are not up to date, but for those that gather results and those that
 * follow from such. What these take of many is what is left.
 */
export function onlyFinished(
  graph: Graph,
  decisions: ReadonlyMap<Instance, Decision>,
): Finished {
  const kept = new Map<Instance, Instance>();
  const gathering = new Set<Instance>();
  const leftOut = new Map<string, { missing: number; of: number }>();
  for (const instance of graph) {
    const { node, inputs } = instance;
    if (gathers(instance, gathering)) gathering.add(instance);
    const counts = leftOut.get(node.name) ?? { missing: 0, of: 0 };
    leftOut.set(node.name, counts);
    counts.of++;
    const left = Object.entries(inputs).map(([input, bindings]) =>
      [
        input,
        bindings.flatMap((binding): Binding[] => {
          const from = kept.get(binding.instance);
          return from === undefined ? [] : [{ ...binding, instance: from }];
        }),
      ] as const
    );
    const isWhole = left.every(([input, bindings]) =>
      node.stage.inputs[input]!.many || bindings.length === inputs[input]!.length
    );
    const isFinished = decisions.get(instance)?.action === "cached" || gathering.has(instance);
    if (isFinished && isWhole) {
      kept.set(instance, { ...instance, inputs: Object.fromEntries(left) });
    } else counts.missing++;
  }
  for (const [node, { missing }] of leftOut) if (missing === 0) leftOut.delete(node);
  return { graph: [...kept.values()], leftOut };
}

/** Whether an instance gathers results or follows from such, and computes or times nothing itself. */
function gathers({ node: { stage }, inputs }: Instance, gathering: ReadonlySet<Instance>): boolean {
  if (stage.numeric || stage.alone) return false;
  return Object.values(stage.inputs).some(({ many }) => many) ||
    Object.values(inputs).flat().some(({ instance }) => gathering.has(instance));
}
