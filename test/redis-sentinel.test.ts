import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { Locks } from '../src/lock/index.ts';
import { redisStore } from '../src/stores/redis.ts';
import { startRealSentinel } from './real-sentinel.ts';
import { SENTINEL_CLIENTS } from './redis-clients.ts';
import { withinMs } from './within.ts';

const DOWN_AFTER_MS = 1000;

/** Until the master counts as down, a vote, and the clients' pauses: usually 3 to 5 s. */
const FAILOVER_MS = withinMs(20_000);

/**
 * What the replica has got by then survives. Here the test waits for that; in life a lock that was
 * granted in the last moment may be lost with the master, which is why there are fences.
 */
it('locks outlive their master: the next is found, fences rise, waiters are called', async () => {
  const place = await startRealSentinel(DOWN_AFTER_MS);
  onTestFinished(() => place.stop());
  const master = new Redis(place.masterPort, '127.0.0.1');
  const programs = await Promise.all(
    Object.entries(SENTINEL_CLIENTS).map(async ([kind, connect]) => {
      const { client, close } = await connect(place);
      onTestFinished(async () => void (await close()));
      const [holders, waiters] = [redisStore(client), redisStore(client)].map(
        (store) => new Locks({ store }),
      ) as [Locks, Locks];
      const before = await holders.mutex(`${kind} before`).acquire();
      await before.release();
      const lease = await holders.mutex(kind).acquire({ lease: '60s' });
      const waiting = waiters.mutex(kind).acquire({ wait: '60s' });
      while ((await holders.mutex(kind).inspect()).waiters.length === 0);
      return { kind, holders, waiters, before, lease, waiting };
    }),
  );
  await master.wait(1, 5000);
  master.disconnect();

  await place.killMaster();
  const killedMs = performance.now();
  for (const { kind, holders, waiters, before, lease, waiting } of programs) {
    const after = await holders.mutex(`${kind} before`).acquire({ wait: FAILOVER_MS });
    expect(after.fence, kind).toBeGreaterThan(before.fence);
    expect(await waiters.mutex(kind).tryAcquire(), kind).toBe(null);
    expect(await lease.release(), kind).toBe('released');
    expect((await waiting).fence, kind).toBeGreaterThan(lease.fence);
  }
  expect(performance.now() - killedMs).toBeLessThan(FAILOVER_MS);
  for (const { holders, waiters } of programs) {
    await holders.close();
    await waiters.close();
  }
});
