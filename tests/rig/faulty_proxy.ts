/**
 * A proxy between a client and a server that breaks what goes through it: whichever way the bytes go,
 * and however far they got.
 *
 * @module
 */

/** What it does to an answer, or to what is sent. */
export const FAULTS = [
  "reset",
  "truncated",
  "flipped",
  "status 503",
  "slow",
  "flipped upload",
] as const;
type Fault = (typeof FAULTS)[number];

/** How many pieces a slow answer comes in, and how long each takes. */
const SLOW_PIECES = 20, SLOW_MS = 20;

/** See the module's comment. */
export class FaultyProxy implements AsyncDisposable {
  /** How often it did what. */
  readonly counts = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>;
  /** One request in so many is let pass. */
  readonly #rate: number;
  readonly #faults: readonly Fault[];
  readonly #target: number;
  readonly #draw: () => number;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #done: Promise<void>;

  /**
   * @param o.target Port of the server.
   * @param o.rate What part of the requests goes wrong.
   * @param o.draw Numbers from 0 to 1.
   */
  constructor(
    o: { target: number; rate: number; draw: () => number; faults?: readonly Fault[] },
  ) {
    this.#target = o.target;
    this.#rate = o.rate;
    this.#draw = o.draw;
    this.#faults = o.faults ?? FAULTS;
    this.#done = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) void this.#serve(client).catch(() => {});
  }

  async #serve(client: Deno.Conn): Promise<void> {
    const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#target });
    this.#open.add(client).add(server);
    const end = () => {
      for (const each of [client, server]) {
        this.#open.delete(each);
        try {
          each.close();
        } catch { /* it is */ }
      }
    };
    const state: { fault: Fault | undefined; at: number; isAsked: boolean } = {
      ...{ fault: undefined, at: 0, isAsked: false },
    };
    const up = this.#copy(client, async (piece) => {
      // What follows an answer is another request.
      if (!state.isAsked) {
        state.isAsked = true;
        state.fault = this.#fault();
        state.at = Math.floor(this.#draw() ** 3 * 4000);
        if (state.fault === "reset") return false;
        if (state.fault === "status 503") {
          await write(client, new TextEncoder().encode(UNAVAILABLE));
          return false;
        }
      }
      if (state.fault === "flipped upload") flip(piece, this.#draw());
      await write(server, piece);
      return true;
    });
    const down = this.#copy(server, async (piece) => {
      state.isAsked = false;
      const { fault, at } = state;
      if (fault === "flipped") flip(piece, this.#draw());
      if (fault === "slow") {
        for (let n = 0; n < SLOW_PIECES; n++) {
          await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
          await write(client, piece.slice(n, n + 1));
        }
        return false;
      }
      if (fault === "truncated") {
        await write(client, piece.subarray(0, at));
        state.at -= piece.length;
        return state.at > 0;
      }
      await write(client, piece);
      return true;
    });
    await Promise.race([up, down]).finally(end);
  }

  #fault(): Fault | undefined {
    if (this.#draw() >= this.#rate) return undefined;
    const fault = this.#faults[Math.floor(this.#draw() * this.#faults.length)]!;
    this.counts[fault]++;
    return fault;
  }

  async #copy(
    from: Deno.Conn,
    take: (piece: Uint8Array<ArrayBuffer>) => Promise<boolean>,
  ): Promise<void> {
    const buffer = new Uint8Array(1 << 16);
    for (;;) {
      const read = await from.read(buffer);
      if (read === null || !await take(buffer.slice(0, read))) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const each of this.#open) {
      try {
        each.close();
      } catch { /* it is */ }
    }
    await this.#done.catch(() => {});
  }
}

const UNAVAILABLE = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";

async function write(to: Deno.Conn, piece: Uint8Array): Promise<void> {
  for (let done = 0; done < piece.length;) done += await to.write(piece.subarray(done));
}

function flip(piece: Uint8Array, where: number): void {
  const at = Math.floor(where * piece.length);
  if (piece.length > 0) piece[at]! ^= 1;
}
