import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Redis as IovalkeyRedis } from 'iovalkey';
import { expect, it } from 'vitest';
import { type Lease, LockArgumentError, Locks } from '../src/lock/index.ts';
import { redisStore } from '../src/stores/redis.ts';
import { monitor } from './monitor.ts';
import { type RealSentinel, startRealSentinel } from './real-sentinel.ts';
import { SENTINEL_CLIENTS } from './redis-clients.ts';
import { withinMs } from './within.ts';

const DOWN_AFTER_MS = 1000;

/** Includes the detection of the failure, the vote and the pauses of clients: usually 3 to 5 s. */
const FAILOVER_MS = withinMs(20_000);

/**
 * The test waits until the replica has all keys. Without that, a lock that was granted right before the failover may be
 * lost with the master, which is why there are fences.
 */
it.concurrent('locks are kept after a failover, fences rise, and waiters are notified', async ({
  onTestFinished,
}) => {
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

/** Long enough that renewals, after a third of it, are not late on a busy machine. */
const LEASE_MS = 6000;
const RENEWAL_MS = LEASE_MS / 3;

it.concurrent('sends at most one more renewal to an old master that stays alive', async ({
  onTestFinished,
}) => {
  const place = await startRealSentinel();
  onTestFinished(() => place.stop());
  const oldMaster = new Redis(place.masterPort, '127.0.0.1', { retryStrategy: () => 20 });
  oldMaster.on('error', () => {});
  onTestFinished(() => oldMaster.disconnect());
  const renewedMs = new Map<string, number>();
  const monitoring = await monitor(place.masterPort, (args) => {
    const kind = KINDS.find((name) => args.some((arg) => arg.includes(`{${name}}`)));
    if (kind !== undefined) renewedMs.set(kind, performance.now());
  });
  onTestFinished(() => void monitoring.destroy());
  const leases = new Map<string, Lease>();
  for (const kind of KINDS) {
    const { client, close } = await SENTINEL_CLIENTS[kind](place);
    onTestFinished(async () => void (await close()));
    const locks = new Locks({ store: redisStore(client) });
    onTestFinished(() => locks.close());
    leases.set(kind, await locks.mutex(kind).acquire({ lease: LEASE_MS }));
  }
  await oldMaster.wait(1, 5000);

  const switchedMs = await failOver(place);
  // The Sentinels demote the old master some 10 s later, which ends every connection to it.
  await once(monitoring, 'close');
  expect(performance.now() - switchedMs).toBeGreaterThan(2 * RENEWAL_MS);
  for (const kind of KINDS) {
    expect(renewedMs.get(kind)! - switchedMs, kind).toBeLessThan(RENEWAL_MS);
    expect(leases.get(kind)!.isHeld, kind).toBe(true);
  }
});

const KINDS = Object.keys(SENTINEL_CLIENTS) as (keyof typeof SENTINEL_CLIENTS)[];

/** Makes the Sentinels promote the replica while the master is alive. Returns the time of the switch. */
async function failOver({ name, sentinelPorts: [port] }: RealSentinel): Promise<number> {
  const sentinel = new Redis(port!, '127.0.0.1');
  const events = sentinel.duplicate();
  await events.subscribe('+switch-master');
  const switched = once(events, 'message').then(() => performance.now());
  // A Sentinel refuses if it has had no reply from the replica lately.
  const start = () => sentinel.call('SENTINEL', 'FAILOVER', name).catch((error: Error) => error);
  while ((await start()) instanceof Error) await pause(100);
  const switchedMs = await switched;
  sentinel.disconnect();
  events.disconnect();
  return switchedMs;
}

it.each([
  ['ioredis', () => new Redis(STAYING)],
  ['iovalkey', () => new IovalkeyRedis(STAYING)],
])('refuses a client of %s with sentinels that would stay with an old master', (_name, make) => {
  const store = (): unknown => redisStore(make());
  expect(store).toThrow(LockArgumentError);
  expect(store).toThrow('new Redis({ sentinels, name, failoverDetector: true })');
});

const STAYING = { sentinels: [{ port: 1 }], name: 'a', lazyConnect: true };
