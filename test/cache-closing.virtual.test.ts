import { describe, expect, it } from 'vitest';
import { CachingLocks } from '../src/cache/caching-locks.ts';
import { type Cache, CacheError, type CacheOptions, createCache } from '../src/cache/index.ts';
import { type Random, seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/index.ts';
import { memoryStore } from '../src/lock/index.ts';
import { RedisStore } from '../src/stores/index.ts';
import { engineRunner } from '../src/stores/redis/engine-runner.ts';
import { pauseOf, slowRunner, turn } from './cache-scene.ts';
import { newSeed } from './new-seed.ts';

/**
 * Caches are closed, signals abort and values are deleted at any moment, in virtual time, on a network that
 * takes up to 40 ms each way. Every caller gets a value or an error, no load begins in a closed cache, and the other
 * caches load without waiting for the end of a lease.
 */
const ROUNDS = 25;
const STEPS = 60;
const LEASE_MS = 20_000;

let clock: VirtualClock;
let engine: Engine;
let random: Random;
let allLocks: CachingLocks[];
let closed: Set<Cache>;
let violations: string[];

const upTo = (most: number): number => Math.floor(random.next() * (most + 1));
const either = (): boolean => upTo(1) === 1;

/** Three caches that share their values. */
const SCENES = {
  'in memory': () => {
    const locks = newLocks({ store: memoryStore(clock), isInMemory: true });
    return [1, 2, 3].map(() => createCache({ locks }));
  },
  'by the script': () =>
    [1, 2, 3].map((client) => {
      const network = slowRunner(engineRunner(engine), clock, () => upTo(40));
      const options = { clock, clientId: `client${client}`, requestTimeoutMs: 5000 };
      return createCache({ locks: newLocks({ store: new RedisStore(network, options) }) });
    }),
} as const satisfies Record<string, () => Cache[]>;

function newLocks(
  options: Pick<ConstructorParameters<typeof CachingLocks>[0], 'store' | 'isInMemory'>,
): CachingLocks {
  const locks = new CachingLocks({ ...options, clock, random });
  allLocks.push(locks);
  return locks;
}

function begin(seed: number): void {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  random = seededRandom(seed);
  allLocks = [];
  closed = new Set();
  violations = [];
}

async function pass(durationMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += 5) {
    await turn();
    clock.advance(5);
  }
  await turn();
}

/** What became of it, which must be clear long before a lease ends. */
async function soon<Result>(work: Promise<Result>): Promise<Result> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  for (let passedMs = 0; !isOver && passedMs < LEASE_MS / 2; passedMs += 5) await pass(5);
  expect(isOver).toBe(true);
  return work;
}

function options(): CacheOptions {
  const stale = either() ? 200 : 0;
  const softTimeout = either() ? 50 : 0;
  const backoff = either() ? 20 : 0;
  return { fresh: 100, lease: LEASE_MS, tags: ['tag'], stale, softTimeout, backoff };
}

async function load(cache: Cache): Promise<number> {
  if (closed.has(cache)) violations.push('a load began after the cache was closed');
  await pauseOf(clock, upTo(200));
  if (upTo(4) === 0) throw undefined;
  return 1;
}

/** The things that can happen, as often as each stands here. */
const ACTS: readonly ((cache: Cache) => Promise<unknown>)[] = [
  (cache) => cache.get('a', options(), () => load(cache)),
  (cache) => cache.get('b', options(), () => load(cache)),
  (cache) => cache.get('a', { ...options(), signal: abortedLater() }, () => load(cache)),
  (cache) =>
    cache.getMany(['a', 'b', 'c'], options(), async (keys) => {
      const value = await load(cache);
      return new Map(keys.map((key) => [key, value]));
    }),
  (cache) => (either() ? cache.delete(['a', 'b']) : cache.invalidate('tag')),
  async (cache) => {
    // One is left.
    if (upTo(4) > 0 || closed.size === 2) return;
    closed.add(cache);
    await cache.close();
  },
];

function abortedLater(): AbortSignal {
  const controller = new AbortController();
  clock.setTimer(upTo(100), () => controller.abort());
  return controller.signal;
}

/** Errors are those of the cache, or what a load has thrown: nothing at all. */
async function isAnswered(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error !== undefined && !(error instanceof CacheError)) violations.push(String(error));
  }
}

describe.each(Object.keys(SCENES) as (keyof typeof SCENES)[])('caches %s', (kind) => {
  it('settle all callers and begin no load when they are closed at a random moment', async () => {
    const firstSeed = Number(newSeed());
    for (let seed = firstSeed; seed < firstSeed + ROUNDS; seed++) {
      begin(seed);
      const caches = SCENES[kind]();
      const work: Promise<unknown>[] = [];
      for (let step = 0; step < STEPS; step++) {
        const act = ACTS[upTo(ACTS.length - 1)]!;
        work.push(isAnswered(act(caches[upTo(2)]!)));
        if (upTo(3) === 0) await pass(upTo(60));
      }
      await soon(Promise.all(work));
      const left = caches.find((cache) => !closed.has(cache))!;
      await soon(isAnswered(left.get('a', { ...options(), stale: 0 }, () => load(left))));
      await soon(Promise.all(allLocks.map((locks) => locks.close())));
      await pass(300);
      engine.close();
      expect(violations, `seed ${seed}`).toEqual([]);
      expect(clock.pendingTimers, `seed ${seed}`).toBe(0);
    }
  });
});
