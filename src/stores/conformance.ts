import assert from 'node:assert/strict';
import type {
  AcquireResult,
  LockRequest,
  LockStore,
  LockTarget,
  WaiterEvent,
} from '../lock/index.ts';

/** The environment of one case: opens stores that share their locks, and lets time pass. */
export interface StoreEnvironment {
  /** Opens one more client of the same locks. The case closes it. */
  open(): Promise<LockStore>;
  elapse(durationMs: number): Promise<void>;
}

/** An environment in which other programs can write the keys of locks. */
export interface KeyEnvironment extends StoreEnvironment {
  /** `SET key value`, with `PX ttlMs` if it is given, as another program sends it. */
  set(key: string, value: string, ttlMs?: number): Promise<unknown>;
}

export interface Case<Environment extends StoreEnvironment = StoreEnvironment> {
  readonly name: string;
  run(environment: Environment): Promise<void>;
}

/** The lease of a case that waits for its end. */
const LEASE_MS = 400;
/** Any other lease: it does not end during the case, however slow the machine is. */
const LONG_LEASE_MS = 60_000;
/** The TTL of a foreign holder: longer than a case takes. */
const FOREIGN_MS = 60_000;
let owners = 0;

/** The cases that every store must pass. Each case gets an environment of its own. */
export const CONFORMANCE: readonly Case[] = [
  example(
    'grants a free lock, and returns the same grant to a repeated request',
    async ({ queue, store }) => {
      const request = mutex('a');
      const first = await store.acquire(request);
      const again = await queue(request);
      assert(isGranted(first));
      assert.deepEqual(again, first);
    },
  ),

  example(
    'returns busy to another owner, with the time until the lease ends',
    async ({ store }) => {
      await store.acquire(brief(mutex('a')));
      const result = await store.acquire(mutex('a'));
      assert(result.type === 'busy' && result.retryInMs > 0 && result.retryInMs <= LEASE_MS + 10);
    },
  ),

  example('raises the fence with every grant', async ({ store }) => {
    let last = 0;
    for (let turn = 0; turn < 20; turn++) {
      const request = mutex('a');
      const result = await store.acquire(request);
      assert(isGranted(result) && Number.isSafeInteger(result.fence) && result.fence > last);
      last = result.fence;
      assert.equal(await store.release(request), true);
    }
  }),

  example(
    'hands over in order of arrival, and notifies one waiter at a time',
    async ({ queue, store, handOvers }) => {
      const holder = mutex('a');
      await store.acquire(holder);
      const waiters = Array.from({ length: 20 }, () => mutex('a'));
      for (const waiter of waiters) await queue(waiter);
      let previous: LockRequest = holder;
      for (const waiter of waiters) {
        assert.equal(await store.release(previous), true);
        assert.deepEqual(await handOvers(), [waiter.owner]);
        assert(isGranted(await queue(waiter)));
        previous = waiter;
      }
    },
  ),

  example(
    'does not grant the lock to a request that arrives after a waiter',
    async ({ queue, store, handOvers }) => {
      const [holder, waiter, late] = [mutex('a'), mutex('a'), mutex('a')];
      await store.acquire(holder);
      await queue(waiter);
      await store.release(holder);
      assert(!isGranted(await store.acquire(late)));
      assert.deepEqual(await handOvers(), [waiter.owner]);
    },
  ),

  example(
    'does not hand over to a waiter that has left the queue',
    async ({ queue, store, handOvers }) => {
      const [holder, leaving, waiter] = [mutex('a'), mutex('a'), mutex('a')];
      await store.acquire(holder);
      await queue(leaving);
      await queue(waiter);
      assert.equal(await store.release(leaving), false);
      await store.release(holder);
      assert.deepEqual(await handOvers(), [waiter.owner]);
    },
  ),

  example(
    'ends a lease in time, after which its owner cannot end the next one',
    async ({ store, elapse }) => {
      const [old, next] = [brief(mutex('a')), mutex('a')];
      await store.acquire(old);
      await elapse(LEASE_MS + 50);
      assert(isGranted(await store.acquire(next)));
      assert.equal(await store.extend(old), false);
      assert.equal(await store.release(old), false);
      assert(!isGranted(await store.acquire(mutex('a'))));
    },
  ),

  example(
    'hands over to the first waiter after the lease of a dead holder',
    async ({ queue, store, handOvers, elapse }) => {
      const waiter = mutex('a');
      await store.acquire(brief(mutex('a')));
      const busy = await queue(waiter);
      assert(busy.type === 'busy');
      await elapse(Math.min(busy.retryInMs, LEASE_MS) + 50);
      const served = await handOvers();
      const result = await queue(waiter);
      assert(served.length <= 1);
      assert(isGranted(result));
    },
  ),

  example('keeps a lease that is extended', async ({ store, elapse }) => {
    const request = brief(mutex('a'));
    await store.acquire(request);
    for (let turn = 0; turn < 4; turn++) {
      await elapse(LEASE_MS / 2);
      assert.equal(await store.extend(request), true);
    }
    assert(!isGranted(await store.acquire(mutex('a'))));
  }),

  example(
    'grants permits up to the number of slots, and hands over when enough are free',
    async ({ queue, store, handOvers }) => {
      const [a, b, c] = [semaphore('s', 3, 2), semaphore('s', 3, 1), semaphore('s', 3, 2)];
      assert(isGranted(await queue(a)));
      assert(isGranted(await queue(b)));
      assert(!isGranted(await queue(c)));
      await store.release(b);
      assert.deepEqual(await handOvers(), []);
      await store.release(a);
      assert.deepEqual(await handOvers(), [c.owner]);
    },
  ),

  example('frees the permits of a holder whose lease has ended', async ({ store, elapse }) => {
    await store.acquire(brief(semaphore('s', 2, 2)));
    await elapse(LEASE_MS + 50);
    assert(isGranted(await store.acquire(semaphore('s', 2, 2))));
  }),

  example(
    'grants readers together and writers alone, in order of arrival',
    async ({ queue, store, handOvers }) => {
      const [first, second, writer, third] = [reader(), reader(), reader(true), reader()];
      assert(isGranted(await queue(first)));
      assert(isGranted(await queue(second)));
      assert(!isGranted(await queue(writer)));
      assert(!isGranted(await queue(third)));
      await store.release(first);
      await store.release(second);
      assert.deepEqual(await handOvers(), [writer.owner]);
      await store.release(writer);
      assert.deepEqual(await handOvers(), [third.owner]);
    },
  ),

  example('treats locks with different names or kinds as different locks', async ({ store }) => {
    const names = ['a', 'A', 'a ', '{a}', '}a{', '%7Ba', '\0', 'ключ', '锁', '__proto__', 'a:q'];
    for (const name of names) {
      assert(isGranted(await store.acquire(mutex(name))), name);
    }
    for (const name of names) assert(!isGranted(await store.acquire(mutex(name))), name);
    assert(isGranted(await store.acquire(semaphore('a', 1, 1))));
  }),

  example(
    'returns true to a repeated release with its fence, which does not end the next lease',
    async ({ store }) => {
      const requests = [mutex('a'), semaphore('s', 3, 2), reader(true)];
      for (const request of requests) {
        const result = await store.acquire(request);
        assert(isGranted(result));
        assert.equal(await store.release(request, result.fence), true);
        assert.equal(await store.release(request, result.fence), true);
        const next = { ...request, owner: `${request.owner}-next` };
        assert(isGranted(await store.acquire(next)));
        await store.release(request, result.fence);
        assert.equal(await store.extend(next), true);
      }
    },
  ),

  example(
    'takes several locks or none, and returns the same grant to a repeated request',
    async ({ store }) => {
      const requests = [mutex('{t}a'), mutex('{t}b'), mutex('{t}c')].map((request, _, [first]) => ({
        ...request,
        owner: first!.owner,
      }));
      const busy = mutex('{t}b');
      await store.acquire(busy);
      const none = await store.acquireAll(requests, 0);
      assert.equal(none?.type, 'busy');
      assert(isGranted(await store.acquire(mutex('{t}a'))));
      await store.forceRelease(requests[0]!);
      await store.release(busy);
      const all = await store.acquireAll(requests, 0);
      assert(all?.type === 'granted');
      assert.deepEqual(await store.acquireAll(requests, 0), all);
      const raised = all.fence + 1000;
      assert.deepEqual(await store.acquireAll([requests[0]!], raised), {
        type: 'granted',
        fence: raised,
      });
      for (const request of requests) assert.equal(await store.release(request), true);
      const after = await store.acquire(mutex('{t}a'));
      assert(isGranted(after) && after.fence > raised);
    },
  ),

  example('adopts a lock once, with a new fence', async ({ queue, store, handOvers }) => {
    for (const giver of [mutex('a'), semaphore('s', 3, 3), reader(true)]) {
      const [taker, late, waiter] = ['taker', 'late', 'waiter'].map((name) => ({
        ...giver,
        owner: `${giver.owner}-${name}`,
      })) as [LockRequest, LockRequest, LockRequest];
      const given = await store.acquire(giver);
      assert(!isGranted(await queue(waiter)));
      const taken = await store.adopt(taker, giver);
      assert(isGranted(given) && isGranted(taken) && taken.fence > given.fence);
      assert.deepEqual(await store.adopt(taker, giver), taken);
      assert(!isGranted(await store.adopt(late, giver)));
      assert.equal(await store.release(giver), false);
      assert.equal(await store.extend(giver), false);
      assert.deepEqual(await handOvers(), []);
      assert.equal(await store.release(taker), true);
      assert.deepEqual(await handOvers(), [waiter.owner]);
      await store.release(waiter);
    }
  }),

  example(
    'notifies a waiter of the same client with the fence of its grant',
    async ({ queue, store }) => {
      const [holder, waiter] = [mutex('a'), mutex('a')];
      const events: WaiterEvent[] = [];
      await store.acquire(holder);
      await queue(waiter, (event) => events.push(event));
      await store.release(holder);
      const result = await queue(waiter);
      assert(isGranted(result));
      assert.deepEqual(
        events.map((event) => event.type === 'granted' && event.fence),
        [result.fence],
      );
    },
  ),

  example('notifies a waiter of another client, which confirms by a request', async (scene) => {
    const { queue, store, handOvers, elapse } = scene;
    const other = await scene.open();
    const [holder, waiter, next] = [mutex('a'), brief(mutex('a')), mutex('a')];
    await other.acquire(holder);
    await queue(waiter);
    await queue(next);
    await other.release(holder);
    // The store may still be opening its subscription.
    let served = await handOvers();
    for (let tries = 0; served.length === 0 && tries < 20; tries++) served = await handOvers();
    assert.deepEqual(served, [waiter.owner]);
    const result = await queue(waiter);
    assert(isGranted(result));
    await elapse(LEASE_MS / 2);
    assert.equal(await store.extend(waiter), true);
    await other.close();
  }),

  example('inspect returns holders and waiters', async ({ queue, store }) => {
    const request = mutex('a', 'first');
    const result = await store.acquire(request);
    await queue(mutex('a', 'second'));
    await queue(mutex('a', 'third'));
    const { holders, waiters } = await store.inspect(request);
    assert.equal(holders.length, 1);
    const [holder] = holders;
    assert(holder && !holder.foreign && isGranted(result));
    assert.deepEqual([holder.label, holder.pid, holder.fence], ['first', 7, result.fence]);
    assert(holder.leftMs > 0 && holder.leftMs <= LONG_LEASE_MS && holder.ageMs >= 0);
    assert.deepEqual(
      waiters.map(({ label }) => label),
      ['second', 'third'],
    );
  }),

  example(
    'forceRelease ends the lease, raises the fence and hands over to the next waiter',
    async ({ queue, store, handOvers }) => {
      const [holder, waiter] = [mutex('a'), mutex('a')];
      const before = await store.acquire(holder);
      await queue(waiter);
      assert.equal(await store.forceRelease(holder), 1);
      assert.deepEqual(await handOvers(), [waiter.owner]);
      const after = await queue(waiter);
      assert(isGranted(before) && isGranted(after) && after.fence > before.fence);
      assert.equal(await store.release(holder, before.fence), false);
      assert.equal(await store.forceRelease(holder), 1);
      assert.equal(await store.release(waiter, after.fence), false);
    },
  ),

  example('steals a lock from its holder, before the waiters, once', async ({ queue, store }) => {
    for (const [holder, waiter, thief] of threeOfEachKind()) {
      const before = await store.acquire(holder);
      await queue(waiter);
      const stealing = { ...thief, stealReason: 'the host is gone' };
      const after = await store.acquire(stealing);
      assert(isGranted(before) && isGranted(after) && after.fence > before.fence);
      assert.deepEqual(await store.acquire(stealing), after);
      assert.equal(await store.extend(holder), false);
      assert.equal(await store.extend(thief), true);
    }
  }),

  example('contention returns the holder and the place in the queue', async ({ queue, store }) => {
    for (const [holder, first, second] of threeOfEachKind()) {
      await store.acquire(holder);
      await queue(first);
      await queue(second);
      const { holders, place } = await store.contention(second);
      assert.equal(place, 2);
      assert(holders.length === 1 && holders[0] && !holders[0].foreign);
      assert(holders[0].owner.endsWith(holder.owner));
      assert.equal((await store.contention(holder)).place, undefined);
    }
  }),

  example('notifies a holder that watches once when a client waits', async (scene) => {
    const { queue, store, handOvers } = scene;
    if (store.watch === undefined) return;
    for (const [holder, first, second] of threeOfEachKind()) {
      let count = 0;
      await store.acquire(holder);
      store.watch(holder, () => count++);
      await handOvers();
      assert.equal(count, 0);
      await queue(first);
      for (let tries = 0; count === 0 && tries < 50; tries++) await handOvers();
      await queue(second);
      await handOvers();
      assert.equal(count, 1);
    }
  }),

  example('does not notify a former holder that a client waits', async (scene) => {
    const { queue, store, handOvers } = scene;
    for (const [holder, waiter, former] of threeOfEachKind()) {
      await store.acquire(former);
      await store.release(former);
      await store.acquire(holder);
      await queue(waiter);
      let count = 0;
      store.watch?.(former, () => count++);
      for (let turn = 0; turn < 5; turn++) await handOvers();
      assert.equal(count, 0);
    }
  }),

  example('makes a lease longer by extend(), never shorter, and exact by keep()', async (scene) => {
    const { store, elapse } = scene;
    const holders = threeOfEachKind().map(([holder]) => brief(holder));
    const holderCounts = async (): Promise<number[]> => {
      const seen = await Promise.all(holders.map((holder) => store.inspect(holder)));
      return seen.map((each) => each.holders.length);
    };
    for (const holder of holders) {
      await store.acquire({ ...holder, leaseMs: 4 * LEASE_MS });
      assert.equal(await store.extend(holder), true);
    }
    await elapse(LEASE_MS + 50);
    assert.deepEqual(await holderCounts(), [1, 1, 1]);
    for (const holder of holders) assert.equal(await store.keep(holder), true);
    await elapse(LEASE_MS + 50);
    assert.deepEqual(await holderCounts(), [0, 0, 0]);
    for (const holder of holders) assert.equal(await store.keep(holder), false);
  }),

  example('throws for another number of slots while a lock is in use', async ({ store }) => {
    const held = semaphore('a', 3, 2);
    await store.acquire(held);
    const other = async (): Promise<AcquireResult> => store.acquire(semaphore('a', 4, 1));
    await assert.rejects(other, /in use with 3 permits/);
    assert.equal(await store.release(held), true);
    assert(isGranted(await other()));
  }),
];

