import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { type Lease, type LockStore, Locks, memoryStore } from './index.ts';

let clock: VirtualClock;
let store: LockStore;
let locks: Locks;

beforeEach(() => {
  clock = virtualClock();
  store = memoryStore(clock);
  locks = new Locks({ store, clock, random: seededRandom(1) });
});

afterEach(() => locks.close());

it('JSON.stringify and util.inspect show name, fence, isHeld and expiresInMs of a lease of any kind', async () => {
  const single = await locks.mutex('a').acquire();
  const group = await locks.all(['b', 'c']).acquire();
  await locks.mutex('d').run(async () => {
    const shared = await locks.mutex('d').acquire({ reentrant: true });
    for (const lease of [single, group, shared]) {
      const { name, fence, isHeld, expiresInMs } = lease;
      const shown = { name, fence, isHeld, expiresInMs };
      expect(JSON.parse(JSON.stringify({ lease }))).toEqual({ lease: shown });
      expect(inspect({ lease }, { depth: null })).toBe(inspect({ lease: shown }));
    }
    await shared.release();
  });
  await single.release();
  expect(JSON.parse(JSON.stringify(single))).toMatchObject({ name: 'a', isHeld: false });
});

/** When the signal of the lease aborts. */
function lossOf(lease: Lease): { atMs: number } {
  const loss = { atMs: 0 };
  lease.signal.addEventListener('abort', () => {
    loss.atMs = clock.monotonicMs();
  });
  return loss;
}

describe('the signal of a lease aborts in time', () => {
  it('when an earlier lease is extended past it', async () => {
    let hangs = true;
    const extend = store.extend.bind(store);
    store.extend = (request) => (hangs ? new Promise(() => {}) : extend(request));
    const first = await locks.mutex('a').acquire({ lease: 3000 });
    clock.advance(10);
    const loss = lossOf(await locks.mutex('b').acquire({ lease: 3000 }));
    const grantedMs = clock.monotonicMs();
    // The renewals of both leases are under way and get no reply.
    clock.advance(1500);
    hangs = false;
    await first.extend();
    hangs = true;
    clock.advance(2000);
    expect(loss.atMs).toBeGreaterThan(grantedMs);
    expect(loss.atMs).toBeLessThan(grantedMs + 3000);
  });

  it('when a listener of an earlier loss acquires another lock', async () => {
    const options = { lease: 3000, renew: false } as const;
    const first = await locks.mutex('a').acquire(options);
    clock.advance(10);
    const loss = lossOf(await locks.mutex('b').acquire(options));
    const grantedMs = clock.monotonicMs();
    first.signal.addEventListener('abort', () => void locks.mutex('c').acquire(options));
    clock.advance(4000);
    expect(loss.atMs).toBeGreaterThan(grantedMs);
    expect(loss.atMs).toBeLessThan(grantedMs + 3000);
  });
});
