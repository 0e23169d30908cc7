import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished } from 'vitest';
import { elapse, gate, settle } from '../../../test/virtual-time.ts';
import type { ScriptRunner } from '../../client/index.ts';
import { seededRandom, virtualClock } from '../../clock/index.ts';
import { createEngine, execute } from '../../engine/index.ts';
import { type Lease, LockLostError, type LockRequest, Locks } from '../../lock/index.ts';
import { type Case, CONFORMANCE, KEY_CONFORMANCE, type KeyEnvironment } from '../conformance.ts';
import { engineRunner } from './engine-runner.ts';
import { RedisStore } from './redis-store.ts';

const INFO = { host: 'h', pid: 1, label: '' };
const REQUEST: LockRequest = {
  kind: 'mutex',
  name: 'a',
  slots: 1,
  permits: 1,
  leaseMs: 1000,
  owner: 'client.1',
  info: INFO,
};
const HOUR_MS = 3_600_000;

let clientCount = 0;

/** Clients of one engine, with a virtual clock. */
function openWorld() {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1) });
  const opened: Locks[] = [];
  onTestFinished(async () => {
    const closing = Promise.all(opened.map((locks) => locks.close()));
    await elapse(clock, 6000);
    await closing;
    engine.close();
  });
  const storeOn = (scripts: ScriptRunner, clientId = `client${++clientCount}`): RedisStore =>
    new RedisStore(scripts, { clock, clientId, requestTimeoutMs: 5000 });
  return {
    clock,
    engine,
    storeOn,
    open(change: (runner: ScriptRunner) => Partial<ScriptRunner> = () => ({})) {
      const runner = engineRunner(engine);
      const store = storeOn({ ...runner, ...change(runner) });
      const locks = new Locks({ store, clock });
      opened.push(locks);
      return { store, locks };
    },
    command(...argv: string[]): unknown {
      const session = engine.session();
      const reply = execute(session, argv);
      session.close();
      return reply;
    },
  };
}

/** A client whose replies the test sends. */
function openStore(run: ScriptRunner['run']) {
  const clock = virtualClock();
  const runner = { run, listen: async () => {}, close: async () => {} };
  const store = new RedisStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
  return { clock, store, locks: new Locks({ store, clock }) };
}

/** A client whose requests fail while the server is down. */
const failingDuring =
  (outage: { readonly isDown: boolean }) =>
  (runner: ScriptRunner): Partial<ScriptRunner> => ({
    async run(...call) {
      if (outage.isDown) throw new Error('down');
      return runner.run(...call);
    },
  });

const never = (): Promise<never> => new Promise(() => {});

