/**
 * Shows `outputs/` and the runs that go on to a browser on this machine: read-only, on the loopback
 * address alone.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { readLive } from "./live.ts";
import { contentType, findPath, folderPage } from "./serve/files.ts";
import { EVENTS_PATH, LIVE_POLICY, livePage, liveRuns } from "./serve/live_page.ts";

/** A server that runs. */
export interface OutputsServer {
  /** `http://127.0.0.1:8000/`. */
  readonly url: string;
  /** Ends every connection at once. */
  stop(): Promise<void>;
}

const NEWS_MS = 500;

/** A report has its style, its figures and perhaps a script in itself, and asks nobody else. */
const FILE_POLICY = "default-src 'self' data: 'unsafe-inline'; form-action 'none'";

/**
 * Serves a folder of outputs on 127.0.0.1.
 *
 * @param port The port; 0 takes one that is free.
 * @throws {LockstepError} If the port is taken.
 */
export function serveOutputs(folder: string, { port }: { readonly port: number }): OutputsServer {
  const controller = new AbortController();
  const { signal } = controller;
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({
      hostname: "127.0.0.1",
      port,
      signal,
      onListen: () => {},
      onError: () => answer(500, "The server failed to answer"),
    }, (request) => respond(request, { folder, signal }));
  } catch (error) {
    if (
      !(error instanceof Deno.errors.AddrInUse || error instanceof Deno.errors.PermissionDenied)
    ) {
      throw error;
    }
    throw new LockstepError(
      `Cannot serve on port ${port}: it must be free and allowed for this user, and is not; give ` +
        "another --port, or none",
      { cause: error },
    );
  }
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    async stop() {
      controller.abort();
      await server.finished;
    },
  };
}

interface Site {
  readonly folder: string;
  readonly signal: AbortSignal;
}

async function respond(request: Request, site: Site): Promise<Response> {
  // A page elsewhere could let its own name point here and read the answer; the name gives it away.
  const host = (request.headers.get("host") ?? "").replace(/:\d+$/, "");
  if (host !== "127.0.0.1" && host !== "localhost") {
    return answer(421, "Ask for 127.0.0.1 or localhost");
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    return answer(405, "This server is read-only", { allow: "GET, HEAD" });
  }
  const { pathname } = new URL(request.url);
  const store = join(site.folder, "store");
  const head = request.method === "HEAD";
  switch (pathname) {
    case "/live":
    case "/live/": {
      const page = livePage(await readLive(store), Date.now());
      return content(head ? null : page, "text/html; charset=utf-8", LIVE_POLICY);
    }
    case "/live.json": {
      const runs = `${JSON.stringify(await readLive(store))}\n`;
      return content(head ? null : runs, "application/json");
    }
    case EVENTS_PATH:
      return content(head ? null : news(store, site.signal), "text/event-stream");
    default:
      return files(site.folder, pathname, head);
  }
}

function files(folder: string, pathname: string, head: boolean): Response {
  const found = findPath(folder, pathname);
  if (!found && pathname === "/") return answer(404, "Nothing was run yet; see /live for runs");
  if (!found) return answer(404, "Nothing is here");
  if (found.kind === "file") return file(found, head);
  if (!pathname.endsWith("/")) {
    const location = `/${found.segments.map(encodeURIComponent).join("/")}/`;
    return answer(308, "It is a folder", { location });
  }
  const index = findPath(folder, `${pathname}index.html`);
  if (index?.kind === "file") return file(index, head);
  return content(head ? null : folderPage(folder, found), "text/html; charset=utf-8", FILE_POLICY);
}

function file({ path, bytes }: { path: string; bytes: number }, head: boolean): Response {
  const body = head ? null : Deno.openSync(path).readable;
  const response = content(body, contentType(path), FILE_POLICY);
  // A streamed body of unknown length goes out in chunks, and a browser can't know how far it is.
  response.headers.set("content-length", String(bytes));
  return response;
}

/** The live page's changing part, whenever it changed, for as long as someone listens. */
function news(store: string, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const end = () => {
    ended = true;
    clearTimeout(timer);
  };
  return new ReadableStream({
    start(controller) {
      let last: string | undefined;
      const send = async () => {
        const text = JSON.stringify(liveRuns(await readLive(store), Date.now()).html);
        if (ended) return;
        if (text !== last) controller.enqueue(encoder.encode(`data: ${last = text}\n\n`));
        timer = setTimeout(() => send().catch(fail), NEWS_MS);
      };
      const fail = (error: unknown) => {
        end();
        controller.error(error);
      };
      signal.addEventListener("abort", () => {
        if (ended) return;
        end();
        controller.close();
      });
      send().catch(fail);
    },
    cancel: end,
  });
}

const HEADERS = {
  "cache-control": "no-cache, no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

function content(
  body: string | ReadableStream<Uint8Array> | null,
  type: string,
  policy = "default-src 'none'",
): Response {
  const headers = { ...HEADERS, "content-type": type, "content-security-policy": policy };
  return new Response(body as BodyInit | null, { headers });
}

function answer(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const type = "text/plain; charset=utf-8";
  return new Response(`${message}\n`, {
    status,
    headers: { ...HEADERS, ...headers, "content-type": type },
  });
}
