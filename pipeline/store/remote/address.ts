/**
 * Where a shared cache is, as it is written on the command line.
 *
 * @module
 */
import { UsageError } from "../../errors.ts";
import { clip } from "../../suggestion.ts";

/** A server that speaks HTTP as Bazel's caches do, or a bucket of an S3 server. */
export type CacheAddress =
  | { readonly kind: "http"; readonly url: URL }
  | { readonly kind: "s3"; readonly bucket: string; readonly prefix: string };

/**
 * The address in a text.
 *
 * @throws {UsageError} If it is none, or holds a name or a password: a run records how it was started.
 */
export function parseAddress(text: string): CacheAddress {
  const url = URL.parse(text);
  if (url === null || !/^(https?|s3):$/.test(url.protocol) || url.host === "") {
    throw new UsageError(
      `Cannot use --cache ${
        clip(text.replace(/^.*@/s, ""))
      }: it must be a URL, http://…, https://… or s3://BUCKET/PREFIX`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new UsageError(
      `Cannot use --cache ${url.protocol}//${url.host}: it must hold no name, password, query or ` +
        "fragment, since a run records how it was started; put what a server asks for into ~/.netrc",
    );
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (url.protocol === "s3:") return { kind: "s3", bucket: url.host, prefix: path };
  url.pathname = path;
  return { kind: "http", url };
}

/** An address as people write it. */
export function addressText(address: CacheAddress): string {
  return address.kind === "s3"
    ? `s3://${address.bucket}${address.prefix}`
    : address.url.href.replace(/\/$/, "");
}
