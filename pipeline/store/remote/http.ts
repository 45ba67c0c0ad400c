/**
 * A plain HTTP server, such as nginx with WebDAV or bazel-remote. A name and a password come from
 * `~/.netrc`, or the file that `NETRC` names, as curl reads it.
 *
 * @module
 */
import { join } from "node:path";
import { readText } from "../../files.ts";
import type { Variables } from "./credentials.ts";
import type { Remote } from "./remote.ts";

/** The server at a URL. */
export function httpRemote(
  base: URL,
  { name, variables }: { readonly name: string; readonly variables: Variables },
): Remote {
  const login = loginOf(base.hostname, variables);
  const root = base.href.replace(/\/$/, "");
  return {
    name,
    sign({ method, path, headers = {} }) {
      const all = new Headers(headers);
      if (login !== undefined) all.set("authorization", `Basic ${login}`);
      return Promise.resolve({ url: `${root}/${path}`, method, headers: all });
    },
  };
}

/** Name and password for a host, in base 64; `undefined` if there are none. */
function loginOf(host: string, { NETRC, HOME = "" }: Variables): string | undefined {
  const entry = parseNetrc(readText(NETRC ?? join(HOME, ".netrc")) ?? "", host);
  if (entry === undefined) return undefined;
  return new TextEncoder().encode(`${entry.login}:${entry.password}`).toBase64();
}

/** What a `.netrc` says of a host, or by `default`; macros are not read. */
export function parseNetrc(
  text: string,
  host: string,
): { readonly login: string; readonly password: string } | undefined {
  const words = text.replace(/^\s*#.*$/gm, "").split(/\s+/).filter((word) => word !== "");
  let entry: { login: string; password: string } | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word === "machine" || word === "default") {
      // The first that fits counts.
      if (entry !== undefined) break;
      if (word === "default" || words[++at] === host) entry = { login: "", password: "" };
    } else if (word === "login" || word === "password") {
      const value = words[++at] ?? "";
      if (entry !== undefined) entry[word] = value;
    }
  }
  return entry;
}
