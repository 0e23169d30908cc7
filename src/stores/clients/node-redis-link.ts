import { systemClock } from '../../clock/index.ts';
import { type CommandClient, CommandPath, databaseOf, type OwnClient } from './command-path.ts';
import { openConnection, untilEnded } from './own-connection.ts';
import { hasMethod, inTurn, type OwnConnection, type RedisLink } from './redis-link.ts';
import { slotOf } from './slot.ts';

/** The parts used of a node-redis client: single, Sentinel, Cluster or pool. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  /** A pool has none. */
  readonly isReady?: boolean;
  evalSha(sha: string, script: ScriptArguments): Promise<unknown>;
  eval(text: string, script: ScriptArguments): Promise<unknown>;
}

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/** A client of one server. */
interface SingleClient extends NodeRedisClient {
  readonly options?: { readonly socket?: object; readonly keyPrefix?: unknown };
  readonly isReady: boolean;
  info(section: string): Promise<unknown>;
  sendCommand(args: string[]): Promise<unknown>;
  duplicate(options: object): SingleClient & Duplicate;
  ping(): Promise<unknown>;
}

interface Duplicate extends NodeRedisClient {
  on(event: string, listener: (value: unknown) => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  destroy(): unknown;
}

interface ClusterClient extends NodeRedisClient {
  readonly masters: readonly ClusterNode[];
  nodeClient(node: ClusterNode): Promise<SingleClient>;
  duplicate(options: object): Duplicate;
}

interface ClusterNode {
  readonly client?: SingleClient;
}

interface SentinelClient extends NodeRedisClient {
  getMasterNode(): unknown;
  sendCommand(isReadonly: boolean, args: string[]): Promise<unknown>;
  duplicate(options: object): SentinelClient & Duplicate;
}

interface PoolClient extends NodeRedisClient {
  execute<Result>(task: (client: SingleClient) => Result): Promise<Result>;
  sendCommand(args: string[]): Promise<unknown>;
}

export function isNodeRedis(client: object): client is NodeRedisClient {
  const isKnown =
    isCluster(client) || isPool(client) || isSentinel(client) || hasMethod(client, 'duplicate');
  return hasMethod(client, 'evalSha') && 'isOpen' in client && isKnown;
}

export function nodeRedisLink(client: NodeRedisClient): RedisLink {
  if (isCluster(client)) return clusterLink(client);
  if (isSentinel(client)) return sentinelLink(client);
  if (isPool(client)) return poolLink(client);
  return singleLink(client as SingleClient);
}

function singleLink(client: SingleClient): RedisLink {
  const path = new CommandPath(
    {
      ...singleCommands(client),
      duplicate: (database) =>
        ownClient(client.duplicate({ ...NO_CACHE, database }), singleCommands),
    },
    systemClock,
  );
  return {
    ...scriptsOver(client, path),
    info: (section) => client.info(section),
    subscribe: subscribeBeside(client, async () => client),
    plain: {
      keyPrefix: String(client.options?.keyPrefix ?? ''),
      command: (args) => path.command(args),
      open: (args, signal) => {
        const own = duplicateOnce(client);
        return openOwn(own, () => own.sendCommand(args), signal);
      },
    },
  };
}

/**
 * Requests are batched by the slot of the key without the prefix, since the client does not expose its prefix. The
 * requests of one batch are still in one slot, unless the prefix has an opening brace and no closing one.
 */
function clusterLink(client: ClusterClient): RedisLink {
  const nextOf = inTurn();
  /** A connected master, if one is known; else another one at each attempt. */
  const anyMaster = async (): Promise<SingleClient> => {
    const { masters } = client;
    const ready = masters.filter((node) => node.client?.isReady);
    return client.nodeClient(nextOf(ready.length > 0 ? ready : masters));
  };
  const duplicate = (): OwnClient => ownClient(client.duplicate(NO_CACHE), scripts);
  return {
    ...scriptsOver(client, new CommandPath({ ...scripts(client), duplicate }, systemClock)),
    info: async (section) => (await anyMaster()).info(section),
    subscribe: subscribeBeside(client, anyMaster),
    slotOf,
  };
}

/** A pool replaces a dead connection by itself: it lends a connection to one request at a time. */
function poolLink(client: PoolClient): RedisLink {
  const path = new CommandPath(scripts(client), systemClock);
  return {
    ...scriptsOver(client, path),
    info: (section) => client.sendCommand(['INFO', section]),
    subscribe: subscribeBeside(client, () => client.execute((single) => single)),
  };
}

function sentinelLink(client: SentinelClient): RedisLink {
  const duplicate = (): OwnClient => ownClient(client.duplicate(NO_CACHE), scripts);
  return {
    ...scriptsOver(client, new CommandPath({ ...scripts(client), duplicate }, systemClock)),
    info: (section) => client.sendCommand(false, ['INFO', section]),
    async subscribe(channel, handlers, signal) {
      checkOpen(client);
      const own = client.duplicate(NO_CACHE);
      const onMessage = (text: string): void => handlers.onMessage(text);
      const connection = await openSentinel(own, channel, onMessage, signal);
      await untilEnded(connection, handlers, signal);
    },
  };
}

function scriptsOver(
  client: NodeRedisClient,
  path: CommandPath,
): Pick<RedisLink, 'evalsha' | 'eval' | 'close'> {
  return {
    evalsha: async (sha, keys, args) => {
      checkOpen(client);
      return path.evalsha(sha, keys, args);
    },
    eval: (text, keys, args) => path.eval(text, keys, args),
    close: () => path.close(),
  };
}

function scripts(client: NodeRedisClient): CommandClient {
  const plain = withoutTypeMapping(client);
  return {
    isConnected: () => client.isReady === true,
    evalsha: (sha, keys, args) => plain.evalSha(sha, { keys, arguments: args }),
    eval: (text, keys, args) => plain.eval(text, { keys, arguments: args }),
  };
}

function singleCommands(client: SingleClient): CommandClient {
  const plain = withoutTypeMapping(client);
  return {
    ...scripts(client),
    command: (args) => plain.sendCommand(args),
    database: async () => databaseOf(await plain.sendCommand(['CLIENT', 'INFO'])),
  };
}

/** A duplicate that shares the caller's client-side cache would clear that cache when it closes. */
const NO_CACHE = { clientSideCache: undefined } as const;

/** A duplicate for lock commands, which reconnects as the caller's client does. */
function ownClient<Client extends Duplicate>(
  own: Client,
  commandsOf: (client: Client) => CommandClient,
): OwnClient {
  own.on('error', () => {});
  const commands = commandsOf(own);
  const connected = own.connect();
  connected.catch(() => {});
  return {
    ...commands,
    // The first request of a duplicate is an eval, the probe. The others are sent after its reply, so only eval waits.
    eval: async (text, keys, args) => {
      await connected;
      return commands.eval(text, keys, args);
    },
    close: () => destroy(own),
  };
}

/** A duplicate that does not reconnect. */
function duplicateOnce(single: SingleClient): SingleClient & Duplicate {
  const socket = { ...single.options?.socket, reconnectStrategy: false };
  return single.duplicate({ ...NO_CACHE, socket });
}

/** Subscribes on a new connection: a duplicate of the client that `singleOf` returns. */
function subscribeBeside(
  client: NodeRedisClient,
  singleOf: () => Promise<SingleClient>,
): RedisLink['subscribe'] {
  return async (channel, handlers, signal) => {
    checkOpen(client);
    const own = duplicateOnce(await singleOf());
    const start = (): Promise<unknown> =>
      own.subscribe(channel, (text) => handlers.onMessage(text));
    await untilEnded(await openOwn(own, start, signal), handlers, signal);
  };
}

function openOwn(
  own: SingleClient & Duplicate,
  start: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<OwnConnection> {
  const steps = {
    async start() {
      await own.connect();
      return start();
    },
    ping: () => own.ping(),
    end: () => destroy(own),
    onEnd(listener: () => void) {
      own.on('end', listener);
      own.on('error', () => {
        if (!own.isOpen) listener();
      });
    },
  };
  return openConnection(steps, signal);
}

/**
 * Opens a subscription through Sentinel. The client reconnects it without an event, so every error and every change of
 * the master counts as its end. The client offers no PING on that connection: `ping` publishes to the channel.
 */
function openSentinel(
  own: SentinelClient & Duplicate,
  channel: string,
  onMessage: (text: string) => void,
  signal: AbortSignal,
): Promise<OwnConnection> {
  let onPong = (): void => {};
  let onEnd = (): void => {};
  let isSubscribed = false;
  const steps = {
    async start() {
      own.on('error', () => {
        if (isSubscribed) onEnd();
      });
      own.on('topology-change', (event) => {
        const isMaster = (event as { readonly type: string }).type === 'MASTER_CHANGE';
        if (isSubscribed && isMaster) onEnd();
      });
      await own.connect();
      await own.subscribe(channel, (text) => {
        if (text === PING) onPong();
        else onMessage(text);
      });
      isSubscribed = true;
    },
    ping: () =>
      new Promise<void>((resolve) => {
        onPong = resolve;
        own.sendCommand(false, ['PUBLISH', channel, PING]).catch(() => {});
      }),
    end: () => destroy(own),
    onEnd(listener: () => void) {
      onEnd = () => {
        destroy(own);
        listener();
      };
    },
  };
  return openConnection(steps, signal);
}

const PING = 'holdfast:ping';

/** Some versions throw or reject if the connection has already ended. */
async function destroy(own: Duplicate): Promise<void> {
  try {
    await own.destroy();
  } catch {}
}

/** Without this some kinds of client fail with an error that does not name the cause. */
function checkOpen(client: NodeRedisClient): void {
  if (!client.isOpen) throw new Error('the client is closed, or connect() was never called');
}

/** The caller may want Buffers or strings for numbers; the store does not. */
function withoutTypeMapping<Client extends NodeRedisClient>(client: Client): Client {
  const { withTypeMapping } = client as { withTypeMapping?: (mapping: object) => Client };
  return withTypeMapping?.call(client, {}) ?? client;
}

function isCluster(client: object): client is ClusterClient {
  return hasMethod(client, 'nodeClient') && 'masters' in client;
}

function isSentinel(client: object): client is SentinelClient {
  return hasMethod(client, 'getMasterNode') && hasMethod(client, 'duplicate');
}

function isPool(client: object): client is PoolClient {
  return hasMethod(client, 'execute') && 'idleClients' in client;
}
