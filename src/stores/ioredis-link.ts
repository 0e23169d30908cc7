import { type Ears, hasMethod, inTurn, type OwnConnection, type RedisLink } from './redis-link.ts';
import { slotOf } from './slot.ts';

/** What is used of an ioredis client: single, Sentinel or Cluster. */
export interface IoredisClient {
  readonly options: { readonly keyPrefix?: string | undefined };
  evalsha(sha: string, keyCount: number, ...words: string[]): Promise<unknown>;
  eval(text: string, keyCount: number, ...words: string[]): Promise<unknown>;
  info(section: string): Promise<unknown>;
}

/** A client of one server, or of the master that Sentinel names. */
interface Single extends IoredisClient {
  call(command: string, args: string[]): Promise<unknown>;
  duplicate(options: object): Own;
}

interface Cluster extends IoredisClient {
  nodes(): Single[];
}

/** A duplicate, which is ours to change. */
interface Own {
  readonly status: string;
  on(event: string, listener: (...values: never[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  call(command: string, args: string[]): Promise<unknown>;
  disconnect(): void;
}

/** How a duplicate differs: it ends when its connection does, and keeps what is asked of it until then. */
const OWN_OPTIONS = {
  retryStrategy: null,
  lazyConnect: true,
  enableOfflineQueue: true,
} as const;

export function isIoredis(client: object): client is IoredisClient {
  return hasMethod(client, 'evalsha') && (hasMethod(client, 'duplicate') || isCluster(client));
}

export function ioredisLink(client: IoredisClient): RedisLink {
  const nodes = isCluster(client) ? () => client.nodes() : () => [client as Single];
  const nextOf = inTurn();
  const link: RedisLink = {
    evalsha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    eval: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
    info: (section) => client.info(section),
    async hear(channel, ears, signal) {
      // In a cluster any node will do, and the next one if that is down: messages go to all.
      const node = nextOf(nodes());
      await hear(node.duplicate(OWN_OPTIONS), channel, ears, signal);
    },
  };
  const { keyPrefix = '' } = client.options;
  if (isCluster(client)) return { ...link, slotOf: (key) => slotOf(keyPrefix + key) };
  if (!isSingle(client)) return link;
  const open = (words: string[], signal: AbortSignal) =>
    openOwn(client.duplicate(OWN_OPTIONS), words, signal);
  return { ...link, plain: { keyPrefix, open, command: (words) => call(client, words) } };
}

async function hear(own: Own, channel: string, ears: Ears, signal: AbortSignal): Promise<void> {
  const disconnect = (): void => own.disconnect();
  let failure: unknown;
  own.on('error', (error: unknown) => {
    failure = error;
  });
  own.on('message', (_channel: string, text: string) => ears.onMessage(text));
  const ended = new Promise<void>((resolve) => own.on('end', resolve));
  signal.addEventListener('abort', disconnect);
  try {
    await own.subscribe(channel);
    ears.onSubscribed();
    await ended;
  } catch (error) {
    throw failure ?? error;
  } finally {
    signal.removeEventListener('abort', disconnect);
    if (own.status !== 'end') own.disconnect();
  }
}

async function openOwn(own: Own, words: string[], signal: AbortSignal): Promise<OwnConnection> {
  let failure: unknown;
  own.on('error', (error: unknown) => {
    failure = error;
  });
  const ended = new Promise<void>((resolve) => own.on('end', resolve));
  // To disconnect what has ended would keep the process alive for two more seconds.
  const close = (): void => {
    if (own.status !== 'end') own.disconnect();
  };
  signal.addEventListener('abort', close);
  try {
    await call(own, words);
  } catch (error) {
    close();
    throw failure ?? error;
  } finally {
    signal.removeEventListener('abort', close);
  }
  return { ended, close };
}

function call(client: Pick<Own, 'call'>, [name, ...words]: string[]): Promise<unknown> {
  return client.call(name!, words);
}

function isSingle(client: object): client is Single {
  return !isCluster(client) && hasMethod(client, 'call');
}

function isCluster(client: object): client is Cluster {
  return hasMethod(client, 'nodes');
}
