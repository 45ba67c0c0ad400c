/**
 * Asking an archive's interface for something, as JSON.
 *
 * @module
 */
import type { z } from "zod";

/** What could not be had of an archive, in one message. */
export class HubError extends Error {
  override name = "HubError";
}

/** What a source's `files` can't take of what an archive has, or of what is pinned of it. */
export class ChoiceError extends HubError {
  override name = "ChoiceError";
}

/** Whom to ask, and on behalf of what. */
export interface Place {
  /** What is looked up, for messages. */
  readonly name: string;
  /** Base URL, without a slash at its end. */
  readonly base: string;
  readonly token?: string;
  /** The variable of the environment that a token is taken from. */
  readonly tokenVariable?: string;
  readonly backoffMs?: readonly number[];
}

/** An answer, and where the next part of a list is. */
export interface Answer<T> {
  readonly body: T;
  /** Path and query. */
  readonly next: string | undefined;
}

const BACKOFF_MS = [500, 1000, 2000];
const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;
/** A list of a thousand files has less than 1 MB. */
const MAX_CHARACTERS = 1 << 26;

/**
 * Asks for JSON of a known form. Redirects are followed on the same server only: a token goes nowhere else.
 *
 * @param path Path and query.
 * @throws {HubError} If the server can't be reached, refuses, or answers something else.
 */
export async function askHub<T>(
  place: Place,
  path: string,
  schema: z.ZodType<T>,
): Promise<Answer<T>> {
  const { backoffMs = BACKOFF_MS } = place;
  for (let attempt = 0;; attempt++) {
    try {
      return await askOnce(place, path, schema);
    } catch (error) {
      const pause = backoffMs[attempt];
      if (!(error instanceof Passing)) throw error;
      if (pause === undefined) {
        throw new HubError(`${error.message}; gave up after ${attempt + 1} attempts`);
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** What may be otherwise a moment later. */
class Passing extends HubError {}

async function askOnce<T>(place: Place, path: string, schema: z.ZodType<T>): Promise<Answer<T>> {
  const url = place.base + path;
  const refuse = (what: string) => new HubError(`Cannot list ${place.name}: ${url} ${what}`);
  let response: Response, text: string;
  try {
    response = await follow(place, url, refuse);
    text = await textOf(response, refuse);
  } catch (error) {
    if (error instanceof HubError) throw error;
    const { message } = error as Error;
    throw new Passing(`Cannot list ${place.name}: ${url} can't be reached: ${message}`, {
      cause: error,
    });
  }
  requireDone(response.status, place, refuse);
  const type = response.headers.get("content-type") ?? "no type";
  if (!/\bjson\b/.test(type)) {
    throw refuse(
      `must answer with JSON, found ${
        type.split(";")[0]
      }: perhaps a page to log in, or no archive; ` +
        "check the address",
    );
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Passing(refuse("must answer with JSON, and what came is cut off or none").message);
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refuse(
      `must answer as its interface says, and ${issue!.path.join(".") || "all of it"} does not: ` +
        issue!.message,
    );
  }
  return { body: parsed.data, next: nextOf(response.headers.get("link"), { place, url, refuse }) };
}

async function follow(
  { base, token }: Place,
  start: string,
  refuse: (what: string) => HubError,
): Promise<Response> {
  let url = new URL(start);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await fetch(url, {
      headers: { accept: "application/json", ...token ? { authorization: `Bearer ${token}` } : {} },
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (![301, 302, 303, 307, 308].includes(response.status)) return response;
    await response.body?.cancel();
    const location = response.headers.get("location") ?? "";
    if (!URL.canParse(location, url)) throw refuse(`redirects (${response.status}) to nowhere`);
    const next = new URL(location, url);
    if (next.origin !== new URL(base).origin) {
      throw refuse(`redirects to another server, ${next.origin}; if it moved there, name that`);
    }
    const [, was] = /\/api\/datasets\/([^/]+\/[^/]+)/.exec(url.pathname) ?? [];
    const [, is] = /\/api\/datasets\/([^/]+\/[^/]+)/.exec(next.pathname) ?? [];
    if (was !== undefined && was !== is) {
      throw refuse(`says that it moved to ${is ?? next.pathname}; name that`);
    }
    url = next;
  }
  throw refuse(`redirects more than ${MAX_REDIRECTS} times`);
}

/** An answer's text, of bounded length. */
async function textOf(response: Response, refuse: (what: string) => HubError): Promise<string> {
  let text = "";
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if (text.length > MAX_CHARACTERS) throw refuse(`sends more than ${MAX_CHARACTERS} characters`);
  }
  return text;
}

function requireDone(
  status: number,
  { token, tokenVariable, name }: Place,
  refuse: (what: string) => HubError,
): void {
  if (status === 200) return;
  if (status === 401 || status === 403) {
    const advice = tokenVariable === undefined
      ? "it must be public"
      : token === undefined
      ? `it must be there and public, or ${tokenVariable} must hold a token that may read it`
      : `it must be there, and the token of ${tokenVariable} may not read it: accept its terms on its page`;
    throw refuse(`refuses (${status}): ${advice}`);
  }
  if (status === 404 || status === 410) {
    throw refuse(`says that there is none (${status}): check the name and version in ${name}`);
  }
  const message = refuse(`answers ${status}`).message;
  throw status === 408 || status === 429 || status >= 500
    ? new Passing(message)
    : new HubError(message);
}

/** Where `Link` says that a list goes on: at the same server, whatever its name and base are there. */
function nextOf(
  link: string | null,
  { place, url, refuse }: {
    readonly place: Place;
    readonly url: string;
    readonly refuse: (what: string) => HubError;
  },
): string | undefined {
  const next = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link ?? "")?.[1];
  if (next === undefined) return undefined;
  const found = URL.parse(next, url);
  if (found === null) throw refuse("must name the next part of its list by a URL, and does not");
  const { pathname, search } = found;
  const prefix = new URL(place.base).pathname.replace(/\/+$/, "");
  return (pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname) + search;
}
