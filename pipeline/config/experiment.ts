/**
 * From an experiment file, a profile and `--set` options to validated params for every instance.
 *
 * @module
 */
import type { Json } from "../key/canonical.ts";
import { ConfigError } from "../errors.ts";
import type { Stage } from "../stage.ts";
import { clip, suggestion } from "../suggestion.ts";
import { at, type Locate, type Path } from "./document.ts";
import { checkLayers, knownAxes } from "./checks.ts";
import type { ExperimentFiles } from "./files.ts";
import { documentLayer, type Layer, optionLayer } from "./layer.ts";
import { resolveMirror } from "./mirror.ts";
import { bindNodes, checkReferences, type Node, propagateExactness } from "./nodes.ts";
import { paramsOf, writtenParams } from "./params.ts";
import { type Coordinates, definitionsOf } from "./references.ts";
import type { Profile } from "./schema.ts";

/** An experiment with one profile applied. */
export interface Experiment {
  readonly name: string;
  readonly profile: string;
  /** Whether `--set` changed it, so that it no longer is what the file says. */
  readonly modified: boolean;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly grid: Readonly<Record<string, readonly (string | number)[]>>;
  /** All axes with the values that any profile has, as text. */
  readonly axes: Readonly<Record<string, readonly string[]>>;
  /** Mirror folder or base URL of downloads, from `--mirror` or the file. */
  readonly mirror: string | undefined;
  readonly exclude: readonly Readonly<Record<string, readonly (string | number)[]>>[];
  /** Validated params of a node's instance. Throws {@linkcode ConfigError} at the offending line. */
  params(node: Node, coordinates: Coordinates): Json;
  /** A message that points at the line where a param of a node's instance is written. */
  locateParam(instance: { node: Node; at: Coordinates }, path: Path, what: string): string;
  /** A message that points at the line of a node's entry. */
  locate(path: Path, what: string): string;
}

/** What is applied to an experiment. */
export interface ExperimentOptions {
  /** Project root; the file's name in messages is relative to it. */
  readonly root: string;
  readonly profile: string;
  readonly set: readonly string[];
  /** Those that the file names at least; a message about one that is missing lists these. */
  readonly stages: ReadonlyMap<string, Stage>;
  /** As given with `--mirror`; takes precedence over the file's own. */
  readonly mirror: string | undefined;
  /** What `lock/pins.lock` has, by name. */
  readonly pins?: ReadonlyMap<string, string>;
}

/**
 * Validates an experiment as its files have it, with a profile and options applied.
 *
 * @throws {ConfigError} At the first file that breaks a rule, listing all that it breaks.
 */
export function loadExperiment(files: ExperimentFiles, options: ExperimentOptions): Experiment {
  const { file } = files;
  const profile = profileOf(files, options.profile);
  const layers = layersOf(files, profile, options);
  const locate = locateIn(layers, files.document.name);
  const grid = Object.assign({}, ...layers.map((layer) => layer.grid ?? {}));
  const exclude = (profile.exclude ?? file.exclude).map((entry) =>
    Object.fromEntries(Object.entries(entry).map(([axis, value]) => [axis, [value].flat()]))
  );
  const axes = Object.keys(grid);
  const all = knownAxes(file, grid);
  const nodes = bindNodes(file, {
    axes,
    known: Object.keys(all),
    stages: options.stages,
    profile,
    locate,
  });
  checkLayers(layers, { file, grid, locate });
  checkReferences(nodes, locate);
  const mirror = resolveMirror(
    options.root,
    { option: options.mirror, file: profile.mirror ?? file.mirror },
    locate,
  );
  const source = {
    layers,
    definitions: definitionsOf(layers, files.included),
    axes: new Set(axes),
    mirror,
    pins: options.pins ?? new Map(),
    grid: asTexts(grid),
    exclude: exclude.map(asTexts),
    eachOf: (node: string) => nodes.get(node)!.each,
    locate,
  };
  return {
    name: file.experiment,
    profile: options.profile,
    modified: options.set.length > 0,
    nodes: propagateExactness(nodes),
    grid,
    axes: all,
    exclude,
    mirror,
    locate,
    params: (node, coordinates) => paramsOf(node, coordinates, source),
    locateParam: ({ node, at }, path, what) => writtenParams(node, at, source).point(path, what),
  };
}

function asTexts(
  values: Readonly<Record<string, readonly (string | number)[]>>,
): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(values).map(([axis, own]) => [axis, own.map(String)]),
  );
}

function profileOf({ document, file }: ExperimentFiles, name: string): Profile {
  if (Object.hasOwn(file.profiles, name)) return file.profiles[name]!;
  const near = suggestion(name, Object.keys(file.profiles));
  throw new ConfigError(at(document, ["profiles"], `no profile "${clip(name)}"${near}`));
}

/** The file's own values, the profile's, those of `--set`. */
function layersOf(
  { document, file }: ExperimentFiles,
  profile: Profile,
  options: ExperimentOptions,
): readonly [Layer, Layer, Layer] {
  const stages = Object.fromEntries(
    Object.entries(file.stages).map(([node, { params }]) => [node, { params }]),
  );
  const { define, axes, grid, exclude } = file;
  return [
    documentLayer(document, [], { define, axes, grid, exclude, stages }),
    documentLayer(document, ["profiles", options.profile], profile),
    optionLayer(options.set, file),
  ];
}

/** Points at a path in the last layer that has it, or at the nearest above it. */
function locateIn(layers: readonly Layer[], name: string): Locate {
  return (path, what) => {
    for (let end = path.length; end > 0; end--) {
      for (const layer of layers.toReversed()) {
        const message = layer.locate(path.slice(0, end), what);
        if (message !== undefined) return message;
      }
    }
    return `${name}: ${what}`;
  };
}
