/**
 * What may go wrong between a server and here, and is no defect.
 *
 * @module
 */

/** `passing`: may be over the next time; `slow`: took too long; `refused`: the server knows no such user. */
export type TroubleKind = "passing" | "slow" | "refused";

/** See the module's comment. The message is a clause. */
export class CacheTrouble extends Error {
  override name = "CacheTrouble";
  readonly kind: TroubleKind;

  constructor(message: string, kind: TroubleKind) {
    super(message);
    this.kind = kind;
  }
}

/** What a connection failed with, as trouble. */
export function troubleOf(error: unknown): CacheTrouble {
  if (error instanceof CacheTrouble) return error;
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  const last = cause instanceof Error ? cause.message : message;
  // The address may be long, and is named already.
  const clause = last.replace(/^error sending request[^:]*(\([^)]*\))?: /, "")
    .replace(/^client error \(\w+\): /, "");
  return new CacheTrouble(clause, "passing");
}
