import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { elapse, gate, settle } from '../../../test/virtual-time.ts';
import type { ScriptRunner } from '../../client/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { createEngine, type Engine, execute } from '../../engine/index.ts';
import { type Inspection, type LockRequest, Locks, type LockTarget } from '../../lock/index.ts';
import { engineRunner } from './engine-runner.ts';
import { REFRESH_MS } from './lock-script.ts';
import { RedisStore } from './redis-store.ts';

const STEP_MS = 50;
const WAIT = '2h';

/** Killed: its connections are closed. Stopped: they stay open, but it neither reads nor sends. */
type Fate = 'killed' | 'stopped';

/** A client whose connections a test can disturb. */
interface Client {
  readonly store: RedisStore;
  readonly locks: Locks;
  /** The operation of each request, in order. */
  readonly operations: string[];
  /** Whether messages are lost. */
  losesMessages: boolean;
  /** The subscription opens when this resolves. */
  subscribing: Promise<void> | undefined;
  /** Replies to requests with these operations are delayed until this resolves. */
  holdBack: { readonly operation: string; readonly until: Promise<void> } | undefined;
  /** Reports that the subscription is open again after a gap. */
  onGap(): void;
  die(fate: Fate): void;
}

let clock: VirtualClock;
let engine: Engine;
let clients: Client[];

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  clients = [];
});

afterEach(async () => {
  await closeAll();
  engine.close();
});

/** Drops all clients without a release, like processes that were killed. */
async function closeAll(): Promise<void> {
  for (const { store } of clients.splice(0)) await store.close();
}

function openClient(clientId: string): Client {
  const runner = engineRunner(engine);
  let isDead = false;
  const scripts: ScriptRunner = {
    ...runner,
    async run(script, keys, args) {
      const words = keys.map((_, index) => args[3 * index]!.split(' ')[0]!);
      client.operations.push(...words);
      if (isDead) return new Promise(() => {});
      const reply = await runner.run(script, keys, args);
      const { holdBack } = client;
      if (holdBack !== undefined && words.includes(holdBack.operation)) await holdBack.until;
      return reply;
    },
    async listen(channel, onMessage, onGap) {
      client.onGap = onGap;
      await client.subscribing;
      const deliver = (text: string): void => {
        if (!isDead && !client.losesMessages) onMessage(text);
      };
      await runner.listen(channel, deliver, onGap);
    },
  };
  const store = new RedisStore(scripts, { clock, clientId, requestTimeoutMs: 2000 });
  const random = seededRandom(clients.length);
  const client: Client = {
    store,
    locks: new Locks({ store, clock, random }),
    operations: [],
    losesMessages: false,
    subscribing: undefined,
    holdBack: undefined,
    onGap() {},
    die(fate) {
      isDead = true;
      if (fate === 'killed') void runner.close();
    },
  };
  clients.push(client);
  return client;
}

const MUTEX: LockTarget = { kind: 'mutex', name: 'a', slots: 1 };

/** Enters the queue of a lock. The waiter ignores its events. */
async function enqueue(
  { store }: Client,
  id: number,
  leaseMs: number,
  target = MUTEX,
): Promise<void> {
  const info = { host: '', pid: 0, label: '' };
  const owner = `${store.ownerPrefix}dead${id}`;
  const request = { ...target, permits: 1, owner, leaseMs, info };
  const { type } = await store.acquire(request satisfies LockRequest, { notify() {} });
  expect(type).toBe('busy');
}

/** A promise that is not waited for yet. */
interface Waiting {
  readonly promise: Promise<unknown>;
}

/** How long it takes until the promise resolves. */
async function timeUntil(promise: Promise<unknown>, limitMs: number): Promise<number> {
  let isOver = false;
  const beganMs = clock.monotonicMs();
  void promise.then(() => {
    isOver = true;
  });
  await settle();
  while (!isOver) {
    const spentMs = clock.monotonicMs() - beganMs;
    if (spentMs > limitMs) throw new Error(`not within ${limitMs} ms`);
    clock.advance(STEP_MS);
    await settle();
  }
  return clock.monotonicMs() - beganMs;
}

function command(...argv: string[]): unknown {
  const session = engine.session();
  const reply = execute(session, argv);
  session.close();
  return reply;
}

const LEASES = [200, 30_000, 600_000];
const FATES: readonly Fate[] = ['killed', 'stopped'];
const QUEUES = [
  { clientCount: 1, waiterCount: 1 },
  { clientCount: 3, waiterCount: 2 },
  { clientCount: 1, waiterCount: 30 },
];
/** How long before the release the clients died: at that moment, or so long before that they count as silent. */
const DEAD_FOR_MS = [0, 2500];

