/**
 * The tar format: POSIX ustar and pax, and GNU's, whose extensions are read where a member's name or size is there.
 *
 * Headers of 512 bytes, each followed by its member's content, padded to a multiple of as many: "pax" in POSIX.1-2017.
 *
 * @module
 */

/** What a header says of a member. */
export interface TarHeader {
  readonly name: string;
  /** Its kind in words. */
  readonly type: string;
  /** Bytes of content. */
  readonly size: number;
}

/** Receives members as they come. */
export interface TarReceiver {
  /** A member begins: gives room for its content, or nothing where it is not wanted. */
  begin(header: TarHeader): Uint8Array | undefined;
  /** The member last begun has all of its content. */
  end(): void;
}

const blockSize = 512;
/** Most bytes of a name or of a pax header. */
const maxExtension = 1 << 20;
const nameAt = 0, sizeAt = 124, sumAt = 148, typeAt = 156, magicAt = 257, prefixAt = 345;
const nameEnd = 100, sizeEnd = 136, sumEnd = 156, prefixEnd = 500;
const space = 0x20, zero = 0x30;
const types: Readonly<Record<string, string>> = {
  "\0": "file",
  0: "file",
  1: "link",
  2: "symlink",
  3: "character-device",
  4: "block-device",
  5: "directory",
  6: "fifo",
  7: "contiguous-file",
};
/** Headers that say more about the member after them, or about all: of it a name and a size are read. */
const extensions: Readonly<Record<string, "name" | "fields" | "nothing">> = {
  L: "name",
  x: "fields",
  K: "nothing",
  g: "nothing",
};
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads an archive that comes in chunks; errors say what is wrong with it. */
export class TarReader {
  readonly #receiver: TarReceiver;
  /** A header that runs over chunks, and how much of it there is. */
  readonly #header = new Uint8Array(blockSize);
  #headerBytes = 0;
  /** Where the content at hand goes, how long it is, and how much of it and its padding is still to come. */
  #content: Uint8Array | undefined;
  #size = 0;
  #left = 0;
  #extension: "name" | "fields" | "nothing" | undefined;
  /** What extensions said about the member to come. */
  #next: { name?: string; size?: number } = {};

  constructor(receiver: TarReceiver) {
    this.#receiver = receiver;
  }

  /** Takes the archive's next bytes. */
  take(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      const bytes = chunk.subarray(at);
      at += this.#left > 0 ? this.#takeContent(bytes) : this.#takeHeader(bytes);
    }
  }

  /** Checks that it ends between two members. */
  finish(): void {
    if (this.#left > 0 || this.#headerBytes > 0) throw new Error("it ends within a member");
  }

  #takeHeader(bytes: Uint8Array): number {
    if (this.#headerBytes === 0 && bytes.length >= blockSize) {
      this.#begin(bytes.subarray(0, blockSize));
      return blockSize;
    }
    const part = bytes.subarray(0, blockSize - this.#headerBytes);
    this.#header.set(part, this.#headerBytes);
    this.#headerBytes += part.length;
    if (this.#headerBytes === blockSize) {
      this.#headerBytes = 0;
      this.#begin(this.#header);
    }
    return part.length;
  }

  #takeContent(bytes: Uint8Array): number {
    const padded = Math.ceil(this.#size / blockSize) * blockSize;
    const from = padded - this.#left;
    const taken = Math.min(bytes.length, this.#left);
    const wanted = Math.min(taken, this.#size - from);
    if (wanted > 0) this.#content?.set(bytes.subarray(0, wanted), from);
    this.#left -= taken;
    if (this.#left === 0) this.#end();
    return taken;
  }

  #begin(block: Uint8Array): void {
    const sum = sumOf(block);
    // A block of zeros, as at the end.
    if (sum === 8 * space) return;
    if (sum !== numberIn(block, sumAt, sumEnd)) throw new Error("a header's checksum is wrong");
    const type = String.fromCharCode(block[typeAt]!);
    this.#extension = extensions[type];
    let size = numberIn(block, sizeAt, sizeEnd);
    if (this.#extension === undefined) {
      const name = this.#next.name ?? nameIn(block);
      size = this.#next.size ?? size;
      this.#next = {};
      const isDirectory = type === "5" ||
        ((type === "0" || type === "\0") && name.endsWith("/"));
      // Some writers give directories a size, but none a content.
      if (isDirectory) size = 0;
      const word = isDirectory ? "directory" : types[type] ?? type;
      this.#content = this.#receiver.begin({ name, type: word, size });
    } else {
      if (size > maxExtension) throw new Error(`a header has ${size} bytes`);
      this.#content = new Uint8Array(size);
    }
    this.#size = size;
    this.#left = Math.ceil(size / blockSize) * blockSize;
    if (this.#left === 0) this.#end();
  }

  #end(): void {
    const content = this.#content!;
    if (this.#extension === undefined) this.#receiver.end();
    else if (this.#extension === "name") this.#next.name = textIn(content, 0, content.length);
    else if (this.#extension === "fields") this.#takeFields(content);
  }

  /** Reads pax fields, each `length name=value\n`, the length being that of all of it. */
  #takeFields(content: Uint8Array): void {
    for (let at = 0; at < content.length;) {
      const length = numberIn(content, at, content.length, 10);
      const field = decoder.decode(content.subarray(at, at + length - 1));
      const [, name, value] = /^\d+ ([^=]+)=(.*)$/s.exec(field) ?? [];
      if (name === undefined || at + length > content.length) {
        throw new Error("a pax header is malformed");
      }
      if (name === "path") this.#next.name = value!;
      if (name === "size") this.#next.size = Number(value);
      at += length;
    }
  }
}

/** The sum of a header's bytes, its checksum taken to be spaces. */
function sumOf(block: Uint8Array): number {
  let sum = 8 * space;
  for (let i = 0; i < sumAt; i++) sum += block[i]!;
  for (let i = sumEnd; i < blockSize; i++) sum += block[i]!;
  return sum;
}

/** A number in octal digits, or another base's, after spaces; or, for large ones, in bytes with the first one's upper bit set. */
function numberIn(block: Uint8Array, at: number, end: number, base = 8): number {
  let value = 0;
  if (block[at]! >= 0x80) {
    value = block[at]! & 0x7f;
    for (at += 1; at < end; at++) value = value * 0x100 + block[at]!;
    return value;
  }
  while (at < end && block[at] === space) at += 1;
  for (; at < end && block[at] !== space && block[at] !== 0; at++) {
    const digit = block[at]! - zero;
    if (digit < 0 || digit >= base) throw new Error("a header has a number with other than digits");
    value = value * base + digit;
  }
  return value;
}

function nameIn(block: Uint8Array): string {
  const magic = textIn(block, magicAt, magicAt + 8);
  const name = textIn(block, nameAt, nameEnd);
  if (magic === "ustar  ") return name;
  if (magic !== "ustar") throw new Error("a header is neither of POSIX's nor of GNU's format");
  return block[prefixAt] === 0 ? name : `${textIn(block, prefixAt, prefixEnd)}/${name}`;
}

/** The text that ends with a byte of 0, or at `end`. */
function textIn(block: Uint8Array, at: number, end: number): string {
  let to = at;
  while (to < end && block[to] !== 0) to += 1;
  return decoder.decode(block.subarray(at, to));
}
