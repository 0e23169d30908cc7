import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Cache,
  type CacheLimits,
  type CacheOptions,
  createCache,
} from '../src/cache/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine, execute } from '../src/engine/index.ts';
import { createLocks, LockArgumentError } from '../src/index.ts';
import {
  elapse,
  heldLoad,
  openProgram,
  type Program,
  type ProgramOptions,
  settled,
  turn,
} from './cache-scene.ts';

const KEPT: CacheOptions = { fresh: '10m', tags: ['red'] };

let clock: VirtualClock;
let engine: Engine;
let programs: Program[];
/** The program with a memory tier, and another one without. */
let here: Program;
let there: Program;

const open = (options?: ProgramOptions): Program => {
  const program = openProgram(engine, clock, programs.length, options);
  programs.push(program);
  return program;
};

const isLookup = (args: readonly string[]): boolean => args.includes('lookup');
const notLoaded = (): never => {
  throw new Error('the value was loaded');
};
const get = (load: () => string = notLoaded): Promise<string> => here.cache.get('a', KEPT, load);

/** How many calls of the store the work makes. */
async function callsOf(work: () => Promise<unknown>, { network } = here): Promise<number> {
  const before = network.calls;
  await work();
  return network.calls - before;
}

/** The subscription is confirmed, and `here` has a copy of the value. */
async function fill(value = 'old'): Promise<void> {
  await there.cache.set('a', value, KEPT);
  for (let count = 0; count < 3; count++) {
    expect(await get()).toBe(value);
    await turn();
  }
  expect(await callsOf(get)).toBe(0);
}

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  programs = [];
  [here, there] = [open({ memory: true }), open()];
});
afterEach(async () => {
  for (const { network, locks } of programs) {
    network.resume();
    await locks.close();
  }
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

/** Each makes the value of `a` that other processes have invalid. */
const CHANGES = {
  set: (cache: Cache) => cache.set('a', 'new', KEPT),
  delete: (cache: Cache) => cache.delete('a'),
  invalidate: (cache: Cache) => cache.invalidate('red'),
} as const satisfies Record<string, (cache: Cache) => Promise<unknown>>;

describe('a memory tier', () => {
  it('returns a copy without a call of the store, and each caller its own', async () => {
    await there.cache.set('a', { list: [1] }, KEPT);
    const getList = () => here.cache.get('a', KEPT, () => ({ list: [0] }));
    await getList();
    await turn();
    await getList();
    const calls = await callsOf(async () => (await getList()).list.push(2));
    expect([calls, await getList()]).toEqual([0, { list: [1] }]);
  });

  it('answers has, and keys of getMany, from memory', async () => {
    await fill();
    const calls = await callsOf(async () => {
      expect(await here.cache.has('a', { tags: ['red'] })).toBe(true);
      const values = await here.cache.getMany(['a'], KEPT, notLoaded);
      expect([...values]).toEqual([['a', 'old']]);
    });
    expect(calls).toBe(0);
  });

  it('loads once for all processes', async () => {
    const [first, second] = [open({ memory: true }), open({ memory: true })];
    const { load, loads } = heldLoad<string>();
    const callers = [first, second].map(({ cache }) => cache.get('a', KEPT, load));
    await turn();
    loads[0]!.resolve('loaded');
    expect(await Promise.all(callers)).toEqual(['loaded', 'loaded']);
    expect(loads).toHaveLength(1);
  });

  it.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])(
    'does not return its copy after the message of a %s of another process',
    async (name) => {
      await fill();
      await CHANGES[name](there.cache);
      await turn();
      expect(await get(() => 'new')).toBe('new');
    },
  );

  it.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])(
    'does not return its copy after its own %s, before any message',
    async (name) => {
      await fill();
      here.network.holdsMessages = true;
      await CHANGES[name](here.cache);
      expect(await get(() => 'new')).toBe('new');
    },
  );

  it.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])(
    'does not return its copy after its own %s whose reply was lost',
    async (name) => {
      await fill();
      here.network.holdsMessages = true;
      const run = here.network.run.bind(here.network);
      here.network.run = async (...call) => {
        const reply = await run(...call);
        const isChange = ['set', 'delete', 'invalidate'].some((verb) => call[2].includes(verb));
        if (isChange) throw new Error('the reply was lost');
        return reply;
      };
      expect(await settled<unknown>(CHANGES[name](here.cache))).toMatchObject({
        code: 'unavailable',
      });
      here.network.run = run;
      expect(await get(() => 'new')).toBe('new');
    },
  );

  it.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])(
    'keeps no copy of a value that it read before a %s whose message overtakes the reply',
    async (name) => {
      await fill('older');
      await there.cache.set('a', 'old', KEPT);
      await turn();
      here.network.holdsReply = isLookup;
      const reading = get();
      await turn();
      await CHANGES[name](there.cache);
      await turn();
      here.network.resume();
      expect(await reading, 'the call began before the change').toBe('old');
      expect(await get(() => 'new')).toBe('new');
    },
  );

  it.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])(
    'keeps no copy of a value that it read before its own %s',
    async (name) => {
      await fill('older');
      await there.cache.set('a', 'old', KEPT);
      await turn();
      here.network.holdsReply = isLookup;
      here.network.holdsMessages = true;
      const reading = get();
      await turn();
      await CHANGES[name](here.cache);
      here.network.resume();
      await reading;
      expect(await get(() => 'new')).toBe('new');
    },
  );

  it('does not return its copy after another process has loaded a new value', async () => {
    await fill();
    await there.cache.delete('a');
    await there.cache.get('a', KEPT, () => 'new');
    await turn();
    expect(await get()).toBe('new');
  });

  it.each(['set', 'delete'] as const)('returns no value of a load during a %s', async (name) => {
    await fill();
    await here.cache.delete('a');
    const { load, loads } = heldLoad<string>();
    const loading = here.cache.get('a', KEPT, load);
    await turn();
    await CHANGES[name](there.cache);
    loads[0]!.resolve('read before');
    await turn();
    loads[1]?.resolve('new');
    expect(await loading).toBe('new');
    expect(await get()).toBe('new');
  });

  it('drops the copies of a namespace that another process clears', async () => {
    const users = here.cache.namespace('users');
    await users.set('7', 'old', KEPT);
    for (let count = 0; count < 3; count++) {
      await users.get('7', KEPT, notLoaded);
      await turn();
    }
    expect(await callsOf(() => users.get('7', KEPT, notLoaded))).toBe(0);
    await there.cache.namespace('users').clear();
    await turn();
    expect(await users.get('7', KEPT, () => 'new')).toBe('new');
  });

  it('returns no copy beyond the time that the value is fresh, whose reply was slow', async () => {
    await fill();
    await there.cache.set('a', 'short', { ...KEPT, fresh: '10s' });
    await turn();
    here.network.holdsReply = isLookup;
    const reading = get();
    await elapse(clock, 4000);
    here.network.resume();
    expect(await reading).toBe('short');
    expect(await callsOf(get)).toBe(0);
    await elapse(clock, 6000);
    expect(await get(() => 'loaded')).toBe('loaded');
  });

  it('begins an early load at a hit in memory', async () => {
    let draw = 0;
    const random = { next: () => draw, bytes: (count: number) => seededRandom(9).bytes(count) };
    const early = open({ memory: true, random });
    const read = (value: string) =>
      early.cache.get('b', { fresh: '1m' }, () => {
        clock.advance(1000);
        return value;
      });
    for (let count = 0; count < 4; count++) {
      expect(await read('first')).toBe('first');
      await turn();
    }
    expect(await callsOf(() => read('second'), early)).toBe(0);
    await elapse(clock, 58_000);
    draw = 0.9999;
    expect(await read('second')).toBe('first');
    draw = 0;
    await turn();
    expect(await read('third')).toBe('second');
  });

  it('begins no early load of a copy that is to be checked soon', async () => {
    const random = { next: () => 0.9999, bytes: (count: number) => seededRandom(9).bytes(count) };
    const early = open({ memory: true, random });
    const slowLoad = (): string => {
      clock.advance(1000);
      return 'first';
    };
    const read = () => early.cache.get('b', { fresh: '10m' }, slowLoad);
    for (let count = 0; count < 4; count++) {
      await read();
      await turn();
    }
    await elapse(clock, 58_000);
    expect(await callsOf(read, early)).toBe(0);
    await turn();
    expect(early.cache.counts.load).toBe(1);
  });

  it('checks a copy with the store after a minute, as another program may have deleted the value', async () => {
    await fill();
    const session = engine.session();
    execute(session, ['FLUSHALL']);
    await elapse(clock, 59_999);
    expect(await get()).toBe('old');
    await elapse(clock, 1);
    expect(await get(() => 'new')).toBe('new');
    session.close();
  });

  it('checks a copy with the store after a minute, and does not load a fresh value', async () => {
    await fill();
    await elapse(clock, 60_000);
    expect(await callsOf(get)).toBe(1);
    expect(await callsOf(get)).toBe(0);
  });

  it.each([
    [{ entries: 3 }, 0],
    [{ entries: 2 }, 1],
    [{ bytes: 2 * '"a"'.length }, 1],
  ])('evicts copies above %j', async (memory, least) => {
    const limited = open({ memory });
    const read = (key: string) => limited.cache.get(key, KEPT, () => key);
    const readAll = async (): Promise<void> => {
      for (const key of ['a', 'b', 'c']) {
        await read(key);
        await turn();
      }
    };
    for (let count = 0; count < 3; count++) await readAll();
    const calls = await callsOf(readAll, limited);
    expect(Math.min(calls, 1)).toBe(least);
  });

  it('finds the deadlock of a load that waits for its key in another cache of the same locks', async () => {
    const plain = createCache({ locks: here.locks });
    const work = here.cache.get('a', KEPT, () => plain.get('a', KEPT, () => 'inner'));
    expect(await settled(work)).toMatchObject({ code: 'deadlock' });
  });

  it('has no effect on values of this process', async () => {
    const locks = createLocks({ clock });
    const cache = createCache({ locks, memory: true });
    await cache.set('a', 1, KEPT);
    await cache.set('a', 2, KEPT);
    expect(await cache.get('a', KEPT, notLoaded)).toBe(2);
    await locks.close();
  });

  it.each([
    [
      'yes',
      'memory must be true, false or limits such as { entries: 10_000, bytes: 2 ** 24 }; got yes',
    ],
    [{ entries: 0 }, 'memory.entries must be a number of at least 1, or Infinity; got 0'],
  ])('rejects the option %j', (memory, message) => {
    const create = () => createCache({ locks: here.locks, memory: memory as CacheLimits });
    expect(create).toThrow(LockArgumentError);
    expect(create).toThrow(message);
  });
});

