/**
 * Finds, numbers and counts the words of texts, in WebAssembly: a hash table over their bytes.
 *
 * This file is AssemblyScript, compiled by `deno task kernels` into `../words.wasm`: `i8x16.eq` and
 * its like are SIMD instructions, `load<u32>` and `store<u32>` reach the memory, and addresses are in bytes.
 *
 * A slot of the table is a hash and the address of a word's record, which is 0 where the slot is free.
 * Slots are probed linearly and at most half of them taken. A record is
 *
 *     number, count, rank, length: u32    and then the word's bytes, up to a multiple of 8
 *
 * The rank says when the word was first counted, 0 if never. The length has its upper bit set if the word has a
 * byte outside ASCII.
 */
const COUNT: u32 = 4, RANK: u32 = 8, LENGTH: u32 = 12, BYTES: u32 = 16;
const WIDE: u32 = 1 << 31;
const SLOT: u32 = 8;
/** Bytes of a text whose words are numbered at a time: at most half as many words and one, and one that is none. */
const PIECE: u32 = 1 << 13;
const WORDS: u32 = PIECE / 2 + 2;
/** What may be read past anything's end, and written past a text's. */
const SLACK: u32 = 32;
const FOUND: u32 = 16;
/** Ids that are given at a time. */
const IDS: u32 = 1 << 16;
/** Id of every word outside the vocabulary. */
const UNKNOWN: u32 = 1;
const FACTOR: u64 = 0x9e3779b97f4a7c15;

/** The memory from here on is unused. */
let free: u32 = u32((__heap_base + 15) & ~15);
/** Room for records. */
let room: u32 = 0, roomEnd: u32 = 0;
let slots: u32 = allocate(SLOT << 12), slotMask: u32 = (1 << 12) - 1;
let size: u32 = 0, counted: u32 = 0;
let text: u32 = 0, textRoom: u32 = 0;
/** Numbers of the words kept, 7 bits to a byte, of which the upper bit says that more follow. */
const numbers: u32 = allocate(WORDS * 4);
let numbersTo: u32 = numbers;
/** Words found: where each starts and ends, its hash, and the record in the slot where that leads: u32. */
const found: u32 = allocate(WORDS * FOUND);
const hashed: u32 = allocate(8);
/** The text at hand: what is read next, where a word may have begun, its end. */
let at: u32 = 0, start: u32 = 0, end: u32 = 0;
/** Bits of whitespace that reaches into the next bytes. */
let carried: u32 = 0;

/** Room for a text of `length` bytes. What it had before is given to records. */
export function textAddress(length: u32): u32 {
  if (length + SLACK > textRoom) {
    const old = text, oldRoom = textRoom;
    textRoom = max(length + SLACK, max(textRoom * 2, 1 << 16));
    text = allocate(textRoom);
    if (oldRoom > 0) giveRoom(old, oldRoom);
  }
  return text;
}

/** Where numbers are found, and where they end. */
export function numbersAddress(): u32 {
  return numbers;
}
export function numbersEnd(): u32 {
  return numbersTo;
}
export function slotsAddress(): u32 {
  return slots;
}
export function slotCount(): u32 {
  return slotMask + 1;
}
/** Different words so far. */
export function wordCount(): u32 {
  return size;
}

/** Where a hash of 64 bits of the text's first `length` bytes then is. */
export function hashText(length: u32): u32 {
  store<u64>(text + length, 0);
  let hash: u64 = length;
  for (let p: u32 = text; p < text + length; p += 8) hash = mixed(hash, load<u64>(p));
  store<u64>(hashed, mixed(hash, 0));
  return hashed;
}

/** A hash and 8 more bytes; for each hash no two bytes give the same. */
function mixed(hash: u64, bytes: u64): u64 {
  hash = (hash ^ bytes) * FACTOR;
  return hash ^ (hash >> 32);
}

/** Starts on the text's first `length` bytes. */
export function begin(length: u32): void {
  at = start = text;
  end = text + length;
  carried = 0;
  // The whitespace that ends the last word.
  memory.fill(end, 0x20, SLACK);
}

/**
 * Numbers words of the text, where `count` counts them too, and with `fold` makes A to Z small before. The
 * numbers of the first `limit` are kept.
 *
 * @returns How many there were; the text is done when `more` says so.
 */
export function next(count: bool, fold: bool, limit: u32): u32 {
  const last = findWords(fold);
  fetch(last);
  let to = numbers;
  for (let p = found; p < last; p += FOUND) {
    const number = numberOf(p, count);
    if (limit == 0) continue;
    limit -= 1;
    to = writeNumber(to, number);
  }
  numbersTo = to;
  return (last - found) / FOUND;
}

/** Writes a number below 2²⁸, and gives where the next one goes. Without a branch, which would often be guessed wrongly. */
function writeNumber(to: u32, number: u32): u32 {
  const spread = (number & 0x7f) | (number & 0x3f80) << 1 | (number & 0x1fc000) << 2 |
    (number & 0xfe00000) << 3;
  // A seventh of how many bits it has, less one.
  const more = (31 - clz(number | 1)) * 37 >> 8;
  store<u32>(to, spread | (0x80808080 & ((1 << (more << 3)) - 1)));
  return to + more + 1;
}

