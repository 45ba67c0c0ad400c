/**
 * DSSE envelopes (v1.0.2): a payload with its type, and Ed25519 signatures over both.
 *
 * https://github.com/secure-systems-lab/dsse/blob/master/envelope.md
 *
 * @module
 */
import { isRecord, isText } from "../store/shape.ts";
import type { PublicKey, SigningKey } from "./keys.ts";

/** The type of a payload that is an in-toto statement. */
export const STATEMENT_TYPE = "application/vnd.in-toto+json";

/** An envelope. */
export interface Envelope {
  /** Base64. */
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

/** What is signed: lengths keep type and payload apart, so that no other pair gives the same bytes. */
export function preAuthenticated(
  type: string,
  payload: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const head = encoder.encode(
    `DSSEv1 ${encoder.encode(type).length} ${type} ${payload.length} `,
  );
  const whole = new Uint8Array(head.length + payload.length);
  whole.set(head);
  whole.set(payload, head.length);
  return whole;
}

/** Signs a text of a type. Ed25519 has no randomness: the same text and key give the same envelope. */
export async function sign(
  text: string,
  key: SigningKey,
  { type = STATEMENT_TYPE }: { readonly type?: string } = {},
): Promise<Envelope> {
  const payload = new TextEncoder().encode(text);
  const sig = await crypto.subtle.sign(
    "Ed25519",
    key.key,
    preAuthenticated(type, payload),
  );
  return {
    payload: payload.toBase64(),
    payloadType: type,
    signatures: [{ keyid: key.id, sig: new Uint8Array(sig).toBase64() }],
  };
}

/** The text that a key signed; `undefined` if none of the signatures is its, over just these bytes. */
export async function verify(
  envelope: Envelope,
  key: PublicKey,
  { type = STATEMENT_TYPE }: { readonly type?: string } = {},
): Promise<string | undefined> {
  if (envelope.payloadType !== type) return undefined;
  const payload = bytesOf(envelope.payload);
  if (!payload) return undefined;
  const signed = preAuthenticated(envelope.payloadType, payload);
  for (const { sig } of envelope.signatures) {
    const bytes = bytesOf(sig);
    if (bytes && await crypto.subtle.verify("Ed25519", key.key, bytes, signed)) {
      return new TextDecoder("utf-8", { fatal: true }).decode(payload);
    }
  }
  return undefined;
}

/** Base64 in its standard alphabet; `undefined` if it is none. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}

/** The envelope in a text; `undefined` if it is none. */
export function toEnvelope(text: string): Envelope | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { payload, payloadType, signatures } = value;
  const isEnvelope = isText(payload) && isText(payloadType) && Array.isArray(signatures) &&
    signatures.every((one) => isRecord(one) && isText(one["sig"]));
  return isEnvelope ? value as unknown as Envelope : undefined;
}
