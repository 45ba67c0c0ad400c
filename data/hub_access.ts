/**
 * Where an archive is and what lets one in, as the environment has them.
 *
 * @module
 */
import type { Hub } from "./archives.ts";
import { HubError } from "./hub_request.ts";

/** See the module's comment. */
export interface HubAccess {
  /** Base URL, without a slash at its end, where it is not the archive's own. */
  readonly endpoint?: string;
  readonly token?: string;
}

/**
 * Reads an archive's variables of the environment. Both get into requests, and from there into messages,
 * which must not show a secret.
 *
 * @throws {HubError} If one can't be used. It is named; its value, which may be a secret, is not.
 */
export function accessOf(
  hub: Hub,
  variable: (name: string) => string | undefined,
): HubAccess {
  const written = variable(hub.endpoint);
  const endpoint = written ? baseOf(written) : undefined;
  if (written && endpoint === undefined) {
    throw new HubError(
      `Cannot use ${hub.endpoint}: it must be a URL of http or https, without user, password, query or ` +
        `fragment, such as ${hub.origin}, and is not; its value is not shown, correct or unset it`,
    );
  }
  const token = hub.token && variable(hub.token);
  if (token && !/^[\x21-\x7e]+$/.test(token)) {
    throw new HubError(
      `Cannot use ${hub.token}: it must be one word of ASCII characters, without a space or a line's end, ` +
        "and is not; its value is not shown, correct or unset it",
    );
  }
  return { ...endpoint ? { endpoint } : {}, ...token ? { token } : {} };
}

function baseOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username || url.password || url.search || url.hash) return undefined;
  return url.href.replace(/[/?#]+$/, "");
}
