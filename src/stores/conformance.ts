import assert from 'node:assert/strict';
import type { Claim, LockStore, Target } from '../lock/index.ts';

/** What a store needs to be examined: fresh ones that share their locks, and a way to let time pass. */
export interface Examined {
  /** A client of the same locks as the others of this world, closed by the examiner. */
  open(): Promise<LockStore>;
  elapse(durationMs: number): Promise<void>;
}

/** A store whose keys other programs can write. */
export interface ExaminedKeys extends Examined {
  /** `SET key value`, with `PX ttlMs` if it is given, as another program sends it. */
  set(key: string, value: string, ttlMs?: number): Promise<unknown>;
}

export interface Case<World extends Examined = Examined> {
  readonly name: string;
  run(world: World): Promise<void>;
}

const LEASE_MS = 400;
/** The TTL of a foreign holder that is to be seen: longer than any request takes. */
const FOREIGN_MS = 60_000;
let owners = 0;

/** What every store must do, whatever it is made of. Each case gets a world of its own. */
export const CONFORMANCE: readonly Case[] = [
  example('grants a free lock, and the same to who asks again', async ({ store }) => {
    const claim = mutex('a');
    const first = await store.ask(claim, false);
    const again = await store.ask(claim, true);
    assert.equal(first.held, true);
    assert.deepEqual(again, first);
  }),

  example('says busy to others, and for how long at most', async ({ store }) => {
    await store.ask(mutex('a'), false);
    const answer = await store.ask(mutex('a'), false);
    assert.equal(answer.held, false);
    assert(!answer.held && answer.retryInMs > 0 && answer.retryInMs <= LEASE_MS + 10);
  }),

  example('raises the fence with every grant', async ({ store }) => {
    let last = 0;
    for (let turn = 0; turn < 20; turn++) {
      const claim = mutex('a');
      const answer = await store.ask(claim, false);
      assert(answer.held && Number.isSafeInteger(answer.fence) && answer.fence > last);
      last = answer.fence;
      assert.equal(await store.release(claim), true);
    }
  }),

  example('hands over in order of arrival, and calls one at a time', async ({ store, calls }) => {
    const holder = mutex('a');
    await store.ask(holder, false);
    const waiters = Array.from({ length: 20 }, () => mutex('a'));
    for (const waiter of waiters) await store.ask(waiter, true);
    let previous: Claim = holder;
    for (const waiter of waiters) {
      assert.equal(await store.release(previous), true);
      assert.deepEqual(await calls(), [waiter.owner]);
      assert.equal((await store.ask(waiter, true)).held, true);
      previous = waiter;
    }
  }),

  example('lets nobody past those who stand in line', async ({ store, calls }) => {
    const [holder, waiter, late] = [mutex('a'), mutex('a'), mutex('a')];
    await store.ask(holder, false);
    await store.ask(waiter, true);
    await store.release(holder);
    assert.equal((await store.ask(late, false)).held, false);
    assert.deepEqual(await calls(), [waiter.owner]);
  }),

  example('forgets who leaves the line', async ({ store, calls }) => {
    const [holder, leaver, waiter] = [mutex('a'), mutex('a'), mutex('a')];
    await store.ask(holder, false);
    await store.ask(leaver, true);
    await store.ask(waiter, true);
    assert.equal(await store.release(leaver), false);
    await store.release(holder);
    assert.deepEqual(await calls(), [waiter.owner]);
  }),

  example('ends a lease in time, and not the next one', async ({ store, elapse }) => {
    const [old, next] = [mutex('a'), mutex('a')];
    await store.ask(old, false);
    await elapse(LEASE_MS + 50);
    assert.equal((await store.ask(next, false)).held, true);
    assert.equal(await store.extend(old, LEASE_MS), false);
    assert.equal(await store.release(old), false);
    assert.equal((await store.ask(mutex('a'), false)).held, false);
  }),

  example('follows a holder that died with the first in line', async ({ store, calls, elapse }) => {
    const waiter = mutex('a');
    await store.ask(mutex('a'), false);
    const busy = await store.ask(waiter, true);
    assert(!busy.held);
    await elapse(Math.min(busy.retryInMs, LEASE_MS) + 50);
    const called = await calls();
    const answer = await store.ask(waiter, true);
    assert(called.length <= 1);
    assert.equal(answer.held, true);
  }),

  example('keeps a lease that is extended', async ({ store, elapse }) => {
    const claim = mutex('a');
    await store.ask(claim, false);
    for (let turn = 0; turn < 4; turn++) {
      await elapse(LEASE_MS / 2);
      assert.equal(await store.extend(claim, LEASE_MS), true);
    }
    assert.equal((await store.ask(mutex('a'), false)).held, false);
  }),

  example('counts permits', async ({ store, calls }) => {
    const [a, b, c] = [semaphore('s', 3, 2), semaphore('s', 3, 1), semaphore('s', 3, 2)];
    assert.equal((await store.ask(a, true)).held, true);
    assert.equal((await store.ask(b, true)).held, true);
    assert.equal((await store.ask(c, true)).held, false);
    await store.release(b);
    assert.deepEqual(await calls(), []);
    await store.release(a);
    assert.deepEqual(await calls(), [c.owner]);
  }),

  example('frees the permits of who died', async ({ store, elapse }) => {
    await store.ask(semaphore('s', 2, 2), false);
    await elapse(LEASE_MS + 50);
    assert.equal((await store.ask(semaphore('s', 2, 2), false)).held, true);
  }),

  example('lets readers in together, and writers alone', async ({ store, calls }) => {
    const [first, second, writer, third] = [reader(), reader(), reader(true), reader()];
    assert.equal((await store.ask(first, true)).held, true);
    assert.equal((await store.ask(second, true)).held, true);
    assert.equal((await store.ask(writer, true)).held, false);
    assert.equal((await store.ask(third, true)).held, false);
    await store.release(first);
    await store.release(second);
    assert.deepEqual(await calls(), [writer.owner]);
    await store.release(writer);
    assert.deepEqual(await calls(), [third.owner]);
  }),

  example('keeps names and kinds apart', async ({ store }) => {
    const names = ['a', 'A', 'a ', '{a}', '}a{', '%7Ba', '\0', 'ключ', '锁', '__proto__', 'a:q'];
    for (const name of names) assert.equal((await store.ask(mutex(name), false)).held, true, name);
    for (const name of names) assert.equal((await store.ask(mutex(name), false)).held, false, name);
    assert.equal((await store.ask(semaphore('a', 1, 1), false)).held, true);
  }),

  example('knows a release that is sent again, and lets it end no other', async ({ store }) => {
    const claims = [mutex('a'), semaphore('s', 3, 2), reader(true)];
    for (const claim of claims) {
      const answer = await store.ask(claim, false);
      assert(answer.held);
      assert.equal(await store.release(claim, answer.fence), true);
      assert.equal(await store.release(claim, answer.fence), true);
      const next = { ...claim, owner: `${claim.owner}-next` };
      assert.equal((await store.ask(next, false)).held, true);
      await store.release(claim, answer.fence);
      assert.equal(await store.extend(next, LEASE_MS), true);
    }
  }),

  example('takes several at once or none, and the same again', async ({ store }) => {
    const claims = [mutex('{t}a'), mutex('{t}b'), mutex('{t}c')].map((claim, _, [first]) => ({
      ...claim,
      owner: first!.owner,
    }));
    const busy = mutex('{t}b');
    await store.ask(busy, false);
    const none = await store.askAll(claims, 0);
    assert.equal(none?.held, false);
    assert.equal((await store.ask(mutex('{t}a'), false)).held, true);
    await store.forceRelease(claims[0]!);
    await store.release(busy);
    const all = await store.askAll(claims, 0);
    assert(all?.held);
    assert.deepEqual(await store.askAll(claims, 0), all);
    const raised = all.fence + 1000;
    assert.deepEqual(await store.askAll([claims[0]!], raised), { held: true, fence: raised });
    for (const claim of claims) assert.equal(await store.release(claim), true);
    const after = await store.ask(mutex('{t}a'), false);
    assert(after.held && after.fence > raised);
  }),

  example('gives a lock to who adopts it, once, with a new fence', async ({ store, calls }) => {
    for (const giver of [mutex('a'), semaphore('s', 3, 3), reader(true)]) {
      const [taker, late, waiter] = ['taker', 'late', 'waiter'].map((name) => ({
        ...giver,
        owner: `${giver.owner}-${name}`,
      })) as [Claim, Claim, Claim];
      const given = await store.ask(giver, false);
      assert.equal((await store.ask(waiter, true)).held, false);
      const taken = await store.adopt(taker, giver);
      assert(given.held && taken.held && taken.fence > given.fence);
      assert.deepEqual(await store.adopt(taker, giver), taken);
      assert.equal((await store.adopt(late, giver)).held, false);
      assert.equal(await store.release(giver), false);
      assert.equal(await store.extend(giver, LEASE_MS), false);
      assert.deepEqual(await calls(), []);
      assert.equal(await store.release(taker), true);
      assert.deepEqual(await calls(), [waiter.owner]);
      await store.release(waiter);
    }
  }),

  example('tells a waiter of the same client that it holds the lock', async ({ store }) => {
    const [holder, waiter] = [mutex('a'), mutex('a')];
    const told: (number | undefined)[] = [];
    waiter.waiter = {
      called: (call) => told.push(call && 'fence' in call ? call.fence : undefined),
    };
    await store.ask(holder, false);
    await store.ask(waiter, true);
    await store.release(holder);
    const answer = await store.ask(waiter, true);
    assert(answer.held);
    assert.deepEqual(told, [answer.fence]);
  }),

  example('calls a waiter of another client, which confirms by asking', async (scene) => {
    const { store, calls, elapse } = scene;
    const other = await scene.open();
    const [holder, waiter, next] = [mutex('a'), mutex('a'), mutex('a')];
    await other.ask(holder, false);
    await store.ask(waiter, true);
    await store.ask(next, true);
    await other.release(holder);
    assert.deepEqual(await calls(), [waiter.owner]);
    const answer = await store.ask(waiter, true);
    assert(answer.held);
    await elapse(LEASE_MS / 2);
    assert.equal(await store.extend(waiter, LEASE_MS), true);
    await other.close();
  }),

  example('shows holders and waiters', async ({ store }) => {
    const claim = mutex('a', 'first');
    const answer = await store.ask(claim, false);
    await store.ask(mutex('a', 'second'), true);
    await store.ask(mutex('a', 'third'), true);
    const { holders, waiters } = await store.inspect(claim);
    assert.equal(holders.length, 1);
    const [holder] = holders;
    assert(holder && !holder.foreign && answer.held);
    assert.deepEqual([holder.label, holder.pid, holder.fence], ['first', 7, answer.fence]);
    assert(holder.leftMs > 0 && holder.leftMs <= LEASE_MS && holder.ageMs >= 0);
    assert.deepEqual(
      waiters.map(({ label }) => label),
      ['second', 'third'],
    );
  }),

  example(
    'takes a lock by force, raises the fence and serves the next',
    async ({ store, calls }) => {
      const [holder, waiter] = [mutex('a'), mutex('a')];
      const before = await store.ask(holder, false);
      await store.ask(waiter, true);
      assert.equal(await store.forceRelease(holder), 1);
      assert.deepEqual(await calls(), [waiter.owner]);
      const after = await store.ask(waiter, true);
      assert(before.held && after.held && after.fence > before.fence);
      assert.equal(await store.release(holder, before.fence), false);
      assert.equal(await store.forceRelease(holder), 1);
      assert.equal(await store.release(waiter, after.fence), false);
    },
  ),
];

