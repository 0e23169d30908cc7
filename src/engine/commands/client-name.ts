import { ErrorReply } from '../../resp/index.ts';
import { MAX_WORD_BYTES } from '../text.ts';

/**
 * A name stands in the lines of CLIENT LIST, so it may hold visible ASCII only, and no space. Its length is
 * limited, since the reply of CLIENT LIST holds the names of all clients.
 */
export function assertClientName(name: string, what = 'Client names'): void {
  if (name.length > MAX_WORD_BYTES) {
    throw new ErrorReply(`ERR ${what} cannot be longer than ${MAX_WORD_BYTES} bytes.`);
  }
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code < 0x21 || code > 0x7e) {
      throw new ErrorReply(`ERR ${what} cannot contain spaces, newlines or special characters.`);
    }
  }
}
