/**
 * Sends a file as the content of a PUT, in pieces and with its length, over HTTP/1.1 and a connection of its
 * own. `fetch` does not say how long a stream is, which S3 servers ask for, and Deno's `node:https` (2.9.6)
 * does not answer from its second request on.
 *
 * @module
 */
import type { SignedCall } from "./remote.ts";
import { CacheTrouble } from "./trouble.ts";
import type { Watchdog } from "./watchdog.ts";

/** How much of a file is in memory. */
const PIECE_BYTES = 1 << 18;
/** No answer has headers that long, with those before it that only say to go on. */
const MAX_HEAD_BYTES = 1 << 16;

/**
 * Sends it. Returns the answer's status; one that comes before all is sent ends it.
 *
 * @throws {CacheTrouble} If no answer comes, or one that the file was taken before all of it was sent.
 * @throws {Error} If the file can't be read.
 */
export async function putFile(
  call: SignedCall,
  { path, bytes }: { readonly path: string; readonly bytes: number },
  dog: Watchdog,
): Promise<number> {
  using file = await Deno.open(path);
  using connection = await connect(call.url, dog.signal).catch((error) => dog.bark(error));
  // Whoever waits for it then hears of it.
  const end = () => connection.shut();
  dog.signal.addEventListener("abort", end);
  try {
    const answer = statusFrom(connection.stream);
    let isSending = true;
    const answered = answer.then(() => true, () => true).finally(() => isSending = false);
    const buffer = new Uint8Array(PIECE_BYTES);
    let begun = 0;
    let writing = written(connection.stream, headOf(call, bytes));
    let isWritten = await writing;
    while (isWritten && isSending) {
      const read = await file.read(buffer);
      if (read === null) break;
      begun += read;
      writing = written(connection.stream, buffer.subarray(0, read));
      isWritten = await Promise.race([writing, answered]);
      dog.saw(read);
    }
    dog.sent();
    const status = await answer.catch((error) => dog.bark(error));
    if (status >= 200 && status < 300) {
      // Of the last piece the answer may be here before it is known that it was written.
      const isSent = begun >= bytes && await writing;
      if (!isSent) {
        throw new CacheTrouble(
          `it answered with status ${status} before it had been sent all`,
          "passing",
        );
      }
    }
    return status;
  } finally {
    dog.signal.removeEventListener("abort", end);
  }
}

type Stream = Deno.TcpConn | Deno.TlsConn;

/** A connection that may be closed several times. */
interface Connection extends Disposable {
  readonly stream: Stream;
  shut(): void;
}

async function connect(url: string, signal: AbortSignal): Promise<Connection> {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "https:";
  const to = {
    hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port) || (isSecure ? 443 : 80),
  };
  const connecting: Promise<Stream> = isSecure
    ? Deno.connectTls({ ...to, alpnProtocols: ["http/1.1"] })
    : Deno.connect(to);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const giveUp = () => {
    reject(signal.reason);
    connecting.then((stream) => stream.close(), () => {});
  };
  signal.addEventListener("abort", giveUp);
  const stream = await Promise.race([connecting, late])
    .finally(() => signal.removeEventListener("abort", giveUp));
  let isOpen = true;
  const shut = () => {
    if (isOpen) stream.close();
    isOpen = false;
  };
  return { stream, shut, [Symbol.dispose]: shut };
}

function headOf({ url, method, headers }: SignedCall, bytes: number): Uint8Array {
  const { host, pathname, search } = new URL(url);
  const lines = [
    `${method} ${pathname}${search} HTTP/1.1`,
    `host: ${host}`,
    ...[...headers].map(([name, value]) => `${name}: ${value}`),
    `content-length: ${bytes}`,
    "connection: close",
  ];
  return new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`);
}

/** Writes all of it. Returns whether that went well: a server that refuses may stop reading. */
async function written(stream: Stream, piece: Uint8Array): Promise<boolean> {
  try {
    for (let done = 0; done < piece.length;) done += await stream.write(piece.subarray(done));
    return true;
  } catch {
    return false;
  }
}

const HEAD_END = "\r\n\r\n";
const notHttp = () => new Error("the answer is not one of HTTP/1.1");

/** The status in an answer's head, past those that only say to go on. */
async function statusFrom(stream: Stream): Promise<number> {
  const decoder = new TextDecoder("latin1");
  const buffer = new Uint8Array(1 << 12);
  let text = "", from = 0;
  for (let taken = 0; taken < MAX_HEAD_BYTES;) {
    const read = await stream.read(buffer);
    if (read === null) throw new Error("the connection was closed");
    taken += read;
    text += decoder.decode(buffer.subarray(0, read), { stream: true });
    for (let end; (end = text.indexOf(HEAD_END, from)) >= 0; from = 0) {
      const [, status] = /^HTTP\/1\.\d ([1-9]\d\d)/.exec(text) ?? [];
      if (status === undefined) throw notHttp();
      if (!status.startsWith("1")) return Number(status);
      text = text.slice(end + HEAD_END.length);
    }
    from = Math.max(0, text.length - HEAD_END.length);
  }
  throw notHttp();
}
