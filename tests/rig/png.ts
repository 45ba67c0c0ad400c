/**
 * Pictures as pixels.
 *
 * @module
 */

/** A decoded picture: rows from the top, four bytes a pixel: red, green, blue, opacity. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

const COLOUR_AND_OPACITY = 6;
const BYTES = 4;

/**
 * Decodes a PNG of eight bits for each of red, green, blue and opacity, not interlaced, by the PNG
 * specification (ISO/IEC 15948, chapters 9 and 10).
 *
 * @throws {RangeError} If it is of another kind.
 */
export async function decodePng(png: Uint8Array): Promise<Picture> {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let [width, height] = [0, 0];
  for (let at = 8; at < png.length;) {
    const length = view.getUint32(at);
    const name = new TextDecoder().decode(png.subarray(at + 4, at + 8));
    const data = png.slice(at + 8, at + 8 + length);
    if (name === "IHDR") {
      [width, height] = [view.getUint32(at + 8), view.getUint32(at + 12)];
      const [depth, colour, , , interlace] = data.subarray(8);
      if (depth !== 8 || colour !== COLOUR_AND_OPACITY || interlace !== 0) {
        throw new RangeError(`decodePng: must be RGBA of 8 bits, found ${depth}, ${colour}`);
      }
    } else if (name === "IDAT") parts.push(data);
    at += length + 12;
  }
  const packed = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
  const filtered = new Uint8Array(await new Response(packed).arrayBuffer());
  const stride = BYTES * width;
  const pixels = new Uint8Array(stride * height);
  for (let row = 0; row < height; row++) {
    const filter = filtered[row * (stride + 1)]!;
    for (let column = 0; column < stride; column++) {
      const index = row * stride + column;
      const left = column < BYTES ? 0 : pixels[index - BYTES]!;
      const above = row === 0 ? 0 : pixels[index - stride]!;
      const corner = row === 0 || column < BYTES ? 0 : pixels[index - stride - BYTES]!;
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      if (guess === undefined) throw new RangeError(`decodePng: no filter ${filter} is known`);
      pixels[index] = filtered[row * (stride + 1) + 1 + column]! + guess;
    }
  }
  return { width, height, pixels };
}

/** Whichever neighbour is nearest to left + above − corner. */
function paeth(left: number, above: number, corner: number): number {
  const whole = left + above - corner;
  const [a, b, c] = [left, above, corner].map((value) => Math.abs(whole - value)) as [
    number,
    number,
    number,
  ];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

/** How many pixels of two pictures differ, and by how much a byte does at most. */
export function comparePictures(a: Picture, b: Picture): { pixels: number; most: number } {
  if (a.width !== b.width || a.height !== b.height) return { pixels: Infinity, most: 255 };
  let [pixels, most] = [0, 0];
  for (let at = 0; at < a.pixels.length; at += BYTES) {
    let worst = 0;
    for (let byte = at; byte < at + BYTES; byte++) {
      worst = Math.max(worst, Math.abs(a.pixels[byte]! - b.pixels[byte]!));
    }
    if (worst > 0) pixels++;
    most = Math.max(most, worst);
  }
  return { pixels, most };
}
