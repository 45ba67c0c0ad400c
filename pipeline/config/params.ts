/**
 * From layers to the validated params of an instance.
 *
 * @module
 */
import { ConfigError, UnpinnedError, UnsettledError } from "../errors.ts";
import { canonical, type Json, NotJsonError } from "../key/canonical.ts";
import { type Locate, type Path, valueAt } from "./document.ts";
import type { Settling, Stage, Surroundings } from "../stage.ts";
import { broken, violations } from "./issues.ts";
import { isMap, type Layer, merge } from "./layer.ts";
import type { Node } from "./nodes.ts";
import { type Coordinates, type Definitions, dereference, type Origin } from "./references.ts";

/** What params are made from, besides the instance. */
export interface ParamsSource {
  readonly layers: readonly Layer[];
  readonly definitions: Definitions;
  readonly axes: ReadonlySet<string>;
  readonly mirror: string | undefined;
  /** Every axis with this run's values. */
  readonly grid: Surroundings["grid"];
  readonly pins: Settling["pins"];
  readonly exclude: Settling["exclude"];
  /** The axes of a node. */
  readonly eachOf: (node: string) => readonly string[];
  readonly locate: Locate;
}

/**
 * The params of a stage at a place of the grid: the layers merged, references replaced, validated,
 * settled. Keys are in canonical order, so that what the stage sees is what its key holds.
 *
 * @throws {ConfigError} At the line of what breaks the stage's schema or is not JSON.
 */
export function paramsOf(node: Node, coordinates: Coordinates, source: ParamsSource): Json {
  const { values, origins, point } = writtenParams(node, coordinates, source);
  const plain = (value: unknown): Json => {
    try {
      return canonical(value);
    } catch (error) {
      if (!(error instanceof NotJsonError)) throw error;
      throw new ConfigError(point(error.path, error.message));
    }
  };
  // A few references can expand to very much: not to be validated before it is known how much.
  if (origins.some(({ isAxis }) => !isAxis)) plain(values);
  const parsed = node.stage.params.safeParse(values, { jitless: !isWorthCompiling(node.stage) });
  if (!parsed.success) {
    const found = violations(node.stage.params, values, parsed.error);
    throw broken(found, ({ path, message }) => point(path, message));
  }
  const params = plain(parsed.data);
  const { settle } = node.stage;
  if (settle === undefined) return params;
  try {
    return plain(settle(params, settlingOf(node, coordinates, source)));
  } catch (error) {
    throw pointed(error, point);
  }
}

/** An error of `settle`, or of what it would look up, with file and line. */
function pointed(error: unknown, point: Locate): unknown {
  if (!(error instanceof UnsettledError)) return error;
  const { path } = error;
  const message = point(path, error.message);
  if (!(error instanceof UnpinnedError)) return new ConfigError(message, { cause: error });
  const { subject } = error;
  const look = async () => {
    try {
      return await error.look();
    } catch (failed) {
      throw pointed(failed, point);
    }
  };
  return new UnpinnedError({ subject, path, look }, message);
}

/** What an instance's params are settled by. */
function settlingOf(
  node: Node,
  coordinates: Coordinates,
  { mirror, grid, exclude, pins, eachOf }: ParamsSource,
): Settling {
  const at = Object.fromEntries(node.each.map((axis) => [axis, String(coordinates[axis])]));
  const each = Object.entries(node.inputs).map(([input, references]) =>
    [input, references.map((reference) => eachOf(reference.node))] as const
  );
  return { mirror, at, grid, exclude, pins, each: Object.fromEntries(each) };
}

/** An instance's params as the layers have them, and what points at where one is written. */
export function writtenParams(
  node: Node,
  coordinates: Coordinates,
  source: ParamsSource,
): { readonly values: unknown; readonly origins: readonly Origin[]; readonly point: Locate } {
  const { layers, definitions, axes } = source;
  const paths: Path[] = [
    ["stages", node.name, "params"],
    ...node.each.map((axis) => ["axes", axis, String(coordinates[axis]), node.name]),
  ];
  let raw: unknown = {};
  for (const layer of layers) {
    for (const path of paths) {
      const own = valueAt(layer, path);
      if (isMap(own)) raw = merge(raw, own);
    }
  }
  const place = placeOf(node, paths, source);
  const { values, origins } = dereference(raw, {
    definitions,
    axes,
    coordinates,
    node: node.name,
    place,
  });
  const point: Locate = (path, what) => pointAt(path, what, { origins, source, place });
  return { values, origins, point };
}

/** From how many on: to compile a schema's checks takes as long as dozens of validations without. */
const MANY_VALIDATIONS = 100;
const validations = new WeakMap<Stage, number>();

/** Counts the validations of a stage's params. Whether there were many. */
function isWorthCompiling(stage: Stage): boolean {
  const count = (validations.get(stage) ?? 0) + 1;
  validations.set(stage, count);
  return count > MANY_VALIDATIONS;
}

/** Points at a param in the last layer that has it, or at what is nearest above it. */
function placeOf(
  node: Node,
  paths: readonly Path[],
  { layers, locate }: ParamsSource,
): Locate {
  return (path, what) => {
    for (let end = path.length; end > 0; end--) {
      const rest = path.slice(end).join(".");
      for (const layer of layers.toReversed()) {
        for (const above of paths.toReversed()) {
          const full = [...above, ...path.slice(0, end)];
          const message = layer.locate(full, rest === "" ? what : `${rest}: ${what}`);
          if (message !== undefined) return message;
        }
      }
    }
    return locate(["stages", node.name], path.length > 0 ? `${path.join(".")}: ${what}` : what);
  };
}

/** Points at a param; at what a reference means where it came by one. */
function pointAt(
  path: Path,
  what: string,
  { origins, source: { definitions, locate }, place }: {
    origins: readonly Origin[];
    source: ParamsSource;
    place: Locate;
  },
): string {
  const origin = origins.find((each) => each.path.every((step, index) => step === path[index]));
  if (origin === undefined) return place(path, what);
  const written = origin.isAxis
    ? locate(origin.source, what)
    : definitions.locate([...origin.source, ...path.slice(origin.path.length)], what);
  return `${written}\n  from ${place(origin.path, origin.reference)}`;
}
