/**
 * What a layer names must exist, and what `--set` names must have an effect on this run.
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError } from "../errors.ts";
import { nearName, suggestion } from "../suggestion.ts";
import { type Locate, type Path, valueAt } from "./document.ts";
import { isMap, type Layer } from "./layer.ts";
import type { ExperimentFile } from "./schema.ts";

/** What layers are held against. */
interface Known {
  readonly file: ExperimentFile;
  /** Of this run: all layers' grids merged. */
  readonly grid: Readonly<Record<string, readonly (string | number)[]>>;
  readonly locate: Locate;
}

/**
 * Holds the layers' names against each other.
 *
 * @param layers The file's, the profile's, that of `--set`.
 * @throws {ConfigError} If a stage, an axis, a grid value or a definition is not there, or is there
 * and nothing uses it.
 */
export function checkLayers(
  layers: readonly [file: Layer, profile: Layer, set: Layer],
  known: Known,
): void {
  const [, profile, set] = layers;
  for (const layer of layers) {
    checkStages(layer, known);
    checkAxes(layer, known);
    checkDefinitions(layer, known);
  }
  // A profile may speak of values that only --set brings into the grid, --set itself may not.
  checkAxisValues(profile, known, (axis) => [...listed(known.file, axis), ...gridOf(known, axis)]);
  checkAxisValues(set, known, (axis) => gridOf(known, axis));
  checkReferred(set, layers, known);
  const used = new Set(Object.values(known.file.stages).flatMap(({ each }) => each));
  for (const axis of Object.keys(known.grid)) checkAxis(axis, used, known);
  for (const layer of layers) checkExclude(layer, known);
}

/** The values for which a file changes params. */
function listed({ axes }: Pick<ExperimentFile, "axes">, axis: string): string[] {
  return Object.keys(valueAt(axes, [axis]) ?? {});
}

/** A grid's values of an axis. */
function gridOf({ grid }: { readonly grid?: Known["grid"] | undefined }, axis: string): string[] {
  return ((valueAt(grid, [axis]) ?? []) as (string | number)[]).map(String);
}

function checkStages(layer: Layer, { file, locate }: Known): void {
  const stages = Object.keys(file.stages);
  for (const node of Object.keys(layer.stages ?? {})) {
    if (!stages.includes(node)) {
      throw new ConfigError(
        locate(["stages", node], `no stage "${node}"${suggestion(node, stages)}`),
      );
    }
  }
}

function checkAxes(layer: Layer, { file, grid, locate }: Known): void {
  const stages = Object.keys(file.stages);
  const axes = Object.keys(knownAxes(file, grid));
  for (const [axis, values] of Object.entries(layer.axes ?? {})) {
    if (!axes.includes(axis)) {
      throw new ConfigError(
        locate(["axes", axis], `no grid axis "${axis}"${suggestion(axis, axes)}`),
      );
    }
    for (const [value, overrides] of Object.entries(values)) {
      for (const node of Object.keys(overrides ?? {})) {
        const path = ["axes", axis, value, node];
        if (!stages.includes(node)) {
          throw new ConfigError(locate(path, `no stage "${node}"${suggestion(node, stages)}`));
        }
        if (!file.stages[node]!.each.includes(axis)) {
          throw new ConfigError(
            locate(path, `stage "${node}" does not vary over "${axis}"; add it to its each`),
          );
        }
      }
    }
  }
}

function checkAxisValues(
  layer: Layer,
  { locate }: Known,
  valuesOf: (axis: string) => readonly string[],
): void {
  for (const [axis, entries] of Object.entries(layer.axes ?? {})) {
    const values = valuesOf(axis);
    const known = new Set(values);
    for (const value of Object.keys(entries)) {
      if (!known.has(value)) {
        throw new ConfigError(
          locate(
            ["axes", axis, value],
            `"${value}" is no value of grid.${axis}${suggestion(value, values)}`,
          ),
        );
      }
    }
  }
}

/** What `$name` means must have one meaning: the grid and what is included come before `define`. */
function checkDefinitions(layer: Layer, { file, grid, locate }: Known): void {
  for (const name of Object.keys(layer.define ?? {})) {
    const path = ["define", name];
    if (Object.hasOwn(file.include, name)) {
      const included = join("experiments", file.experiment, file.include[name]!);
      throw new ConfigError(
        locate(path, `$${name} is what is included from ${included}; change that file`),
      );
    }
    if (Object.hasOwn(grid, name)) {
      throw new ConfigError(locate(path, `$${name} is the value of a grid axis; set grid.${name}`));
    }
  }
}

