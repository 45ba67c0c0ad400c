/**
 * What a training run is made of, and how it is kept between interrupted attempts.
 *
 * @module
 */
import { type Moments, zeroMoments } from "../../models/optimizer.ts";
import {
  checkShapes,
  disposeParameters,
  initialParameters,
  type Parameters,
  parametersFrom,
  type ParameterSpec,
  readParameters,
  type Start,
} from "../../models/parameters.ts";
import { decodeTensors, encodeTensors, type StoredTensor } from "../../models/safetensors.ts";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.ts";

/** A run's tensors, and where it stands: with them it can be resumed, bit for bit. */
export interface TrainingState<Progress> {
  readonly parameters: Parameters;
  readonly moments: ReadonlyMap<string, Moments>;
  /** Weights of the best evaluation so far. */
  best: ReadonlyMap<string, StoredTensor>;
  /** JSON. */
  readonly progress: Progress;
}

/** The state before the first step; to be disposed. */
export function freshState<Progress>(
  specs: readonly ParameterSpec[],
  options: { start: Start; progress: Progress },
): TrainingState<Progress> {
  const parameters = initialParameters(specs, options.start);
  const moments = zeroMoments(parameters);
  return { parameters, moments, best: new Map(), progress: options.progress };
}

/** Saves the state as the folder's newest checkpoint. Does nothing without a folder. */
export async function saveState<Progress>(
  folder: string | undefined,
  state: TrainingState<Progress>,
): Promise<void> {
  if (folder === undefined) return;
  const tensors = new Map<string, StoredTensor>();
  const put = (part: string, values: ReadonlyMap<string, StoredTensor>) => {
    for (const [name, tensor] of values) tensors.set(`${part}/${name}`, tensor);
  };
  const moments = (which: keyof Moments) =>
    readParameters(new Map([...state.moments].map(([name, m]) => [name, m[which]])));
  put("parameter", await readParameters(state.parameters));
  put("first", await moments("first"));
  put("second", await moments("second"));
  put("best", state.best);
  const metadata = { progress: JSON.stringify(state.progress) };
  writeCheckpoint(folder, encodeTensors({ metadata, tensors }));
}

/** The state of the newest whole checkpoint in `folder`; `undefined` if there is none. */
export function loadState<Progress>(
  folder: string | undefined,
  specs: readonly ParameterSpec[],
): TrainingState<Progress> | undefined {
  if (folder === undefined) return undefined;
  const stored = readCheckpoint(folder, (content) => decodeState<Progress>(content, specs));
  if (stored === undefined) return undefined;
  const parameters = parametersFrom(specs, stored.parameter);
  const first = parametersFrom(specs, stored.first);
  const second = parametersFrom(specs, stored.second);
  const moments = new Map(
    specs.map(({ name }) => [name, { first: first.get(name)!, second: second.get(name)! }]),
  );
  return { parameters, moments, best: stored.best, progress: stored.progress };
}

/** @throws {SyntaxError | RangeError} If the content is not the state of such a model. */
function decodeState<Progress>(content: Uint8Array, specs: readonly ParameterSpec[]) {
  const { metadata, tensors } = decodeTensors(content);
  const part = (prefix: string) => {
    const values = new Map<string, StoredTensor>();
    for (const [name, tensor] of tensors) {
      if (name.startsWith(`${prefix}/`)) values.set(name.slice(prefix.length + 1), tensor);
    }
    // Before the first evaluation there are no best weights.
    if (prefix !== "best" || values.size > 0) checkShapes(specs, values);
    return values;
  };
  return {
    parameter: part("parameter"),
    first: part("first"),
    second: part("second"),
    best: part("best"),
    progress: JSON.parse(metadata.progress!) as Progress,
  };
}

/** Frees a state's tensors. */
export function disposeState<Progress>(state: TrainingState<Progress>): void {
  disposeParameters(state.parameters);
  for (const { first, second } of state.moments.values()) first.dispose(), second.dispose();
}
