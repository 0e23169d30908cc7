import { randomUUID } from 'node:crypto';
import type { LockStore } from '../lock/index.ts';
import { type Script, type ScriptRunner, ScriptStore } from './script-store.ts';

/** What is used of an ioredis client (single, Sentinel or Cluster). */
export interface IoredisClient {
  evalsha(sha: string, keyCount: number, ...words: string[]): Promise<unknown>;
  eval(text: string, keyCount: number, ...words: string[]): Promise<unknown>;
  duplicate(): IoredisClient;
  subscribe(channel: string): Promise<unknown>;
  on(event: string, listener: (...values: string[]) => void): unknown;
  disconnect(): void;
}

/** What is used of a node-redis client (single, Sentinel or Cluster). */
export interface NodeRedisClient {
  evalSha(sha: string, words: ScriptWords): Promise<unknown>;
  eval(text: string, words: ScriptWords): Promise<unknown>;
  duplicate(): NodeRedisClient;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: string, listener: () => void): unknown;
  destroy(): void;
}

interface ScriptWords {
  keys: string[];
  arguments: string[];
}

/**
 * Locks in the Redis that a client is connected to. The client stays the caller's: it is neither
 * changed nor closed. A second connection is opened when somebody first has to wait, to be called on.
 */
export function redisStore(client: IoredisClient | NodeRedisClient): LockStore {
  // By shape, since instanceof fails between copies of a package.
  const runner = 'evalSha' in client ? nodeRedisRunner(client) : ioredisRunner(client);
  return new ScriptStore(runner, randomUUID());
}

function ioredisRunner(client: IoredisClient): ScriptRunner {
  let subscriber: IoredisClient | undefined;
  return {
    run: (script, keys, args) =>
      withFallback(
        script,
        (sha) => client.evalsha(sha, keys.length, ...keys, ...args),
        (text) => client.eval(text, keys.length, ...keys, ...args),
      ),
    async listen(channel, onMessage, onGap) {
      subscriber = client.duplicate();
      subscriber.on('error', () => {});
      subscriber.on('message', (_channel, text) => onMessage(text!));
      await subscriber.subscribe(channel);
      subscriber.on('ready', onGap);
    },
    async close() {
      subscriber?.disconnect();
    },
  };
}

function nodeRedisRunner(client: NodeRedisClient): ScriptRunner {
  let subscriber: NodeRedisClient | undefined;
  return {
    run: (script, keys, args) =>
      withFallback(
        script,
        (sha) => client.evalSha(sha, { keys, arguments: args }),
        (text) => client.eval(text, { keys, arguments: args }),
      ),
    async listen(channel, onMessage, onGap) {
      subscriber = client.duplicate();
      subscriber.on('error', () => {});
      await subscriber.connect();
      await subscriber.subscribe(channel, onMessage);
      subscriber.on('ready', onGap);
    },
    async close() {
      subscriber?.destroy();
    },
  };
}

/** The one place where a script that the server has forgotten is sent again. */
async function withFallback(
  { sha, text }: Script,
  bySha: (sha: string) => Promise<unknown>,
  byText: (text: string) => Promise<unknown>,
): Promise<unknown> {
  try {
    return await bySha(sha);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return byText(text);
  }
}
