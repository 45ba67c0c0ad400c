/**
 * An experiment is read in layers: the file's own values, then the profile's, then `--set`. Within a
 * layer a stage's params come first, then what its grid values change. Later wins; maps are merged,
 * anything else is replaced.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { canonical, NotJsonError } from "../key/canonical.ts";
import { clip, suggestion } from "../suggestion.ts";
import { at, type Document, hasPath, parseYaml, type Path } from "./document.ts";
import { FormatError } from "./formats.ts";
import { violations } from "./issues.ts";
import { type ExperimentFile, gridValues } from "./schema.ts";

type Values = Readonly<Record<string, unknown>>;

/** One layer; absent parts change nothing. */
export interface Layer {
  readonly define?: Values | undefined;
  readonly axes?: Readonly<Record<string, Readonly<Record<string, Values | null>>>> | undefined;
  readonly grid?: Readonly<Record<string, readonly (string | number)[]>> | undefined;
  readonly stages?: Readonly<Record<string, { readonly params: Values }>> | undefined;
  readonly exclude?: ExperimentFile["exclude"] | undefined;
  /** Describes the place of a value of this layer, for messages; `undefined` if it has none. */
  locate(path: Path, what: string): string | undefined;
}

/** A layer whose values are those of a document below `root`. */
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
    merged[key] = Object.hasOwn(base, key) ? merge(base[key], value) : value;
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
  let root: unknown = {};
  const written = new Map<string, string>();
  for (const option of options) {
    const { path, values } = parseOption(option, file);
    root = merge(root, values);
    written.set(path.join("."), option);
  }
  return {
    ...root as Omit<Layer, "locate">,
    locate(path, what) {
      if (!hasPath(root, path)) return undefined;
      const say = (option: string) => `--set ${clip(option)}: ${what}`;
      for (let end = path.length; end > 0; end--) {
        const option = written.get(path.slice(0, end).join("."));
        if (option !== undefined) return say(option);
      }
      const below = [...written].find(([key]) => key.startsWith(`${path.join(".")}.`));
      return below && say(below[1]);
    },
  };
}

/** Where in the file's own structure an option points, and maps down to its value there. */
function parseOption(option: string, file: ExperimentFile): { path: string[]; values: unknown } {
  const refuse = (why: string) => new ConfigError(`Cannot use --set ${clip(option)}: ${why}`);
  const equals = option.indexOf("=");
  if (equals < 1) throw refuse("it must have the form path=value");
  const path = target(option.slice(0, equals).split("."), refuse, file);
  try {
    let value = parseYaml(option.slice(equals + 1));
    if (path[0] === "grid") {
      value = [value].flat();
      const valid = gridValues.safeParse(value);
      if (!valid.success) {
        throw refuse(`the value ${violations(gridValues, value, valid.error)[0]!.message}`);
      }
    }
    const values = path.reduceRight((inner: unknown, step) => ({ [step]: inner }), value);
    canonical(values);
    return { path, values };
  } catch (error) {
    if (error instanceof FormatError) {
      throw refuse(`the value must be YAML, and is ${error.message}`);
    }
    if (error instanceof NotJsonError) throw refuse(`the value ${error.message}`);
    throw error;
  }
}

/** Where in the file's own structure a `--set` path points. */
function target(
  steps: readonly string[],
  refuse: (why: string) => ConfigError,
  file: ExperimentFile,
): string[] {
  const [first = "", second, ...rest] = steps;
  const axes = new Set([...Object.keys(file.grid), ...Object.keys(file.axes)]);
  if (first === "grid" && second !== undefined && rest.length === 0) {
    if (axes.has(second)) return ["grid", second];
    throw refuse(`no grid axis "${second}"${suggestion(second, [...axes])}`);
  }
  if (first === "define" && second !== undefined) return [...steps];
  if (Object.hasOwn(file.stages, first) && second !== undefined) {
    return ["stages", first, "params", second, ...rest];
  }
  const inner = rest[0];
  if (axes.has(first) && inner !== undefined && rest.length > 1) {
    if (Object.hasOwn(file.stages, inner)) return ["axes", ...steps];
    throw refuse(`no stage "${inner}"${suggestion(inner, Object.keys(file.stages))}`);
  }
  const starts = ["grid", "define", ...Object.keys(file.stages), ...axes];
  throw refuse(
    "the path must be grid.AXIS, define.NAME, STAGE.PARAM or AXIS.VALUE.STAGE.PARAM" +
      (starts.includes(first) ? "" : suggestion(first, starts)),
  );
}
