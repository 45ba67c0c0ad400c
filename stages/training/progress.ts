/**
 * How far a training is, as metadata of its checkpoint.
 *
 * @module
 */

/** How far a run is that goes epoch by epoch; with the tensors it is all that a resumed run needs. */
export interface EpochProgress<Epoch> {
  /** Epochs finished, batches of the current one done, steps done. */
  epoch: number;
  batches: number;
  steps: number;
  /** Sum over this epoch's documents of their losses. */
  lossSum: number;
  epochs: Epoch[];
}

/** The metadata that {@linkcode readProgress} reads. */
export function progressMetadata(progress: unknown): Record<string, string> {
  return { progress: JSON.stringify(progress) };
}

/**
 * The progress in a checkpoint's metadata.
 *
 * @param form A progress of the form that it must have.
 * @throws {SyntaxError} If it has another.
 */
export function readProgress<Progress extends object>(
  metadata: Readonly<Record<string, string>>,
  form: Progress,
): Progress {
  const progress: unknown = JSON.parse(metadata.progress ?? "null");
  if (hasForm(progress, form)) return progress;
  throw new SyntaxError(`its progress must have the form of ${JSON.stringify(form)}`);
}

/** Whether a value has the fields of another, and each the type it has there. */
function hasForm<T extends object>(value: unknown, form: T): value is T {
  const formOf = (fields: object) =>
    Object.entries(fields).map(([name, field]) =>
      `${name} ${Array.isArray(field) ? "array" : typeof field}`
    ).sort().join();
  return typeof value === "object" && value !== null && formOf(value) === formOf(form);
}
