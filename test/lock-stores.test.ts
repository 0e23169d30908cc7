import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Locks } from '../src/lock/index.ts';
import {
  type Case,
  CONFORMANCE,
  KEY_CONFORMANCE,
  type KeyEnvironment,
} from '../src/stores/conformance.ts';
import { redisStore } from '../src/stores/redis.ts';
import { startRealCluster } from './real-cluster.ts';
import { startHoldfast, startRealRedis } from './real-redis.ts';
import { startRealSentinel } from './real-sentinel.ts';
import {
  CLUSTER_CLIENTS,
  type OpenClient,
  SENTINEL_CLIENTS,
  SINGLE_CLIENTS,
} from './redis-clients.ts';
import { inSlowMotion } from './slow-motion.ts';
import { withinMs } from './within.ts';

/**
 * A lease of the suite lasts 1.6 s, and a wake-up has 80 ms to arrive, on the reference machine. Between the nodes
 * of a cluster it sometimes takes 40 ms: the kernel delays a small packet until the one before it is confirmed.
 */
const SLOWNESS = withinMs(4);

/** Clients that block the event loop for 100 ms to open a subscription: one case with waiters at a time. */
const SLOW_TO_SUBSCRIBE = new Set(['node-redis createSentinel']);

/** Cases that wait for leases, and have no waiters: no subscription is opened. */
const WITHOUT_WAITERS = new Set([
  'ends a lease in time, after which its owner cannot end the next one',
  'keeps a lease that is extended',
  'frees the permits of a holder whose lease has ended',
  'makes a lease longer by extend(), never shorter, and exact by keep()',
]);

const CASES: readonly Case<KeyEnvironment>[] = [...CONFORMANCE, ...KEY_CONFORMANCE];

it('knows the cases without waiters by their names', () => {
  expect(CASES.filter(({ name }) => WITHOUT_WAITERS.has(name))).toHaveLength(WITHOUT_WAITERS.size);
});

/** Cases run concurrently: they mostly wait for leases that end by the server's clock. */
vi.setConfig({ maxConcurrency: 3 * CASES.length });

locksLiveOn('holdfast serve', {
  start: () => startHoldfast(),
  dataPorts: ({ port }) => [port],
  clients: SINGLE_CLIENTS,
  mayEvict: false,
});
locksLiveOn('redis-server 7', {
  start: () => startRealRedis(),
  dataPorts: ({ port }) => [port],
  clients: SINGLE_CLIENTS,
  mayEvict: true,
});
locksLiveOn('a Redis Cluster of three masters', {
  start: () => startRealCluster(),
  dataPorts: ({ masters }) => masters.map(({ port }) => port),
  clients: CLUSTER_CLIENTS,
  mayEvict: true,
});
locksLiveOn('a master, a replica and three Sentinels', {
  start: () => startRealSentinel(),
  dataPorts: ({ masterPort }) => [masterPort],
  clients: SENTINEL_CLIENTS,
  mayEvict: true,
});

interface World<Place> {
  start(): Promise<Place>;
  /** The ports of the servers that store the locks. */
  dataPorts(place: Place): number[];
  readonly clients: Record<string, (place: Place, keyPrefix?: string) => Promise<OpenClient>>;
  /** Whether the server can evict keys. Our own server cannot. */
  readonly mayEvict: boolean;
}

