/**
 * What instances' stages say of their params and of what is around them, before anything runs.
 *
 * @module
 */
import type { Experiment } from "../config/experiment.ts";
import { broken } from "../config/issues.ts";
import {
  type Feed,
  type Names,
  type Surroundings,
  tablesTogether,
  type Violation,
} from "../stage.ts";
import type { Graph, Instance } from "./graph.ts";

/** What an instance is in the midst of. */
export function surroundingsOf(
  { node, inputs }: Instance,
  { axes, grid, nodes }: Experiment,
): Surroundings {
  const feeds = Object.entries(node.inputs).map(([input, references]) =>
    [
      input,
      references.map(({ node: from, output }): Feed => {
        const { each, stage } = nodes.get(from)!;
        const { holds } = stage.outputs[output]!;
        const bound = inputs[input]!.filter(({ instance, output: own }) =>
          instance.node.name === from && own === output
        ).map(({ instance }) => instance);
        return {
          ...{ node: from, output, each, measures: measuresOf(nodes, from, output) },
          at: bound.map(({ at }) => asText(at)),
          holds: holds && together(bound.map(({ params }) => holds(params))),
        };
      }),
    ] as const
  );
  return {
    axes,
    grid: Object.fromEntries(
      Object.entries(grid).map(([axis, values]) => [axis, values.map(String)]),
    ),
    inputs: Object.fromEntries(feeds),
  };
}

/** What an output measures, with what it gathered. */
function measuresOf(nodes: Experiment["nodes"], name: string, output: string): Feed["measures"] {
  const { stage, inputs, each } = nodes.get(name)!;
  const { measures = {}, gathers } = stage.outputs[output]!;
  // What is measured beside each other has its own coordinates.
  const beside = Object.keys(inputs).filter((input) => stage.inputs[input]!.many)
    .flatMap((input) => inputs[input]!.flatMap(({ node }) => nodes.get(node)!.each));
  const own = Object.entries(measures).map(([table, columns]) => {
    const axes = columns.includes("*") ? [...each, ...beside] : each;
    return {
      [table]: { axes, columns: columns.filter((name) => name !== "*" && !axes.includes(name)) },
    };
  });
  const gathered = gathers === undefined ? [] : inputs[gathers] ?? [];
  return tablesTogether([
    ...own,
    ...gathered.map((each) => measuresOf(nodes, each.node, each.output)),
  ]);
}

/** Each name of each kind once. */
function together(all: readonly Names[]): Names {
  const kinds = new Set(all.flatMap((names) => Object.keys(names)));
  return Object.fromEntries(
    [...kinds].map((kind) => [kind, [...new Set(all.flatMap((names) => names[kind] ?? []))]]),
  );
}

function asText(at: Instance["at"]): Record<string, string> {
  return Object.fromEntries(Object.entries(at).map(([axis, value]) => [axis, String(value)]));
}

/**
 * Has the stages check the params of their instances.
 *
 * @throws {ConfigError} At the lines where what they find is written, each once.
 */
export async function checkInstances(graph: Graph, experiment: Experiment): Promise<void> {
  const found: { readonly instance: Instance; readonly violation: Violation }[] = [];
  for (const instance of graph) {
    const { check } = instance.node.stage;
    if (check === undefined) continue;
    const violations = await check(instance.params, surroundingsOf(instance, experiment));
    for (const violation of violations) found.push({ instance, violation });
  }
  if (found.length === 0) return;
  throw broken(
    found,
    ({ instance, violation: { path, message } }) => experiment.locateParam(instance, path, message),
  );
}
