import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, vi } from 'vitest';
import { CONFORMANCE } from '../src/stores/conformance.ts';
import { memcachedStore } from '../src/stores/index.ts';
import { conform } from './conform.ts';
import { type RunningMemcached, startMemcached } from './real-memcached.ts';
import { inSlowMotion } from './slow-motion.ts';
import { withinMs } from './within.ts';

/** A poll has 160 ms to happen, on the reference machine, and a lease of the suite lasts 3.2 s. */
const SLOWNESS = withinMs(8);
/** An item outlives its lease by up to three seconds, and the suite waits for the end of a lease of 400 ms. */
const ROUNDING_MS = 3000;
const LEASE_MS = 400;

let server: RunningMemcached;

beforeAll(async () => {
  server = await startMemcached();
});

afterAll(() => server.stop());

vi.setConfig({ maxConcurrency: CONFORMANCE.length });

const MUTEX_ONLY = 'memcached stores mutexes only';
const NO_FENCES = 'memcached has no fences: its counter begins again with a restart';

let prefixes = 0;

conform(
  () => {
    const prefix = `${++prefixes}:`;
    return {
      open: async () => inSlowMotion(memcachedStore(server.url, { prefix }), SLOWNESS),
      elapse: (durationMs) =>
        pause(durationMs * SLOWNESS + (durationMs > LEASE_MS ? ROUNDING_MS : 0)),
    };
  },
  {
    'raises the fence with every grant': NO_FENCES,
    'grants permits up to the number of slots, and hands over when enough are free': MUTEX_ONLY,
    'frees the permits of a holder whose lease has ended': MUTEX_ONLY,
    'grants readers together and writers alone, in order of arrival': MUTEX_ONLY,
    'treats locks with different names or kinds as different locks': MUTEX_ONLY,
    'returns true to a repeated release with its fence, which does not end the next lease':
      NO_FENCES,
    'takes several locks or none, and returns the same grant to a repeated request':
      'memcached changes several items by several commands: the library takes them in order',
    'adopts a lock once, with a new fence': NO_FENCES,
    'notifies a waiter of the same client with the fence of its grant': NO_FENCES,
    'inspect returns holders and waiters': 'memcached does not store the waiters',
    'forceRelease ends the lease, raises the fence and hands over to the next waiter': NO_FENCES,
    'steals a lock from its holder, before the waiters, once': NO_FENCES,
    'contention returns the holder and the place in the queue':
      'memcached does not store the waiters',
    'notifies a holder that watches once when a client waits': 'memcached cannot notify clients',
    'does not notify a former holder that a client waits': MUTEX_ONLY,
    'makes a lease longer by extend(), never shorter, and exact by keep()': MUTEX_ONLY,
    'throws for another number of slots while a lock is in use': MUTEX_ONLY,
  },
);
