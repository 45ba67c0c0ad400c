/**
 * A trained classifier as a file's content: its weights, with its shape and origin as metadata.
 *
 * @module
 */
import type { ClassifierShape } from "./classifier.ts";
import { FUSIONS, GATE_REDUCES } from "./fusion.ts";
import { ENCODINGS } from "./positions.ts";
import type { StoredTensor, TensorFile } from "./safetensors.ts";

/** What a weights file says of its model. */
export interface Trained {
  readonly shape: ClassifierShape;
  readonly seed: number;
}

/** A weights file's content; see {@linkcode trainedFrom}. */
export function trainedFile(
  { shape, seed }: Trained,
  tensors: ReadonlyMap<string, StoredTensor>,
): TensorFile {
  const { fusion, encoding, activation, gateReduce, ...sizes } = shape;
  const names = { model: "classifier", fusion, encoding, activation, gateReduce };
  const numbers = Object.entries({ ...sizes, seed }).map(([name, n]) => [name, String(n)]);
  return {
    metadata: { ...names, ...Object.fromEntries(numbers) },
    tensors,
  };
}

/**
 * The shape and seed in a weights file.
 *
 * @throws {SyntaxError} If it does not describe a classifier.
 */
export function trainedFrom({ metadata }: TensorFile): Trained {
  const one = <T extends string>(name: string, allowed: readonly T[]): T => {
    const found = allowed.find((value) => value === metadata[name]);
    if (found === undefined) {
      throw new SyntaxError(
        `Cannot read a classifier: "${name}" must be one of ${allowed.join(", ")}, found ` +
          `${metadata[name]}`,
      );
    }
    return found;
  };
  const whole = (name: string): number => {
    const value = metadata[name] ?? "";
    if (!/^[0-9]{1,15}$/.test(value)) {
      throw new SyntaxError(
        `Cannot read a classifier: "${name}" must be a whole number, found "${value}"`,
      );
    }
    return Number(value);
  };
  one("model", ["classifier"]);
  return {
    shape: {
      fusion: one("fusion", FUSIONS),
      encoding: one("encoding", ENCODINGS),
      activation: one("activation", ["gelu", "relu"]),
      gateReduce: one("gateReduce", GATE_REDUCES),
      gateTaps: whole("gateTaps"),
      maxDistance: whole("maxDistance"),
      vocabulary: whole("vocabulary"),
      maxLength: whole("maxLength"),
      classes: whole("classes"),
      d: whole("d"),
      heads: whole("heads"),
      layers: whole("layers"),
      dFf: whole("dFf"),
    },
    seed: whole("seed"),
  };
}
