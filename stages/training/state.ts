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
import { progressMetadata, readProgress } from "./progress.ts";

/** A run's tensors and its progress: with them it can be resumed, bit for bit. */
export interface TrainingState<Progress> {
  readonly parameters: Parameters;
  readonly moments: ReadonlyMap<string, Moments>;
  /** Weights of the best evaluation so far. */
  best: ReadonlyMap<string, StoredTensor>;
  /** JSON. */
  readonly progress: Progress;
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
  writeCheckpoint(folder, encodeTensors({ metadata: progressMetadata(state.progress), tensors }));
}

/**
 * The state of the newest whole checkpoint in `folder`, or the state before the first step where there
 * is none; to be disposed.
 *
 * @param fresh Where a training starts; its progress has the form that any progress must have.
 */
export function openState<Progress extends object>(
  folder: string | undefined,
  specs: readonly ParameterSpec[],
  fresh: { readonly start: Start; readonly progress: Progress },
): TrainingState<Progress> {
  const stored = folder === undefined
    ? undefined
    : readCheckpoint(folder, (content) => decodeState(content, specs, fresh.progress));
  if (stored === undefined) {
    const parameters = initialParameters(specs, fresh.start);
    const moments = zeroMoments(parameters);
    return { parameters, moments, best: new Map(), progress: fresh.progress };
  }
  const [parameters, first, second] = [stored.parameter, stored.first, stored.second].map(
    (values) => parametersFrom(specs, values),
  ) as [Parameters, Parameters, Parameters];
  const moments = new Map(
    specs.map(({ name }) => [name, { first: first.get(name)!, second: second.get(name)! }]),
  );
  return { parameters, moments, best: stored.best, progress: stored.progress };
}

/** @throws {SyntaxError | RangeError} If the content is not the state of such a training. */
function decodeState<Progress extends object>(
  content: Uint8Array,
  specs: readonly ParameterSpec[],
  form: Progress,
) {
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
    progress: readProgress(metadata, form),
  };
}

/** Frees a state's tensors. */
export function disposeState<Progress>(state: TrainingState<Progress>): void {
  disposeParameters(state.parameters);
  for (const { first, second } of state.moments.values()) first.dispose(), second.dispose();
}
