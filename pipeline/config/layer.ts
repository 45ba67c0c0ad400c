/**
 * An experiment is read in layers: the file's own values, then the profile's, then `--set`. Within a
 * layer a stage's params come first, then what its grid values change. Later wins; maps are merged,
 * anything else is replaced.
 *
 * @module
 */
import { parse } from "@std/yaml";
import { ConfigError } from "../errors.ts";
import { at, type Document, hasPath, type Path, suggestion } from "./document.ts";
import { violations } from "./issues.ts";
import { type ExperimentFile, gridValues } from "./schema.ts";

type Values = Readonly<Record<string, unknown>>;

/** One layer; absent parts change nothing. */
export interface Layer {
  readonly define?: Values | undefined;
  readonly axes?: Readonly<Record<string, Readonly<Record<string, Values | null>>>> | undefined;
  readonly grid?: Readonly<Record<string, readonly (string | number)[]>> | undefined;
  readonly stages?: Readonly<Record<string, { readonly params: Values }>> | undefined;
  /** Describes the place of a value of this layer, for messages; `undefined` if it has none. */
  locate(path: Path, what: string): string | undefined;
}

/** A layer whose values stand in a document below `root`. */
export function documentLayer(
  document: Document,
  root: Path,
  values: Omit<Layer, "locate">,
): Layer {
  return {
    ...values,
    locate(path, what) {
      const full = [...root, ...path];
      return hasPath(document.value, full) ? at(document, full, what) : undefined;
    },
  };
}

/** Merges `over` into `base`, maps key by key. */
export function merge(base: unknown, over: unknown): unknown {
  if (!isMap(base) || !isMap(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    merged[key] = key in merged ? merge(merged[key], value) : value;
  }
  return merged;
}

/** Whether a value is a map: an object, not a list. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/**
 * The layer that `--set path=value` options make. A path is `grid.AXIS`, `define.NAME…`,
 * `STAGE.PARAM…` or `AXIS.VALUE.STAGE.PARAM…`; a value is YAML.
 *
 * @throws {ConfigError} If an option has no `=`, its path leads nowhere or its value is not YAML.
 */
export function optionLayer(options: readonly string[], file: ExperimentFile): Layer {
  const root: Record<string, unknown> = {};
  const written = new Map<string, string>();
  for (const option of options) {
    const equals = option.indexOf("=");
    if (equals < 1) {
      throw new ConfigError(`Cannot use --set ${option}: it must have the form path=value`);
    }
    const steps = option.slice(0, equals).split(".");
    let value: unknown;
    try {
      value = parse(option.slice(equals + 1));
    } catch (cause) {
      throw new ConfigError(`Cannot use --set ${option}: the value must be YAML`, { cause });
    }
    const path = target(steps, option, file);
    if (path[0] === "grid") {
      const values = [value].flat();
      const valid = gridValues.safeParse(values);
      if (!valid.success) {
        const [first] = violations(gridValues, values, valid.error);
        throw new ConfigError(`Cannot use --set ${option}: ${first!.message}`);
      }
      value = values;
    }
    let parent = root;
    for (const step of path.slice(0, -1)) parent = (parent[step] ??= {}) as typeof parent;
    parent[path.at(-1)!] = value;
    written.set(path.join("."), option);
  }
  return {
    ...root as Omit<Layer, "locate">,
    locate(path, what) {
      if (!hasPath(root, path)) return undefined;
      for (let end = path.length; end > 0; end--) {
        const option = written.get(path.slice(0, end).join("."));
        if (option !== undefined) return `--set ${option}: ${what}`;
      }
      const below = [...written].find(([key]) => key.startsWith(`${path.join(".")}.`));
      return below && `--set ${below[1]}: ${what}`;
    },
  };
}

/** Where in the file's own structure a `--set` path points. */
function target(steps: readonly string[], option: string, file: ExperimentFile): string[] {
  const [first = "", second, ...rest] = steps;
  const axes = new Set([...Object.keys(file.grid), ...Object.keys(file.axes)]);
  if (first === "grid" && second !== undefined && rest.length === 0) {
    if (axes.has(second)) return ["grid", second];
    throw new ConfigError(
      `Cannot use --set ${option}: no grid axis "${second}"${suggestion(second, [...axes])}`,
    );
  }
  if (first === "define" && second !== undefined) return [...steps];
  if (Object.hasOwn(file.stages, first) && second !== undefined) {
    return ["stages", first, "params", second, ...rest];
  }
  const inner = rest[0];
  if (axes.has(first) && inner !== undefined && rest.length > 1) {
    if (Object.hasOwn(file.stages, inner)) return ["axes", ...steps];
    throw new ConfigError(
      `Cannot use --set ${option}: no stage "${inner}"${
        suggestion(inner, Object.keys(file.stages))
      }`,
    );
  }
  const starts = ["grid", "define", ...Object.keys(file.stages), ...axes];
  throw new ConfigError(
    `Cannot use --set ${option}: the path must be grid.AXIS, define.NAME, STAGE.PARAM or ` +
      `AXIS.VALUE.STAGE.PARAM${starts.includes(first) ? "" : suggestion(first, starts)}`,
  );
}
