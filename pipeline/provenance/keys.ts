/**
 * A user's Ed25519 keys, in PEM as OpenSSL writes them:
 *
 * ```sh
 * openssl genpkey -algorithm ed25519 -out me.pem
 * openssl pkey -in me.pem -pubout -out me.pub
 * ```
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { readText } from "../files.ts";
import { sha256 } from "../key/hash.ts";

/** A key that signs. */
export interface SigningKey {
  readonly key: CryptoKey;
  /** SHA-256 of the public key's DER encoding: a hint, no proof. */
  readonly id: string;
}

/** A key that signatures are checked with. */
export type PublicKey = SigningKey;

/** Of Ed25519 keys: a header of a fixed length, then 32 bytes. */
const PRIVATE_HEADER = "302e020100300506032b657004220420";
const PUBLIC_HEADER = "302a300506032b6570032100";

/**
 * Reads a private key.
 *
 * @throws {ConfigError} If there is none that is its owner's alone.
 */
export async function readSigningKey(path: string): Promise<SigningKey> {
  const bytes = derIn(path, { label: "PRIVATE KEY", header: PRIVATE_HEADER });
  const mode = Deno.build.os === "windows" ? null : Deno.statSync(path).mode;
  if (mode !== null && (mode & 0o077) !== 0) {
    throw new ConfigError(
      `Cannot sign with ${path}: a private key must be readable by its owner alone, and its mode ` +
        `is ${(mode & 0o777).toString(8)}; chmod 600 ${path}`,
    );
  }
  const key = await crypto.subtle.importKey("pkcs8", bytes, "Ed25519", true, ["sign"]);
  // Of a private key, only this export has the public half.
  const { x } = await crypto.subtle.exportKey("jwk", key);
  const half = Uint8Array.fromBase64(x!, { alphabet: "base64url" });
  return { key, id: idOf(half) };
}

/**
 * Reads a public key.
 *
 * @throws {ConfigError} If there is none.
 */
export async function readPublicKey(path: string): Promise<PublicKey> {
  const bytes = derIn(path, { label: "PUBLIC KEY", header: PUBLIC_HEADER });
  const key = await crypto.subtle.importKey("spki", bytes, "Ed25519", true, ["verify"]);
  return { key, id: sha256(bytes) };
}

function idOf(half: Uint8Array): string {
  return sha256(new Uint8Array([...Uint8Array.fromHex(PUBLIC_HEADER), ...half]));
}

function derIn(
  path: string,
  { label, header }: { readonly label: string; readonly header: string },
): Uint8Array<ArrayBuffer> {
  const text = readText(path);
  const pem = new RegExp(
    `^-----BEGIN ${label}-----\\n([A-Za-z0-9+/=\\s]+)-----END ${label}-----\\s*$`,
  );
  const [, body] = pem.exec(text?.replaceAll("\r", "") ?? "") ?? [];
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  try {
    bytes = body === undefined ? undefined : Uint8Array.fromBase64(body);
  } catch { /* no base64 */ }
  if (bytes && bytes.length === header.length / 2 + 32 && bytes.toHex().startsWith(header)) {
    return bytes;
  }
  throw new ConfigError(
    `Cannot use the key ${path}: it must be an Ed25519 ${label.toLowerCase()} in PEM, without a ` +
      `passphrase, and is ${text === undefined ? "not there" : "none"}; docs/export.md shows how ` +
      "OpenSSL makes one",
  );
}
