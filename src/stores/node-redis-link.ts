import { type Ears, hasMethod, inTurn, type OwnConnection, type RedisLink } from './redis-link.ts';
import { slotOf } from './slot.ts';

/** What is used of a node-redis client: single, Sentinel, Cluster or pool. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  evalSha(sha: string, words: ScriptWords): Promise<unknown>;
  eval(text: string, words: ScriptWords): Promise<unknown>;
}

interface ScriptWords {
  keys: string[];
  arguments: string[];
}

/** A client of one server. */
interface Single extends NodeRedisClient {
  readonly options?: { readonly socket?: object };
  readonly isReady: boolean;
  info(section: string): Promise<unknown>;
  sendCommand(words: string[]): Promise<unknown>;
  duplicate(options: object): Own;
}

/** A duplicate, which is ours to change. */
interface Own {
  readonly isOpen: boolean;
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(words: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  destroy(): void;
}

interface Cluster extends NodeRedisClient {
  readonly masters: readonly ClusterNode[];
  nodeClient(node: ClusterNode): Promise<Single>;
}

interface ClusterNode {
  readonly client?: Single;
}

interface Sentinel extends NodeRedisClient {
  /** Gives the client of the master to a function; there is no other way to get at it. */
  _execute<Result>(isReadonly: false, use: (master: Single) => Promise<Result>): Promise<Result>;
}

interface Pool extends NodeRedisClient {
  execute<Result>(use: (client: Single) => Promise<Result>): Promise<Result>;
}

export function isNodeRedis(client: object): client is NodeRedisClient {
  return hasMethod(client, 'evalSha') && 'isOpen' in client && useOf(client) !== undefined;
}

export function nodeRedisLink(client: NodeRedisClient): RedisLink {
  const use = useOf(client)!;
  const plain = withoutTypeMapping(client);
  const evalSha = async (sha: string, keys: string[], args: string[]): Promise<unknown> => {
    checkOpen(client);
    return plain.evalSha(sha, { keys, arguments: args });
  };
  const link: RedisLink = {
    evalsha: evalSha,
    eval: (text, keys, args) => plain.eval(text, { keys, arguments: args }),
    info: (section) => use((single) => single.info(section)),
    async hear(channel, ears, signal) {
      checkOpen(client);
      const own = await use(async (single) => duplicate(single));
      signal.throwIfAborted();
      await hear(own, channel, ears, signal);
    },
  };
  const keyPrefix = (client as { readonly _keyPrefix?: string })._keyPrefix ?? '';
  if (isCluster(client)) return { ...link, slotOf: (key) => slotOf(keyPrefix + key) };
  if (!isSingle(client)) return link;
  const command = (words: string[]) => (plain as Single).sendCommand(words);
  const open = async (words: string[], signal: AbortSignal) =>
    openOwn(duplicate(client), words, signal);
  return { ...link, plain: { keyPrefix, command, open } };
}

type Use = <Result>(act: (single: Single) => Promise<Result>) => Promise<Result>;

/** How to get at a client of one server: only such a one can be duplicated, and tells when it ends. */
function useOf(client: object): Use | undefined {
  if (isCluster(client)) return useAnyMaster(client);
  if (hasMethod(client, '_execute')) return (act) => (client as Sentinel)._execute(false, act);
  if (hasMethod(client, 'execute')) return (act) => (client as Pool).execute(act);
  if (isSingle(client)) return (act) => act(client);
  return undefined;
}

function isSingle(client: object): client is Single {
  const isOther =
    isCluster(client) || hasMethod(client, '_execute') || hasMethod(client, 'execute');
  return !isOther && hasMethod(client, 'duplicate');
}

/** A master that answers, if one is known; else the next one at each try. */
function useAnyMaster(cluster: Cluster): Use {
  const nextOf = inTurn();
  return async (act) => {
    const { masters } = cluster;
    const ready = masters.filter(({ client }) => client?.isReady);
    return act(await cluster.nodeClient(nextOf(ready.length > 0 ? ready : masters)));
  };
}

/** How a duplicate differs: it ends when its connection does, and does not clear the caller's cache then. */
function duplicate(single: Single): Own {
  return single.duplicate({
    socket: { ...single.options?.socket, reconnectStrategy: false },
    clientSideCache: undefined,
  });
}

async function hear(own: Own, channel: string, ears: Ears, signal: AbortSignal): Promise<void> {
  const destroy = (): void => destroyQuietly(own);
  const ended = new Promise<void>((resolve) => {
    own.on('end', resolve);
    own.on('error', () => {
      if (!own.isOpen) resolve();
    });
  });
  signal.addEventListener('abort', destroy);
  try {
    await own.connect();
    await own.subscribe(channel, (text) => ears.onMessage(text));
    ears.onSubscribed();
    await ended;
  } finally {
    signal.removeEventListener('abort', destroy);
    destroy();
  }
}

async function openOwn(own: Own, words: string[], signal: AbortSignal): Promise<OwnConnection> {
  const ended = new Promise<void>((resolve) => {
    own.on('end', resolve);
    own.on('error', () => {
      if (!own.isOpen) resolve();
    });
  });
  const close = (): void => destroyQuietly(own);
  signal.addEventListener('abort', close);
  try {
    await own.connect();
    await own.sendCommand(words);
  } catch (error) {
    close();
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
  }
  return { ended, close };
}

/** Some versions throw if the connection has already ended. */
function destroyQuietly(own: Own): void {
  try {
    own.destroy();
  } catch {}
}

/** Without this some kinds of client fail in ways that tell nothing. */
function checkOpen(client: NodeRedisClient): void {
  if (!client.isOpen) throw new Error('the client is closed, or connect() was never called');
}

/** The caller may want Buffers or strings for numbers; the store does not. */
function withoutTypeMapping(client: NodeRedisClient): NodeRedisClient {
  const { withTypeMapping } = client as {
    withTypeMapping?: (mapping: object) => NodeRedisClient;
  };
  return withTypeMapping?.call(client, {}) ?? client;
}

function isCluster(client: object): client is Cluster {
  return hasMethod(client, 'nodeClient') && 'masters' in client;
}
