import { systemClock } from '../../clock/index.ts';
import { LockArgumentError } from '../../lock/index.ts';
import { type CommandClient, CommandPath, databaseOf, type OwnClient } from './command-path.ts';
import { openConnection, untilEnded } from './own-connection.ts';
import { hasMethod, inTurn, type OwnConnection, type RedisLink } from './redis-link.ts';
import { slotOf } from './slot.ts';

/** The parts used of a client of ioredis or of its fork iovalkey: single, Sentinel or Cluster. */
export interface IoredisClient {
  readonly options: {
    readonly keyPrefix?: string | undefined;
    readonly sentinels?: readonly object[] | null | undefined;
    readonly failoverDetector?: boolean | undefined;
  };
  readonly status: string;
  evalsha(sha: string, keyCount: number, ...args: string[]): Promise<unknown>;
  eval(text: string, keyCount: number, ...args: string[]): Promise<unknown>;
  info(section: string): Promise<unknown>;
}

/** A client of one server, or of the master that Sentinel names. */
interface SingleClient extends IoredisClient {
  call(command: string, args: string[]): Promise<unknown>;
  duplicate(options: object): Duplicate;
}

interface ClusterClient extends IoredisClient {
  nodes(): SingleClient[];
  duplicate(startupNodes: [], options: object): ClusterClient & Closable;
}

interface Closable {
  readonly status: string;
  on(event: string, listener: (...values: never[]) => void): unknown;
  disconnect(): void;
}

interface Duplicate extends SingleClient, Closable {
  subscribe(channel: string): Promise<unknown>;
  ping(): Promise<unknown>;
}

/** A duplicate for lock commands reconnects as the caller's client does. */
const COMMAND_OPTIONS = { lazyConnect: true, enableOfflineQueue: true } as const;

/** A duplicate for one connection ends when that connection does. */
const CONNECTION_OPTIONS = { ...COMMAND_OPTIONS, retryStrategy: null } as const;

export function isIoredis(client: object): client is IoredisClient {
  const isSingle = hasMethod(client, 'call');
  return (
    hasMethod(client, 'evalsha') &&
    hasMethod(client, 'duplicate') &&
    (isSingle || isCluster(client))
  );
}

export function ioredisLink(client: IoredisClient): RedisLink {
  checkSentinel(client);
  return isCluster(client) ? clusterLink(client) : singleLink(client as SingleClient);
}

/**
 * Without the detector, ioredis stays with an old master that is alive until the Sentinels demote it, about 10 s
 * after the failover: locks would be renewed there while the new master grants them to others.
 */
function checkSentinel({ options: { sentinels, failoverDetector } }: IoredisClient): void {
  if (!sentinels?.length || failoverDetector) return;
  throw new LockArgumentError(
    '',
    'this client would stay with an old master after a failover, and two programs could hold one lock: ' +
      'make it with new Redis({ sentinels, name, failoverDetector: true }).',
  );
}

function singleLink(client: SingleClient): RedisLink {
  const duplicate = (database: number | undefined): OwnClient =>
    ownClient(client.duplicate({ ...COMMAND_OPTIONS, db: database }), singleCommands);
  const path = new CommandPath({ ...singleCommands(client), duplicate }, systemClock);
  return {
    ...linkOver(client, path, () => client),
    plain: {
      keyPrefix: client.options.keyPrefix ?? '',
      command: (args) => path.command(args),
      open: (args, signal) => {
        const own = client.duplicate(CONNECTION_OPTIONS);
        return openOwn(own, () => call(own, args), signal);
      },
    },
  };
}

function clusterLink(client: ClusterClient): RedisLink {
  const nextOf = inTurn();
  const { keyPrefix = '' } = client.options;
  const duplicate = (): OwnClient => ownClient(client.duplicate([], COMMAND_OPTIONS), scripts);
  const path = new CommandPath({ ...scripts(client), duplicate }, systemClock);
  return {
    // Messages go to all nodes: subscribe to any, and to the next one if that fails.
    ...linkOver(client, path, () => nextOf(client.nodes())),
    slotOf: (key) => slotOf(keyPrefix + key),
  };
}

function linkOver(client: IoredisClient, path: CommandPath, nodeOf: () => SingleClient): RedisLink {
  return {
    evalsha: (sha, keys, args) => path.evalsha(sha, keys, args),
    eval: (text, keys, args) => path.eval(text, keys, args),
    info: (section) => client.info(section),
    async subscribe(channel, handlers, signal) {
      const own = nodeOf().duplicate(CONNECTION_OPTIONS);
      own.on('message', (_channel: string, text: string) => handlers.onMessage(text));
      await untilEnded(await openOwn(own, () => own.subscribe(channel), signal), handlers, signal);
    },
    close: () => path.close(),
  };
}

function scripts(client: IoredisClient): CommandClient {
  return {
    isConnected: () => client.status === 'ready',
    evalsha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    eval: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
  };
}

function singleCommands(client: SingleClient): CommandClient {
  return {
    ...scripts(client),
    command: (args) => call(client, args),
    database: async () => databaseOf(await call(client, ['CLIENT', 'INFO'])),
  };
}

function ownClient<Client extends Closable>(
  client: Client,
  commandsOf: (client: Client) => CommandClient,
): OwnClient {
  client.on('error', () => {});
  return { ...commandsOf(client), close: () => disconnect(client) };
}

async function openOwn(
  own: Duplicate,
  start: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<OwnConnection> {
  let failure: unknown;
  own.on('error', (error: unknown) => {
    failure = error;
  });
  const steps = {
    start,
    ping: () => own.ping(),
    end: () => disconnect(own),
    onEnd: (listener: () => void) => own.on('end', listener),
  };
  try {
    return await openConnection(steps, signal);
  } catch (error) {
    throw failure ?? error;
  }
}

/** To disconnect a client that has ended keeps the process alive for two more seconds. */
function disconnect(client: Closable): void {
  if (client.status !== 'end') client.disconnect();
}

function call(client: SingleClient, [name, ...args]: string[]): Promise<unknown> {
  return client.call(name!, args);
}

function isCluster(client: object): client is ClusterClient {
  return hasMethod(client, 'nodes');
}
