import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Cache, createCache } from '../src/cache/index.ts';
import { createLocks, type Locks } from '../src/index.ts';
import { FaultProxy, PASS } from './fault-proxy.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

const SERVERS = { 'redis-server': startRealRedis, 'our server': startHoldfast } as const;

/** Another process, whose cache has a memory tier. All its connections go through the proxy. */
class TierProcess {
  readonly #child: ChildProcess;
  #lastId = 0;

  static async start(port: number): Promise<TierProcess> {
    const program = new TierProcess(port);
    await once(program.#child, 'message');
    return program;
  }

  private constructor(port: number) {
    this.#child = fork(join(import.meta.dirname, 'cache-tier-process.child.js'), {
      env: { ...process.env, HOLDFAST_BUILD: BUILD, HOLDFAST_PORT: `${port}` },
      execArgv: [],
    });
  }

  /** Calls get so many times, one after the other, and returns the last value. */
  async get(count = 1): Promise<unknown> {
    const sent = ++this.#lastId;
    this.#child.send({ id: sent, count });
    for (;;) {
      const [{ id, value, error }] = await once(this.#child, 'message');
      if (id !== sent) continue;
      if (error !== undefined) throw new Error(error);
      return value;
    }
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(10);
}

describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])(
  'a memory tier of another process, on %s',
  (kind) => {
    let server: RunningServer;
    let observer: Redis;
    let proxy: FaultProxy;
    let tier: TierProcess;
    let locks: Locks;
    let cache: Cache;

    beforeEach(async () => {
      server = await SERVERS[kind]();
      observer = new Redis(server.port, server.host);
      proxy = await FaultProxy.start(server.port);
      tier = await TierProcess.start(proxy.port);
      locks = createLocks(`redis://127.0.0.1:${server.port}`);
      cache = createCache({ locks, fresh: '1h', tags: ['red'] });
      await cache.set('a', 'old', {});
      await untilCopied();
    });
    afterEach(async () => {
      await tier.kill();
      await locks.close();
      await proxy[Symbol.asyncDispose]();
      observer.disconnect();
      await server.stop();
    });

    /** Until gets of the tier need no request. */
    async function untilCopied(): Promise<void> {
      await until(async () => (await requestsOf(100)) === 0);
    }

    /** How many script calls the server runs for so many gets. */
    async function requestsOf(count: number): Promise<number> {
      const before = await scriptCalls();
      await tier.get(count);
      return (await scriptCalls()) - before;
    }

    async function scriptCalls(): Promise<number> {
      const text = await observer.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1] ?? 0);
    }

    it.each([
      ['set', () => cache.set('a', 'new', {}), 'new'],
      ['delete', () => cache.delete('a'), 'loaded'],
      ['invalidate', () => cache.invalidate('red'), 'loaded'],
    ] as const)('returns no copy after the message of a %s', async (_, change, value) => {
      expect(await tier.get(1000)).toBe('old');
      await change();
      // No time is set for the copy but its hour: only the message can end it.
      await until(async () => (await tier.get()) === value);
      await untilCopied();
      expect(await tier.get(1000)).toBe(value);
    });

    it('reads from the server while its subscription is cut, and from memory when it is back', async () => {
      const commands = proxy.link('evalsha');
      const subscription = proxy.link('subscribe');
      // New connections get no reply, so the process cannot subscribe again.
      await proxy.set({ kind: 'swallow' });
      commands.set(PASS);
      const ended = until(async () => subscription.isOver);
      subscription.sever();
      await ended;
      await cache.set('a', 'new', {});
      await until(async () => (await tier.get()) === 'new');
      await cache.set('a', 'newer', {});
      expect(await tier.get()).toBe('newer');
      expect(await requestsOf(10)).toBe(10);
      await proxy.set(PASS);
      await untilCopied();
      expect(await tier.get()).toBe('newer');
    });

    it('returns no copy for longer than 9 s after its subscription died silently', async () => {
      proxy.link('subscribe').set({ kind: 'swallow' });
      await cache.set('a', 'new', {});
      const beganMs = performance.now();
      await until(async () => (await tier.get()) === 'new');
      expect(performance.now() - beganMs).toBeLessThan(withinMs(9000));
    });
  },
);
