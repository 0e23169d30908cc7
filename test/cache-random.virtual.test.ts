import { afterEach, beforeEach, expect, it } from 'vitest';
import { CachingLocks } from '../src/cache/caching-locks.ts';
import { type Cache, type CacheOptions, createCache } from '../src/cache/index.ts';
import { type Random, seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine, execute, type Session } from '../src/engine/index.ts';
import { RedisStore } from '../src/stores/index.ts';
import { engineRunner } from '../src/stores/redis/engine-runner.ts';
import { pauseOf, slowRunner, turn } from './cache-scene.ts';
import { newSeed } from './new-seed.ts';

/**
 * Processes on a slow and uneven network, in virtual time: requests, replies and messages take 0 to 40 ms each, some
 * messages are lost, loads take up to 300 ms, and values are set and deleted at any moment. The promises of the
 * cache are checked at each load and for each caller.
 */
const CLIENTS = 4;
const KEYS = ['a', 'b'];
const STEPS = 400;
const MAX_MS = 40;
/** Longer than many loads in a row whose values are deleted, and shorter than a lease. */
const MAX_WAIT_MS = 15_000;

let clock: VirtualClock;
let engine: Engine;
let observer: Session;
let random: Random;
let caches: Cache[];
let closers: (() => Promise<unknown>)[];
/** Broken promises, in order. */
let violations: string[];

const upTo = (most: number): number => Math.floor(random.next() * (most + 1));
const pause = (durationMs: number): Promise<void> => pauseOf(clock, durationMs);

function openCache(client: number, lossRate: number, memory: boolean): Cache {
  const options = { clock, clientId: `client${client}`, requestTimeoutMs: 5000 };
  const isLost = (): boolean => random.next() < lossRate;
  const network = slowRunner(engineRunner(engine), clock, () => upTo(MAX_MS), isLost);
  const store = new RedisStore(network, options);
  const locks = new CachingLocks({ store, clock, random: seededRandom(client) });
  closers.push(() => locks.close());
  return createCache({ locks, memory });
}

/** Milliseconds for which the store's value is still fresh; none, if its tag has another version by now. */
function freshLeftMs(key: string): number {
  const name = `value:{cache:${key}}`;
  const text = execute(observer, ['GET', name]);
  const version = execute(observer, ['GET', 'tag:{cache:tag}']);
  const isValid =
    typeof text === 'string' && (!text.includes('tag') || text.includes(String(version)));
  if (!isValid) return 0;
  return Number(execute(observer, ['PTTL', name])) - Number.parseInt(text, 10);
}

/** What values are loaded from. */
class Source {
  version = 1;
  loads = 0;
  /** Versions whose change has ended, with the time of that. */
  readonly #settled = [{ version: 1, atMs: 0 }];
  readonly #key: string;
  readonly #maySetDuringLoad: boolean;
  #underWay = 0;
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(key: string, maySetDuringLoad: boolean) {
    this.#key = key;
    this.#maySetDuringLoad = maySetDuringLoad;
  }

  /** No caller that begins now may get an older version, if messages take at most `messageMs`. */
  settled(messageMs: number): number {
    const untilMs = clock.monotonicMs() - messageMs;
    return this.#settled.findLast(({ atMs }) => atMs <= untilMs)?.version ?? 1;
  }

  async load(): Promise<number> {
    const atMs = `${this.#key} at ${clock.monotonicMs()}`;
    if (++this.#underWay > 1) violations.push(`two loads at once: ${atMs}`);
    if (!this.#maySetDuringLoad && freshLeftMs(this.#key) > 0)
      violations.push(`loaded while there was a fresh value: ${atMs}`);
    this.loads++;
    const { version } = this;
    await pause(upTo(300));
    this.#underWay--;
    if (random.next() < 0.1) throw new Error(`no luck with ${version}`);
    return version;
  }

  /** One change after the other, as a database makes them. */
  change(apply: (version: number) => Promise<unknown>): Promise<unknown> {
    this.#lastChange = this.#lastChange.then(async () => {
      const version = ++this.version;
      await apply(version);
      this.#settled.push({ version, atMs: clock.monotonicMs() });
    });
    return this.#lastChange;
  }
}

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  observer = engine.session();
  closers = [];
  violations = [];
});
afterEach(async () => {
  await passUntil(Promise.all(closers.map((close) => close())));
  engine.close();
});