describe('a Redis store', () => {
  it.each([
    ['NOAUTH Authentication required.', 'its password'],
    [
      'ERR AUTH <password> called without any password configured for the default user',
      'leave it out',
    ],
    ['ERR DB index is out of range', 'redis://host:port/0'],
    ['MOVED 15495 127.0.0.1:7001', 'node of a cluster'],
    ["ERR unknown command 'EVALSHA'", 'with scripts'],
  ])('fails at once, with advice, when the server replies %s', async (reply, advice) => {
    let count = 0;
    const { locks } = openStore(async (_script, _keys, args) => {
      if (args.includes('queue')) count++;
      throw new Error(reply);
    });
    await expect(locks.mutex('a').acquire({ wait: '1m' })).rejects.toThrow(advice);
    expect(count).toBe(1);
  });

  it('sends a release again until it succeeds, after the caller got unknown', async () => {
    const { clock, open } = openWorld();
    const outage = { isDown: false };
    const { locks } = open(failingDuring(outage));
    const lease = await locks.mutex('a').acquire({ lease: '1m' });
    outage.isDown = true;
    const released = lease.release();
    await elapse(clock, 3000);
    expect(await released).toBe('unknown');
    outage.isDown = false;
    await elapse(clock, 2000);
    expect(await open().locks.mutex('a').tryAcquire()).not.toBe(null);
  });

  it('counts a renewal with the lease that it had, though a longer one was requested meanwhile', async () => {
    const { clock, open } = openWorld();
    const renewing = gate();
    let extendCount = 0;
    const { locks } = open((runner) => ({
      async run(...call) {
        if (!call[2].includes('extend')) return runner.run(...call);
        // The first one is answered late, and all others fail.
        if (++extendCount > 1) throw new Error('down');
        const reply = await runner.run(...call);
        await renewing.opened;
        return reply;
      },
    }));
    const lease = await locks.mutex('a').acquire({ lease: '3s' });
    await elapse(clock, 1000);
    const extended = expect(lease.extend('10m')).rejects.toThrow();
    await elapse(clock, 100);
    renewing.open();
    await elapse(clock, 4000);
    await extended;
    expect(lease.isHeld).toBe(false);
  });

  it('keeps a lock no longer than keepFor, also if the release is sent again after an outage', async () => {
    const { clock, open } = openWorld();
    const outage = { isDown: false };
    const { locks } = open(failingDuring(outage));
    const lease = await locks.mutex('a').acquire({ keepFor: '4s' });
    outage.isDown = true;
    const released = lease.release();
    await elapse(clock, 3000);
    expect(await released).toBe('unknown');
    outage.isDown = false;
    await elapse(clock, 2000);
    expect(await open().locks.mutex('a').tryAcquire()).not.toBe(null);
  });

  it('refuses a semaphore with another number of permits no longer than its waiters live', async () => {
    const { clock, engine, open, storeOn } = openWorld();
    const dead = storeOn(engineRunner(engine), 'dead');
    const request = { ...REQUEST, kind: 'semaphore', slots: 1, owner: 'dead.1' } as const;
    await dead.acquire(request);
    await dead.acquire({ ...request, owner: 'dead.2' }, WAITER);
    await dead.close();
    clock.advance(20_000);
    const lease = await open().locks.semaphore('a', 2).tryAcquire();
    expect(lease).not.toBe(null);
    const { contended } = lease!;
    await settle();
    expect(contended.aborted).toBe(false);
  });

  it('does not count the time until the first reply as waiting', async () => {
    const { clock, open } = openWorld();
    const { locks } = open((runner) => ({
      async run(...call) {
        await new Promise<void>((resolve) => clock.setTimer(1000, resolve));
        return runner.run(...call);
      },
    }));
    const waiting = locks.mutex('a').acquire({ wait: '100ms' });
    await elapse(clock, 1001);
    const lease = await waiting;
    expect(lease.isHeld).toBe(true);
    // The wait timeout runs from the first reply.
    const late = expect(locks.mutex('b').acquire({ wait: '100ms' })).rejects.toThrow('no answer');
    await elapse(clock, 101);
    await late;
  });

  it('fails a request without a reply within the timeout', async () => {
    const { clock, store } = openStore(never);
    const failures = [store.inspect(REQUEST), store.forceRelease(REQUEST)].map((request) =>
      expect(request).rejects.toThrow('no answer within 5000 ms'),
    );
    await Promise.resolve();
    clock.advance(5000);
    await Promise.all(failures);
    await store.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('fails requests when it is closed: sent, not sent yet, and later ones', async () => {
    const { clock, store } = openStore(never);
    const sent = expect(store.inspect(REQUEST)).rejects.toThrow('the store was closed');
    await Promise.resolve();
    const unsent = expect(store.inspect(REQUEST)).rejects.toThrow('the store was closed');
    await store.close();
    await Promise.all([sent, unsent]);
    await expect(store.acquire(REQUEST)).rejects.toThrow('the store was closed');
    expect(clock.pendingTimers).toBe(0);
  });

  it('closes its runner once when it is closed twice', async () => {
    const clock = virtualClock();
    let closings = 0;
    const close = async (): Promise<void> => void closings++;
    const runner = { run: never, listen: async () => {}, close };
    const store = new RedisStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    await Promise.all([store.close(), store.close()]);
    await store.close();
    expect(closings).toBe(1);
  });

  it.each(['acquire', 'refresh'])(
    'has no timer left when it is closed with a waiter and the reply to %s is missing',
    async (missing) => {
      const clock = virtualClock();
      const engine = createEngine({ clock, random: seededRandom(1) });
      const runner = engineRunner(engine);
      const run: ScriptRunner['run'] = (script, keys, args) =>
        isMissing && args[0] === missing ? never() : runner.run(script, keys, args);
      let isMissing = false;
      const settings = { clock, clientId: 'client', requestTimeoutMs: 5000 };
      const store = new RedisStore({ ...runner, run }, settings);
      await store.acquire(REQUEST);
      for (const id of [2, 3]) await store.acquire({ ...REQUEST, owner: `client.${id}` }, WAITER);
      isMissing = true;
      const missed = store.acquire({ ...REQUEST, owner: 'client.4' }).catch(() => {});
      await elapse(clock, 1100);
      await store.close();
      await settle();
      await missed;
      engine.close();
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it.each(['a.b', 'a b', 'a\n'])('refuses the client id %j', (clientId) => {
    const { storeOn, engine } = openWorld();
    expect(() => storeOn(engineRunner(engine), clientId)).toThrow('no dots and no spaces');
  });
});

const WAITER = { notify: () => {} };

describe('a request', () => {
  it('has a timeout that starts when it is sent, also after the event loop was blocked', async () => {
    const { opened, open } = gate();
    const { clock, store, locks } = openStore(() => opened.then(() => 7));
    const taking = locks.mutex('a').tryAcquire();
    clock.advance(6000);
    await settle();
    clock.advance(1000);
    open();
    expect((await taking)?.fence).toBe(7);
    await store.close();
  });

  it('fails when the client throws', async () => {
    const { locks } = openStore(() => {
      throw new Error('no client');
    });
    const tries = Array.from({ length: 101 }, (_, index) => locks.mutex(`${index}`).tryAcquire());
    for (const each of tries) await expect(each).rejects.toThrow('no client');
  });

  it('is granted by a reply after its timeout, and its lease counts from when it was sent', async () => {
    const world = openWorld();
    const { opened, open } = gate();
    let calls = 0;
    const { locks } = world.open((runner) => ({
      async run(...call) {
        if (++calls > 1) return never();
        const reply = await runner.run(...call);
        await opened;
        return reply;
      },
    }));
    let isGranted = false;
    const taking = locks.mutex('a').acquire({ wait: '60s' });
    taking.then(
      () => {
        isGranted = true;
      },
      () => {},
    );
    await elapse(world.clock, 5600);
    expect(calls).toBe(2);
    open();
    await settle();
    expect(isGranted).toBe(true);
    const closing = locks.close();
    await elapse(world.clock, 6000);
    await closing;
    expect((await taking).isHeld).toBe(false);
  });

  it('keeps its place in the queue when the grant of an earlier one arrives after its timeout', async () => {
    const world = openWorld();
    const { opened, open } = gate();
    let calls = 0;
    const { locks } = world.open((runner) => ({
      async run(...call) {
        calls++;
        const reply = await runner.run(...call);
        await opened;
        return reply;
      },
    }));
    const waiting = locks.mutex('a').acquire({ lease: '3s', wait: '60s' });
    await elapse(world.clock, 4000);
    const other = await world.open().locks.mutex('a').acquire();
    await elapse(world.clock, 1600);
    expect(calls).toBe(2);
    open();
    await settle();
    await other.release();
    await settle();
    expect((await waiting).isHeld).toBe(true);
  });

  it.each([
    { how: 'a renewal', options: {}, extend: undefined },
    { how: 'extend() with a longer lease', options: {}, extend: '30s' as const },
    { how: 'a reply "busy", without renewals', options: { renew: false }, extend: undefined },
  ])('leaves the queue when its lease is found stolen by $how', async ({ options, extend }) => {
    const world = openWorld();
    const first = gate();
    const second = gate();
    let calls = 0;
    const { locks } = world.open((runner) => ({
      async run(...call) {
        const isSecond = ++calls === 2;
        if (isSecond) await second.opened;
        const reply = await runner.run(...call);
        if (calls === 1) await first.opened;
        return reply;
      },
    }));
    const waiting = locks.mutex('a').acquire({ lease: '20s', wait: '60s', ...options });
    await settle();
    const thief = world.open().locks.mutex('a');
    const stolen = await thief.acquire({ steal: true, reason: 'test' });
    // The reply to the first request arrives after its timeout, while the second one is under way.
    await elapse(world.clock, 5600);
    expect(calls).toBe(2);
    first.open();
    const lease = await waiting;
    expect(lease.isHeld).toBe(true);
    second.open();
    if (extend) await expect(lease.extend(extend)).rejects.toThrow(LockLostError);
    await elapse(world.clock, 7000);
    expect(lease.isHeld).toBe(false);
    expect(await thief.inspect()).toMatchObject({
      holders: [{ fence: stolen.fence }],
      waiters: [],
    });
  });

  it('that releases a lock in a batch notifies the waiter of that lock without a timer', async () => {
    const { locks } = openWorld().open();
    const names = ['a', 'b'];
    const held = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    const waiting = names.map((name) => locks.mutex(name).acquire({ wait: '50s' }));
    await settle();
    await Promise.all(held.map((lease) => lease.release()));
    for (const lease of await Promise.all(waiting)) await lease.release();
  });

  it('has its events in the async context of its caller, also in a batch with others', async () => {
    const { locks } = openWorld().open();
    const context = new AsyncLocalStorage<string>();
    const events: string[] = [];
    const channels = ['grant', 'release', 'fail'].map((name) => `holdfast:${name}`);
    const note = (event: unknown): void =>
      void events.push(`${(event as { lock: string }).lock} in ${context.getStore()}`);
    for (const channel of channels) diagnostics.subscribe(channel, note);
    const use = async (name: string): Promise<void> => {
      const lease = await locks.mutex(name).acquire();
      await locks.mutex(name).tryAcquire();
      await lease.release();
    };
    await Promise.all(['a', 'b'].map((name) => context.run(name, () => use(name))));
    for (const channel of channels) diagnostics.unsubscribe(channel, note);
    expect(events.sort()).toEqual(
      ['a', 'a', 'a', 'b', 'b', 'b'].map((name) => `${name} in ${name}`),
    );
  });
});

const KINDS = {
  mutex: (locks: Locks) => locks.mutex('a'),
  rw: (locks: Locks) => locks.readWrite('a').write,
  semaphore: (locks: Locks) => locks.semaphore('a', 1),
} as const;

describe('the fence', () => {
  it.each([
    ['mutex', 'lock:{a}:fence'],
    ['rw', 'rw:{a}:fence'],
    ['semaphore', 'semaphore:{a}:fence'],
  ] as const)('of a %s is kept for 11 hours after a day of renewals', async (kind, key) => {
    const { clock, open, command } = openWorld();
    const lease = await KINDS[kind](open().locks).acquire();
    for (let hour = 0; hour < 25; hour++) {
      // The same state as after renewals for the rest of the hour.
      clock.advance(29_000);
      await lease.extend();
      command('PEXPIRE', key, String(Number(command('PTTL', key)) - 3_571_000));
    }
    expect(command('PTTL', key)).toBeGreaterThan(11 * HOUR_MS);
  });

  it('rises after the store went back to an older state, as after a failover', async () => {
    const { clock, open, command } = openWorld();
    const { store } = open();
    const grant = async (owner: string): Promise<number> => {
      clock.advance(1);
      const result = await store.acquire({ ...REQUEST, owner });
      await store.release({ ...REQUEST, owner });
      return result.type === 'granted' ? result.fence : 0;
    };
    const first = await grant('one');
    let last = first;
    for (const owner of ['two', 'three', 'four']) last = await grant(owner);
    command('SET', 'lock:{a}:fence', String(first));
    expect(await grant('five')).toBeGreaterThan(last);
  });

  it('is larger than the last one after another program deleted its key', async () => {
    const { clock, open, command } = openWorld();
    const { store } = open();
    const first = await store.acquire(REQUEST);
    command('DEL', 'lock:{a}:fence');
    clock.advance(1);
    const again = await store.acquire(REQUEST);
    if (first.type !== 'granted' || again.type !== 'granted') throw new Error('not granted');
    expect(again.fence).toBeGreaterThan(first.fence);
  });
});

describe('requests of one call', () => {
  it('do not fail when the key of another request has another type', async () => {
    const { open, command } = openWorld();
    const { locks } = open();
    command('HSET', 'lock:{bad}', 'field', 'value');
    const names = ['a', 'bad', 'b', 'c'];
    const tries = names.map((name) => locks.mutex(name).tryAcquire());
    const both = locks.all(['d', 'e']).tryAcquire();
    const outcomes = await Promise.allSettled([...tries, both]);
    const seen = outcomes.map((each) =>
      each.status === 'fulfilled' ? each.value?.isHeld : String(each.reason.cause),
    );
    expect(seen).toEqual([true, expect.stringContaining('WRONGTYPE'), true, true, true]);
  });

  it('fail together if they are one all() and one of its keys has another type', async () => {
    const { open, command } = openWorld();
    let calls = 0;
    const { locks } = open((runner) => ({
      async run(...call) {
        if (++calls > 10) throw new Error('the request is repeated without end');
        return runner.run(...call);
      },
    }));
    command('HSET', 'lock:{bad}', 'field', 'value');
    const failure = await locks
      .all(['bad', 'good'])
      .tryAcquire()
      .catch((error) => error.cause);
    expect(String(failure)).toContain('WRONGTYPE');
  });

  it('keep their order in the queue when the second reply arrives after the subscription opens', async () => {
    const [subscription, answer] = [gate(), gate()];
    const { locks } = openWorld().open((runner) => ({
      async run(script, keys, args) {
        const reply = await runner.run(script, keys, args);
        if (args[0] === 'queue' && args[1]?.includes('second')) await answer.opened;
        return reply;
      },
      async listen(...channel) {
        await subscription.opened;
        await runner.listen(...channel);
      },
    }));
    const lock = locks.mutex('a');
    const holder = await lock.acquire();
    const first = lock.acquire({ label: 'first' });
    await settle();
    const second = lock.acquire({ label: 'second' });
    for (const { open } of [subscription, answer]) {
      await settle();
      open();
    }
    await settle();
    const { waiters } = await lock.inspect();
    expect(waiters.map(({ label }) => label)).toEqual(['first', 'second']);
    // Each waiter is served by the release before it, without a timer.
    await holder.release();
    await (await first).release();
    await (await second).release();
  });

  it('leave the queue when their replies arrive after the timeout', async () => {
    const { clock, open } = openWorld();
    const answers: (() => void)[] = [];
    let isSlow = false;
    const here = open().locks;
    const there = open((runner) => ({
      run(...call) {
        if (!isSlow) return runner.run(...call);
        return new Promise<unknown>((resolve) => {
          answers.push(() => resolve(runner.run(...call)));
        });
      },
    })).locks;
    await there.ready();
    isSlow = true;
    await here.mutex('a').acquire({ lease: '60s', renew: false });
    const failure = expect(there.mutex('a').acquire({ wait: '5s' })).rejects.toThrow(/no answer/);
    await settle();
    clock.advance(5000);
    await failure;
    for (let answer = answers.shift(); answer; answer = answers.shift()) {
      answer();
      await settle();
    }
    expect((await here.mutex('a').inspect()).waiters).toEqual([]);
  });
});

/** The client sends each release twice and gets the second reply, as after a reconnection. */
const releasesTwice = (runner: ScriptRunner): Partial<ScriptRunner> => ({
  async run(...call) {
    const reply = await runner.run(...call);
    return call[2].includes('release') ? runner.run(...call) : reply;
  },
});

describe('a release that the client sends twice', () => {
  it('returns released', async () => {
    const { locks } = openWorld().open(releasesTwice);
    const lease = await locks.mutex('a').acquire();
    expect(await lease.release()).toBe('released');
  });

  it('does not end the lease of the waiter that the first one served, which is notified within a second', async () => {
    const { clock, open } = openWorld();
    const { locks } = open(releasesTwice);
    const first = await locks.mutex('a').acquire();
    const second = locks.mutex('a').acquire();
    await (await locks.mutex('b').acquire()).release();
    await first.release();
    await elapse(clock, 1050);
    expect((await Promise.race([second, settle()]))?.isHeld).toBe(true);
  });
});

describe('inspect', () => {
  it('returns a foreign token unchanged', async () => {
    const { open, command } = openWorld();
    command('SET', 'lock:{a}', 'x [abc]', 'PX', '1000');
    const { holders } = await open().store.inspect(REQUEST);
    expect(holders).toMatchObject([{ foreign: true, value: 'x [abc]' }]);
  });
});

describe('a mutex whose keys were lost', () => {
  it('returns not-held from its release', async () => {
    const { open, command } = openWorld();
    const lease = await open().locks.mutex('a').acquire();
    command('FLUSHALL');
    expect(await lease.release()).toBe('not-held');
  });
});

describe('all()', () => {
  it('is granted when only waiters of a dead client are in a queue', async () => {
    const { clock, engine, open, storeOn } = openWorld();
    const dead = storeOn(engineRunner(engine), 'dead');
    await dead.acquire({ ...REQUEST, owner: 'dead.holder' });
    await dead.acquire({ ...REQUEST, owner: 'dead.waiter' }, WAITER);
    await dead.close();
    clock.advance(20_000);
    expect(await open().locks.all(['a', 'b']).tryAcquire()).not.toBe(null);
  });
});

describe('a lock with several holders', () => {
  it('is free after the leases of its dead holders, whenever its keys expire', async () => {
    const { clock, open } = openWorld();
    const { store, locks } = open();
    const permit = locks.semaphore('s', 1);
    for (const heldHours of [0, 18, 5, 30, 1]) {
      const lease = await permit.tryAcquire({ lease: '30s', renew: false });
      expect(lease, `after ${heldHours} hours`).not.toBe(null);
      for (let half = 0; half < heldHours * 2; half++) {
        clock.advance(HOUR_MS / 2);
        await store.acquire({ ...requestOf(lease!), leaseMs: 1.2 * HOUR_MS });
      }
      clock.advance(12 * HOUR_MS);
    }
  });

  const losses = (['rw', 'semaphore'] as const).flatMap((kind) =>
    ['', ':state', ':clock'].map((suffix) => ({ kind, key: `${kind}:{a}${suffix}` })),
  );

  it.each(losses)(
    'aborts the signal of its holder at the next renewal after $key was lost',
    async (each) => {
      const { clock, open, command } = openWorld();
      const first = await KINDS[each.kind](open().locks).acquire({ lease: '30s' });
      await elapse(clock, 1000);
      expect(command('DEL', each.key)).toBe(1);
      // Another client holds it now.
      expect(await KINDS[each.kind](open().locks).tryAcquire()).not.toBe(null);
      await elapse(clock, 9500);
      expect(first.isHeld).toBe(false);
      expect(first.signal.reason).toBeInstanceOf(LockLostError);
      expect(first.signal.reason).toMatchObject({ reason: 'stolen' });
      expect(await first.release()).toBe('not-held');
    },
  );

  it.each(losses)(
    'rejects a renewal that is the first request after $key was lost',
    async (each) => {
      const { clock, open, command } = openWorld();
      const first = await KINDS[each.kind](open().locks).acquire({ lease: '30s' });
      await elapse(clock, 1000);
      expect(command('DEL', each.key)).toBe(1);
      await expect(first.extend()).rejects.toThrow(LockLostError);
      expect(await KINDS[each.kind](open().locks).tryAcquire()).not.toBe(null);
    },
  );

  it.each(losses)('has no more holders than permits when $key is lost repeatedly', async (each) => {
    const { clock, open, command } = openWorld();
    const leases: Lease[] = [];
    const lockOf = KINDS[each.kind];
    for (let turn = 0; turn < 6; turn++) {
      const lease = await lockOf(open().locks).tryAcquire({ lease: '3s' });
      if (lease !== null) leases.push(lease);
      command('DEL', each.key);
      await elapse(clock, 1100);
      expect(leases.filter(({ isHeld }) => isHeld).length).toBeLessThanOrEqual(1);
    }
    expect(leases.length).toBeGreaterThan(1);
  });

  it.each(losses)('is handed over to its waiters after the loss of $key', async (each) => {
    const { clock, open, command } = openWorld();
    const lockOf = KINDS[each.kind];
    await lockOf(open().locks).acquire({ lease: '30s' });
    const waiting = lockOf(open().locks).acquire({ wait: '1h' });
    await elapse(clock, 1500);
    command('DEL', each.key);
    let isServed = false;
    void waiting.then(() => {
      isServed = true;
    });
    await elapse(clock, 1100);
    expect(isServed).toBe(true);
  });
});

describe('a key that another program uses for another type', () => {
  it('is replaced by a request that steals the mutex', async () => {
    const { open, command } = openWorld();
    command('HSET', 'lock:{a}', 'thread', '1');
    const { locks } = open();
    await expect(locks.mutex('a').acquire({ wait: 0 })).rejects.toThrow('WRONGTYPE');
    const lease = await locks.mutex('a').acquire({ steal: true, reason: 'its program is gone' });
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
  });
});

function requestOf(lease: Lease): LockRequest {
  return (lease as unknown as { request: LockRequest }).request;
}

describe('a Redis store on an engine of this process', () => {
  it.each<Case<KeyEnvironment>>([...CONFORMANCE, ...KEY_CONFORMANCE])('$name', async (example) => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const session = engine.session();
    await example.run({
      open: async () => {
        const clientId = `client${++clientCount}`;
        const settings = { clock, clientId, requestTimeoutMs: 5000 };
        return new RedisStore(engineRunner(engine), settings);
      },
      elapse: async (durationMs) => clock.advance(durationMs),
      set: async (key, value, ttlMs) => {
        const bytes = Buffer.from(value, 'utf8').toString('latin1');
        const end = ttlMs === undefined ? [] : ['PX', String(ttlMs)];
        return execute(session, ['SET', key, bytes, ...end]);
      },
    });
    session.close();
    engine.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
