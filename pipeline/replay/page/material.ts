/**
 * An audit file as text in a page: compressed by gzip, in base64.
 *
 * @module
 */
import type { Choice, Choices } from "../uses.ts";

/** What the file in a page of some instances holds: code, inputs and outputs of those alone. */
export function choicesOf(instances: readonly string[]): Choices {
  const isChosen = new Set(instances);
  const choice: Choice = (_, instance) => isChosen.has(instance);
  return { chosen: choice, code: choice };
}

/** The text of some bytes. */
export async function pack(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await through(bytes, new CompressionStream("gzip"))).toBase64();
}

/** The bytes in a text. @throws {Error} If it is none that {@linkcode pack} gives. */
export async function unpack(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return await through(Uint8Array.fromBase64(text), new DecompressionStream("gzip"));
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}
