/**
 * Records in an audit file have one form, sealed JSON with sorted names: what is written otherwise is
 * refused, so that two programs can't read one file as two things.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { sha256 } from "../key/hash.ts";
import { seal } from "../store/sealed.ts";
import { isRecord } from "../store/shape.ts";

/** What is in an audit file and could be read has another form than the one it is written in. */
export class FormError extends LockstepError {
  override name = "FormError";

  constructor(where: string) {
    super(
      `Cannot read ${where}: it must be written as "bundle" writes it (UTF-8 without a mark, names sorted ` +
        "and each once, whole characters, no other spaces), and is not",
    );
  }
}

/** A record in its one form. */
export function recordBytes(record: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(seal(JSON.parse(JSON.stringify(record), sorted)));
}

function sorted(_: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}

/**
 * The record in some bytes.
 *
 * @param parse The record in a text; `undefined` if it is none.
 * @throws {FormError} If it has another form.
 */
export function readRecord<T>(
  bytes: Uint8Array<ArrayBuffer>,
  where: string,
  parse: (text: string) => T | undefined,
): T | undefined {
  const text = textIn(bytes);
  if (text.startsWith("\ufeff")) throw new FormError(where);
  const record = parse(text);
  if (record === undefined) return undefined;
  if (hasForm(bytes, record)) return record;
  throw new FormError(where);
}

/** Some bytes as text, with all that they begin with. */
export function textIn(bytes: Uint8Array<ArrayBuffer> | undefined): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function hasForm(bytes: Uint8Array<ArrayBuffer>, record: unknown): boolean {
  try {
    return isWhole(record) && sha256(bytes) === sha256(recordBytes(record));
  } catch (error) {
    // Nested so deeply that nothing written here is.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Whether no text in it, escaped as JSON escapes it, has half of a surrogate pair. */
function isWhole(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, each]) => name.isWellFormed() && isWhole(each));
}
