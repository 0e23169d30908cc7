import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { type Cache, type CacheOptions, createCache } from '../src/cache/index.ts';
import { createLocks, redisStore } from '../src/index.ts';
import { heldLoad, settled } from './cache-scene.ts';
import { startRealSentinel } from './real-sentinel.ts';
import { SENTINEL_CLIENTS } from './redis-clients.ts';

const DOWN_AFTER_MS = 1000;

const KEPT: CacheOptions = { fresh: '10m', lease: '60s', hardTimeout: '60s' };

/**
 * What the replica has got by then survives; here the test waits for that. A value that is lost with its
 * master is loaded again, which is no harm.
 */
it('keeps values, and a load that is under way, over a failover', async () => {
  const place = await startRealSentinel(DOWN_AFTER_MS);
  onTestFinished(() => place.stop());
  const master = new Redis(place.masterPort, '127.0.0.1');
  const programs = await Promise.all(
    Object.entries(SENTINEL_CLIENTS).map(async ([kind, connect]) => {
      const open = async (): Promise<Cache> => {
        const { client, close } = await connect(place);
        onTestFinished(async () => void (await close()));
        const locks = createLocks({ store: redisStore(client) });
        onTestFinished(() => locks.close());
        return createCache({ locks });
      };
      const [loader, waiter] = [await open(), await open()];
      await loader.get(`${kind} before`, KEPT, () => 'before');
      const { load, loads } = heldLoad<string>();
      const calls = [loader.get(kind, KEPT, load)];
      while (loads.length === 0) await new Promise(setImmediate);
      calls.push(waiter.get(kind, KEPT, load));
      while ((await master.exists(`value:{cache:${kind}}:waiters`)) === 0);
      return { kind, waiter, calls, loads };
    }),
  );
  await master.wait(1, 5000);
  master.disconnect();

  await place.killMaster();
  for (const { kind, waiter, calls, loads } of programs) {
    const before = (): Promise<unknown> => waiter.get(`${kind} before`, KEPT, () => 'loaded again');
    // Until the next master is found: usually 3 to 5 s of real time.
    while ((await settled(before())) instanceof Error);
    expect(await before(), kind).toBe('before');
    loads[0]!.resolve('value');
    expect(await Promise.all(calls), kind).toEqual(['value', 'value']);
    expect(loads, kind).toHaveLength(1);
  }
});