function threeOfEachKind(): readonly [LockRequest, LockRequest, LockRequest][] {
  return [
    [mutex('a'), mutex('a'), mutex('a')],
    [semaphore('a', 2, 2), semaphore('a', 2, 1), semaphore('a', 2, 2)],
    [reader(true), reader(), reader(true)],
  ];
}

/** The cases of a store whose mutexes other programs can take by their keys. */
export const KEY_CONFORMANCE: readonly Case<KeyEnvironment>[] = [
  example(
    'inspect returns a foreign holder without the fence, age and host of the last holder',
    async (scene) => {
      const { store, set } = scene;
      const request = mutex('a', 'first');
      await store.acquire(request);
      await store.release(request);
      await set('lock:{a}', 'token 1', FOREIGN_MS);
      const { holders } = await store.inspect(request);
      const [holder] = holders;
      assert(holder !== undefined && holder.leftMs > 0 && holder.leftMs <= FOREIGN_MS);
      const { leftMs } = holder;
      const shown = { foreign: true, type: 'string', value: 'token 1', permits: 1, leftMs };
      assert.deepEqual(holders, [shown]);
      assert(!isGranted(await store.acquire(request)));
    },
  ),

  example(
    'inspect returns leftMs Infinity for a foreign holder without a TTL',
    async ({ store, set }) => {
      for (const value of ['1', '', '锁\x1b', 'x [1,2,3]', '1700000000', '+1', 'a ["b",1]']) {
        await set('lock:{a}', value);
        const { holders } = await store.inspect(mutex('a'));
        assert.deepEqual(holders, [
          { foreign: true, type: 'string', value, permits: 1, leftMs: Number.POSITIVE_INFINITY },
        ]);
      }
      assert.equal(await store.forceRelease(mutex('a')), 1);
      assert.deepEqual((await store.inspect(mutex('a'))).holders, []);
    },
  ),

  example(
    'inspect returns the first 1024 bytes of a long foreign value of any form',
    async (scene) => {
      const { queue, store, set } = scene;
      const ours = 'x ["h",1,"l"]';
      for (const value of [
        'x'.repeat(1e6),
        ours.padStart(1e5, 'x'),
        `+${ours.padStart(8194, 'x')}`,
      ]) {
        await set('lock:{a}', value);
        const { holders } = await store.inspect(mutex('a'));
        assert.deepEqual(
          holders.map((holder) => holder.foreign && holder.value),
          [value.slice(0, 1024)],
        );
        assert(!isGranted(await queue(mutex('a'))));
        assert.equal(await store.forceRelease(mutex('a')), 1);
      }
    },
  ),

  example(
    'inspect returns the waiters behind a foreign holder, and they are served after it',
    async (scene) => {
      const { queue, store, set, elapse } = scene;
      const waiter = mutex('a', 'second');
      await set('lock:{a}', 'token');
      await queue(waiter);
      const { holders, waiters } = await store.inspect(waiter);
      assert.deepEqual([holders[0]?.foreign, waiters[0]?.label], [true, 'second']);
      await set('lock:{a}', 'token', 1);
      await elapse(20);
      assert(isGranted(await queue(waiter)));
      assert.equal((await store.inspect(waiter)).holders[0]?.foreign, false);
    },
  ),
];

