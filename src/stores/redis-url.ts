import type { RedisOptions as AllRedisOptions, Redis } from 'ioredis';
import type { LockStore } from '../lock/index.ts';
import { ioredisLink } from './ioredis-link.ts';
import { linkRunner } from './link-runner.ts';
import { type RedisStoreOptions, scriptStore, withSession } from './redis.ts';
import type { RedisLink } from './redis-link.ts';
import type { Script, ScriptRunner } from './script-runner.ts';
import { openSession, type Session } from './session.ts';

/** A store at `redis://…`, `rediss://…` or `unix:/path`, with a client of its own that it closes. */
export function redisUrlStore(
  url: string,
  { session }: Pick<RedisStoreOptions, 'session'> = {},
): LockStore {
  const runner = new UrlRunner(url);
  if (!session) return scriptStore(runner);
  const command = (words: string[]): Promise<unknown> => runner.command(words);
  const open = (): Promise<Session> => openQuietly(url);
  return scriptStore(withSession(session, { runner, command, keyPrefix: '', open }));
}

/** The session does not keep a process alive that has nothing else to do. */
async function openQuietly(url: string): Promise<Session> {
  const session = await openSession(url);
  session.socket.unref();
  return session;
}

/**
 * Connects with the first request. If that fails the request does, and the next one tries again. Once
 * connected, the client reconnects by itself.
 */
class UrlRunner implements ScriptRunner {
  readonly #url: string;
  readonly #closing = new AbortController();
  #runner: Promise<Connected> | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async run(script: Script, keys: string[], args: string[]): Promise<unknown> {
    return (await this.#connected()).run(script, keys, args);
  }

  /** Any command, in order with the scripts. */
  async command(words: string[]): Promise<unknown> {
    return (await this.#connected()).command(words);
  }

  async listen(
    channel: string,
    onMessage: (text: string) => void,
    onGap: () => void,
  ): Promise<void> {
    return (await this.#connected()).listen(channel, onMessage, onGap);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const runner = await this.#runner?.catch(() => undefined);
    await runner?.close();
  }

  #connected(): Promise<Connected> {
    const { signal } = this.#closing;
    if (signal.aborted) return Promise.reject(new Error('the store is closed'));
    this.#runner ??= connect(this.#url, signal).catch((error: unknown) => {
      this.#runner = undefined;
      throw error;
    });
    return this.#runner;
  }
}

/** The client lives until the signal aborts, or until it has failed to connect. */
async function connect(url: string, signal: AbortSignal): Promise<Connected> {
  let isConnected = false;
  let failure: unknown;
  const client = await createClient(url, {
    lazyConnect: true,
    connectTimeout: 5000,
    // A connection that is dead but does not know it is left before a request is given up.
    socketTimeout: 4000,
    maxRetriesPerRequest: 1,
    // The client waits so long for the end of a connection, also of one that has ended, and so does the process.
    disconnectTimeout: 200,
    retryStrategy: (tries) => (isConnected ? Math.min(50 * tries, 2000) : null),
  });
  client.on('error', (error) => {
    failure = error;
    // It would go on in database 0, beside those who hold the same locks in the one that was asked for.
    if (isRefusedDatabase(error)) client.disconnect(true);
  });
  const disconnect = (): void => client.disconnect();
  signal.addEventListener('abort', disconnect);
  try {
    signal.throwIfAborted();
    await client.connect();
  } catch (error) {
    signal.removeEventListener('abort', disconnect);
    throw failure ?? error;
  }
  isConnected = true;
  const reason = (): unknown => (client.status === 'ready' ? undefined : failure);
  const link = explained(ioredisLink(client), reason);
  return Object.assign(linkRunner(link), {
    command: (words: string[]) => link.plain!.command(words),
  });
}

function isRefusedDatabase(error: object): boolean {
  return 'command' in error && (error.command as { name?: unknown }).name === 'select';
}

interface Connected extends ScriptRunner {
  command(words: string[]): Promise<unknown>;
}

/** Why a client is not connected says more than that it reached a limit of tries. */
function explained(link: RedisLink, reason: () => unknown): RedisLink {
  const evalsha: RedisLink['evalsha'] = (sha, keys, args, hearer) =>
    link.evalsha(sha, keys, args, {
      answered: (reply) => hearer.answered(reply),
      failed: (error) => hearer.failed(reason() ?? error),
    });
  return { ...link, evalsha };
}

/** The library is an optional peer, so that who needs no Redis need not install one. */
async function createClient(url: string, options: RedisOptions): Promise<Redis> {
  const { Redis } = await import('ioredis').catch((cause: unknown) => {
    const failure = new Error('locks in Redis need a client: npm install ioredis', { cause });
    throw Object.assign(failure, { isFinal: true });
  });
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(url)?.[1];
  return path === undefined ? new Redis(url, options) : new Redis({ ...options, path });
}

type RedisOptions = Pick<
  AllRedisOptions,
  | 'connectTimeout'
  | 'disconnectTimeout'
  | 'lazyConnect'
  | 'maxRetriesPerRequest'
  | 'retryStrategy'
  | 'socketTimeout'
>;