describe('waiters of dead clients before a live one', () => {
  const cases = LEASES.flatMap((leaseMs) =>
    FATES.flatMap((fate) => QUEUES.map((queue) => ({ leaseMs, fate, ...queue }))),
  );

  type Case = (typeof cases)[number];

  /** Clients that queue and die, and a live waiter behind them. */
  async function waitBehindDead(each: Case): Promise<Waiting> {
    const { leaseMs, fate, clientCount, waiterCount } = each;
    const dead = Array.from({ length: clientCount }, (_, id) => openClient(`dead${id}`));
    for (const client of dead) {
      for (let id = 0; id < waiterCount; id++) await enqueue(client, id, leaseMs);
    }
    const live = openClient('live').locks.mutex('a').acquire({ lease: leaseMs, wait: WAIT });
    await elapse(clock, 5000, 100);
    for (const client of dead) client.die(fate);
    return { promise: live };
  }

  const limitOf = ({ leaseMs, clientCount }: Case): number =>
    clientCount * (Math.min(leaseMs, 2000) + 1000) + STEP_MS;

  it.each(cases)(
    'cost min(lease, 2 s) + 1 s per client after a release: $clientCount × $waiterCount $fate, lease $leaseMs',
    async (each) => {
      for (const deadForMs of DEAD_FOR_MS) {
        const name = `holder${deadForMs}`;
        const holder = await openClient(name).locks.mutex('a').acquire({ lease: '1m' });
        const live = await waitBehindDead(each);
        await elapse(clock, deadForMs, deadForMs / STEP_MS);
        await holder.release();
        expect(await timeUntil(live.promise, 60_000), `dead for ${deadForMs}`).toBeLessThan(
          limitOf(each),
        );
        await closeAll();
        command('FLUSHALL');
      }
    },
  );

  it.each(cases)(
    'cost the same after the lease of a dead holder: $clientCount × $waiterCount $fate, lease $leaseMs',
    async (each) => {
      const holder = openClient('holder');
      const lease = await holder.locks.mutex('a').acquire({ lease: '6s' });
      holder.die(each.fate);
      const leaseEndsMs = clock.monotonicMs() + 6000;
      // The clients die a second before the end of the lease.
      const live = await waitBehindDead(each);
      const leftMs = leaseEndsMs - clock.monotonicMs();
      expect(leftMs).toBeGreaterThan(0);
      expect(await timeUntil(live.promise, 60_000)).toBeLessThan(leftMs + limitOf(each));
      expect(lease.isHeld).toBe(false);
    },
  );

  it('cost a short lease once, however many they are, while another holder of the lock lives', async () => {
    const here = openClient('here').locks;
    const [, second] = [
      await here.semaphore('s', 2).acquire(),
      await here.semaphore('s', 2).acquire(),
    ];
    const dead = openClient('dead');
    for (let id = 0; id < 30; id++) {
      await enqueue(dead, id, 200, { kind: 'semaphore', name: 's', slots: 2 });
    }
    const live = openClient('live').locks.semaphore('s', 2).acquire({ wait: WAIT });
    await elapse(clock, 5000, 100);
    dead.die('killed');
    await second.release();
    expect(await timeUntil(live, 60_000)).toBeLessThan(1200 + STEP_MS);
  });

  it('keep their places while their client is silent for less than 10 s', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const stopped = openClient('stopped');
    await enqueue(stopped, 1, 30_000);
    stopped.die('stopped');
    await elapse(clock, 9000);
    expect((await holderView()).waiters).toHaveLength(1);
    await elapse(clock, 1100);
    expect((await holderView()).waiters).toEqual([]);
    await holder.release();
  });

  it('keep their places when a live waiter is served before them', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const stopped = openClient('stopped');
    await enqueue(stopped, 1, 30_000);
    stopped.die('stopped');
    const live = openClient('live').locks.mutex('a').acquire({ wait: WAIT });
    await elapse(clock, 5000, 100);
    await holder.release();
    expect((await live).isHeld).toBe(true);
    expect((await holderView()).waiters).toHaveLength(1);
  });

  it('do not make tryAcquire() return null for a free lock', async () => {
    await openClient('holder').locks.mutex('a').acquire({ lease: '3s', renew: false });
    const dead = openClient('dead');
    await enqueue(dead, 1, 30_000);
    dead.die('killed');
    await elapse(clock, 11_000);
    expect((await openClient('other').locks.mutex('a').tryAcquire())?.isHeld).toBe(true);
  });
});

