import { describe, expect, it } from 'vitest';
import { createLocks } from '../src/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { startRealRedis } from './real-redis.ts';

/** A firewall drops the packets of an idle connection: neither side gets an error. */
describe('a subscription whose connection drops all packets', () => {
  it('is replaced, and the waiter is notified of a later hand-over', async () => {
    const redis = await startRealRedis();
    await using proxy = await FaultProxy.start(redis.port);
    await using holder = createLocks(`redis://127.0.0.1:${redis.port}`);
    await using waiter = createLocks(`redis://127.0.0.1:${proxy.port}`);
    const first = await holder.mutex('a').acquire({ lease: '10m' });
    const waiting = waiter.mutex('a').acquire({ wait: '60s' });
    while ((await holder.mutex('a').inspect()).waiters.length === 0);
    const subscription = await proxy.linkLater('subscribe');
    subscription.set({ kind: 'swallow' });
    while (!subscription.isOver) await new Promise((resolve) => setTimeout(resolve, 100));
    await first.release();
    const lease = await waiting;
    expect(lease.isHeld).toBe(true);
    await lease.release();
    await redis.stop();
  });
});
