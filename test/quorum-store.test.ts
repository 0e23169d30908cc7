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
import { quorumStore, quorumUrlStore } from '../src/stores/index.ts';
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
