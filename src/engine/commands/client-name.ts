import { ErrorReply } from '../../resp/index.ts';

/** A name stands in the lines of CLIENT LIST, so it may hold visible ASCII only, and no space. */
export function assertClientName(name: string, what = 'Client names'): void {
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code < 0x21 || code > 0x7e) {
      throw new ErrorReply(`ERR ${what} cannot contain spaces, newlines or special characters.`);
    }
  }
}
