/** No command, option or pattern that could match is longer, so that longer texts are not folded. */
export const MAX_WORD_BYTES = 1024;
/** How much of an argument an error reply repeats. */
const MAX_SHOWN_BYTES = 128;

/**
 * Upper case by the ASCII table alone: bytes above 127 are not letters here, whatever Unicode says. A text
 * of more than MAX_WORD_BYTES is returned as it is, since folding it would cost more than the rest of the
 * request.
 */
export function upper(text: string): string {
  if (text.length > MAX_WORD_BYTES) return text;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x61 && code <= 0x7a) return foldFrom(text, at, 0x61, -0x20);
  }
  return text;
}

/** Lower case by the ASCII table alone, under the same limit. */
export function lower(text: string): string {
  if (text.length > MAX_WORD_BYTES) return text;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x41 && code <= 0x5a) return foldFrom(text, at, 0x41, 0x20);
  }
  return text;
}

/**
 * An argument as an error reply repeats it: up to its first NUL byte, as C prints it, and no more than
 * 128 bytes. Redis cuts some of its messages there and sends others whole.
 */
export function printed(text: string): string {
  const head = text.slice(0, MAX_SHOWN_BYTES);
  const end = head.indexOf('\0');
  return end < 0 ? head : head.slice(0, end);
}

function foldFrom(text: string, begin: number, firstLetter: number, shift: number): string {
  let folded = text.slice(0, begin);
  for (let at = begin; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isLetter = code >= firstLetter && code < firstLetter + 26;
    folded += String.fromCharCode(isLetter ? code + shift : code);
  }
  return folded;
}
