/**
 * `graph`: the stages and what feeds them, as Mermaid or DOT; with `--all` every instance.
 *
 * @module
 */
import { type Graph, select, upstream } from "../plan/graph.ts";
import { matcher } from "./glob.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openExperiment } from "./wiring.ts";

/** Boxes and arrows: what feeds what. */
interface Drawing {
  /** Identifier to label. */
  readonly boxes: ReadonlyMap<string, string>;
  readonly arrows: readonly (readonly [from: string, to: string])[];
}

/** Prints the graph. */
export async function showGraph(project: Project, options: Options, print: Print): Promise<void> {
  const { all } = await openExperiment(project, options);
  const only = matcher(options.only, all.map(({ name }) => name), "--only");
  const graph = options.only.length > 0 ? select(all, only) : all;
  const drawing = options.all ? ofInstances(graph) : ofStages(graph);
  if (options.json) return printEvents(drawing, print);
  for (const line of options.format === "dot" ? dot(drawing) : mermaid(drawing)) print(line);
}

function ofInstances(graph: Graph): Drawing {
  return {
    boxes: new Map(graph.map(({ name }) => [name, name])),
    arrows: graph.flatMap((instance) =>
      [...upstream(instance)].map(({ name }) => [name, instance.name] as const)
    ),
  };
}

/** A box for each stage, with the number of its instances. */
function ofStages(graph: Graph): Drawing {
  const stages = Map.groupBy(graph, ({ node }) => node.name);
  return {
    boxes: new Map([...stages].map(([name, { length }]) => [
      name,
      length === 1 ? name : `${name} × ${length}`,
    ])),
    arrows: [...stages].flatMap(([name, instances]) => {
      const from = new Set(
        instances.flatMap((one) => [...upstream(one)].map((up) => up.node.name)),
      );
      return [...from].map((stage) => [stage, name] as const);
    }),
  };
}

function printEvents({ boxes, arrows }: Drawing, print: Print): void {
  const into = Map.groupBy(arrows, ([, to]) => to);
  for (const [name, label] of boxes) {
    const from = (into.get(name) ?? []).map(([from]) => from);
    print(JSON.stringify({ event: "node", name, label, from }));
  }
}

function mermaid({ boxes, arrows }: Drawing): string[] {
  // Identifiers of its own: "end" and "graph" are words of the language.
  const ids = new Map([...boxes.keys()].map((name, index) => [name, `n${index}`]));
  return [
    "flowchart LR",
    ...[...boxes].map(([name, label]) => `  ${ids.get(name)}["${mermaidText(label)}"]`),
    ...arrows.map(([from, to]) => `  ${ids.get(from)} --> ${ids.get(to)}`),
  ];
}

/** Mermaid reads Markdown, HTML and entities of its own in labels: `#35;` is `#`. */
function mermaidText(text: string): string {
  return text.replace(/[^\p{L}\p{N} ×/._-]/gu, (character) => `#${character.codePointAt(0)};`);
}

function dot({ boxes, arrows }: Drawing): string[] {
  const quoted = (text: string) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return [
    "digraph {",
    "  rankdir=LR; node [shape=box];",
    ...[...boxes].map(([name, label]) => `  ${quoted(name)} [label=${quoted(label)}];`),
    ...arrows.map(([from, to]) => `  ${quoted(from)} -> ${quoted(to)};`),
    "}",
  ];
}
