/**
 * What a training run is made of, and how it is kept between interrupted attempts.
 *
 * @module
 */
import { join } from "node:path";
import { type Moments, zeroMoments } from "../../models/optimizer.ts";
import {
  disposeParameters,
  initialParameters,
  type Parameters,
  parametersFrom,
  type ParameterSpec,
  readParameters,
  type Start,
} from "../../models/parameters.ts";
import { decodeTensors, encodeTensors, type StoredTensor } from "../../models/safetensors.ts";

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

const CHECKPOINT = "checkpoint.safetensors";

/**
 * Writes the state into `folder` under a temporary name, syncs, then renames: a checkpoint is whole
 * or absent, also after a power cut. Does nothing without a folder.
 */
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
  const bytes = encodeTensors({ metadata: { progress: JSON.stringify(state.progress) }, tensors });
  const path = join(folder, CHECKPOINT);
  using file = Deno.openSync(`${path}.partial`, { write: true, create: true, truncate: true });
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
  file.syncSync();
  Deno.renameSync(`${path}.partial`, path);
}

/** The state of the last checkpoint in `folder`; `undefined` if there is none. */
export function loadState<Progress>(
  folder: string | undefined,
  specs: readonly ParameterSpec[],
): TrainingState<Progress> | undefined {
  if (folder === undefined) return undefined;
  let bytes: Uint8Array;
  try {
    bytes = Deno.readFileSync(join(folder, CHECKPOINT));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const { metadata, tensors } = decodeTensors(bytes);
  const part = (prefix: string) =>
    new Map(
      [...tensors].filter(([name]) => name.startsWith(`${prefix}/`)).map(([name, tensor]) => [
        name.slice(prefix.length + 1),
        tensor,
      ]),
    );
  const parameters = parametersFrom(specs, part("parameter"));
  const first = parametersFrom(specs, part("first"));
  const second = parametersFrom(specs, part("second"));
  const moments = new Map(
    specs.map(({ name }) => [name, { first: first.get(name)!, second: second.get(name)! }]),
  );
  const progress = JSON.parse(metadata.progress!) as Progress;
  return { parameters, moments, best: part("best"), progress };
}

/** Frees a state's tensors. */
export function disposeState<Progress>(state: TrainingState<Progress>): void {
  disposeParameters(state.parameters);
  for (const { first, second } of state.moments.values()) first.dispose(), second.dispose();
}
