/**
 * From an experiment's stages and grid to instances in the order in which they can run.
 *
 * @module
 */
import type { Json } from "../key/canonical.ts";
import type { Experiment } from "../config/experiment.ts";
import type { Coordinates } from "../config/references.ts";
import type { Node } from "../config/nodes.ts";
import { ConfigError } from "../errors.ts";
import { label } from "./ingredients.ts";

/** One output of one instance, as an input of another. */
export interface Binding {
  readonly instance: Instance;
  readonly output: string;
  /**
   * What the key calls it. It is also what orders the artifacts that a stage gathers: where `each` or
   * a grid lists the same in another order, key and order are the same.
   */
  readonly label: string;
}

/** A stage with bound params and inputs. */
export interface Instance {
  /** `train/reviews/wide/0`: the stage, then its coordinates in the order of its axes. */
  readonly name: string;
  readonly node: Node;
  /** By axis in code-unit order, whatever the order of `each`: a stage that gathers sees it. */
  readonly at: Coordinates;
  readonly params: Json;
  readonly inputs: Readonly<Record<string, readonly Binding[]>>;
}

/** All instances, upstream before downstream. */
export type Graph = readonly Instance[];

/** Far more than a run gets through; what a slip of the pen makes of a grid is refused at once. */
const MAX_INSTANCES = 1_000_000;
/** Inputs of all instances together. */
const MAX_BINDINGS = 10_000_000;

/**
 * Expands the grid and binds inputs. An input takes those instances of its stage that agree on
 * every axis both stages vary over.
 *
 * @throws {ConfigError} For a cycle, an input that takes one artifact and is bound to none or
 * several, and a grid of more than a million instances.
 */
export function buildGraph(experiment: Experiment): Graph {
  const nodes = order(experiment);
  checkSize(nodes, experiment);
  const excluded = experiment.exclude.map((entry) =>
    Object.entries(entry).map(([axis, values]) => [axis, new Set(values.map(String))] as const)
  );
  const instances = new Map<string, Instance[]>();
  const all: Instance[] = [];
  let bindings = 0;
  for (const node of nodes) {
    const sources = Object.keys(node.inputs).map((input) =>
      sourceOf(input, node, { experiment, instances })
    );
    const own: Instance[] = [];
    for (const at of combinations(node.each, experiment.grid, excluded)) {
      const name = [node.name, ...node.each.map((axis) => at[axis])].join("/");
      const inputs: Record<string, readonly Binding[]> = {};
      for (const { input, bind } of sources) {
        inputs[input] = bind(name, at);
        bindings += inputs[input].length;
        if (bindings > MAX_BINDINGS) {
          throw new ConfigError(experiment.locate(
            ["stages", node.name, "inputs", input],
            `all instances together may have at most ${MAX_BINDINGS} inputs, found more`,
          ));
        }
      }
      own.push({ name, node, at, params: experiment.params(node, at), inputs });
    }
    instances.set(node.name, own);
    for (const instance of own) all.push(instance);
  }
  return all;
}

/** What binds one input of a stage. */
function sourceOf(
  input: string,
  node: Node,
  { experiment, instances }: {
    experiment: Experiment;
    instances: ReadonlyMap<string, readonly Instance[]>;
  },
): { readonly input: string; bind(name: string, at: Coordinates): readonly Binding[] } {
  const many = node.stage.inputs[input]?.many ?? false;
  const references = node.inputs[input]!.map(({ node: from, output }) => {
    const shared = experiment.nodes.get(from)!.each.filter((axis) => node.each.includes(axis));
    const all = (instances.get(from) ?? []).map((instance) => (
      { instance, output, label: label(instance, output) }
    ));
    if (many) all.sort((a, b) => a.label < b.label ? -1 : 1);
    return {
      shared,
      index: indexBy(all, shared),
      name: `${from}.${output}{`,
    };
  });
  // Each has its labels in order, and labels begin with the name.
  references.sort((a, b) => a.name < b.name ? -1 : 1);
  return {
    input,
    bind(name, at) {
      const bound = references.flatMap(({ shared, index }) => index.get(project(at, shared)) ?? []);
      if (many || bound.length === 1) return bound;
      throw new ConfigError(experiment.locate(
        ["stages", node.name, "inputs", input],
        `${name} takes exactly one "${input}", and the wiring gives ${bound.length}` +
          (bound.length > 1 ? `: ${bound.slice(0, 3).map((b) => b.instance.name)}, …` : ""),
      ));
    },
  };
}

function checkSize(nodes: readonly Node[], { grid, locate }: Experiment): void {
  let total = 0;
  for (const { name, each } of nodes) {
    const sizes = each.map((axis) => grid[axis]!.length);
    const count = sizes.reduce((product, size) => product * size, 1);
    total += count;
    if (total <= MAX_INSTANCES) continue;
    const factors = each.map((axis, index) => `${axis} ${sizes[index]}`).join(" × ");
    throw new ConfigError(locate(
      ["stages", name, "each"],
      `a run may have at most ${MAX_INSTANCES} instances, and the grid gives this stage ${count}` +
        (each.length > 1 ? ` (${factors})` : ""),
    ));
  }
}

/** The instances that feed an instance, each once. */
export function upstream(instance: Instance): Set<Instance> {
  return new Set(Object.values(instance.inputs).flat().map((binding) => binding.instance));
}

/** Whether any instance that feeds an instance is such; makes no set of them. */
export function isAnyUpstream(
  { inputs }: Instance,
  isSuch: (instance: Instance) => boolean,
): boolean {
  for (const input in inputs) {
    if (inputs[input]!.some((binding) => isSuch(binding.instance))) return true;
  }
  return false;
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

/** Stages with those they need first, otherwise in the file's order. */
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

/** Grid values to leave out: those that match all of an entry. */
type Exclusions = readonly (readonly (readonly [axis: string, values: ReadonlySet<string>])[])[];

function* combinations(
  axes: readonly string[],
  grid: Experiment["grid"],
  exclusions: Exclusions,
): Generator<Coordinates> {
  const own = exclusions.filter((entry) => entry.every(([axis]) => axes.includes(axis)));
  const isExcluded = (at: Coordinates) =>
    own.some((entry) => entry.every(([axis, values]) => values.has(String(at[axis]))));
  const sorted = axes.toSorted();
  function* extend(at: Coordinates, depth: number): Generator<Coordinates> {
    const axis = axes[depth];
    if (axis === undefined) {
      if (isExcluded(at)) return;
      yield Object.fromEntries(sorted.map((name) => [name, at[name]!]));
      return;
    }
    for (const value of grid[axis]!) yield* extend({ ...at, [axis]: value }, depth + 1);
  }
  yield* extend({}, 0);
}

function project(at: Coordinates, axes: readonly string[]): string {
  return axes.map((axis) => String(at[axis])).join("/");
}

function indexBy(bindings: readonly Binding[], axes: readonly string[]): Map<string, Binding[]> {
  return Map.groupBy(bindings, ({ instance }) => project(instance.at, axes));
}