/** The id of each number. */
let ids: u32 = 0, idCount: u32 = 0;
/** Ids last given. */
let given: u32 = 0;
/** Room for the ids of `count` numbers. */
export function idsAddress(count: u32): u32 {
  if (count > idCount) ids = allocate(count * 4);
  if (given == 0) given = allocate(IDS * 4);
  idCount = count;
  return ids;
}
export function givenAddress(): u32 {
  return given;
}

/** Starts on the text's first `length` bytes, which are numbers as `next` writes them. */
export function beginNumbers(length: u32): void {
  at = text;
  end = text + length - 1;
}

/** Gives the ids of numbers, that of an unknown word for those of no word. @returns How many; `more` says whether that is all. */
export function nextIds(): u32 {
  let to = given;
  const stop = given + IDS * 4;
  while (at <= end && to < stop) {
    const bytes = load<u32>(at);
    // The upper bits of bytes that are a number's last.
    const last = ~bytes & 0x80808080;
    const mine = bytes & (last ^ (last - 1));
    const number = last == 0
      ? u32.MAX_VALUE
      : (mine & 0x7f) | (mine >> 1 & 0x3f80) | (mine >> 2 & 0x1fc000) | (mine >> 3 & 0xfe00000);
    at += last == 0 ? 5 : (ctz(last) >> 3) + 1;
    store<u32>(to, number < idCount ? load<u32>(ids + number * 4) : UNKNOWN);
    to += 4;
  }
  return (to - given) >> 2;
}

/** Finds words in the next piece, and gives the end of what `found` then holds. */
function findWords(fold: bool): u32 {
  let out = found;
  const stop = min(at + PIECE, end + 1);
  for (; at < stop; at += 16) {
    let bytes = v128.load(at);
    if (fold) {
      const upper = v128.and(i8x16.ge_u(bytes, each(0x41)), i8x16.le_u(bytes, each(0x5a)));
      bytes = v128.or(bytes, v128.and(upper, each(0x20)));
      v128.store(at, bytes);
    }
    let spaces = spaceBits(bytes) | carried;
    if (i8x16.bitmask(bytes) != 0) spaces |= wideSpaceBits(bytes);
    carried = spaces >> 16;
    for (let bits = spaces & 0xffff; bits != 0; bits &= bits - 1) {
      const space = at + ctz<u32>(bits);
      store<u32>(out, start);
      store<u32>(out, space, 4);
      store<u32>(out, hashOf(start, space), 8);
      // Whitespace behind whitespace ends no word.
      out += space > start ? FOUND : 0;
      start = space + 1;
    }
  }
  return out;
}

/**
 * Reads the slots, then the records, of all words found, which brings them from memory many at a time;
 * met one by one, each would be waited for: two fifths of the time where there are 400,000 words.
 */
function fetch(last: u32): void {
  for (let p = found; p < last; p += FOUND) {
    store<u32>(p, load<u32>(slots + (load<u32>(p, 8) & slotMask) * SLOT, 4), 12);
  }
  let sum: u32 = 0;
  for (let p = found; p < last; p += FOUND) sum += load<u32>(load<u32>(p, 12), LENGTH);
  fetched = sum;
}
/** Exported so that no compiler leaves out what `fetch` reads. */
export let fetched: u32 = 0;

/** Whether the text has more words. */
export function more(): bool {
  return at <= end;
}

/** 16 times a byte. */

function each(byte: u32): v128 {
  return i8x16.splat(i8(byte));
}

/** Which of 16 bytes are whitespace of one byte, as Python's `str.split` has it. */
function spaceBits(bytes: v128): u32 {
  const control = i8x16.le_u(i8x16.sub(bytes, each(9)), each(13 - 9));
  const separator = i8x16.le_u(i8x16.sub(bytes, each(28)), each(32 - 28));
  return i8x16.bitmask(v128.or(control, separator));
}

/** Which of the 16 bytes at `at`, and of the two after them, are of whitespace of several bytes that starts there. */
function wideSpaceBits(bytes: v128): u32 {
  const two = i8x16.eq(bytes, each(0xc2));
  const three = i8x16.le_u(i8x16.sub(bytes, each(0xe1)), each(0xe3 - 0xe1));
  let found: u32 = 0;
  for (let bits: u32 = i8x16.bitmask(v128.or(two, three)); bits != 0; bits &= bits - 1) {
    const i = ctz<u32>(bits);
    const width = spaceWidth(at + i);
    found |= ((1 << width) - 1) << i;
  }
  return found;
}

