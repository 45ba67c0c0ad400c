/**
 * Signatures of traces in a shared cache: an envelope around the text that is there otherwise.
 *
 * @module
 */
import type { Signatures } from "../store/remote/cache.ts";
import { sign, toEnvelope, verify } from "./envelope.ts";
import type { PublicKey, SigningKey } from "./keys.ts";

/** The type of a payload that is a sealed trace. */
const TRACE_TYPE = "application/vnd.lockstep.trace";

/** How traces are signed, and whose signature counts. */
export interface SigningOptions {
  readonly key?: SigningKey;
  /** Absent where whatever holds together is taken. */
  readonly trusted?: readonly PublicKey[];
}

/** See the module's comment. */
export function signaturesBy({ key, trusted }: SigningOptions): Signatures {
  return {
    unwrap(text) {
      const envelope = toEnvelope(text);
      return envelope ? payloadOf(envelope.payload) : text;
    },
    isOurs: async (text) =>
      key !== undefined && await isSignedBy(key, text) ||
      await signerOf(text, trusted ?? []) !== undefined,
    ...(key === undefined ? {} : {
      sign: async (text) => `${JSON.stringify(await sign(text, key, { type: TRACE_TYPE }))}\n`,
    }),
    ...(trusted === undefined ? {} : { check: (text) => signerOf(text, trusted) }),
    isTrusted: (id) => trusted?.some((each) => each.id === id) ?? true,
  };
}

/** Base64 as text; what is none is no trace either. */
function payloadOf(payload: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(payload));
  } catch {
    return "";
  }
}

/** Whether a private key signed a text: what Ed25519 signs again has the same signature. */
async function isSignedBy(key: SigningKey, text: string): Promise<boolean> {
  const envelope = toEnvelope(text);
  if (envelope?.payloadType !== TRACE_TYPE) return false;
  const again = await sign(payloadOf(envelope.payload), key, { type: TRACE_TYPE });
  return envelope.payload === again.payload &&
    envelope.signatures.some(({ sig }) => sig === again.signatures[0]!.sig);
}

async function signerOf(text: string, trusted: readonly PublicKey[]): Promise<string | undefined> {
  const envelope = toEnvelope(text);
  for (const key of envelope ? trusted : []) {
    if (await verify(envelope!, key, { type: TRACE_TYPE }) !== undefined) return key.id;
  }
  return undefined;
}
