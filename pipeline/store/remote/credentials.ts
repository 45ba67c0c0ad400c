/**
 * Who asks an S3 server, and where it is: the variables and files that every client of S3 reads.
 * Nothing of it is printed, kept or handed to a stage.
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError } from "../../errors.ts";
import { readText } from "../../files.ts";

/** What signs requests. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** How to reach a server, and as whom. */
export interface S3Settings {
  /** Absent where a bucket is read without a name. */
  readonly credentials?: Credentials;
  readonly region: string;
  /** Another server than Amazon's: a URL. */
  readonly endpoint?: string;
}

/** Variables of the environment. */
export type Variables = Readonly<Record<string, string>>;

/**
 * The settings in some variables and in the files that they name: `~/.aws/credentials` and
 * `~/.aws/config`, of the profile in `AWS_PROFILE`.
 *
 * @throws {ConfigError} If a profile is named that no file has, half of a key is there, or an endpoint is no
 *   URL.
 */
export function s3Settings(variables: Variables): S3Settings {
  const { HOME = "", AWS_PROFILE: named } = variables;
  const profile = named || "default";
  const credentials = readIni(
    variables["AWS_SHARED_CREDENTIALS_FILE"] || join(HOME, ".aws/credentials"),
  );
  const config = readIni(variables["AWS_CONFIG_FILE"] || join(HOME, ".aws/config"));
  const own = {
    ...config.get(profile === "default" ? profile : `profile ${profile}`),
    ...credentials.get(profile),
  };
  if (named && Object.keys(own).length === 0) {
    throw new ConfigError(
      `Cannot use AWS_PROFILE ${named}: ~/.aws/credentials or ~/.aws/config must have that profile, ` +
        "and neither does",
    );
  }
  const endpoint = endpointIn(variables, own);
  const found = credentialsIn(variables, own);
  return {
    ...(found === undefined ? {} : { credentials: found }),
    region: variables["AWS_REGION"] || variables["AWS_DEFAULT_REGION"] || own["region"] ||
      "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

/** The server that is named first; what is empty names none, as for other clients. */
function endpointIn(variables: Variables, profile: Variables): string | undefined {
  const places = [
    ["AWS_ENDPOINT_URL_S3", variables["AWS_ENDPOINT_URL_S3"]],
    ["AWS_ENDPOINT_URL", variables["AWS_ENDPOINT_URL"]],
    ["endpoint_url of the profile", profile["endpoint_url"]],
  ] as const;
  const [name, endpoint] = places.find(([, value]) => value) ?? [];
  if (!endpoint) return undefined;
  const url = URL.parse(endpoint);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new ConfigError(
      `Cannot use ${name}: it must be a URL, http://… or https://…, without a name and a password`,
    );
  }
  return endpoint;
}

/** Variables count before files, and a key is taken whole from one of them. */
function credentialsIn(variables: Variables, profile: Variables): Credentials | undefined {
  const upper = (name: string) => variables[name.toUpperCase()];
  const source = upper("aws_access_key_id") || upper("aws_secret_access_key")
    ? upper
    : (name: string) => profile[name];
  const accessKeyId = source("aws_access_key_id");
  const secretAccessKey = source("aws_secret_access_key");
  const sessionToken = source("aws_session_token");
  if (!accessKeyId && !secretAccessKey) return undefined;
  if (!accessKeyId || !secretAccessKey) {
    throw new ConfigError(
      "Cannot sign requests to an S3 server: both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be " +
        "set, or both in a profile, and one is missing",
    );
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}

/** The sections of an INI file; none if there is no such file. */
function readIni(path: string): Map<string, Record<string, string>> {
  const sections = new Map<string, Record<string, string>>();
  let section: Record<string, string> = {};
  for (const line of (readText(path) ?? "").split("\n")) {
    const [, title] = /^\s*\[\s*(.+?)\s*\]/.exec(line) ?? [];
    const [, name, value] = /^\s*([\w.-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (title !== undefined) sections.set(title, section = sections.get(title) ?? {});
    else if (name !== undefined) section[name.toLowerCase()] = value!;
  }
  return sections;
}
