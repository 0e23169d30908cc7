/** A text of the outside world (flags, variables, typed lines) as the engine keeps it: a char a byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
