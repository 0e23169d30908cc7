import { ErrorReply } from '../../resp/index.ts';
import { MAX_TOKEN_BYTES } from '../text.ts';

/**
 * Checks a client name. It is part of a line of CLIENT LIST, so that only visible ASCII without spaces is allowed.
 * Its length is limited, because the reply of CLIENT LIST contains the names of all clients.
 */
export function assertClientName(name: string, what = 'Client names'): void {
  if (name.length > MAX_TOKEN_BYTES) {
    throw new ErrorReply(`ERR ${what} cannot be longer than ${MAX_TOKEN_BYTES} bytes.`);
  }
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code < 0x21 || code > 0x7e) {
      throw new ErrorReply(`ERR ${what} cannot contain spaces, newlines or special characters.`);
    }
  }
}