/** What a store must also do if other programs can take a mutex by its key. */
export const KEY_CONFORMANCE: readonly Case<ExaminedKeys>[] = [
  example('shows a foreign holder without fence, age and host of the last one', async (scene) => {
    const { store, set } = scene;
    const claim = mutex('a', 'first');
    await store.ask(claim, false);
    await store.release(claim);
    await set('lock:{a}', 'token 1', FOREIGN_MS);
    const { holders } = await store.inspect(claim);
    const [holder] = holders;
    assert(holder !== undefined && holder.leftMs > 0 && holder.leftMs <= FOREIGN_MS);
    const { leftMs } = holder;
    const shown = { foreign: true, type: 'string', value: 'token 1', take: 1, leftMs };
    assert.deepEqual(holders, [shown]);
    assert.equal((await store.ask(claim, false)).held, false);
  }),

  example('shows a foreign holder whose key has no TTL', async ({ store, set }) => {
    for (const value of ['1', '', '锁\x1b', 'x [1,2,3]', '1700000000', '+1', 'a ["b",1]']) {
      await set('lock:{a}', value);
      const { holders } = await store.inspect(mutex('a'));
      assert.deepEqual(holders, [
        { foreign: true, type: 'string', value, take: 1, leftMs: Number.POSITIVE_INFINITY },
      ]);
    }
    assert.equal(await store.forceRelease(mutex('a')), 1);
    assert.deepEqual((await store.inspect(mutex('a'))).holders, []);
  }),

  example('shows the first 1024 bytes of a long foreign value, of any form', async (scene) => {
    const { store, set } = scene;
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
      assert.equal((await store.ask(mutex('a'), true)).held, false);
      assert.equal(await store.forceRelease(mutex('a')), 1);
    }
  }),

  example('shows those who wait for a foreign holder, and serves them after it', async (scene) => {
    const { store, set, elapse } = scene;
    const waiter = mutex('a', 'second');
    await set('lock:{a}', 'token');
    await store.ask(waiter, true);
    const { holders, waiters } = await store.inspect(waiter);
    assert.deepEqual([holders[0]?.foreign, waiters[0]?.label], [true, 'second']);
    await set('lock:{a}', 'token', 1);
    await elapse(20);
    assert.equal((await store.ask(waiter, true)).held, true);
    assert.equal((await store.inspect(waiter)).holders[0]?.foreign, false);
  }),
];

