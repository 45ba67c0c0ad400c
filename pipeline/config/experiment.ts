/**
 * From an experiment file, a profile and `--set` options to validated params for every instance.
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import type { Json } from "../key/canonical.ts";
import { ConfigError } from "../errors.ts";
import type { Stage } from "../stage.ts";
import {
  at,
  type Document,
  type Locate,
  type Path,
  readDocument,
  suggestion,
  valueAt,
} from "./document.ts";
import { checkLayers } from "./checks.ts";
import { violations } from "./issues.ts";
import { bindNodes, checkReferences, type Node } from "./nodes.ts";
import { documentLayer, isMap, type Layer, merge, optionLayer } from "./layer.ts";
import { type ExperimentFile, experimentSchema } from "./schema.ts";

/** Grid coordinates of an instance: axis to value as written. */
export type Coordinates = Readonly<Record<string, string | number>>;

/** An experiment with one profile applied. */
export interface Experiment {
  readonly name: string;
  readonly profile: string;
  /** Whether `--set` changed it, so that it no longer is what the file says. */
  readonly modified: boolean;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly grid: Readonly<Record<string, readonly (string | number)[]>>;
  /** Mirror folder or base URL of downloads, from `--mirror` or the file. */
  readonly mirror: string | undefined;
  readonly exclude: readonly Readonly<Record<string, readonly (string | number)[]>>[];
  /** Validated params of a node's instance. Throws {@linkcode ConfigError} at the offending line. */
  params(node: Node, coordinates: Coordinates): Json;
  /** A message that points at the line of a node's entry. */
  locate(path: Path, what: string): string;
}

/** What to read an experiment with. */
export interface ExperimentOptions {
  /** Project root; the file's name in messages is relative to it. */
  readonly root: string;
  readonly profile: string;
  readonly set: readonly string[];
  readonly stages: ReadonlyMap<string, Stage>;
  /** Takes precedence over the file's own. */
  readonly mirror: string | undefined;
}

/**
 * Reads and validates `experiments/NAME.yaml`.
 *
 * @throws {ConfigError} At the first file that breaks a rule, listing all that it breaks.
 */
export function loadExperiment(name: string, options: ExperimentOptions): Experiment {
  const relative = `experiments/${name}.yaml`;
  const path = join(options.root, relative);
  if (!exists(path)) {
    const known = experimentNames(options.root);
    throw new ConfigError(
      `Cannot find ${relative}: no experiment "${name}"${suggestion(name, known)}`,
    );
  }
  const document = readDocument(path, relative);
  const file = validate(document);
  if (file.experiment !== name) {
    throw new ConfigError(
      at(
        document,
        ["experiment"],
        `must be the file's name, "${name}", found "${file.experiment}"`,
      ),
    );
  }
  const { profile: profileName } = options;
  const profile = file.profiles[profileName];
  if (!profile) {
    throw new ConfigError(
      at(document, ["profiles"], `no profile "${profileName}"`) +
        suggestion(profileName, Object.keys(file.profiles)),
    );
  }
  const stages = Object.fromEntries(
    Object.entries(file.stages).map(([node, entry]) => [node, { params: entry.params }]),
  );
  const layers: readonly [Layer, Layer, Layer] = [
    documentLayer(document, [], { define: file.define, axes: file.axes, grid: file.grid, stages }),
    documentLayer(document, ["profiles", profileName], profile as Omit<Layer, "locate">),
    optionLayer(options.set, file),
  ];
  const definitions: Record<string, unknown> = {};
  for (const layer of layers) Object.assign(definitions, merge(definitions, layer.define ?? {}));
  for (const [key, included] of Object.entries(file.include)) {
    const shown = join("experiments", included);
    definitions[key] = readDocument(join(dirname(path), included), shown).value;
  }
  const grid = Object.assign({}, ...layers.map((layer) => layer.grid ?? {}));
  const exclude = (profile.exclude ?? file.exclude).map((entry) =>
    Object.fromEntries(Object.entries(entry).map(([axis, value]) => [axis, [value].flat()]))
  );
  const locate = (path: Path, what: string): string => {
    for (const layer of layers.toReversed()) {
      const message = layer.locate(path, what);
      if (message !== undefined) return message;
    }
    return path.length > 0 ? locate(path.slice(0, -1), what) : `${relative}: ${what}`;
  };
  const nodes = bindNodes(file, { axes: Object.keys(grid), stages: options.stages, locate });
  checkLayers(layers, { file, grid, exclude, locate });
  checkReferences(nodes, locate);
  const dereference = resolver(definitions, grid);
  const mirror = options.mirror ?? ownMirror(profile.mirror ?? file.mirror, options.root, locate);
  const settle = (node: Node, params: unknown) =>
    (node.stage.settle?.(params, { mirror }) ?? params) as Json;

  return {
    name: file.experiment,
    profile: profileName,
    modified: options.set.length > 0,
    nodes,
    grid,
    exclude,
    mirror,
    locate,
    params(node, coordinates) {
      const sources: Path[] = [["stages", node.name, "params"]];
      for (const axis of node.each) {
        sources.push(["axes", axis, String(coordinates[axis]), node.name]);
      }
      let raw: unknown = {};
      for (const layer of layers) {
        for (const source of sources) {
          const own = valueAt(layer, source);
          if (isMap(own)) raw = merge(raw, own);
        }
      }
      const place = (path: Path, what: string): string => {
        for (const layer of layers.toReversed()) {
          for (const source of sources.toReversed()) {
            const message = path.length > 0 && layer.locate([...source, ...path], what);
            if (message) return message;
          }
        }
        return path.length > 1
          ? place(path.slice(0, -1), what)
          : locate(["stages", node.name], `${path.join(".")}: ${what}`.replace(/^: /, ""));
      };
      const values = dereference(raw, [], coordinates, node, place);
      const parsed = node.stage.params.safeParse(values);
      if (parsed.success) return settle(node, parsed.data);
      const found = violations(node.stage.params, values, parsed.error);
      throw new ConfigError(
        [...new Set(found.map(({ path, message }) => place(path, message)))].join("\n"),
      );
    },
  };
}

