/**
 * A server of blobs and traces in the test's own process, which misbehaves on request.
 *
 * @module
 */

/** One request, as it came. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
}

/** Answers a request instead of the server; `undefined`: the server is to answer. */
export type Misbehave = (asked: Asked, content: Uint8Array<ArrayBuffer> | undefined) =>
  | Response
  | undefined
  | Promise<Response | undefined>;

/** See the module's comment. */
export class CacheServer implements AsyncDisposable {
  /** `/cas/…` and `/ac/…` to what is there. */
  readonly content: Map<string, Uint8Array<ArrayBuffer>>;
  readonly asked: Asked[] = [];
  misbehave: Misbehave = () => undefined;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #isSecure: boolean;

  /** @param certificate Of `localhost`, and its private key: both in PEM. */
  constructor(
    content: Iterable<readonly [string, Uint8Array<ArrayBuffer>]> = [],
    certificate?: { readonly cert: string; readonly key: string },
  ) {
    this.content = new Map(content);
    this.#isSecure = certificate !== undefined;
    this.#server = Deno.serve(
      {
        ...{ hostname: "127.0.0.1", port: 0, onListen() {}, onError: () => new Response(null) },
        ...certificate,
      },
      (request) => this.#answer(request),
    );
  }

  get url(): string {
    return `${this.#isSecure ? "https://localhost" : "http://127.0.0.1"}:${this.#server.addr.port}`;
  }

  /** How often something was asked for, by method and the beginning of its path. */
  count(method: string, path = "/"): number {
    return this.asked.filter((each) => each.method === method && each.path.startsWith(path)).length;
  }

  async #answer(request: Request): Promise<Response> {
    const { method, headers } = request;
    const path = new URL(request.url).pathname;
    const body = new Uint8Array(await request.arrayBuffer());
    const asked = { method, path, headers };
    this.asked.push(asked);
    const content = this.content.get(path);
    const instead = await this.misbehave(asked, content);
    if (instead !== undefined) return instead;
    if (method === "PUT") {
      this.content.set(path, body);
      return new Response(null, { status: 201 });
    }
    if (content === undefined) return new Response(null, { status: 404 });
    const from = Number(/^bytes=(\d+)-$/.exec(headers.get("range") ?? "")?.[1] ?? 0);
    if (from === 0) return new Response(method === "HEAD" ? null : content, sized(content.length));
    const range = `bytes ${from}-${content.length - 1}/${content.length}`;
    return new Response(content.slice(from), { status: 206, headers: { "content-range": range } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

function sized(length: number): ResponseInit {
  return { headers: { "content-length": String(length) } };
}