/** Bytes of the whitespace at an address where a byte of 0xc2 or of 0xe1 to 0xe3 is; 0 if another character is there. */
function spaceWidth(p: u32): u32 {
  const first = load<u8>(p), second = load<u8>(p, 1), third = load<u8>(p, 2);
  // U+0085, U+00A0
  if (first == 0xc2) return second == 0x85 || second == 0xa0 ? 2 : 0;
  let space = false;
  // U+1680
  if (first == 0xe1) space = second == 0x9a && third == 0x80;
  // U+3000
  else if (first == 0xe3) space = second == 0x80 && third == 0x80;
  // U+205F
  else if (second == 0x81) space = third == 0x9f;
  // U+2000 to U+200A, U+2028, U+2029, U+202F
  else if (second == 0x80) {
    space = (third >= 0x80 && third <= 0x8a) || third == 0xa8 || third == 0xa9 || third == 0xaf;
  }
  return space ? 3 : 0;
}

/** Up to 16 bytes of a word of which `left` are left, zeros after them. */
function wordBytes(p: u32, left: u32): v128 {
  const places = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return v128.and(v128.load(p), i8x16.lt_u(places, each(min(left, 16))));
}

/** A word's hash. */
function hashOf(from: u32, to: u32): u32 {
  let hash: u64 = to - from;
  let p = from;
  do {
    const bytes = wordBytes(p, to - p);
    hash = mixed(mixed(hash, i64x2.extract_lane(bytes, 0)), i64x2.extract_lane(bytes, 1));
    p += 16;
  } while (p < to);
  return u32(hash);
}

/** The number of a word found, which is given one if it is new. */
function numberOf(p: u32, count: bool): u32 {
  const from = load<u32>(p), to = load<u32>(p, 4);
  let record = load<u32>(p, 12);
  if (!isWord(record, from, to)) record = recordOf(from, to, load<u32>(p, 8));
  if (count) {
    const before = load<u32>(record, COUNT);
    if (before == 0) store<u32>(record, ++counted, RANK);
    store<u32>(record, before + 1, COUNT);
  }
  return load<u32>(record);
}

/** The record of a word that is not in the first slot that its hash leads to, or was not. */
function recordOf(from: u32, to: u32, hash: u32): u32 {
  let slot = slots + (hash & slotMask) * SLOT;
  let record = load<u32>(slot, 4);
  while (record != 0 && !(load<u32>(slot) == hash && isWord(record, from, to))) {
    slot = slots + ((((slot - slots) / SLOT) + 1) & slotMask) * SLOT;
    record = load<u32>(slot, 4);
  }
  if (record == 0) {
    record = keep(from, to);
    store<u32>(slot, hash);
    store<u32>(slot, record, 4);
    if (size * 2 > slotMask) widen();
  }
  return record;
}

/** Whether a record is a word's; 0 is none's. */
function isWord(record: u32, from: u32, to: u32): bool {
  if ((load<u32>(record, LENGTH) & ~WIDE) != to - from) return false;
  let known = record + BYTES;
  let p = from;
  do {
    if (v128.any_true(v128.xor(wordBytes(known, to - p), wordBytes(p, to - p)))) return false;
    p += 16;
    known += 16;
  } while (p < to);
  return true;
}

/** Makes the record of a new word. */
function keep(from: u32, to: u32): u32 {
  const length = to - from;
  const record = place(BYTES + ((length + 7) & ~7));
  let wide: u32 = 0;
  for (let p = from; p < to; p += 16) {
    if (i8x16.bitmask(wordBytes(p, to - p)) != 0) wide = WIDE;
  }
  memory.copy(record + BYTES, from, length);
  store<u32>(record, size++);
  store<u32>(record, 0, COUNT);
  store<u32>(record, 0, RANK);
  store<u32>(record, length | wide, LENGTH);
  return record;
}

/** Doubles the slots. The old ones' room is given to records. */
function widen(): void {
  const old = slots, oldEnd = old + (slotMask + 1) * SLOT;
  slotMask = slotMask * 2 + 1;
  slots = allocate((slotMask + 1) * SLOT);
  for (let p = old; p < oldEnd; p += SLOT) {
    if (load<u32>(p, 4) == 0) continue;
    let index = load<u32>(p) & slotMask;
    while (load<u32>(slots + index * SLOT, 4) != 0) index = (index + 1) & slotMask;
    store<u64>(slots + index * SLOT, load<u64>(p));
  }
  giveRoom(old, oldEnd - old);
}

/** Room for a record. */
function place(bytes: u32): u32 {
  if (bytes > roomEnd - room) {
    const more = max(bytes, 1 << 16);
    giveRoom(allocate(more), more);
  }
  const record = room;
  room += bytes;
  return record;
}

/** Has records made in `bytes` bytes from an address on, if that is more than there is. */
function giveRoom(address: u32, bytes: u32): void {
  if (bytes <= roomEnd - room) return;
  room = address;
  roomEnd = address + bytes;
}

/** Says that there is no memory for so many bytes, and does not return. */
declare function full(bytes: u32): void;

/** Unused memory, which is all zeros. */
function allocate(bytes: u32): u32 {
  const address = free;
  const after = u64(address) + ((u64(bytes) + 15) & ~15);
  const pages = i32((after + SLACK + 0xffff) >> 16) - memory.size();
  if (after > 0xffff0000 - SLACK || (pages > 0 && memory.grow(max(pages, 16)) < 0)) full(bytes);
  free = u32(after);
  return address;
}
