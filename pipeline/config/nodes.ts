/**
 * Stages as an experiment file wires them.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import type { Resources, Stage } from "../stage.ts";
import { suggestion } from "../suggestion.ts";
import { commandStage } from "./command.ts";
import type { Locate } from "./document.ts";
import type { ExecutorName } from "./executors.ts";
import { resourcesOf } from "./resources.ts";
import type { ExperimentFile, Profile } from "./schema.ts";

/** A reference to an output: `tokenize.tokens`. */
export interface OutputReference {
  readonly node: string;
  readonly output: string;
}

/** A stage as an experiment wires it. */
export interface Node {
  readonly name: string;
  /** Its declaration, with the exactness that its outputs have here. */
  readonly stage: Stage;
  /** Axes of this run's grid, in their order in instance names. */
  readonly each: readonly string[];
  readonly inputs: Readonly<Record<string, readonly OutputReference[]>>;
  readonly resources: Resources;
  /** Where its instances are made, if the file says so. */
  readonly executor?: ExecutorName | undefined;
  /** As Slurm jobs: how. */
  readonly slurm: ExperimentFile["slurm"];
}

/**
 * The stages of a file by name.
 *
 * A stage may vary over an axis that only other profiles' grids have: in this run it has none.
 *
 * @param o.axes Of the grid.
 * @param o.known Of all profiles' grids.
 * @throws {ConfigError} If a definition, an axis or an input is not there.
 */
export function bindNodes(
  file: ExperimentFile,
  o: {
    readonly axes: readonly string[];
    readonly known: readonly string[];
    readonly stages: ReadonlyMap<string, Stage>;
    readonly profile: Profile;
    readonly locate: Locate;
  },
): Map<string, Node> {
  const { axes, known, locate } = o;
  const nodes = new Map<string, Node>();
  for (const [name, entry] of Object.entries(file.stages)) {
    const stage = stageOf(name, file, o);
    for (const [index, axis] of entry.each.entries()) {
      const path = ["stages", name, "each", index];
      if (!known.includes(axis)) {
        throw new ConfigError(locate(path, `no grid axis "${axis}"${suggestion(axis, known)}`));
      }
      if (entry.each.indexOf(axis) < index) {
        throw new ConfigError(locate(path, `"${axis}" is listed twice`));
      }
    }
    const each = entry.each.filter((axis) => axes.includes(axis));
    const own = o.profile.stages?.[name];
    nodes.set(name, {
      ...{ name, stage, each, executor: entry.executor },
      inputs: bindInputs(name, entry, o, stage),
      resources: resourcesOf(entry.resources, own?.resources),
      slurm: { ...file.slurm, ...o.profile.slurm, ...entry.slurm, ...own?.slurm },
    });
  }
  return nodes;
}

/** A node's stage: that of its command, or the project's of its name. */
function stageOf(
  name: string,
  { experiment, stages: entries }: ExperimentFile,
  { stages, locate }: { readonly stages: ReadonlyMap<string, Stage>; readonly locate: Locate },
): Stage {
  const { command, inputs, stage: wanted = name } = entries[name]!;
  const stage = stages.get(wanted);
  if (command !== undefined) {
    if (stage === undefined) return commandStage(name, { command, inputs, experiment });
    const rule = `there is a stage "${name}" in main.ts; give the command's another name`;
    throw new ConfigError(locate(["stages", name, "command"], rule));
  }
  if (stage !== undefined) return stage;
  const near = suggestion(wanted, [...stages.keys()]);
  throw new ConfigError(locate(["stages", name], `no stage definition "${wanted}"${near}`));
}

function bindInputs(
  name: string,
  { inputs: wired }: ExperimentFile["stages"][string],
  { locate }: { locate: Locate },
  stage: Stage,
): Record<string, OutputReference[]> {
  const inputs: Record<string, OutputReference[]> = {};
  for (const [input, references] of Object.entries(wired)) {
    const path = ["stages", name, "inputs", input];
    if (!Object.hasOwn(stage.inputs, input)) {
      const near = suggestion(input, Object.keys(stage.inputs));
      throw new ConfigError(locate(path, `stage "${stage.name}" has no input "${input}"${near}`));
    }
    const all = [references].flat();
    const twice = all.findIndex((reference, index) => all.indexOf(reference) < index);
    if (twice >= 0) {
      throw new ConfigError(locate([...path, twice], `"${all[twice]}" is listed twice`));
    }
    inputs[input] = all.map((reference) => {
      const [node = "", output = ""] = reference.split(".");
      return { node, output };
    });
  }
  for (const [input, spec] of Object.entries(stage.inputs)) {
    if (!spec.many && !Object.hasOwn(inputs, input)) {
      throw new ConfigError(
        locate(["stages", name], `input "${input}" is missing: name the output that feeds it`),
      );
    }
  }
  return inputs;
}

/** @throws {ConfigError} If an input names no output, or one of other content than it takes. */
export function checkReferences(nodes: ReadonlyMap<string, Node>, locate: Locate): void {
  for (const node of nodes.values()) {
    for (const [input, references] of Object.entries(node.inputs)) {
      const path = ["stages", node.name, "inputs", input];
      const { content } = node.stage.inputs[input]!;
      for (const { node: from, output } of references) {
        const upstream = nodes.get(from);
        if (!upstream) {
          throw new ConfigError(
            locate(path, `no stage "${from}"${suggestion(from, [...nodes.keys()])}`),
          );
        }
        if (!Object.hasOwn(upstream.stage.outputs, output)) {
          const known = Object.keys(upstream.stage.outputs);
          throw new ConfigError(
            locate(path, `stage "${from}" has no output "${output}"${suggestion(output, known)}`),
          );
        }
        const found = upstream.stage.outputs[output]!.content;
        if (content === undefined || content === found) continue;
        const fit = outputsOf(content, nodes);
        throw new ConfigError(
          locate(
            path,
            `must be wired to ${content}, found "${from}.${output}"` +
              (fit.length > 0 ? `; outputs with ${content}: ${fit.join(", ")}` : ""),
          ),
        );
      }
    }
  }
}

/** All outputs of some content, as inputs name them. */
function outputsOf(content: string, nodes: ReadonlyMap<string, Node>): string[] {
  return [...nodes.values()].flatMap(({ name, stage }) =>
    Object.entries(stage.outputs).flatMap(([output, spec]) =>
      spec.content === content ? [`${name}.${output}`] : []
    )
  );
}

/**
 * The nodes with the exactness that their outputs have where they are: what a stage makes of timings
 * differs each time too, whatever it declares. References must have been checked.
 */
export function propagateExactness(nodes: ReadonlyMap<string, Node>): Map<string, Node> {
  const settled = new Map<string, Node>();
  const settle = (node: Node): Node => {
    const before = settled.get(node.name);
    if (before) return before;
    // Ends a cycle, which is refused when the graph is built.
    settled.set(node.name, node);
    const readsTimings = Object.values(node.inputs).flat().some(({ node: from, output }) =>
      settle(nodes.get(from)!).stage.outputs[output]!.exactness === "measured"
    );
    const now = readsTimings ? { ...node, stage: allMeasured(node.stage) } : node;
    settled.set(node.name, now);
    return now;
  };
  return new Map([...nodes].map(([name, node]) => [name, settle(node)]));
}

function allMeasured(stage: Stage): Stage {
  const outputs = Object.entries(stage.outputs)
    .map(([name, spec]) => [name, { ...spec, exactness: "measured" }] as const);
  return { ...stage, outputs: Object.fromEntries(outputs) };
}
