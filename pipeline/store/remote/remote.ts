/**
 * A server of blobs and traces, `/cas/DIGEST` and `/ac/KEY` below an address: the names that Bazel's
 * HTTP caches have, and the same ones as objects of an S3 bucket.
 *
 * @module
 */
import type { Sha256 } from "../../key/hash.ts";
import type { Variables } from "./credentials.ts";
import { addressText, type CacheAddress } from "./address.ts";

/** What is asked of a server. */
export interface Call {
  readonly method: "GET" | "HEAD" | "PUT";
  /** `cas/…` or `ac/…`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Digest of what is sent, so that a server that can does verify it. */
  readonly sha256?: Sha256;
}

/** A call as it is sent: with what shows who asks. */
export interface SignedCall {
  readonly url: string;
  readonly method: Call["method"];
  readonly headers: Headers;
  /** `manual`: a redirect is not followed, since the headers are for this server alone. */
  readonly redirect?: "manual";
}

/** See the module's comment. */
export interface Remote {
  /** Its address, for people. */
  readonly name: string;
  /** The largest file that it takes in one piece; absent where there is no such limit. */
  readonly maxBytes?: number;
  sign(call: Call): Promise<SignedCall>;
}

/**
 * The server at an address. Credentials are read from the usual variables and files, and are handed
 * to nobody else.
 *
 * @param variables Those of the environment.
 * @throws {ConfigError} If a file of credentials can't be read.
 */
export async function openRemote(
  address: CacheAddress,
  variables: Variables = Deno.env.toObject(),
): Promise<Remote> {
  const name = addressText(address);
  if (address.kind === "s3") {
    const { s3Remote } = await import("./s3.ts");
    return s3Remote(address, { name, variables });
  }
  const { httpRemote } = await import("./http.ts");
  return httpRemote(address.url, { name, variables });
}
