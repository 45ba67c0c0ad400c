/**
 * A bucket of an S3 server. Every upload names its content's digest in `x-amz-content-sha256`, which
 * the server verifies.
 *
 * @module
 */
import { AwsV4Signer } from "aws4fetch";
import type { CacheAddress } from "./address.ts";
import { s3Settings, type Variables } from "./credentials.ts";
import type { Remote } from "./remote.ts";

/** Digest of nothing: what a call without content sends. */
const NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** A larger file would have to be sent in parts. */
const MAX_BYTES = 5 * 2 ** 30;

/** The bucket at an address. */
export function s3Remote(
  { bucket, prefix }: Extract<CacheAddress, { kind: "s3" }>,
  { name, variables }: { readonly name: string; readonly variables: Variables },
): Remote {
  const { credentials, region, endpoint } = s3Settings(variables);
  // Other servers than Amazon's have no host for each bucket.
  const root = endpoint === undefined
    ? `https://${bucket}.s3.${region}.amazonaws.com`
    : `${endpoint.replace(/\/+$/, "")}/${bucket}`;
  const keys = new Map<string, ArrayBuffer>();
  return {
    name,
    maxBytes: MAX_BYTES,
    async sign({ method, path, headers = {}, sha256 }) {
      const url = `${root}${prefix}/${path}`;
      if (credentials === undefined) return { url, method, headers: new Headers(headers) };
      const signed = await new AwsV4Signer({
        ...credentials,
        ...{ url, method, service: "s3", region, cache: keys },
        headers: { ...headers, "x-amz-content-sha256": sha256 ?? NOTHING },
      }).sign();
      return { url, method, headers: signed.headers, redirect: "manual" };
    },
  };
}
