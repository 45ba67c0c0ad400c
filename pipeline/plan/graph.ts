/**
 * From an experiment's stages and grid to instances in the order in which they can run.
 *
 * @module
 */
import type { Json } from "../key/canonical.ts";
import type { Coordinates, Experiment } from "../config/experiment.ts";
import type { Node } from "../config/nodes.ts";
import { ConfigError } from "../errors.ts";

/** One output of one instance, as an input of another. */
export interface Binding {
  readonly instance: Instance;
  readonly output: string;
}

/** A stage with bound params and inputs. */
export interface Instance {
  /** `train/imdb/add/0`: the stage, then its coordinates in the order of its axes. */
  readonly name: string;
  readonly node: Node;
  readonly at: Coordinates;
  readonly params: Json;
  readonly inputs: Readonly<Record<string, readonly Binding[]>>;
}

/** All instances, upstream before downstream. */
export type Graph = readonly Instance[];

/**
 * Expands the grid and binds inputs. An input takes those instances of its stage that agree on
 * every axis both stages vary over.
 *
 * @throws {ConfigError} For a cycle, or an input that takes one artifact and is bound to none or
 * several.
 */
export function buildGraph(experiment: Experiment): Graph {
  const instances = new Map<string, Instance[]>();
  const all: Instance[] = [];
  for (const node of order(experiment)) {
    const sources = Object.entries(node.inputs).map(([input, references]) => ({
      input,
      references: references.map(({ node: from, output }) => {
        const upstream = experiment.nodes.get(from)!;
        const shared = upstream.each.filter((axis) => node.each.includes(axis));
        return { output, shared, index: indexBy(instances.get(from) ?? [], shared) };
      }),
    }));
    const own: Instance[] = [];
    for (const at of combinations(node.each, experiment)) {
      const name = [node.name, ...node.each.map((axis) => at[axis])].join("/");
      const inputs: Record<string, Binding[]> = {};
      for (const { input, references } of sources) {
        const bound = references.flatMap(({ output, shared, index }) =>
          (index.get(project(at, shared)) ?? []).map((instance) => ({ instance, output }))
        );
        if (!node.stage.inputs[input]?.many && bound.length !== 1) {
          throw new ConfigError(experiment.locate(
            ["stages", node.name, "inputs", input],
            `${name} takes exactly one "${input}", and the wiring gives ${bound.length}` +
              (bound.length > 1 ? `: ${bound.slice(0, 3).map((b) => b.instance.name)}, …` : ""),
          ));
        }
        inputs[input] = bound.sort(byCoordinates);
      }
      own.push({ name, node, at, params: experiment.params(node, at), inputs });
    }
    instances.set(node.name, own);
    for (const instance of own) all.push(instance);
  }
  return all;
}

/** The order in which a stage sees what it gathers: not that in which a file lists grid values. */
function byCoordinates(a: Binding, b: Binding): number {
  const places = ({ instance, output }: Binding) => [
    instance.node.name,
    output,
    ...instance.node.each.map((axis) => instance.at[axis]!),
  ];
  const [left, right] = [places(a), places(b)];
  for (const [index, value] of left.entries()) {
    const other = right[index];
    if (other === undefined || value === other) continue;
    if (typeof value === "number" && typeof other === "number") return value - other;
    return String(value) < String(other) ? -1 : 1;
  }
  return 0;
}

/** The instances that feed an instance, each once. */
export function upstream(instance: Instance): Set<Instance> {
  return new Set(Object.values(instance.inputs).flat().map((binding) => binding.instance));
}

/** The instances whose name matches a pattern, and everything they need, in the graph's order. */
export function select(graph: Graph, matches: (name: string) => boolean): Graph {
  const wanted = new Set<Instance>();
  for (const instance of graph.toReversed()) {
    if (!wanted.has(instance) && !matches(instance.name)) continue;
    wanted.add(instance);
    for (const needed of upstream(instance)) wanted.add(needed);
  }
  return graph.filter((instance) => wanted.has(instance));
}

/** Stages with those they need first, otherwise as they stand in the file. */
function order(experiment: Experiment): Node[] {
  const sorted: Node[] = [];
  const done = new Set<string>();
  const visit = (name: string, trail: readonly string[]): void => {
    if (done.has(name)) return;
    if (trail.includes(name)) {
      const cycle = [...trail.slice(trail.indexOf(name)), name].join(" → ");
      throw new ConfigError(
        experiment.locate(
          ["stages", name, "inputs"],
          `stages must not form a cycle, found ${cycle}`,
        ),
      );
    }
    const node = experiment.nodes.get(name)!;
    for (const { node: from } of Object.values(node.inputs).flat()) visit(from, [...trail, name]);
    done.add(name);
    sorted.push(node);
  };
  for (const name of experiment.nodes.keys()) visit(name, []);
  return sorted;
}

function* combinations(axes: readonly string[], experiment: Experiment): Generator<Coordinates> {
  const excluded = experiment.exclude.filter((entry) =>
    Object.keys(entry).every((axis) => axes.includes(axis))
  );
  const isExcluded = (at: Coordinates) =>
    excluded.some((entry) =>
      Object.entries(entry).every(([axis, values]) => values.map(String).includes(String(at[axis])))
    );
  function* extend(at: Coordinates, depth: number): Generator<Coordinates> {
    const axis = axes[depth];
    if (axis === undefined) {
      if (!isExcluded(at)) yield at;
      return;
    }
    for (const value of experiment.grid[axis] ?? []) {
      yield* extend({ ...at, [axis]: value }, depth + 1);
    }
  }
  yield* extend({}, 0);
}

function project(at: Coordinates, axes: readonly string[]): string {
  return axes.map((axis) => String(at[axis])).join("/");
}

function indexBy(instances: readonly Instance[], axes: readonly string[]): Map<string, Instance[]> {
  const index = new Map<string, Instance[]>();
  for (const instance of instances) {
    const key = project(instance.at, axes);
    const group = index.get(key);
    if (group) group.push(instance);
    else index.set(key, [instance]);
  }
  return index;
}
