import { ErrorReply } from '../../resp/index.ts';
import type { ClientType } from '../client-line.ts';
import { printed, upper } from '../text.ts';

/** Client types by their names on the wire. No client is a master or a replica. */
const CLIENT_TYPES: Partial<Record<string, ClientType | 'none'>> = {
  NORMAL: 'normal',
  PUBSUB: 'pubsub',
  MASTER: 'none',
  REPLICA: 'none',
  SLAVE: 'none',
};

export function clientTypeArgument(text: string): ClientType | 'none' {
  const type = CLIENT_TYPES[upper(text)];
  if (type === undefined) throw new ErrorReply(`ERR Unknown client type '${printed(text)}'`);
  return type;
}
