/** Upper case by the ASCII table alone: bytes above 127 are not letters here, whatever Unicode says. */
export function upper(text: string): string {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x61 && code <= 0x7a) return foldFrom(text, at, 0x61, -0x20);
  }
  return text;
}

/** Lower case by the ASCII table alone. */
export function lower(text: string): string {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x41 && code <= 0x5a) return foldFrom(text, at, 0x41, 0x20);
  }
  return text;
}

/** A word as C puts it into a message: up to its first NUL byte. */
export function printed(text: string): string {
  const end = text.indexOf('\0');
  return end < 0 ? text : text.slice(0, end);
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
