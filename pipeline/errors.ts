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

/** A stage could not do its work for a reason the user can act on: bad data, a missing file. */
export class StageError extends LockstepError {
  override name = "StageError";
}