type Scene<World> = World & {
  readonly store: LockStore;
  /** The owners that were called since the last time, in order. */
  calls(): Promise<string[]>;
};

function example<World extends Examined = Examined>(
  name: string,
  act: (scene: Scene<World>) => Promise<void>,
): Case<World> {
  return {
    name,
    async run(world) {
      const store = await world.open();
      const called = callsOf(store);
      const calls = async (): Promise<string[]> => {
        await world.elapse(20);
        return called.splice(0);
      };
      try {
        await act({ ...world, store, calls });
      } finally {
        await store.close();
      }
    },
  };
}

/** The owners that are called, of those who ask this store from now on and listen to nothing else. */
function callsOf(store: LockStore): string[] {
  const called: string[] = [];
  const ask = store.ask.bind(store);
  store.ask = (claim, queues) => {
    claim.waiter ??= {
      called(call) {
        const isWatch = call !== undefined && 'retryInMs' in call;
        if (!isWatch) called.push(claim.owner);
      },
    };
    return ask(claim, queues);
  };
  return called;
}

function claim(target: Target, take: number, label = ''): Claim {
  const info = { host: 'here', pid: 7, label };
  return { ...target, owner: `owner-${++owners}`, take, leaseMs: LEASE_MS, info };
}

function mutex(name: string, label?: string): Claim {
  return claim({ kind: 'mutex', name, slots: 1 }, 1, label);
}

function semaphore(name: string, slots: number, take: number): Claim {
  return claim({ kind: 'semaphore', name, slots }, take);
}

function reader(writes = false): Claim {
  return claim({ kind: 'rw', name: 'book', slots: 1000 }, writes ? 1000 : 1);
}