type Scene<Environment> = Environment & {
  readonly store: LockStore;
  /** Acquires, or enters the queue. */
  queue(request: LockRequest, listener?: (event: WaiterEvent) => void): Promise<AcquireResult>;
  /** The owners that were handed a lock since the last call, in order. */
  handOvers(): Promise<string[]>;
};

function example<Environment extends StoreEnvironment = StoreEnvironment>(
  name: string,
  run: (scene: Scene<Environment>) => Promise<void>,
): Case<Environment> {
  return {
    name,
    async run(environment) {
      const open = async (): Promise<LockStore> => withOwnPrefix(await environment.open());
      const store = await open();
      const served: string[] = [];
      const failures: unknown[] = [];
      const queue: Scene<StoreEnvironment>['queue'] = async (request, listener) => {
        const receive = async (event: WaiterEvent): Promise<void> => {
          listener?.(event);
          const isHeld =
            event.type === 'granted' || isGranted(await store.acquire(request, { notify }));
          // With a pool of connections, an event and a reply may report the same grant.
          if (isHeld && !served.includes(request.owner)) served.push(request.owner);
        };
        const notify = (event: WaiterEvent): void => {
          receive(event).catch((error: unknown) => failures.push(error));
        };
        return store.acquire(request, { notify });
      };
      const handOvers = async (): Promise<string[]> => {
        await environment.elapse(20);
        return served.splice(0);
      };
      try {
        await run({ ...environment, open, store, queue, handOvers });
        // A request that is under way now fails when the store closes, and that is right.
        assert.deepEqual(failures, []);
      } finally {
        await store.close();
      }
    },
  };
}

