/** A text of the outside world (flags, variables, typed lines) as the engine keeps it: a char a byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** The text in bytes that a server sent, a char a byte. Bytes that are no UTF-8 become U+FFFD. */
export function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
