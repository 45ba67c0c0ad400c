/**
 * One HTTP request for a file's bytes, from an offset on.
 *
 * @module
 */

/** A request that failed. */
export class RequestError extends Error {
  override name = "RequestError";
  /** Whether trying again may help. */
  readonly retry: boolean;
  /** Whether the server cannot go on from the offset asked for. */
  readonly rangeRefused: boolean;
  /** Whether there was no connection at all. */
  readonly unreachable: boolean;

  constructor(
    message: string,
    retry: boolean,
    options: ErrorOptions & {
      readonly rangeRefused?: boolean;
      readonly unreachable?: boolean;
    } = {},
  ) {
    super(message, options);
    this.retry = retry;
    this.rangeRefused = options.rangeRefused ?? false;
    this.unreachable = options.unreachable ?? false;
  }
}

/** What to ask for. */
export interface BodyRequest {
  /** Hosts that may be asked, `name` or `name:port`. */
  readonly hosts: readonly string[];
  /** A header `authorization` for a host; it goes to no other. */
  readonly authorization?: Readonly<Record<string, string>>;
  /** First byte wanted. */
  readonly from: number;
  /** Strong ETag of the bytes had so far. */
  readonly validator: string | undefined;
  /** Longest silence of the server, in milliseconds. */
  readonly idleMs: number;
}

/** What was answered. */
export interface Body {
  /** First byte sent: the one asked for, or 0 where the server sends everything. */
  readonly from: number;
  readonly validator: string | undefined;
  /** How many bytes it announces, 0 if it does not. */
  readonly bytes: number;
  readonly chunks: AsyncGenerator<Uint8Array, void, undefined>;
}

const maxRedirects = 5;

/**
 * Asks for a file's bytes, following redirects to allowed hosts only.
 *
 * @throws {RequestError} If the server cannot be reached, is silent, refuses, or redirects to where
 * it must not.
 */
export async function openBody(url: string, request: BodyRequest): Promise<Body> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => controller.abort(new RequestError(`silent for ${request.idleMs} ms`, true)),
      request.idleMs,
    );
  };
  try {
    alive();
    const response = await follow(new URL(url), request, controller.signal);
    const from = await startOf(response, request);
    const etag = response.headers.get("etag");
    return {
      from,
      bytes: Number(response.headers.get("content-length") ?? 0),
      validator: etag !== null && !etag.startsWith("W/") ? etag : undefined,
      chunks: chunksOf(response, { alive, stop: () => clearTimeout(timer), controller }),
    };
  } catch (cause) {
    clearTimeout(timer);
    controller.abort();
    throw asRequestError(cause);
  }
}

async function follow(start: URL, request: BodyRequest, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (request.from > 0) {
    headers.range = `bytes=${request.from}-`;
    if (request.validator !== undefined) headers["if-range"] = request.validator;
  }
  let url = start;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    if (!request.hosts.includes(url.host) && !request.hosts.includes(url.hostname)) {
      throw new RequestError(
        `leads to host "${url.host}", which the source does not list; if it is right, add it to "redirect_hosts"`,
        false,
      );
    }
    const authorization = request.authorization?.[url.host];
    const response = await fetch(url, {
      headers: { ...headers, ...authorization === undefined ? {} : { authorization } },
      redirect: "manual",
      signal,
    });
    if (![301, 302, 303, 307, 308].includes(response.status)) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (location === null || !URL.canParse(location, url.href)) {
      throw new RequestError(`redirects (${response.status}) to nowhere`, false);
    }
    const next = new URL(location, url);
    if (next.protocol !== "https:" && next.protocol !== url.protocol) {
      throw new RequestError(`redirects from ${url.protocol} to ${next.protocol}`, false);
    }
    url = next;
  }
  throw new RequestError(`redirects more than ${maxRedirects} times`, false);
}

/** First byte of a response's body. */
async function startOf(response: Response, { from }: BodyRequest): Promise<number> {
  const { status } = response;
  if (status === 200) return 0;
  if (status === 206 && from > 0) {
    const range = response.headers.get("content-range") ?? "";
    const start = /^bytes (\d+)-/.exec(range)?.[1];
    if (start !== undefined && Number(start) === from) return from;
    await response.body?.cancel();
    throw new RequestError(`asked from byte ${from}, answered "${range}"`, true, {
      rangeRefused: true,
    });
  }
  await response.body?.cancel();
  if (status === 416 && from > 0) {
    throw new RequestError(`has no byte ${from} (416)`, true, { rangeRefused: true });
  }
  const retry = status === 408 || status === 425 || status === 429 || status >= 500;
  throw new RequestError(`answers ${status} ${response.statusText}`.trimEnd(), retry);
}

async function* chunksOf(
  response: Response,
  watch: { alive(): void; stop(): void; controller: AbortController },
): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  try {
    for await (const chunk of response.body) {
      watch.alive();
      yield chunk;
    }
  } catch (cause) {
    throw asRequestError(cause);
  } finally {
    watch.stop();
    watch.controller.abort();
  }
}

/** Why no connection came about, after what says so in general and repeats the URL. */
const CONNECTION = /client error \(Connect\): (.*)$/s;

/** Network failures are worth another attempt; a host that the process may not reach is not. */
function asRequestError(cause: unknown): RequestError {
  if (cause instanceof RequestError) return cause;
  // `fetch` says no more than that it failed; its causes say why.
  const messages: string[] = [];
  for (let error = cause; error instanceof Error; error = error.cause) messages.push(error.message);
  const why = CONNECTION.exec(messages.at(-1) ?? "")?.[1];
  if (why !== undefined) {
    return new RequestError(`can't be reached: ${why}`, true, { cause, unreachable: true });
  }
  const message = [...new Set(messages)].join(": ") || String(cause);
  return new RequestError(message, !(cause instanceof Deno.errors.NotCapable), { cause });
}
