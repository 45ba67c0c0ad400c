/**
 * Expected failures. They are shown as one message, without a stack trace; anything else is a bug
 * and shows its stack.
 *
 * @module
 */

/** An expected failure: what could not be done, the rule, what was found, what to do. */
export class LockstepError extends Error {
  override name = "LockstepError";
}

/** Something the user wrote is wrong: an experiment file, a stage definition or a flag. */
export class ConfigError extends LockstepError {
  override name = "ConfigError";
}

/** What is to be looked up once and pinned, before there are keys. */
export interface Unpinned {
  /** What is looked up, `hf:owner/name@main`. */
  readonly subject: string;
  /** Where it is named, below the params. */
  readonly path: readonly (string | number)[];
  /** Looks it up; returns pins. */
  readonly look: () => Promise<ReadonlyMap<string, string>>;
}

/** What an experiment's file says can't be settled: see `settle` of a stage. */
export class UnsettledError extends ConfigError {
  override name = "UnsettledError";
  /** Where it is written, below the params. */
  readonly path: readonly (string | number)[];

  constructor(message: string, path: readonly (string | number)[], options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

/** An experiment names something that is not pinned yet. `plan` can only say so, a run looks it up. */
export class UnpinnedError extends UnsettledError implements Unpinned {
  override name = "UnpinnedError";
  readonly subject: string;
  readonly look: Unpinned["look"];

  constructor(
    { subject, path, look }: Unpinned,
    message = `${subject} is not pinned in lock/pins.lock yet: reproduce looks it up and pins it`,
  ) {
    super(message, path);
    this.subject = subject;
    this.look = look;
  }
}

/** The command line is wrong: a command, an option or an operand. */
export class UsageError extends ConfigError {
  override name = "UsageError";
}

/** A stage could not do its work for a reason the user can act on: bad data, a missing file. */
export class StageError extends LockstepError {
  override name = "StageError";
}

/** An input's content is no longer what it was when the stage started. */
export class InputChangedError extends LockstepError {
  override name = "InputChangedError";
}

/** What the operating system refuses whatever a program does, by an error's message. */
export function refusal(text: string): "full" | "read-only" | undefined {
  if (/os error 28|ENOSPC|database or disk is full|No space left/.test(text)) return "full";
  return /os error 30|EROFS/.test(text) ? "read-only" : undefined;
}

/** Whether the operating system refused to write, by permission or since the place is read-only. */
export function isRefused(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied ||
    error instanceof Error && refusal(error.message) === "read-only";
}

/** The packages that a module needs, if it could not be loaded for want of them. */
function missingPackages(error: Error): boolean {
  return /^Failed caching npm package|^(npm )?package .* not found in cache/i.test(error.message);
}

/** Whether an error is a defect of the program: neither expected nor the system's refusal. */
export function isBug(error: unknown): boolean {
  if (error instanceof LockstepError || isRefused(error)) return false;
  return !(error instanceof Error) ||
    refusal(error.message) !== "full" && !missingPackages(error);
}

/**
 * The message of any error for people: what the operating system refused in a sentence with what to
 * do, an expected failure as it is, a bug with its stack. What a stage says of the system may lack
 * what to do; the engine's own messages do not.
 */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message;
  const expected: boolean = error instanceof LockstepError;
  if (expected && !(error instanceof StageError)) return text;
  if (refusal(text) === "full") {
    const what = text.replace(/^No space left on device \(os error 28\)(: )?/, "");
    return `No space left on the device${
      what && `: ${what}`
    }; free some, or give another place with ` +
      "--outputs, and run the same command again: finished work is kept";
  }
  if (isRefused(error)) {
    return `The system refused: ${text}; make the place writable for this user, or give another ` +
      "with --outputs";
  }
  if (missingPackages(error)) {
    return "Cannot load the packages that lock/deno.lock pins: they are not all on this machine, " +
      'and the registry can\'t be reached; run "deno install" once with a network';
  }
  return expected ? text : error.stack ?? text;
}
