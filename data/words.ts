/**
 * What a word is, and the ids that are not words'.
 *
 * @module
 */

/** Id of padding in a classification corpus. */
export const paddingId = 0;
/** Id of every word outside the vocabulary. */
export const unknownId = 1;
/** Id of the most frequent word. */
export const firstWordId = 2;

/**
 * Calls `visit` with where every whitespace-separated word of a text starts and ends, in order.
 *
 * Whitespace is what Python's `str.split()` takes for it, since the papers' code is Python: with
 * the control characters U+001C to U+001F and U+0085, and without U+FEFF, unlike `\s` here.
 */
export function eachWord(text: string, visit: (start: number, end: number) => void): void {
  let start = -1;
  for (let i = 0; i < text.length; i++) {
    if (isSpace(text.charCodeAt(i))) {
      if (start >= 0) visit(start, i);
      start = -1;
    } else if (start < 0) {
      start = i;
    }
  }
  if (start >= 0) visit(start, text.length);
}

function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 9 && code <= 13) || (code >= 28 && code <= 31);
  return code === 0x85 || code === 0xa0 || code === 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f || code === 0x3000;
}