/** Names of the experiments in a project, sorted. */
export function experimentNames(root: string): string[] {
  try {
    return [...Deno.readDirSync(join(root, "experiments"))]
      .filter((entry) => entry.name.endsWith(".yaml"))
      .map((entry) => entry.name.slice(0, -".yaml".length)).sort();
  } catch {
    return [];
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).size >= 0;
  } catch {
    return false;
  }
}

function validate(document: Document): ExperimentFile {
  const parsed = experimentSchema.safeParse(document.value);
  if (parsed.success) return parsed.data;
  const found = violations(experimentSchema, document.value, parsed.error);
  throw new ConfigError(found.map(({ path, message }) => at(document, path, message)).join("\n"));
}

/** The mirror an experiment names, as an absolute path or a base URL. */
function ownMirror(named: string | undefined, root: string, locate: Locate): string | undefined {
  if (named === undefined || /^https?:\/\//.test(named)) return named;
  const path = resolve(root, named);
  if (exists(path)) return path;
  throw new ConfigError(locate(["mirror"], `must be a folder or a URL, found no folder ${path}`));
}

/** Replaces `$name` and `$name.key` by grid values and definitions; `$$` stands for a plain `$`. */
function resolver(definitions: Readonly<Record<string, unknown>>, grid: Experiment["grid"]) {
  return function resolve(
    value: unknown,
    path: Path,
    coordinates: Coordinates,
    node: Node,
    place: Locate,
  ): unknown {
    if (typeof value === "string" && value.startsWith("$")) {
      if (value.startsWith("$$")) return value.slice(1);
      const steps = value.slice(1).split(".");
      const first = steps[0]!;
      if (steps.length === 1 && Object.hasOwn(coordinates, first)) return coordinates[first];
      if (Object.hasOwn(grid, first)) {
        throw new ConfigError(
          place(path, `${value}: stage "${node.name}" does not vary over "${first}"`),
        );
      }
      for (let end = 1; end <= steps.length; end++) {
        const parent = valueAt(definitions, steps.slice(0, end - 1));
        const step = steps[end - 1]!;
        if (!isMap(parent) || !Object.hasOwn(parent, step)) {
          const known = isMap(parent) ? Object.keys(parent) : [];
          const also = end === 1 ? node.each : [];
          throw new ConfigError(
            place(
              path,
              `${value} refers to nothing: no "${step}"${suggestion(step, [...known, ...also])}`,
            ),
          );
        }
      }
      return valueAt(definitions, steps);
    }
    if (Array.isArray(value)) {
      return value.map((entry, index) =>
        resolve(entry, [...path, index], coordinates, node, place)
      );
    }
    if (isMap(value)) {
      return Object.fromEntries(
        Object.entries(value).map((
          [key, entry],
        ) => [key, resolve(entry, [...path, key], coordinates, node, place)]),
      );
    }
    return value;
  };
}
