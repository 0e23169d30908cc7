import { randomUUID } from 'node:crypto';
import type { ScriptRunner } from '../client/index.ts';
import { systemClock, systemRandom } from '../clock/index.ts';
import { type Duration, durationMs, LockArgumentError, type LockStore } from '../lock/index.ts';
import { type IoredisClient, ioredisLink, isIoredis } from './clients/ioredis-link.ts';
import { linkRunner } from './clients/link-runner.ts';
import { isNodeRedis, type NodeRedisClient, nodeRedisLink } from './clients/node-redis-link.ts';
import type { PlainLink, RedisLink } from './clients/redis-link.ts';
import type { KeyOptions } from './redis/lock-keys.ts';
import { RedisStore } from './redis/redis-store.ts';
import { type LiveSession, LockSession, type LockSessionOptions } from './sessions/lock-session.ts';
import { type Session, SessionError, sessionError } from './sessions/session.ts';

export type { IoredisClient, NodeRedisClient };

/**
 * Locks in the Redis that a client is connected to: ioredis or iovalkey (single, Sentinel, Cluster) or node-redis
 * (client, Sentinel, Cluster, pool). The client stays the caller's: it is neither changed nor closed. The store
 * opens a duplicate of it to receive messages, when a request first has to wait, and one for its commands, if the
 * client's connection stops replying. `close()` closes them.
 *
 * @throws LockArgumentError for any other object, and for an ioredis client with `sentinels` but without
 *   `failoverDetector: true`.
 */
export function redisStore(
  client: IoredisClient | NodeRedisClient,
  options: RedisStoreOptions = {},
): LockStore {
  const link = linkTo(client);
  checkKeys(options);
  const runner = linkRunner(link);
  if (!options.session) return storeOn(runner, options);
  if (link.plain === undefined) throw new LockArgumentError('', ONE_CONNECTION);
  const { plain } = link;
  const open = (): Promise<LiveSession> => openBeside(plain, 'the end of this client');
  const session = lockSession(options.session, { ...plain, scripts: runner, open });
  return storeOn(runner, options, session);
}

const ONE_CONNECTION =
  'locks with a session need a client with one connection, on which commands keep their order: ioredis ' +
  'new Redis(), or node-redis createClient(). A cluster and a pool have several.';

export interface RedisStoreOptions extends KeyOptions {
  /** How long one request may take. Default 2 s. */
  readonly requestTimeout?: Duration;
  /**
   * On a Holdfast server: locks end with this process, not only with their lease. `true` opens a session on a connection
   * of its own. A session of openSession() is used as it is. Default false.
   */
  readonly session?: boolean | Session;
}

/** Throws for an unknown option: if a misspelt `session` were ignored, locks would outlive their process. */
function checkKeys(options: object): void {
  for (const name in options) {
    if (STORE_OPTIONS.includes(name)) continue;
    throw new LockArgumentError(
      '',
      `redisStore does not know '${name}'. Its options are ${STORE_OPTIONS.join(', ')}.`,
    );
  }
}

const STORE_OPTIONS = ['requestTimeout', 'session', 'prefix', 'key'];

/** The session of a store: the given one, or one that the store opens. */
export function lockSession(
  session: true | Session,
  options: Omit<LockSessionOptions, 'clock' | 'requestTimeoutMs'>,
): LockSession {
  const open = session === true ? options.open : callerSession(session);
  const requestTimeoutMs = OPEN_TIMEOUT_MS;
  return new LockSession({ ...options, open, clock: systemClock, requestTimeoutMs });
}

/** Opens a session on a connection of its own, to the server of a client. */
export async function openBeside({ open }: PlainLink, where: string): Promise<LiveSession> {
  const id = randomUUID();
  // A firewall may drop packets without an error: without a timeout, all requests would wait for the session.
  const timeout = new AbortController();
  const timer = systemClock.setTimer(OPEN_TIMEOUT_MS, () => timeout.abort());
  try {
    return { id, ...(await open(['HOLDFAST.SESSION', id], timeout.signal)) };
  } catch (error) {
    const isLate = timeout.signal.aborted;
    const reason = isLate ? new Error(`no answer within ${OPEN_TIMEOUT_MS} ms`) : error;
    throw sessionError(reason, where);
  } finally {
    timer.cancel();
  }
}

/** How long the server may take to open a session. */
const OPEN_TIMEOUT_MS = 2000;

const OVER = 'the session of these locks has ended';

/** Uses a session of the caller. The store does not close it, and cannot open it again. */
function callerSession({ id, ended }: Session): () => Promise<LiveSession> {
  if (typeof id !== 'string' || typeof ended?.then !== 'function') {
    throw new LockArgumentError('', 'session is true, false, or what `await openSession()` gave');
  }
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  return async () => {
    if (isOver) throw new SessionError('ended', OVER, undefined, true);
    return { id, ended, close() {} };
  };
}

/** A store on the Redis of a script runner. */
export function storeOn(
  runner: ScriptRunner,
  { requestTimeout = '2s', ...keys }: RedisStoreOptions = {},
  session?: LockSession,
): LockStore {
  const requestTimeoutMs = durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 });
  const clientId = newClientId();
  return new RedisStore(runner, {
    clientId,
    clock: systemClock,
    requestTimeoutMs,
    session,
    keys,
  });
}

/** Short, since every token begins with it: Redis stores strings of up to 44 bytes in one allocation. */
function newClientId(): string {
  return Buffer.from(systemRandom.bytes(12)).toString('base64url');
}

function linkTo(client: unknown): RedisLink {
  if (typeof client === 'object' && client !== null) {
    if (isNodeRedis(client)) return nodeRedisLink(client);
    if (isIoredis(client)) return ioredisLink(client);
  }
  throw new LockArgumentError(
    '',
    'redisStore needs a client: of ioredis or iovalkey new Redis() (also with sentinels) or new Cluster(), or ' +
      'of node-redis createClient(), createSentinel(), createCluster() or createClientPool().',
  );
}
