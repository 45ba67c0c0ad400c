/**
 * A model's parameters: their names, shapes and initial values.
 *
 * Each parameter draws its initial value from its own stream, `init/<name>` of the seed. So two
 * models under one seed start with equal values wherever they have a parameter of the same name.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { normal, streamKey, uniform } from "./random.ts";
import { readTensor } from "./webgpu.ts";

/** How a parameter starts. */
export type Initial =
  | { readonly kind: "constant"; readonly value: number }
  /** Uniform on [−bound, bound). */
  | { readonly kind: "uniform"; readonly bound: number }
  /** N(0, deviation²); row `zeroRow`, if given, is 0. */
  | { readonly kind: "normal"; readonly deviation: number; readonly zeroRow?: number };

/** One parameter before it has a value. */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly initial: Initial;
}

/** Parameters by name, in the model's order. */
export type Parameters = ReadonlyMap<string, tf.Variable>;

/** The weight and bias of PyTorch's `Linear(i, o)`: both uniform within 1/√i; weight [i, o]. */
export function linearSpecs(name: string, i: number, o: number): ParameterSpec[] {
  const initial: Initial = { kind: "uniform", bound: 1 / Math.sqrt(i) };
  return [
    { name: `${name}.weight`, shape: [i, o], initial },
    { name: `${name}.bias`, shape: [o], initial },
  ];
}

/** Where a parameter's numbers come from. */
export interface Start {
  readonly seed: number;
  /** Models of different variants share no start, though they share the seed; none is the rule. */
  readonly variant?: string | undefined;
}

/** The initial value of a parameter. */
export function initialValue(spec: ParameterSpec, { seed, variant }: Start): Float32Array {
  const size = spec.shape.reduce((product, n) => product * n, 1);
  const key = streamKey(seed, `init/${variant === undefined ? "" : `${variant}/`}${spec.name}`);
  const { initial } = spec;
  switch (initial.kind) {
    case "constant":
      return new Float32Array(size).fill(initial.value);
    case "uniform":
      return uniform(key, size, { low: -initial.bound, high: initial.bound });
    case "normal": {
      const values = normal(key, size, { deviation: initial.deviation });
      const row = size / spec.shape[0]!;
      if (initial.zeroRow !== undefined) {
        values.fill(0, initial.zeroRow * row, (initial.zeroRow + 1) * row);
      }
      return values;
    }
  }
}

/** Parameters with their initial values; the caller disposes them. */
export function initialParameters(specs: readonly ParameterSpec[], start: Start): Parameters {
  return new Map(
    specs.map((spec) => [spec.name, variable(initialValue(spec, start), spec.shape)]),
  );
}

/**
 * Checks that there is a value of the right shape for each parameter, and no other.
 *
 * @throws {RangeError} If a parameter is missing, left over or of another shape.
 */
export function checkShapes(
  specs: readonly ParameterSpec[],
  values: ReadonlyMap<string, { readonly shape: readonly number[] }>,
): void {
  const names = new Set(specs.map((spec) => spec.name));
  const extra = [...values.keys()].filter((name) => !names.has(name));
  if (extra.length > 0) {
    throw new RangeError(`Cannot load parameters: the model has none called ${extra.join(", ")}`);
  }
  for (const { name, shape } of specs) {
    const found = values.get(name)?.shape;
    if (String(found) !== String(shape)) {
      throw new RangeError(
        `Cannot load parameter "${name}": its shape must be [${shape}], found ${
          found === undefined ? "none" : `[${found}]`
        }`,
      );
    }
  }
}

/**
 * Parameters with given values.
 *
 * @throws {RangeError} As {@linkcode checkShapes}.
 */
export function parametersFrom(
  specs: readonly ParameterSpec[],
  values: ReadonlyMap<string, { shape: readonly number[]; values: Float32Array }>,
): Parameters {
  checkShapes(specs, values);
  return new Map(
    specs.map(({ name, shape }) => [name, variable(values.get(name)!.values, shape)]),
  );
}

function variable(values: Float32Array, shape: readonly number[]): tf.Variable {
  return tf.tidy(() => tf.variable(tf.tensor(values, [...shape], "float32")));
}

/** A parameter by name. */
export function parameter(parameters: Parameters, name: string): tf.Variable {
  const found = parameters.get(name);
  if (found === undefined) throw new RangeError(`Cannot find parameter "${name}" in the model`);
  return found;
}

/** The number of trained values. */
export function parameterCount(specs: readonly ParameterSpec[]): number {
  return specs.reduce((sum, spec) => sum + spec.shape.reduce((p, n) => p * n, 1), 0);
}

/** The values of all parameters, copied to the processor. */
export async function readParameters(
  parameters: Parameters,
): Promise<Map<string, { shape: number[]; values: Float32Array }>> {
  return new Map(
    await Promise.all([...parameters].map(async ([name, variable]) => {
      const values = (await readTensor(variable)).slice();
      return [name, { shape: [...variable.shape] as number[], values }] as const;
    })),
  );
}

/** Frees all parameters. */
export function disposeParameters(parameters: Parameters): void {
  for (const variable of parameters.values()) variable.dispose();
}
