/**
 * Texts as UTF-8 and back, without losing what UTF-8 cannot say.
 *
 * A string may hold half of a surrogate pair, and JSON can bring one in. Such a half is written as
 * the three bytes its number would take (WTF-8), so that different strings have different bytes.
 *
 * @module
 */
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** Half of a surrogate pair by itself: as the expression is of Unicode, a whole pair is no two halves. */
const half = /([\ud800-\udfff])/u;
/** Up to so many bytes a text is made here: to start the decoder takes longer. */
const shortLength = 8;

/** A text's bytes. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  if (text.isWellFormed()) return encoder.encode(text);
  const bytes = new Uint8Array(text.length * 3);
  let at = 0;
  for (const part of text.split(half)) {
    const code = part.charCodeAt(0);
    if (part.length === 1 && code >= 0xd800 && code <= 0xdfff) {
      bytes[at++] = 0xe0 | (code >> 12);
      bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
      bytes[at++] = 0x80 | (code & 0x3f);
    } else {
      at += encoder.encodeInto(part, bytes.subarray(at)).written;
    }
  }
  return bytes.subarray(0, at);
}

/** The text that {@linkcode bytesOf} gave these bytes. */
export function textOf(bytes: Uint8Array): string {
  const short = bytes.length <= shortLength ? asciiText(bytes) : undefined;
  if (short !== undefined) return short;
  let text = "";
  let from = 0;
  for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
    const second = bytes[at + 1] ?? 0;
    if (second < 0xa0) continue;
    const code = 0xd000 | ((second & 0x3f) << 6) | ((bytes[at + 2] ?? 0) & 0x3f);
    text += decoder.decode(bytes.subarray(from, at)) + String.fromCharCode(code);
    from = at + 3;
  }
  return text + decoder.decode(bytes.subarray(from));
}

/** A text of ASCII; `undefined` where the bytes are another. */
function asciiText(bytes: Uint8Array): string | undefined {
  let text = "";
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i]! >= 0x80) return undefined;
    text += String.fromCharCode(bytes[i]!);
  }
  return text;
}
