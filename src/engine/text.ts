/** The maximum length of command names, options and patterns. Longer texts are not case-folded. */
export const MAX_TOKEN_BYTES = 1024;
/** The maximum length of an argument in an error reply. */
const MAX_SHOWN_BYTES = 128;

/**
 * Converts ASCII letters to upper case. Bytes above 127 are not letters. A text of more than MAX_TOKEN_BYTES is
 * returned unchanged, because folding it would cost more than the rest of the request.
 */
export function upper(text: string): string {
  if (text.length > MAX_TOKEN_BYTES) return text;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x61 && code <= 0x7a) return foldFrom(text, at, 0x61, -0x20);
  }
  return text;
}

/** Converts ASCII letters to lower case, with the same limit. */
export function lower(text: string): string {
  if (text.length > MAX_TOKEN_BYTES) return text;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x41 && code <= 0x5a) return foldFrom(text, at, 0x41, 0x20);
  }
  return text;
}

/**
 * An argument for an error reply: up to its first NUL byte, as C prints it, and at most 128 bytes. Redis has this
 * limit for some of its messages.
 */
export function printed(text: string): string {
  const head = text.slice(0, MAX_SHOWN_BYTES);
  const end = head.indexOf('\0');
  return end < 0 ? head : head.slice(0, end);
}

/** Whether a text has a space of C, or a NUL byte. */
export function hasSpace(text: string): boolean {
  return /[\0\t\n\v\f\r ]/.test(text);
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
