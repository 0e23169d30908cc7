import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../src/clock/index.ts';
import { DeadlockError, type Lease, Locks } from '../src/lock/index.ts';
import { slotOf } from '../src/stores/clients/slot.ts';
import { redisStore } from '../src/stores/redis.ts';
import { newSeed } from './new-seed.ts';
import {
  type ClusterMaster,
  moveSlot,
  type RealCluster,
  startRealCluster,
} from './real-cluster.ts';
import { CLUSTER_CLIENTS } from './redis-clients.ts';
import { withinMs } from './within.ts';

let cluster: RealCluster;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  cluster = await startRealCluster();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => cluster.stop());

async function connect(kind: keyof typeof CLUSTER_CLIENTS, keyPrefix = ''): Promise<Locks> {
  const { client, close } = await CLUSTER_CLIENTS[kind](cluster, keyPrefix);
  closers.push(close);
  const locks = new Locks({ store: redisStore(client) });
  closers.push(() => locks.close());
  return locks;
}

/** The sum of a counter of all servers. */
async function count(section: string, field: string): Promise<number> {
  const infos = await Promise.all(cluster.masters.map(({ client }) => client.info(section)));
  const counts = infos.map((info) => new RegExp(`${field}=(\\d+)`).exec(info)?.[1]);
  return counts.reduce((sum, each) => sum + Number(each ?? 0), 0);
}

const scriptCalls = (): Promise<number> => count('commandstats', 'cmdstat_evalsha:calls');
const refusals = (): Promise<number> => count('errorstats', 'errorstat_TRYAGAIN:count');

async function forgetCalls(): Promise<void> {
  for (const { client } of cluster.masters) await client.config('RESETSTAT');
}

describe('slotOf', () => {
  it('agrees with CLUSTER KEYSLOT', async () => {
    const seed = newSeed();
    const random = seededRandom(Number(seed));
    const letters = ['{', '}', 'a', 'b', ':', '锁', '\0'];
    const keys = Array.from({ length: 2000 }, () =>
      Array.from({ length: random.next() * 8 }, () => letters[Math.floor(random.next() * 7)]).join(
        '',
      ),
    );
    const [{ client }] = cluster.masters as [ClusterMaster];
    const slots = await Promise.all(keys.map((key) => client.cluster('KEYSLOT', key)));
    expect(keys.map(slotOf), `seed ${seed}`).toEqual(slots);
  });
});

const KINDS = Object.keys(CLUSTER_CLIENTS) as (keyof typeof CLUSTER_CLIENTS)[];

describe.each(KINDS)('locks in a cluster, through %s', (kind) => {
  it('of three slots, in a deadlock of three processes, are reported to one of them', async () => {
    const names = ['a', 'b', 'c'].map((name) => `${kind} ${name}`);
    expect(new Set(names.map((name) => slotOf(`lock:{${name}}`))).size).toBe(3);
    let heldCount = 0;
    let open = (): void => {};
    const allHeld = new Promise<void>((resolve) => {
      open = resolve;
    });
    const nest = async (name: string, index: number): Promise<string> => {
      const locks = await connect(kind);
      return locks.mutex(name).run(async () => {
        if (++heldCount === names.length) open();
        await allHeld;
        return locks.mutex(names[(index + 1) % names.length]!).run(() => 'done');
      });
    };
    const outcomes = await Promise.allSettled(names.map(nest));
    const failures = outcomes.filter(({ status }) => status === 'rejected');
    expect(failures).toEqual([{ status: 'rejected', reason: expect.any(DeadlockError) }]);
  });

  it('of many slots are acquired with one call for each slot', async () => {
    const locks = await connect(kind);
    const names = Array.from({ length: 300 }, (_, index) => `${kind} ${index}`);
    const warm = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    await Promise.all(warm.map((lease) => lease.release()));
    await forgetCalls();
    const leases = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    const slots = new Set(names.map((name) => slotOf(`lock:{${name}}`)));
    expect(await scriptCalls()).toBe(slots.size);
    expect(new Set(leases.map(({ name }) => name)).size).toBe(names.length);
    const outcomes = await Promise.all(leases.map((lease) => lease.release()));
    expect(new Set(outcomes)).toEqual(new Set(['released']));
  });

  it.each([
    ['that puts all keys into one slot', '{app}:', 1],
    ['whose brace starts the hash tag', 'app{', 40],
  ])(
    'under a prefix %s are batched by the slots of the server',
    async (_name, prefix, maxSlots) => {
      const locks = await connect(kind, prefix);
      const names = Array.from({ length: 40 }, (_, index) => `${index}`);
      await locks.mutex('0').run(() => {});
      await forgetCalls();
      const leases = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
      // node-redis does not expose its prefix: each lock has a call of its own.
      const maxCalls = kind.startsWith('node-redis') ? names.length : maxSlots;
      expect(await scriptCalls()).toBeLessThanOrEqual(2 * maxCalls);
      await Promise.all(leases.map((lease) => lease.release()));
    },
  );

  it('are acquired after SCRIPT FLUSH on every node', async () => {
    const locks = await connect(kind);
    const names = Array.from({ length: 30 }, (_, index) => `${kind} ${index}`);
    for (let turn = 0; turn < 2; turn++) {
      for (const { client } of cluster.masters) await client.script('FLUSH');
      const leases = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
      await Promise.all(leases.map((lease) => lease.release()));
    }
  });

  it('are requested once if the script fails', async () => {
    const locks = await connect(kind);
    const name = `wrong through ${kind}`;
    const [owner] = await ownerAndOther(slotOf(`semaphore:{${name}}`));
    await owner.client.set(`semaphore:{${name}}`, 'no lock');
    await locks
      .semaphore(name, 2)
      .inspect()
      .catch(() => {});
    await forgetCalls();
    await expect(locks.semaphore(name, 2).tryAcquire()).rejects.toThrow(/WRONGTYPE/);
    // The request, and the release of what it may have granted.
    expect(await scriptCalls()).toBeLessThanOrEqual(2);
  });

  it('are kept when their slot moves to another master', async () => {
    const [locks, others] = [await connect(kind), await connect(kind)];
    const name = `moved through ${kind}`;
    const slot = slotOf(`lock:{${name}}`);
    const lease = await locks.mutex(name).acquire({ lease: '60s' });
    const waiting = others.mutex(name).acquire({ wait: '20s' });
    while ((await locks.mutex(name).inspect()).waiters.length === 0);
    await moveSlot(slot, await ownerAndOther(slot), async () => {});
    expect(await others.mutex(name).tryAcquire()).toBe(null);
    expect(await lease.release()).toBe('released');
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await next.release()).toBe('released');
  });

  it('are not granted twice while their keys are on two nodes', async () => {
    const [locks, others] = [await connect(kind), await connect(kind)];
    const name = `half moved through ${kind}`;
    const slot = slotOf(`semaphore:{${name}}`);
    const lease = await locks.semaphore(name, 1).acquire({ lease: '60s' });
    let trying: Promise<unknown> | undefined;
    await moveSlot(slot, await ownerAndOther(slot), async () => {
      const before = await refusals();
      trying = others.semaphore(name, 1).tryAcquire();
      // Until ioredis has used up its own retries once.
      while ((await refusals()) < before + 10) await pause(5);
    });
    expect(await trying).toBe(null);
    expect(await lease.release()).toBe('released');
    expect(await others.semaphore(name, 1).tryAcquire()).not.toBe(null);
  });
});

