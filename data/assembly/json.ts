/**
 * Finds where a JSON text ends and resolves its escapes, in WebAssembly, 16 bytes at a time.
 *
 * This file is AssemblyScript, compiled by `deno task kernels` into `../json.wasm`.
 */
const QUOTE: u32 = 0x22, BACKSLASH: u32 = 0x5c, LETTER_U: u32 = 0x75;
/** What may be read and written past a line's end. */
const SLACK: u32 = 16;
const NONE: u32 = u32.MAX_VALUE;

const start: u32 = u32((__heap_base + 15) & ~15);
/** Where the line ends, and where the text last read is, without its escapes. */
let lineEnd: u32 = start, text: u32 = start, textEnd: u32 = start;

/** Where a line of `length` bytes is to be written. */
export function lineAddress(length: u32): u32 {
  lineEnd = start + length;
  text = lineEnd + SLACK;
  const pages = i32((u64(text) + length + SLACK + 0xffff) >> 16) - memory.size();
  if (pages > 0 && memory.grow(pages) < 0) unreachable();
  return start;
}

/**
 * Reads the text whose first byte, behind its quote, is at an address.
 *
 * @returns Where the quote is that ends it; 0 if there is none, or the text is not JSON.
 */
export function readText(at: u32): u32 {
  let to = text;
  while (at < lineEnd) {
    const bytes = v128.load(at);
    const special = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(bytes, each(QUOTE)), i8x16.eq(bytes, each(BACKSLASH))),
        // Control characters must be escaped.
        i8x16.lt_u(bytes, each(0x20)),
      ),
    );
    v128.store(to, bytes);
    const plain: u32 = special == 0 ? 16 : ctz(special);
    at += plain;
    to += plain;
    if (special == 0) continue;
    if (at >= lineEnd) return 0;
    const byte: u32 = load<u8>(at);
    if (byte == QUOTE) {
      textEnd = to;
      return at;
    }
    if (byte != BACKSLASH) return 0;
    const letter: u32 = load<u8>(at, 1);
    if (letter == LETTER_U) {
      let code = hexadecimal(at + 2);
      at += 6;
      if (code >> 10 == 0xd800 >> 10 && load<u8>(at) == BACKSLASH && load<u8>(at, 1) == LETTER_U) {
        const low = hexadecimal(at + 2);
        if (low >> 10 == 0xdc00 >> 10) {
          code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
          at += 6;
        }
      }
      if (code == NONE) return 0;
      to = writeCode(to, code);
    } else {
      const means = meaning(letter);
      if (means == 0) return 0;
      store<u8>(to++, u8(means));
      at += 2;
    }
  }
  return 0;
}
/** Where the text then is, its escapes resolved, and where it ends. */
export function textAddress(): u32 {
  return text;
}
export function textEndAddress(): u32 {
  return textEnd;
}

/** 16 times a byte. */

function each(byte: u32): v128 {
  return i8x16.splat(i8(byte));
}

/** What a letter behind a backslash stands for; 0 if for nothing. */
function meaning(letter: u32): u32 {
  switch (letter) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // /
      return letter;
    case 0x62: // b
      return 0x08;
    case 0x66: // f
      return 0x0c;
    case 0x6e: // n
      return 0x0a;
    case 0x72: // r
      return 0x0d;
    case 0x74: // t
      return 0x09;
    default:
      return 0;
  }
}

/** The value of four hexadecimal digits; `NONE` if they are none. */
function hexadecimal(at: u32): u32 {
  let value: u32 = 0;
  for (let i: u32 = 0; i < 4; i++) {
    const byte: u32 = load<u8>(at + i), letter = byte | 0x20;
    if (byte - 0x30 <= 9) value = value << 4 | (byte - 0x30);
    else if (letter - 0x61 <= 5) value = value << 4 | (letter - 0x61 + 10);
    else return NONE;
  }
  return value;
}

/** Writes a code point, or half of a pair, in UTF-8, and gives where the next one goes. */
function writeCode(to: u32, code: u32): u32 {
  if (code < 0x80) {
    store<u8>(to, u8(code));
    return to + 1;
  }
  const more: u32 = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const first: u32 = (<u32> 0xff) << (7 - more) | code >> (6 * more);
  store<u8>(to, u8(first));
  for (let i: u32 = 1; i <= more; i++) {
    store<u8>(to + i, u8(code >> (6 * (more - i)) & 0x3f | 0x80));
  }
  return to + more + 1;
}