/** A definition for this run alone must be one that params refer to. */
function checkReferred(set: Layer, layers: readonly Layer[], { file, grid, locate }: Known): void {
  const referred = new Set(layers.flatMap(({ stages, axes }) => references([stages, axes])));
  // What is included or an axis is referred to as well, and cannot be defined.
  const names = [...new Set([...referred].map((path) => path.split(".")[0]!))]
    .filter((name) => !Object.hasOwn(file.include, name) && !Object.hasOwn(grid, name));
  for (const [name, value] of Object.entries(set.define ?? {})) {
    if (!names.includes(name)) {
      throw new ConfigError(
        locate(["define", name], `no param refers to $${name}${nearName(name, names)}`),
      );
    }
    for (const path of leaves(value, [name])) {
      const full = path.join(".");
      const used = [...referred].some((other) =>
        `${full}.`.startsWith(`${other}.`) || `${other}.`.startsWith(`${full}.`)
      );
      if (!used) {
        const near = [...referred].filter((other) => other.startsWith(`${name}.`));
        throw new ConfigError(
          locate(["define", ...path], `no param refers to $${full}${suggestion(full, near)}`),
        );
      }
    }
  }
}

/** The `name.key` of all `$name.key` below a value. */
function references(value: unknown): string[] {
  if (typeof value === "string") return /^\$[^$]/.test(value) ? [value.slice(1)] : [];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(references);
}

/** Paths to what is no map, or an empty one. */
function leaves(value: unknown, path: readonly string[]): (readonly string[])[] {
  if (!isMap(value) || Object.keys(value).length === 0) return [path];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

/** All axes with the values that this run, the file or any of its profiles has. */
export function knownAxes(
  file: ExperimentFile,
  grid: Known["grid"],
): Readonly<Record<string, readonly string[]>> {
  const grids = [{ grid }, file, ...Object.values(file.profiles)];
  const axes = new Set(grids.flatMap((one) => Object.keys(one.grid ?? {})));
  return Object.fromEntries(
    Array.from(axes, (axis) => {
      const values = grids.flatMap((one) => gridOf(one, axis)).concat(listed(file, axis));
      return [axis, [...new Set(values)]];
    }),
  );
}

/**
 * An exclusion must name axes and values that there are: of this run's grid, or of one that the file
 * has for another profile. The file's is checked also where a profile has its own.
 */
function checkExclude(layer: Layer, { file, grid, locate }: Known): void {
  const values = knownAxes(file, grid);
  const axes = Object.keys(values);
  for (const [index, entry] of (layer.exclude ?? []).entries()) {
    for (const [axis, excluded] of Object.entries(entry)) {
      const refuse = (path: Path, what: string) => {
        const full = ["exclude", index, axis, ...path];
        return new ConfigError(layer.locate(full, what) ?? locate(full, what));
      };
      if (!axes.includes(axis)) {
        throw refuse([], `no grid axis "${axis}"${suggestion(axis, axes)}`);
      }
      const known = new Set(values[axis]);
      const all = [excluded].flat().map(String);
      const position = all.findIndex((value) => !known.has(value));
      if (position < 0) continue;
      const near = suggestion(all[position]!, [...known]);
      throw refuse(
        Array.isArray(excluded) ? [position] : [],
        `"${all[position]}" is no value of grid.${axis}${near}`,
      );
    }
  }
}

/**
 * An axis must be used and be no other name, and have each value once and none that `axes` does not
 * know.
 */
function checkAxis(
  axis: string,
  used: ReadonlySet<string>,
  { file, grid, locate }: Known,
): void {
  if (!used.has(axis)) {
    throw new ConfigError(
      locate(["grid", axis], `no stage varies over "${axis}"${suggestion(axis, [...used])}`),
    );
  }
  if (Object.hasOwn(file.include, axis)) {
    throw new ConfigError(
      locate(["include", axis], `$${axis} is the value of a grid axis; include by another name`),
    );
  }
  // Values without any override need no entry, unless the axis lists its values.
  const entries = listed(file, axis);
  const known = new Set(entries);
  const seen = new Set<string>();
  for (const [position, value] of gridOf({ grid }, axis).entries()) {
    const path = ["grid", axis, position];
    if (seen.has(value)) throw new ConfigError(locate(path, `value ${value} is listed twice`));
    seen.add(value);
    if (known.size > 0 && !known.has(value)) {
      throw new ConfigError(
        locate(path, `"${value}" is no value of axes.${axis}${suggestion(value, entries)}`),
      );
    }
  }
}
