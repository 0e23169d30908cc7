import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createClient, createClientPool } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../src/clock/index.ts';
import {
  LockArgumentError,
  type LockStore,
  Locks,
  type LockTarget,
  memoryStore,
} from '../src/lock/index.ts';
import { quorumStore } from '../src/stores/index.ts';
import { quorumUrlStore } from '../src/stores/quorum/quorum-store.ts';
import { conform } from './conform.ts';
import { type RealQuorum, startRealQuorum } from './real-quorum.ts';
import { inSlowMotion } from './slow-motion.ts';
import { withinMs } from './within.ts';

const SLOWNESS = withinMs(4);
/** Longer than any lease of the suite. */
const MAX_LEASE = '1h';

let quorum: RealQuorum;

beforeAll(async () => {
  quorum = await startRealQuorum();
});
afterAll(() => quorum.stop());

describe('a quorum of five servers', () => {
  conform(
    (name) => ({
      async open() {
        const store = quorumUrlStore(quorum.url, { maxLease: MAX_LEASE, requestTimeout: '10s' });
        return inSlowMotion(withNames(store, name), SLOWNESS);
      },
      elapse: (durationMs) => pause(durationMs * SLOWNESS),
    }),
    {
      'takes several locks or none, and returns the same grant to a repeated request':
        'several locks are acquired one by one: independent servers have no transaction in common',
    },
  );
});

describe('quorumStore', () => {
  it.each([
    ['ioredis', (port: number) => new Redis(port, '127.0.0.1')],
    ['node-redis', (port: number) => createClient({ socket: { host: '127.0.0.1', port } })],
  ])('takes clients of %s, and neither changes nor closes them', async (_, open) => {
    const clients = quorum.nodes.map(({ port }) => open(port));
    for (const client of clients) if ('isOpen' in client) await client.connect();
    const listeners = clients.map((client) => client.eventNames().length);
    const locks = new Locks({ store: quorumStore(clients, { maxLease: MAX_LEASE }) });
    const lease = await locks.mutex('clients').acquire();
    const waiting = locks.mutex('clients').acquire();
    expect(await lease.release()).toBe('released');
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
    await locks.close();
    expect(clients.map((client) => client.eventNames().length)).toEqual(listeners);
    for (const client of clients) {
      expect(await ('isOpen' in client ? client.sendCommand(['PING']) : client.ping())).toBe(
        'PONG',
      );
      client.disconnect();
    }
  });

  it('sends one request to each server for a free lock, and one to the queue', async () => {
    await using locks = new Locks({
      store: quorumStore(
        quorum.nodes.map(({ port }) => `redis://127.0.0.1:${port}`),
        { maxLease: MAX_LEASE },
      ),
    });
    await (await locks.mutex('warm').acquire()).release();
    const servers = quorum.nodes.map(({ port }) => new Redis(port, '127.0.0.1'));
    for (const server of servers) await server.config('RESETSTAT');
    const lease = await locks.mutex('counted').acquire();
    const infos = await Promise.all(servers.map((server) => server.info('commandstats')));
    const counts = infos.map((info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1]));
    for (const server of servers) server.disconnect();
    await lease.release();
    expect(counts).toEqual([2, 1, 1, 1, 1]);
  });

  it('acquires several locks one by one, with one fence', async () => {
    await using locks = new Locks({ store: quorumUrlStore(quorum.url, { maxLease: MAX_LEASE }) });
    const both = await locks.all(['one', 'two']).acquire();
    expect(await locks.mutex('two').tryAcquire()).toBe(null);
    await both.release();
    const after = await locks.mutex('one').acquire();
    expect(after.fence).toBeGreaterThan(both.fence);
  });

  it('passes a lock on by transfer and adopt, and tells a holder that it was stolen', async () => {
    await using locks = new Locks({ store: quorumUrlStore(quorum.url, { maxLease: MAX_LEASE }) });
    await using other = new Locks({ store: quorumUrlStore(quorum.url, { maxLease: MAX_LEASE }) });
    const lease = await locks.mutex('passed').acquire();
    const adopted = await other.adopt(lease.transfer());
    expect(adopted.fence).toBeGreaterThan(lease.fence);
    const stolen = await locks.mutex('passed').acquire({ steal: true, reason: 'the host is gone' });
    expect(stolen.fence).toBeGreaterThan(adopted.fence);
    await expect(adopted.extend()).rejects.toThrow(/was lost|not held/);
  });

  it.each([
    [undefined, /needs a list of three or more nodes/],
    [[], /needs a list of three or more nodes/],
    [['redis://a', 'redis://b'], /needs a list of three or more nodes/],
    [['redis://a', 'redis://b', {}], /node 3 is neither a client nor an address/],
    [['redis://a', 'redis://b', null], /node 3 is neither a client nor an address/],
  ])('throws for the nodes %j', (nodes, message) => {
    expect(() => quorumStore(nodes as never)).toThrow(LockArgumentError);
    expect(() => quorumStore(nodes as never)).toThrow(message);
  });

  it('throws for a pool, and for an unknown or wrong option', () => {
    const pool = createClientPool({ socket: { host: '127.0.0.1', port: 1 } });
    const nodes = ['redis://a', 'redis://b', 'redis://c'];
    expect(() => quorumStore([...nodes, pool])).toThrow(/node 4 is a cluster or a pool/);
    expect(() => quorumStore(nodes, { maxlease: 1 } as never)).toThrow(
      "quorumStore does not know 'maxlease'. Its options are maxLease and requestTimeout.",
    );
    expect(() => quorumStore(nodes, { maxLease: '2d' })).toThrow(/maxLease is at most a day/);
    expect(() => quorumStore(nodes, { requestTimeout: 0 })).toThrow(/requestTimeout must be/);
  });

  it.each([
    'redis+quorum://',
    'redis+quorum://a,,b',
    'redis+quorum://a,b,c/x',
    'redis+quorum://a@b@c',
    'redis://a,b,c',
    'redis+quorum://a b,c,d',
  ])('throws for the address %s', (url) => {
    expect(() => quorumUrlStore(url)).toThrow(/a quorum is redis/);
  });
});

/**
 * A store whose mutexes have another name in each case. Locks of other kinds, which a quorum refuses, are in memory: so
 * each case runs with its mutexes on the quorum.
 */
function withNames(store: LockStore, name: string): LockStore {
  const memory = memoryStore(systemClock);
  const storeOf = ({ kind }: LockTarget): LockStore => (kind === 'mutex' ? store : memory);
  const own = <Target extends LockTarget>(target: Target): Target => ({
    ...target,
    name: `${name}: ${target.name}`,
  });
  return {
    ownerPrefix: store.ownerPrefix!,
    acquire: (request, waiter) => storeOf(request).acquire(own(request), waiter),
    acquireAll: (requests, minFence) => store.acquireAll(requests.map(own), minFence),
    adopt: (request, from) => storeOf(request).adopt(own(request), own(from)),
    extend: (request) => storeOf(request).extend(own(request)),
    keep: (request) => storeOf(request).keep(own(request)),
    release: (request, fence) => storeOf(request).release(own(request), fence),
    forceRelease: (target) => storeOf(target).forceRelease(own(target)),
    inspect: (target) => storeOf(target).inspect(own(target)),
    contention: (request) => storeOf(request).contention(own(request)),
    onLost: (listener) => store.onLost?.(listener),
    watch: (request, onContended) => storeOf(request).watch?.(own(request), onContended),
    unwatch: (request) => storeOf(request).unwatch?.(own(request)),
    close: () => store.close(),
  };
}