describe('a client with waiters', () => {
  it('sends one refresh per lock and second for any number of waiters', async () => {
    const { locks } = openClient('holder');
    const held = await Promise.all(['a', 'b'].map((name) => locks.mutex(name).acquire()));
    const client = openClient('client');
    for (let index = 0; index < 100; index++) {
      for (const name of ['a', 'b']) void client.locks.mutex(name).acquire({ wait: WAIT });
    }
    await settle();
    client.operations.length = 0;
    await elapse(clock, 20_000, 400);
    expect(client.operations.every((operation) => operation === 'refresh')).toBe(true);
    const perSecond = client.operations.length / held.length / 20;
    expect(perSecond).toBeGreaterThan(0.9);
    expect(perSecond).toBeLessThanOrEqual(1);
  });

  it('sends no refresh after the last waiter has left', async () => {
    await openClient('holder').locks.mutex('a').acquire();
    const client = openClient('client');
    const waiting = [1, 2].map(() => client.locks.mutex('a').acquire({ wait: '3s' }));
    const failures = waiting.map((each) =>
      expect(each).rejects.toThrow(/not acquired within|wait/),
    );
    await elapse(clock, 4000, 80);
    await Promise.all(failures);
    client.operations.length = 0;
    await elapse(clock, 5000);
    expect(client.operations).toEqual([]);
  });

  it('refreshes the next waiter when the first leaves before the reply to its refresh', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const client = openClient('client');
    const leaving = new AbortController();
    const first = client.locks.mutex('a').acquire({ wait: WAIT, signal: leaving.signal });
    const second = client.locks.mutex('a').acquire({ wait: WAIT });
    await settle();
    const { opened, open } = gate();
    client.holdBack = { operation: 'refresh', until: opened };
    await elapse(clock, 1100);
    leaving.abort();
    await expect(first).rejects.toThrow(/aborted/);
    client.holdBack = undefined;
    open();
    await elapse(clock, 15_000, 300);
    await holder.release();
    expect(await timeUntil(second, 60_000)).toBeLessThan(2 * STEP_MS);
  });

  it('refreshes in time when a new waiter arrives every half second', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const client = openClient('client');
    const first = client.locks.mutex('a').acquire({ wait: WAIT });
    await elapse(clock, 500);
    client.losesMessages = true;
    await holder.release();
    let isServed = false;
    void first.then(() => {
      isServed = true;
    });
    for (let index = 0; index < 3; index++) {
      void client.locks.mutex('a').acquire({ wait: WAIT });
      await elapse(clock, 500);
    }
    expect(isServed).toBe(true);
  });

  it('has the lock within a second when the message to its waiter was lost', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const client = openClient('client');
    const waiting = client.locks.mutex('a').acquire({ wait: WAIT });
    await elapse(clock, 5100);
    client.losesMessages = true;
    await holder.release();
    const rival = openClient('rival').locks.mutex('a').acquire({ wait: WAIT });
    expect(await timeUntil(waiting, 60_000)).toBeLessThanOrEqual(REFRESH_MS + STEP_MS);
    await (await waiting).release();
    await rival;
  });

  it('has the lock before a later request for several locks, after the lease of the holder', async () => {
    await openClient('holder').locks.mutex('a').acquire({ lease: 1500, renew: false });
    const client = openClient('client');
    await enqueue(client, 1, 30_000);
    // The waiter's own refresh must not hand the lock over.
    client.die('stopped');
    await elapse(clock, 1600);
    const other = openClient('other').locks;
    expect(await other.all(['a', 'b']).tryAcquire()).toBe(null);
    expect((await other.mutex('a').inspect()).waiters).toEqual([]);
  });

  it('has the lock within a second when the message was lost after a refresh failed', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const client = openClient('client');
    const waiting = client.locks.mutex('a').acquire({ wait: WAIT });
    await settle();
    const until = Promise.reject(new Error('no connection'));
    until.catch(() => {});
    client.holdBack = { operation: 'refresh', until };
    await elapse(clock, 1100);
    client.holdBack = undefined;
    client.losesMessages = true;
    await holder.release();
    expect(await timeUntil(waiting, 60_000)).toBeLessThanOrEqual(REFRESH_MS + STEP_MS);
  });

  it('has the lock at once when a gap of its subscription, in which the message was lost, ends', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const client = openClient('client');
    const waiting = client.locks.mutex('a').acquire({ wait: WAIT });
    await settle();
    client.losesMessages = true;
    await holder.release();
    client.onGap();
    expect(await timeUntil(waiting, 60_000)).toBe(0);
  });

  it('has the lock within a second when the subscription does not open', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const client = openClient('client');
    client.subscribing = new Promise(() => {});
    const waiting = client.locks.mutex('a').acquire({ wait: WAIT });
    await elapse(clock, 5100);
    await holder.release();
    expect(await timeUntil(waiting, 60_000)).toBeLessThanOrEqual(REFRESH_MS + STEP_MS);
  });

  it('keeps its places after it has confirmed a short reservation', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire({ lease: '1m' });
    const client = openClient('client').locks.mutex('a');
    const first = client.acquire({ wait: WAIT, lease: 200 });
    const second = client.acquire({ wait: WAIT });
    await settle();
    void openClient('other').locks.mutex('a').acquire({ wait: WAIT });
    await elapse(clock, 1050);
    await holder.release();
    const lease = await first;
    // Longer than the reservation, and before the next refresh.
    await elapse(clock, 600);
    await lease.release();
    await settle();
    expect((await holderView()).holders).toMatchObject([{ fence: (await second).fence }]);
  });

  it.each([
    ['the queue', ['lock:{a}:queue']],
    ['what says that its client is alive', ['lock:{a}:queue:one', 'lock:{a}:queue:two']],
    ['everything about waiters', ['lock:{a}:queue', 'lock:{a}:queue:one', 'lock:{a}:queue:two']],
  ])('enters the queue again after the loss of %s, and all are served', async (_, keys) => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const order: string[] = [];
    const waiting = ['one', 'two'].flatMap((name) => {
      const { locks } = openClient(name);
      return [1, 2, 3].map((id) =>
        locks.mutex('a').run(() => void order.push(`${name} ${id}`), { wait: WAIT }),
      );
    });
    await elapse(clock, 3200);
    expect(command('DEL', ...keys)).toBe(keys.length);
    // The release finds no waiter.
    await holder.release();
    expect(await timeUntil(Promise.all(waiting), 60_000)).toBeLessThan(2 * REFRESH_MS);
    for (const name of ['one', 'two']) {
      expect(order.filter((each) => each.startsWith(name))).toEqual(
        [1, 2, 3].map((id) => `${name} ${id}`),
      );
    }
  });

  it('keeps its place while its subscription opens: clients are served in order of arrival', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const names = ['one', 'two', 'three'];
    const order: string[] = [];
    const { opened, open } = gate();
    const waiting = names.map(async (name, index) => {
      const client = openClient(name);
      // The first client is the last whose subscription opens.
      if (index === 0) client.subscribing = opened;
      await client.locks.mutex('a').run(() => void order.push(name), { wait: WAIT, label: name });
    });
    await elapse(clock, 300);
    expect((await holderView()).waiters.map(({ label }) => label)).toEqual(names);
    await holder.release();
    await elapse(clock, 100);
    expect(order).toEqual([]);
    open();
    await settle();
    expect(order).toEqual(names);
    await Promise.all(waiting);
  });

  it('is served in order of arrival when the subscription opens before the release', async () => {
    const holder = await openClient('holder').locks.mutex('a').acquire();
    const names = ['one', 'two', 'three'];
    const order: string[] = [];
    const gates = names.map(() => gate());
    const waiting = names.map(async (name, index) => {
      const client = openClient(name);
      client.subscribing = gates[index]!.opened;
      await client.locks.mutex('a').run(() => void order.push(name), { wait: WAIT, label: name });
    });
    await settle();
    for (const { open } of gates.toReversed()) {
      open();
      await settle();
    }
    expect((await holderView()).waiters.map(({ label }) => label)).toEqual(names);
    await holder.release();
    await Promise.all(waiting);
    expect(order).toEqual(names);
  });

  it.each([
    ['with a TTL, which ends', ['PX', '30000'], []],
    ['with a TTL, and deletes it before', ['PX', '30000'], ['DEL', 'lock:{a}']],
    ['without a TTL, and deletes it', [], ['DEL', 'lock:{a}']],
  ])('has the lock within a second after another program that set it %s', async (_, ttl, end) => {
    command('SET', 'lock:{a}', 'foreign', ...ttl);
    const waiting = openClient('client').locks.mutex('a').acquire({ wait: WAIT });
    const lastsMs = end.length > 0 ? 10_000 : 29_900;
    let isServed = false;
    void waiting.then(() => {
      isServed = true;
    });
    await elapse(clock, lastsMs, lastsMs / STEP_MS);
    expect(isServed).toBe(false);
    if (end.length > 0) command(...end);
    expect(await timeUntil(waiting, 60_000)).toBeLessThanOrEqual(REFRESH_MS + STEP_MS);
  });
});

function holderView(): Promise<Inspection> {
  return clients[0]!.locks.mutex('a').inspect();
}
