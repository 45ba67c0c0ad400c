/** @module */
import { AwsV4Signer } from "aws4fetch";

/** What a client of an S3 server takes from its environment. */
export function s3Variables(
  { endpoint, key, secret }: {
    readonly endpoint: string;
    readonly key: string;
    readonly secret: string;
  },
): Record<string, string> {
  return {
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: key,
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_REGION: "us-east-1",
  };
}

/** Makes a bucket. Returns whether there is one now. */
export async function makeBucket(
  name: string,
  variables: Readonly<Record<string, string>>,
): Promise<boolean> {
  const { url, headers } = await new AwsV4Signer({
    url: `${variables["AWS_ENDPOINT_URL_S3"]}/${name}`,
    method: "PUT",
    service: "s3",
    region: "us-east-1",
    accessKeyId: variables["AWS_ACCESS_KEY_ID"]!,
    secretAccessKey: variables["AWS_SECRET_ACCESS_KEY"]!,
  }).sign();
  const response = await fetch(url, { method: "PUT", headers });
  await response.body?.cancel();
  return response.ok;
}