function locksLiveOn<Place extends { stop(): Promise<void> }>(
  name: string,
  { start, dataPorts, clients, mayEvict }: World<Place>,
): void {
  describe(`on ${name}`, () => {
    const kinds = Object.keys(clients);
    const open = new Map<string, OpenClient>();
    let place: Place;
    let servers: Redis[];

    // All clients are created first, since that blocks the event loop.
    beforeAll(async () => {
      place = await start();
      servers = dataPorts(place).map((port) => new Redis(port, '127.0.0.1'));
      for (const [kind, connect] of Object.entries(clients)) {
        open.set(kind, await connect(place));
        for (const { name } of CASES) {
          open.set(`${kind} ${name}`, await connect(place, `${kind} ${name}:`));
        }
      }
    });
    afterAll(async () => {
      for (const { close } of open.values()) await close();
      for (const server of servers) server.disconnect();
      await place.stop();
    });

    const conform = (kind: string, cases = CASES): void => {
      it.each(cases)('$name', (example) =>
        example.run({
          open: async () =>
            inSlowMotion(redisStore(open.get(`${kind} ${example.name}`)!.client), SLOWNESS),
          elapse: (durationMs) => pause(durationMs * SLOWNESS),
          set: (key, value, ttlMs) =>
            setOnOwner(servers, `${kind} ${example.name}:${key}`, value, ttlMs),
        }),
      );
    };
    const isSlow = (kind: string): boolean => SLOW_TO_SUBSCRIBE.has(kind);
    const hasNoWaiters = ({ name }: Case<KeyEnvironment>): boolean => WITHOUT_WAITERS.has(name);
    describe.concurrent.each(kinds.filter((kind) => !isSlow(kind)))('through %s', (kind) =>
      conform(kind),
    );
    describe.concurrent.each(kinds.filter(isSlow))('through %s', (kind) =>
      conform(kind, CASES.filter(hasNoWaiters)),
    );
    describe.each(kinds.filter(isSlow))('through %s', (kind) =>
      conform(
        kind,
        CASES.filter((each) => !hasNoWaiters(each)),
      ),
    );

    describe.each(kinds)('through %s', (kind) => {
      it('sends the requests of one turn in one call, also after SCRIPT FLUSH', async () => {
        await using locks = new Locks({ store: redisStore(open.get(kind)!.client) });
        for (const server of servers) await server.script('FLUSH');
        for (const server of servers) await server.config('RESETSTAT');
        // In a cluster these share a slot.
        const names = Array.from({ length: 50 }, (_, index) => `{${kind}}${index}`);
        const leases = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
        await Promise.all(leases.map((lease) => lease.release()));
        // One for the acquisitions, which is sent again by EVAL, and one for the releases.
        expect(await callsOf(servers, 'evalsha')).toBe(2);
        expect(await callsOf(servers, 'eval')).toBe(1);
      });

      it('grants a lock that was released while the subscription was cut', async () => {
        await using waiters = new Locks({ store: redisStore(open.get(kind)!.client) });
        await using holders = new Locks({ store: redisStore(open.get(kind)!.client) });
        const lease = await holders.mutex('cut').acquire({ lease: '60s' });
        const waiting = waiters.mutex('cut').acquire({ wait: '60s' });
        while ((await holders.mutex('cut').inspect()).waiters.length === 0);
        for (const server of servers) await server.client('KILL', 'TYPE', 'PUBSUB');
        await lease.release();
        const releasedMs = performance.now();
        expect((await waiting).fence).toBeGreaterThan(lease.fence);
        expect(performance.now() - releasedMs).toBeLessThan(withinMs(4500));
      });

      it('opens one connection for messages, closes it, and does not change the client', async () => {
        while ((await subscribers(servers)) > 0);
        const { client } = open.get(kind)!;
        const listeners = listenersOf(client);
        const waiters = new Locks({ store: redisStore(client) });
        const holders = new Locks({ store: redisStore(client) });
        const names = ['one', 'two', 'three', 'four', 'five'].map((name) => `${kind} ${name}`);
        const leases = await Promise.all(names.map((name) => holders.mutex(name).acquire()));
        const waiting = names.map((name) => waiters.mutex(name).acquire({ wait: '60s' }));
        for (const name of names)
          while ((await holders.mutex(name).inspect()).waiters.length === 0);
        // The subscription is opened after the first waiter has entered the queue.
        while ((await subscribers(servers)) === 0);
        expect(await subscribers(servers)).toBe(1);
        await Promise.all(leases.map((lease) => lease.release()));
        await Promise.all(waiting);
        await waiters.close();
        await holders.close();
        while ((await subscribers(servers)) > 0);
        expect(listenersOf(client)).toEqual(listeners);
        await using later = new Locks({ store: redisStore(client) });
        expect(await later.mutex(names[0]!).tryAcquire()).not.toBe(null);
      });

      if (mayEvict)
        it('warns once of a Redis that may evict locks', async () => {
          const warnings: NodeJS.ErrnoException[] = [];
          const listener = (warning: NodeJS.ErrnoException): unknown => warnings.push(warning);
          process.on('warning', listener);
          for (const server of servers)
            await server.config('SET', 'maxmemory-policy', 'allkeys-lru');
          await using locks = new Locks({ store: redisStore(open.get(kind)!.client) });
          await locks.mutex('a').run(() => {});
          if (warnings.length === 0) await once(process, 'warning');
          await locks.mutex('b').run(() => {});
          process.off('warning', listener);
          for (const server of servers)
            await server.config('SET', 'maxmemory-policy', 'noeviction');
          expect(warnings.map(({ code }) => code)).toEqual(['HOLDFAST_EVICTION']);
          expect(warnings[0]!.message).toMatch(/allkeys-lru.*noeviction/);
        });
    });
  });
}

/** Sets a key on the server that owns its slot, as another program does. */
async function setOnOwner(
  servers: readonly Redis[],
  key: string,
  value: string,
  ttlMs?: number,
): Promise<void> {
  const end = ttlMs === undefined ? [] : ['PX', `${ttlMs * SLOWNESS}`];
  const sets = servers.map((server) => server.call('SET', key, value, ...end));
  await Promise.any(sets);
}

/** How many connections are subscribed to anything, apart from those of Sentinels. */
async function subscribers(servers: readonly Redis[]): Promise<number> {
  const lists = await Promise.all(servers.map((server) => server.client('LIST', 'TYPE', 'PUBSUB')));
  const lines = lists.flatMap((list) => String(list).match(/^id=.*$/gm) ?? []);
  return lines.filter((line) => !line.includes(' name=sentinel')).length;
}

async function callsOf(servers: readonly Redis[], command: string): Promise<number> {
  const infos = await Promise.all(servers.map((server) => server.info('commandstats')));
  const counts = infos.map((info) => new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(info)?.[1]);
  return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
}

function listenersOf(client: OpenClient['client']): Record<string, number> {
  const counts = client.eventNames().map((event) => [String(event), client.listenerCount(event)]);
  return Object.fromEntries(counts);
}