type Change = (
  cache: Cache,
  key: string,
  version: number,
  options: CacheOptions,
) => Promise<unknown>;

const CHANGES = {
  delete: (cache, key) => cache.delete(key),
  invalidate: (cache) => cache.invalidate('tag'),
  set: (cache, ...args) => cache.set(...args),
} as const satisfies Record<string, Change>;

/** By the name of the change, the share of messages that is lost, and whether there is a memory tier. */
const CASES = [
  ['delete', 0, false],
  ['invalidate', 0, false],
  ['set', 0, false],
  ['delete', 0.3, false],
  ['set', 0.3, false],
  ['delete', 0, true],
  ['invalidate', 0, true],
  ['set', 0, true],
] as const satisfies readonly (readonly [keyof typeof CHANGES, number, boolean])[];

it.each(CASES)(
  'returns no value from before a %s, and loads once for each expiry (messages lost: %d, memory tier: %s)',
  async (name, lossRate, memory) => {
    const seed = newSeed();
    random = seededRandom(Number(seed));
    caches = Array.from({ length: CLIENTS }, (_, client) => openCache(client, lossRate, memory));
    const sources = new Map(KEYS.map((key) => [key, new Source(key, name === 'set')]));
    // A process that receives every message never waits for the end of a lease: no loader dies here.
    const lease = lossRate > 0 ? 1000 : 20_000;
    const tags = name === 'invalidate' ? ['tag'] : [];
    const options: CacheOptions = { fresh: 200, lease, beta: 0, tags };
    const work: Promise<unknown>[] = [];
    let gets = 0;

    const get = async (cache: Cache, key: string): Promise<void> => {
      const source = sources.get(key)!;
      const least = source.settled(memory ? MAX_MS : 0);
      const stale = random.next() < 0.5 ? 300 : 0;
      const backoff = random.next() < 0.5 ? 50 : 0;
      const beganMs = clock.monotonicMs();
      try {
        const value = await cache.get(key, { ...options, stale, backoff }, () => source.load());
        if (value < least) violations.push(`got ${value}, after ${least} was settled: ${key}`);
        const waitedMs = clock.monotonicMs() - beganMs;
        if (waitedMs > MAX_WAIT_MS) violations.push(`waited for ${waitedMs} ms: ${key}`);
        gets++;
      } catch (error) {
        const version = /no luck with (\d+)/.exec(String(error))?.[1];
        if (version === undefined) throw error;
        if (Number(version) < least)
          violations.push(`failed with ${version}, after ${least} was settled: ${key}`);
      }
    };
    const change = (cache: Cache, key: string): Promise<unknown> =>
      sources.get(key)!.change((version) => CHANGES[name](cache, key, version, options));

    for (let step = 0; step < STEPS; step++) {
      const cache = caches[upTo(CLIENTS - 1)]!;
      const key = KEYS[upTo(KEYS.length - 1)]!;
      work.push(random.next() < 0.1 ? change(cache, key) : get(cache, key));
      if (random.next() < 0.7) await pass(upTo(60));
    }
    await passUntil(Promise.all(work));

    expect(violations, `seed ${seed}`).toEqual([]);
    for (const { loads } of sources.values()) expect(loads).toBeGreaterThan(5);
    expect(gets).toBeGreaterThan(STEPS / 4);
  },
);

/** Fails if the work does not end within a minute. */
async function passUntil(work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  for (let passedMs = 0; !isOver && passedMs < 60_000; passedMs += 10) await pass(10);
  expect(isOver).toBe(true);
  await work;
}

async function pass(durationMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs++) {
    await turn();
    clock.advance(1);
  }
  await turn();
}