/** Puts the owner prefix of the store before the owners of all requests. */
function withOwnPrefix(store: LockStore): LockStore {
  const { ownerPrefix = '' } = store;
  const own = (request: LockRequest): LockRequest => ({
    ...request,
    owner: ownerPrefix + request.owner,
  });
  return {
    acquire: (request, waiter) => store.acquire(own(request), waiter),
    acquireAll: (requests, minFence) => store.acquireAll(requests.map(own), minFence),
    adopt: (request, from) => store.adopt(own(request), own(from)),
    extend: (request) => store.extend(own(request)),
    keep: (request) => store.keep(own(request)),
    release: (request, fence) => store.release(own(request), fence),
    forceRelease: (target) => store.forceRelease(target),
    inspect: (target) => store.inspect(target),
    contention: (request) => store.contention(own(request)),
    onLost: (listener) => store.onLost?.(listener),
    watch: (request, onContended) => store.watch?.(own(request), onContended),
    unwatch: (request) => store.unwatch?.(own(request)),
    close: () => store.close(),
  };
}

function isGranted(
  result: AcquireResult | undefined,
): result is Extract<AcquireResult, { type: 'granted' }> {
  return result?.type === 'granted';
}

function request(target: LockTarget, permits: number, label = ''): LockRequest {
  const info = { host: 'here', pid: 7, label };
  const owner = `owner-${++owners}`;
  return { ...target, owner, permits, leaseMs: LONG_LEASE_MS, info };
}

/** A lease whose end the case waits for. */
function brief(request: LockRequest): LockRequest {
  return { ...request, leaseMs: LEASE_MS };
}

function mutex(name: string, label?: string): LockRequest {
  return request({ kind: 'mutex', name, slots: 1 }, 1, label);
}

function semaphore(name: string, slots: number, permits: number): LockRequest {
  return request({ kind: 'semaphore', name, slots }, permits);
}

function reader(writes = false): LockRequest {
  return request({ kind: 'rw', name: 'book', slots: 1000 }, writes ? 1000 : 1);
}
