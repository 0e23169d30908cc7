import { ErrorReply } from '../../resp/index.ts';
import type { ClientType } from '../client-line.ts';
import { printed, upper } from '../text.ts';

/** Types by their names on the wire; there are no masters and replicas. */
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