it('a waiter is notified after the node of its subscription died', async () => {
  const [dead, home] = cluster.masters as [ClusterMaster, ClusterMaster];
  for (const { client } of cluster.masters) {
    await client.config('SET', 'cluster-require-full-coverage', 'no');
  }
  const pairs: Pair[] = [];
  for (const kind of KINDS) pairs.push(await pairSubscribedOn(dead, home, kind));
  await dead.stop();
  const deadMs = performance.now();
  for (const { lease, waiting } of pairs) {
    expect(await lease.release()).toBe('released');
    await waiting;
  }
  expect(performance.now() - deadMs).toBeLessThan(withinMs(4500));
});

/** A lease of a lock on the node `home`, and a waiter for it that is subscribed on another node. */
interface Pair {
  readonly lease: Lease;
  readonly waiting: Promise<Lease>;
}

/** A client subscribes on a random node: tries clients until one is subscribed on this node. */
async function pairSubscribedOn(
  node: ClusterMaster,
  home: ClusterMaster,
  kind: (typeof KINDS)[number],
): Promise<Pair> {
  const holders = await connect(kind);
  const subscribersOn = async ({ client }: ClusterMaster): Promise<number> =>
    (await client.pubsub('CHANNELS', 'holdfast:*')).length;
  const subscribers = (): Promise<number> => subscribersOn(node);
  const allSubscribers = async (): Promise<number> =>
    (await Promise.all(cluster.masters.map(subscribersOn))).reduce((sum, each) => sum + each, 0);
  for (let turn = 0; ; turn++) {
    const name = `${kind} ${turn}`;
    if ((await ownerAndOther(slotOf(`lock:{${name}}`)))[0] !== home) continue;
    const [before, allBefore] = [await subscribers(), await allSubscribers()];
    const lease = await holders.mutex(name).acquire({ lease: '60s' });
    const waiting = (await connect(kind)).mutex(name).acquire({ wait: '60s' });
    // The client subscribes after its request has entered the queue.
    while ((await allSubscribers()) <= allBefore);
    if ((await subscribers()) > before) return { lease, waiting };
    await lease.release();
    await (await waiting).release();
  }
}

/** The master that owns a slot, and another one. */
async function ownerAndOther(slot: number): Promise<[ClusterMaster, ClusterMaster]> {
  const { masters } = cluster;
  const ranges = await masters[0]!.client.cluster('SLOTS');
  const [, , node] = ranges.find(([first, last]) => slot >= first && slot <= last)!;
  const owner = masters.find(({ port }) => port === node![1])!;
  return [owner, masters.find((master) => master !== owner)!];
}