describe('a memory tier without a subscription', () => {
  it('keeps no copy before the subscription is confirmed', async () => {
    await there.cache.set('a', 'old', KEPT);
    await get();
    expect(await callsOf(get)).toBe(1);
  });

  it('tries to subscribe again after a second', async () => {
    here.network.refusesSubscriptions = true;
    await there.cache.set('a', 'old', KEPT);
    for (let count = 0; count < 3; count++) {
      expect(await callsOf(get)).toBe(1);
      await turn();
    }
    here.network.refusesSubscriptions = false;
    await elapse(clock, 999);
    for (let count = 0; count < 3; count++) expect(await callsOf(get)).toBe(1);
    await elapse(clock, 1);
    await fill();
  });

  it('reads each value from the store after the subscription was cut', async () => {
    await fill();
    here.network.cutSubscriptions();
    await there.cache.set('a', 'new', KEPT);
    expect(await get()).toBe('new');
    expect(await callsOf(get)).toBe(1);
  });

  it('keeps copies again when the subscription is back, and none from before', async () => {
    await fill();
    here.network.cutSubscriptions();
    await there.cache.set('a', 'new', KEPT);
    here.network.restoreSubscriptions();
    expect(await get()).toBe('new');
    expect(await callsOf(get)).toBe(0);
  });

  it('drops all copies when messages may have been lost unnoticed', async () => {
    await fill();
    here.network.restoreSubscriptions();
    expect(await callsOf(get)).toBe(1);
  });

  it('keeps no copy of a value that it read before the subscription was cut', async () => {
    await fill('older');
    await there.cache.set('a', 'old', KEPT);
    await turn();
    here.network.holdsReply = isLookup;
    const reading = get();
    await turn();
    here.network.cutSubscriptions();
    await there.cache.set('a', 'new', KEPT);
    here.network.restoreSubscriptions();
    here.network.resume();
    expect(await reading).toBe('old');
    expect(await get()).toBe('new');
  });

  it('keeps no copy after the cache was closed', async () => {
    await fill();
    const other = createCache({ locks: here.locks, memory: true });
    await here.cache.close();
    here.network.restoreSubscriptions();
    expect(await settled(get())).toMatchObject({ code: 'aborted' });
    expect(await other.get('a', KEPT, notLoaded)).toBe('old');
  });
});
