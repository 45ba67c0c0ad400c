/**
 * `$name` in params: what it means, and where that is written.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { suggestion } from "../suggestion.ts";
import { at, type Document, type Locate, type Path, valueAt } from "./document.ts";
import { isMap, type Layer, merge } from "./layer.ts";

/** Grid coordinates of an instance: axis to value as written. */
export type Coordinates = Readonly<Record<string, string | number>>;

/** What `$name` may refer to besides the grid. */
export interface Definitions {
  readonly values: Readonly<Record<string, unknown>>;
  /** A message that points at where a definition is written. */
  locate(path: Path, what: string): string;
}

/** The layers' definitions and the included files. */
export function definitionsOf(
  layers: readonly Layer[],
  included: ReadonlyMap<string, Document>,
): Definitions {
  const defined = layers.reduce<unknown>((all, { define }) => merge(all, define ?? {}), {});
  const files = Object.fromEntries([...included].map(([name, { value }]) => [name, value]));
  return {
    values: { ...defined as Record<string, unknown>, ...files },
    locate(path, what) {
      const document = included.get(String(path[0]));
      if (document !== undefined) return at(document, path.slice(1), what);
      for (let end = path.length; end > 0; end--) {
        for (const layer of layers.toReversed()) {
          const message = layer.locate(["define", ...path.slice(0, end)], what);
          if (message !== undefined) return message;
        }
      }
      return what;
    },
  };
}

/** A reference that was replaced: errors in what it means are shown where that is written. */
export interface Origin {
  /** Where the reference is, below the params. */
  readonly path: Path;
  /** `$published.tables`. */
  readonly reference: string;
  /** What it refers to: a definition, or an axis of the grid. */
  readonly source: Path;
  readonly isAxis: boolean;
}

/** What replaces the references of one instance's params. */
export interface Scope {
  readonly definitions: Definitions;
  /** Axes of the grid. */
  readonly axes: ReadonlySet<string>;
  readonly coordinates: Coordinates;
  /** The stage's name in the experiment. */
  readonly node: string;
  /** A message that points at a param. */
  readonly place: Locate;
}

/**
 * Replaces `$name` and `$name.key` by grid values and definitions; `$$` is a plain `$`.
 *
 * @throws {ConfigError} If a reference refers to nothing.
 */
export function dereference(
  value: unknown,
  scope: Scope,
): { readonly values: unknown; readonly origins: readonly Origin[] } {
  const origins: Origin[] = [];
  const replace = (given: unknown, path: Path): unknown => {
    if (typeof given === "string" && given.startsWith("$")) {
      if (given.startsWith("$$")) return given.slice(1);
      const steps = given.slice(1).split(".");
      const [first = ""] = steps;
      if (steps.length === 1 && Object.hasOwn(scope.coordinates, first)) {
        origins.push({ path, reference: given, source: ["grid", first], isAxis: true });
        return scope.coordinates[first];
      }
      check(given, path, scope);
      origins.push({ path, reference: given, source: steps, isAxis: false });
      return valueAt(scope.definitions.values, steps);
    }
    if (Array.isArray(given)) return given.map((entry, index) => replace(entry, [...path, index]));
    if (!isMap(given)) return given;
    return Object.fromEntries(
      Object.entries(given).map(([key, entry]) => [key, replace(entry, [...path, key])]),
    );
  };
  return { values: replace(value, []), origins };
}

function check(reference: string, path: Path, scope: Scope): void {
  const { definitions, axes, coordinates, node, place } = scope;
  const steps = reference.slice(1).split(".");
  if (axes.has(steps[0]!)) {
    const rule = steps.length > 1
      ? `a grid value has no parts`
      : `stage "${node}" does not vary over "${steps[0]}"`;
    throw new ConfigError(place(path, `${reference}: ${rule}`));
  }
  for (let end = 1; end <= steps.length; end++) {
    const parent = valueAt(definitions.values, steps.slice(0, end - 1));
    const step = steps[end - 1]!;
    if (isMap(parent) && Object.hasOwn(parent, step)) continue;
    const known = isMap(parent) ? Object.keys(parent) : [];
    const near = suggestion(step, [...known, ...(end === 1 ? Object.keys(coordinates) : [])]);
    throw new ConfigError(place(path, `${reference} refers to nothing: no "${step}"${near}`));
  }
}
