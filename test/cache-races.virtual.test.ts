import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CacheError, type CacheOptions } from '../src/cache/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/index.ts';
import { elapse, heldLoad, openProgram, type Program, settled, turn } from './cache-scene.ts';

const KEPT: CacheOptions = { fresh: '1m', lease: '10s' };

let clock: VirtualClock;
let engine: Engine;
let programs: Program[];

const open = (): Program => {
  const program = openProgram(engine, clock, programs.length);
  programs.push(program);
  return program;
};
type Loads = ReturnType<typeof heldLoad<string>>['loads'][number];
const isRelease = (args: readonly string[]): boolean => args.includes('release');

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  programs = [];
});
afterEach(async () => {
  for (const { network, locks } of programs) {
    network.resume();
    await locks.close();
  }
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

/** No time passes in these tests: no waiter waits for the end of the lease of 10 s. */
describe('a waiter of a loader that has released its mutex', () => {
  it('loads at once when the load failed without a backoff', async () => {
    const [loader, waiter] = [open(), open()];
    const options = { ...KEPT, backoff: 0 };
    loader.network.holds = isRelease;
    const failed = loader.cache.get('a', options, () => Promise.reject(new Error('no')));
    expect(await settled(failed)).toMatchObject({ message: 'no' });
    const waiting = waiter.cache.get('a', options, () => 'second');
    await turn();
    loader.network.resume();
    expect(await waiting).toBe('second');
  });

  it('loads at once when the value was deleted right after the write', async () => {
    const [loader, waiter] = [open(), open()];
    loader.network.holds = isRelease;
    expect(await loader.cache.get('a', KEPT, () => 'first')).toBe('first');
    await waiter.cache.delete('a');
    const waiting = waiter.cache.get('a', KEPT, () => 'second');
    await turn();
    loader.network.resume();
    expect(await waiting).toBe('second');
  });

  it.each(['open', 'write'])('loads at once when the %s of the loader failed', async (verb) => {
    const [loader, waiter] = [open(), open()];
    loader.network.holds = (args) => args.includes(verb);
    loader.network.loses = (args) => args.includes(verb);
    const first = settled(loader.cache.get('a', KEPT, () => 'first'));
    await turn();
    const waiting = waiter.cache.get('a', KEPT, () => 'second');
    await turn();
    loader.network.resume();
    expect(await waiting).toBe('second');
    expect(await first).toEqual(verb === 'open' ? expect.any(CacheError) : 'first');
  });

  it('loads at once when the locks of the loader are closed', async () => {
    const [loader, waiter] = [open(), open()];
    const { load, loads } = heldLoad<string>();
    const first = settled(loader.cache.get('a', KEPT, load));
    await turn();
    const waiting = waiter.cache.get('a', KEPT, () => 'second');
    await turn();
    // As a client that is closed as soon as its locks are released.
    let isClosed = false;
    loader.network.holdsReply = (args) => {
      isClosed ||= isRelease(args);
      return false;
    };
    loader.network.loses = () => isClosed;
    await loader.locks.close();
    expect(await waiting).toBe('second');
    expect(loads[0]!.signal.aborted).toBe(true);
    expect(await first).toMatchObject({ code: 'aborted' });
  });
});

describe('a delayed message', () => {
  it('of a value that was deleted meanwhile is not returned', async () => {
    const [loader, waiter] = [open(), open()];
    const { load, loads } = heldLoad<string>();
    const first = loader.cache.get('a', KEPT, load);
    await turn();
    const waited = waiter.cache.get('a', KEPT, load);
    await turn();
    waiter.network.holdsMessages = true;
    loads[0]!.resolve('old');
    expect(await first).toBe('old');
    await elapse(clock, 10_000);
    expect(await waited, 'found when the lease ended').toBe('old');

    await loader.cache.delete('a');
    const second = loader.cache.get('a', KEPT, load);
    await turn();
    const waitedAgain = waiter.cache.get('a', KEPT, load);
    await turn();
    waiter.network.resume();
    await turn();
    loads[1]!.resolve('new');
    expect(await Promise.all([second, waitedAgain])).toEqual(['new', 'new']);
  });

  it('of a failure does not end the wait for a newer load', async () => {
    const [loader, waiter] = [open(), open()];
    const options = { ...KEPT, backoff: 0 };
    const { load, loads } = heldLoad<string>();
    const first = settled(loader.cache.get('a', options, load));
    await turn();
    waiter.network.holdsMessages = true;
    const gone = settled(waiter.cache.get('a', { ...options, hardTimeout: 100 }, load));
    await turn();
    loads[0]!.reject(new Error('old'));
    expect(await first).toMatchObject({ message: 'old' });
    await elapse(clock, 10_000);
    expect(await gone).toMatchObject({ code: 'timeout' });

    const second = loader.cache.get('a', options, load);
    await turn();
    const waiting = waiter.cache.get('a', options, load);
    await turn();
    waiter.network.resume();
    await turn();
    loads[1]!.resolve('new');
    expect(await Promise.all([second, waiting])).toEqual(['new', 'new']);
  });

  it.each([
    ['is over', { fresh: '1s' }],
    ['is stale', { fresh: '1s', stale: '1m' }],
  ] as const)('of a value that %s by then makes the waiter look up the key', async (_, times) => {
    const [loader, waiter] = [open(), open()];
    const options = { ...KEPT, ...times, lease: '1m' } as const;
    const { load, loads } = heldLoad<string>();
    const first = loader.cache.get('a', options, load);
    await turn();
    waiter.network.holdsMessages = true;
    const waiting = waiter.cache.get('a', options, () => 'new');
    await turn();
    loads[0]!.resolve('old');
    expect(await first).toBe('old');
    await elapse(clock, 20_000);
    waiter.network.resume();
    expect(await waiting).toBe('new');
  });

  it('of a fresh value whose load took long causes no second load', async () => {
    const [loader, waiter] = [open(), open()];
    const options = { ...KEPT, fresh: '1s' } as const;
    const { load, loads } = heldLoad<string>();
    const calls = [loader.cache.get('a', options, load)];
    await turn();
    calls.push(waiter.cache.get('a', options, load));
    for (let second = 0; second < 5; second++) await elapse(clock, 1000);
    loads[0]!.resolve('value');
    expect(await Promise.all(calls)).toEqual(['value', 'value']);
    expect(loads).toHaveLength(1);
  });

  it('of a value that has ended meanwhile is not returned', async () => {
    const [loader, waiter] = [open(), open()];
    const short = { ...KEPT, fresh: '11s', maxLoad: '5m' } as const;
    const { load, loads } = heldLoad<string>();
    const first = loader.cache.get('a', short, load);
    await turn();
    const waited = waiter.cache.get('a', short, load);
    await turn();
    waiter.network.holdsMessages = true;
    loads[0]!.resolve('old');
    expect(await first).toBe('old');
    await elapse(clock, 10_000);
    expect(await waited).toBe('old');

    await elapse(clock, 5000);
    const second = loader.cache.get('a', short, load);
    await turn();
    const waitedAgain = waiter.cache.get('a', short, load);
    await turn();
    waiter.network.resume();
    await turn();
    loads[1]!.resolve('new');
    expect(await Promise.all([second, waitedAgain])).toEqual(['new', 'new']);
  });
});

it.each([
  ['deleted', [], (other: Program) => other.cache.delete('a')],
  ['invalidated', ['red'], (other: Program) => other.cache.invalidate('red')],
] as const)(
  'a caller that begins after a value was %s does not get it from an earlier load',
  async (_, tags, forget) => {
    const [here, other] = [open(), open()];
    const options = { ...KEPT, tags };
    here.network.holdsReply = (args) => args.includes('write');
    const first = here.cache.get('a', options, () => 'old');
    await turn();
    await forget(other);
    const later = here.cache.get('a', options, () => 'new');
    await turn();
    here.network.resume();
    expect(await Promise.all([first, later])).toEqual(['old', 'new']);
  },
);

it('a late write during the next load does not cause a third load', async () => {
  const [slow, next] = [open(), open()];
  const options = { ...KEPT, fresh: '1s' } as const;
  slow.network.holds = (args) => args.includes('write');
  const first = slow.cache.get('a', options, () => 'late');
  await elapse(clock, 5001);
  expect(await first, 'who loads has waited enough for its write').toBe('late');
  const { load, loads } = heldLoad<string>();
  const second = next.cache.get('a', options, load);
  await turn();
  slow.network.resume();
  await elapse(clock, 2000);
  loads[0]!.resolve('newer');
  await turn();
  expect(loads).toHaveLength(1);
  expect(await second).toBe('newer');
  expect(await slow.cache.get('a', options, load)).toBe('newer');
});

it('a waiter receives a value with tags by message', async () => {
  const [loader, waiter] = [open(), open()];
  const options = { ...KEPT, tags: ['red'] };
  const { load, loads } = heldLoad<string>();
  const calls = [loader.cache.get('a', options, load)];
  await turn();
  calls.push(waiter.cache.get('a', options, load));
  await turn();
  waiter.network.holds = () => true;
  loads[0]!.resolve('value');
  expect(await Promise.all(calls), 'without another request').toEqual(['value', 'value']);
});

it('a waiter receives the value while the reply to its inspect is held', async () => {
  const [loader, waiter] = [open(), open()];
  const { load, loads } = heldLoad<string>();
  const calls = [loader.cache.get('a', KEPT, load)];
  await turn();
  waiter.network.holds = (args) => args.includes('inspect');
  calls.push(waiter.cache.get('a', KEPT, load));
  await turn();
  loads[0]!.resolve('value');
  expect(await Promise.all(calls)).toEqual(['value', 'value']);
});

describe('a caller whose store does not reply', () => {
  const isLookup = (args: readonly string[]): boolean => args.includes('lookup');

  it('rejects with timeout after hardTimeout', async () => {
    const { cache, network } = open();
    network.holds = isLookup;
    const calls = settled(cache.get('a', { ...KEPT, hardTimeout: 100 }, () => 1));
    await elapse(clock, 100);
    expect(await calls).toMatchObject({ code: 'timeout' });
  });

  it('rejects when its signal aborts, also before it has to wait', async () => {
    const { cache, network } = open();
    network.holds = isLookup;
    const controller = new AbortController();
    const { signal } = controller;
    const { load, loads } = heldLoad<number>();
    const calls = settled(cache.get('a', { ...KEPT, signal }, load));
    await turn();
    controller.abort('enough');
    await turn();
    network.resume();
    expect(await calls).toMatchObject({ code: 'aborted', cause: 'enough' });
    await turn();
    expect(loads).toHaveLength(0);
  });

  it('rejects when its cache is closed, and loads nothing after that', async () => {
    const { cache, network } = open();
    network.holds = isLookup;
    const { load, loads } = heldLoad<number>();
    const calls = settled(cache.get('a', KEPT, load));
    await turn();
    await cache.close();
    network.resume();
    expect(await calls).toMatchObject({ code: 'aborted' });
    await turn();
    expect(loads).toHaveLength(0);
  });

  it.each(['acquire', 'open'])(
    'begins no load when its cache is closed during %s',
    async (verb) => {
      const { cache, network } = open();
      const { load, loads } = heldLoad<number>();
      network.holds = (args) => args.some((arg) => arg.startsWith(verb));
      const calls = settled(cache.get('a', KEPT, load));
      await turn();
      await cache.close();
      expect(await calls).toMatchObject({ code: 'aborted' });
      network.resume();
      await turn();
      expect(loads).toHaveLength(0);
      expect(await open().cache.get('a', KEPT, () => 2), 'nobody holds it up').toBe(2);
    },
  );

  it('begins no batch load when its cache is closed before all keys are decided', async () => {
    const { cache, network } = open();
    let loads = 0;
    const load = (keys: readonly string[]): Map<string, number> => {
      loads++;
      return new Map(keys.map((key) => [key, 1]));
    };
    // Of b it is not known yet whether it is loaded here.
    const elsewhere = heldLoad<number>();
    const other = open().cache.get('b', KEPT, elsewhere.load);
    await turn();
    network.holds = (args) => args.includes('wait');
    const calls = settled(cache.getMany(['a', 'b'], KEPT, load));
    await turn();
    await cache.close();
    expect(await calls).toMatchObject({ code: 'aborted' });
    network.resume();
    await turn();
    expect(loads).toBe(0);
    expect(await open().cache.get('a', KEPT, () => 2), 'no failure was told').toBe(2);
    elsewhere.loads[0]!.resolve(3);
    expect(await other).toBe(3);
  });

  it('counts hardTimeout over all its waits', async () => {
    const [{ cache, network }, other] = [open(), open()];
    const options = { ...KEPT, hardTimeout: 1000 };
    const { load, loads } = heldLoad<number>();
    network.holds = isLookup;
    const calls = settled(cache.get('a', options, load));
    await elapse(clock, 900);
    network.resume();
    await turn();
    expect(loads).toHaveLength(1);
    await elapse(clock, 100);
    expect(await calls).toMatchObject({ code: 'timeout' });
    loads[0]!.resolve(1);
    expect(await other.cache.get('a', options, load)).toBe(1);
  });
});

it('a load does not begin when its lease was lost before', async () => {
  const { cache, network } = open();
  const { load, loads } = heldLoad<number>();
  const options = { ...KEPT, lease: 1000, maxLoad: 1000 } as const;
  network.holdsReply = (args) => args.includes('open');
  const calls = cache.get('a', options, load);
  await elapse(clock, 1000);
  network.resume();
  await turn();
  expect(loads).toHaveLength(1);
  expect(loads[0]!.signal.aborted).toBe(false);
  loads[0]!.resolve(1);
  expect(await calls).toBe(1);
});

it('a batch load gets each key once, also if the lease of one was lost before it began', async () => {
  const { cache, network } = open();
  const elsewhere = heldLoad<number>();
  const other = open().cache.get('b', KEPT, elsewhere.load);
  await turn();
  network.holds = (args) => args.includes('wait');
  const seen: string[][] = [];
  const options = { ...KEPT, lease: 1000, maxLoad: 1000 } as const;
  const calls = cache.getMany(['a', 'b'], options, (keys, { signal }) => {
    seen.push([...keys, String(signal.aborted)]);
    return new Map(keys.map((key) => [key, 1]));
  });
  await elapse(clock, 1000);
  await turn();
  network.resume();
  await turn();
  elsewhere.loads[0]!.resolve(2);
  expect(Object.fromEntries(await calls)).toEqual({ a: 1, b: 2 });
  expect(await other).toBe(2);
  expect(seen).toEqual([['a', 'false']]);
});

it('a batch load that loses the leases of 3000 keys at once aborts its signal once', async () => {
  const { cache, network } = open();
  const keys = Array.from({ length: 3000 }, (_, index) => `key ${index}`);
  let aborts = 0;
  let goOn = (): void => {};
  const calls = cache.getMany(keys, { ...KEPT, hardTimeout: 1000 }, (_, { signal }) => {
    signal.addEventListener('abort', () => aborts++);
    return new Promise<Map<string, number>>((resolve) => {
      goOn = () => resolve(new Map());
    });
  });
  const outcome = settled(calls);
  await turn();
  network.loses = (args) => args.includes('extend');
  await elapse(clock, 9999);
  expect(await outcome).toMatchObject({ code: 'timeout' });
  await elapse(clock, 10_000);
  expect(aborts).toBe(1);
  goOn();
});

describe('a later caller in a process whose message was lost', () => {
  it.each([
    ['that a value came, which is gone', (first: Loads) => first.resolve('old'), '1s'],
    ['that a load failed', (first: Loads) => first.reject(new Error('no')), '1m'],
  ] as const)('does not wait for the end of a lease: %s', async (_, end, fresh) => {
    const [loader, waiter] = [open(), open()];
    const options = { ...KEPT, fresh, backoff: 0, lease: '1m' } as const;
    const { load, loads } = heldLoad<string>();
    const first = settled(loader.cache.get('a', options, load));
    await turn();
    waiter.network.holdsMessages = true;
    const next = (): string => 'new';
    const gone = settled(waiter.cache.get('a', { ...options, hardTimeout: 100 }, next));
    await turn();
    end(loads[0]!);
    await first;
    await elapse(clock, 5000);
    expect(await gone).toMatchObject({ code: 'timeout' });
    expect(await waiter.cache.get('a', options, next)).toBe('new');
  });
});

it('a load that hangs is not repeated when no caller waits', async () => {
  const { cache } = open();
  const { load, loads } = heldLoad<number>();
  const options = { ...KEPT, lease: 1000, maxLoad: 1000, hardTimeout: 500 } as const;
  const calls = settled(cache.get('a', options, load));
  await elapse(clock, 500);
  expect(await calls).toMatchObject({ code: 'timeout' });
  for (let second = 0; second < 10; second++) await elapse(clock, 1000);
  expect(loads).toHaveLength(1);
  expect(await cache.get('a', options, () => 2)).toBe(2);
});
