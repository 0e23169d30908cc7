import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { newSeed } from '../../../test/new-seed.ts';
import { VirtualQuorum } from '../../../test/virtual-quorum.ts';
import { elapse } from '../../../test/virtual-time.ts';
import { scriptOf } from '../../client/index.ts';
import { seededRandom } from '../../clock/index.ts';
import { LockArgumentError, type LockRequest, LockUnavailableError } from '../../lock/index.ts';
import { ADMIT_SCRIPT, NODE_KEY, VOTE_SCRIPT, voteKeys, WAIT_KEY } from './node-script.ts';

const SEED = process.env['HOLDFAST_SEED'] ?? newSeed();
const MAX_LEASE_MS = 1000;

function request(owner: string, leaseMs = MAX_LEASE_MS): LockRequest {
  const info = { host: 'h', pid: 1, label: '' };
  return { kind: 'mutex', name: 'a', slots: 1, permits: 1, leaseMs, owner, info };
}

/** A quorum whose nodes were admitted. */
async function admitted(nodeCount = 3): Promise<VirtualQuorum> {
  const quorum = new VirtualQuorum({ nodeCount, maxLeaseMs: MAX_LEASE_MS });
  await elapse(quorum.clock, 2 * MAX_LEASE_MS);
  await quorum.open().acquire({ ...request('client1.0'), name: 'first' });
  return quorum;
}

/** The number of nodes that reply to a request for a vote. */
async function votingNodes({ nodes }: VirtualQuorum): Promise<number> {
  const args = ['extend', 'none', '1'];
  const replies = await Promise.all(
    nodes.map((node) => node.run(VOTE_SCRIPT, voteKeys('x'), args)),
  );
  return replies.filter((reply) => (reply as unknown[])[0] !== -1).length;
}

describe('a quorum', () => {
  it('grants no lock until servers that just started are older than the longest lease', async () => {
    const quorum = new VirtualQuorum({ maxLeaseMs: MAX_LEASE_MS });
    const store = quorum.open();
    await expect(store.acquire(request('client1.1'))).rejects.toThrow(
      '0 of 3 nodes vote, and 2 must. node 1: it has restarted, and votes in 2 s, when leases from before have ended',
    );
    await elapse(quorum.clock, 1.1 * MAX_LEASE_MS);
    expect((await store.acquire(request('client1.1'))).type).toBe('granted');
  });

  it('starts only when all of its servers reply', async () => {
    const quorum = new VirtualQuorum();
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    quorum.nodes[2]!.isDown = true;
    const store = quorum.open();
    const refused = expect(store.acquire(request('client1.1'))).rejects.toThrow(
      /0 of 3 nodes vote.*node 3: no answer within 200 ms/,
    );
    await elapse(quorum.clock, 400);
    await refused;
    quorum.nodes[2]!.isDown = false;
    expect((await store.acquire(request('client1.1'))).type).toBe('granted');
  });

  it('grants locks while a minority of servers is down, and none while a majority is', async () => {
    const quorum = await admitted();
    const store = quorum.open();
    quorum.nodes[0]!.isDown = true;
    const granted = store.acquire(request('client2.1'));
    await elapse(quorum.clock, 400);
    expect((await granted).type).toBe('granted');
    quorum.nodes[1]!.isDown = true;
    // The third server votes for the holder, which does not make the lock busy.
    const refused = expect(store.acquire(request('client2.2'))).rejects.toThrow(
      /1 of 3 nodes replied, and 2 must. node \d: no answer within 200 ms; node \d: no answer/,
    );
    await elapse(quorum.clock, 400);
    await refused;
  });

  it('keeps a server that lost its data from voting until the longest lease has passed', async () => {
    const quorum = await admitted();
    const [holder, other] = [quorum.open(), quorum.open()];
    quorum.nodes[2]!.isDown = true;
    const held = holder.acquire(request('client2.1'));
    await elapse(quorum.clock, 300);
    expect((await held).type).toBe('granted');
    quorum.nodes[2]!.isDown = false;
    quorum.nodes[0]!.restart();
    // Two of three have no vote for the holder: node 1 has forgotten it, node 3 was down.
    expect((await other.acquire(request('client3.1'))).type).toBe('busy');
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    const before = await held;
    const after = await other.acquire(request('client3.2'));
    assert(before.type === 'granted' && after.type === 'granted');
    expect(after.fence).toBeGreaterThan(before.fence);
  });

  it('names the server that is down and the one that has restarted when a lease cannot be extended', async () => {
    const quorum = await admitted();
    const store = quorum.open();
    await store.acquire(request('client2.1'));
    quorum.nodes[0]!.restart();
    quorum.nodes[1]!.isDown = true;
    const refused = expect(store.extend(request('client2.1'))).rejects.toThrow(
      '1 of 3 nodes replied, and 2 must. node 1: it has restarted, and does not vote yet; node 2: no answer',
    );
    await elapse(quorum.clock, 400);
    await refused;
  });

  it('returns 0 for the forced release of a free lock while a majority of servers does not vote', async () => {
    const quorum = await admitted();
    const store = quorum.open();
    quorum.nodes[0]!.restart();
    quorum.nodes[1]!.restart();
    expect(await store.forceRelease({ kind: 'mutex', name: 'a', slots: 1 })).toBe(0);
  });

  it('refuses all requests when a majority of servers lost its data, and says what to do', async () => {
    const quorum = await admitted();
    const store = quorum.open();
    await store.acquire(request('client2.1'));
    quorum.nodes[0]!.restart();
    quorum.nodes[1]!.restart();
    await expect(store.acquire(request('client2.2'))).rejects.toThrow();
    await elapse(quorum.clock, 5 * MAX_LEASE_MS);
    const locks = quorum.openLocks();
    const refused = locks.mutex('a').acquire({ lease: MAX_LEASE_MS });
    await expect(refused).rejects.toThrow(LockUnavailableError);
    await expect(refused).rejects.toThrow(
      /1 of 3 nodes vote, and 2 must\..* Too many nodes have restarted at once.*delete the key quorum:node on every node/,
    );
  });

  it('admits two of five servers that lost their data, since three others know the fences', async () => {
    const quorum = await admitted(5);
    const store = quorum.open();
    quorum.nodes[3]!.isDown = true;
    quorum.nodes[4]!.isDown = true;
    const held = store.acquire(request('client2.1'));
    await elapse(quorum.clock, 300);
    const before = await held;
    for (const node of quorum.nodes) node.isDown = false;
    quorum.nodes[0]!.restart();
    quorum.nodes[1]!.restart();
    await store.extend(request('client2.1'));
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    quorum.clock.jumpWall(-3_600_000);
    // Without the two, the fence would be known to one node only, which does not vote now.
    quorum.nodes[2]!.isDown = true;
    const after = quorum.open().acquire(request('client3.1'));
    await elapse(quorum.clock, 600);
    const next = await after;
    assert(before.type === 'granted' && next.type === 'granted');
    expect(next.fence).toBeGreaterThan(before.fence);
  });

  it('reads the fences of the others after the wait of a server, not before its end', async () => {
    const quorum = await admitted();
    const [first, , third] = quorum.nodes;
    const store = quorum.open();
    third!.restart();
    await store.acquire(request('client2.1'));
    const fence = 2 ** 52;
    const run = third!.run.bind(third);
    // A fence that the first server gets after it was read, and before the third one says that its wait is over.
    third!.run = async (...call) => {
      third!.run = run;
      const vote = ['vote', 'late', '1000', '1', String(fence), '0', ''];
      await first!.run(VOTE_SCRIPT, voteKeys('late'), vote);
      return run(...call);
    };
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    expect(await votingNodes(quorum)).toBe(3);
    const [, , max] = (await third!.run(
      ADMIT_SCRIPT,
      [NODE_KEY, WAIT_KEY],
      ['state', '', '0', '0'],
    )) as unknown[];
    expect(Number(max)).toBe(fence);
  });

  it('drops the votes for a client that was refused', async () => {
    const quorum = await admitted();
    const [holder, other, next] = [quorum.open(), quorum.open(), quorum.open()];
    // All of them have checked the nodes.
    for (const [index, store] of [holder, other, next].entries()) {
      await store.acquire({ ...request(`client${index + 2}.0`), name: `${index}` });
    }
    quorum.nodes[2]!.isDown = true;
    await holder.acquire(request('client2.1'));
    quorum.nodes[2]!.isDown = false;
    // The third server is free, and votes for it.
    expect((await other.acquire(request('client3.1'))).type).toBe('busy');
    await holder.release(request('client2.1'));
    quorum.nodes[1]!.isDown = true;
    expect((await next.acquire(request('client4.1'))).type).toBe('granted');
  });

  it('gives up a majority of votes when another client has its turn', async () => {
    const quorum = await admitted();
    const [first] = quorum.nodes;
    const queueKey = ['quorum:queue:lock:{a}'];
    const take = scriptOf("return redis.call('SET', KEYS[1], 'other', 'PX', '60000')");
    await first!.run(take, queueKey, []);
    expect((await quorum.open().acquire(request('client2.1'))).type).toBe('busy');
    await first!.run(scriptOf("return redis.call('DEL', KEYS[1])"), queueKey, []);
    expect((await quorum.open().acquire(request('client3.1'))).type).toBe('granted');
  });

  it('returns the same fence to a repeated request, and the larger one that all() needs', async () => {
    const quorum = await admitted(5);
    const store = quorum.open();
    const first = await store.acquire(request('client2.1'));
    assert(first.type === 'granted');
    expect(await store.acquire(request('client2.1'))).toEqual(first);
    const fence = first.fence + 1000;
    const raised = await store.acquireAll([request('client2.1')], fence);
    expect(raised).toEqual({ type: 'granted', fence });
    expect(await store.acquire(request('client2.1'))).toEqual(raised);
    await store.release(request('client2.1'));
    const next = await quorum.open().acquire(request('client3.1'));
    expect(next.type === 'granted' && next.fence).toBeGreaterThan(fence);
  });

  it('refuses the same server twice, and another number of nodes', async () => {
    const quorum = await admitted();
    const [one, two, three] = quorum.nodes;
    await expect(quorum.open([one!, two!, one!]).acquire(request('client2.1'))).rejects.toThrow(
      'node 1 and node 3 are the same server, whose vote would count twice. List each server once.',
    );
    const more = new VirtualQuorum({ nodeCount: 2 }).nodes;
    await expect(
      quorum.open([one!, two!, three!, ...more]).acquire(request('client3.1')),
    ).rejects.toThrow('node 1 is one of 3 nodes, and this program lists 5. List the same nodes');
  });

  it('refuses another order of the nodes', async () => {
    const quorum = await admitted();
    const [one, two, three] = quorum.nodes;
    const turned = quorum.open([two!, one!, three!]);
    await expect(turned.acquire(request('client2.1'))).rejects.toThrow(
      'node 1 is number 2 of the nodes for another program, and number 1 for this one. List the nodes in the same order',
    );
    expect(await quorum.open().acquire(request('client3.1'))).toMatchObject({ type: 'granted' });
  });

  it('refuses other kinds of locks and leases that are longer than maxLease', async () => {
    const quorum = await admitted();
    const store = quorum.open();
    for (const kind of ['semaphore', 'rw'] as const) {
      const refused = store.acquire({ ...request('client2.1'), kind });
      await expect(refused).rejects.toThrow(LockArgumentError);
      await expect(refused).rejects.toThrow(
        /a quorum of Redis nodes has only mutexes: .*Use mutex/,
      );
      await expect(store.inspect({ kind, name: 'a', slots: 2 })).rejects.toThrow(LockArgumentError);
    }
    await expect(store.acquire(request('client2.1', MAX_LEASE_MS + 1))).rejects.toThrow(
      /a lease of 1001 ms is longer than maxLease, 1000 ms/,
    );
    expect(await store.acquireAll([request('client2.1'), request('client2.2')], 0)).toBe(undefined);
  });

  it('takes over the longest lease of other clients for a server that restarts', async () => {
    const quorum = await admitted();
    await quorum.open(quorum.nodes, 60_000).acquire({ ...request('client2.1', 60_000), name: 'b' });
    quorum.nodes[0]!.restart();
    const store = quorum.open();
    await store.acquire(request('client3.1'));
    await elapse(quorum.clock, 50_000);
    expect(await votingNodes(quorum)).toBe(2);
    await elapse(quorum.clock, 15_000);
    expect(await votingNodes(quorum)).toBe(3);
  });

  it('lists the locks that are held, in the order of their names', async () => {
    const quorum = await admitted();
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    const store = quorum.open();
    for (const [index, name] of ['c', 'a}:x', '锁', 'b'].entries()) {
      await store.acquire({ ...request(`client2.${index}`), name });
    }
    await store.acquire({ ...request('client2.9'), name: 'b' }, { notify() {} });
    const { locks, isCut } = await store.list({ maxLocks: 3, maxParties: 10 });
    expect(
      locks.map(({ name, holderCount, waiterCount }) => [name, holderCount, waiterCount]),
    ).toEqual([
      ['a}:x', 1, 0],
      ['b', 1, 1],
      ['c', 1, 0],
    ]);
    expect(isCut).toBe(true);
    const one = await store.list({ name: '锁', maxLocks: 3, maxParties: 10 });
    expect(one.locks[0]!.holders[0]).toMatchObject({ owner: 'client2.2', foreign: false });
    expect((await store.list({ name: 'free', maxLocks: 3, maxParties: 10 })).locks).toEqual([]);
  });

  it('leaves no timer behind when it is closed, and can be closed twice', async () => {
    const quorum = await admitted();
    const store = quorum.open();
    quorum.nodes[0]!.restart();
    await store.acquire(request('client2.1'));
    await elapse(quorum.clock, 100);
    await Promise.all([store.close(), store.close()]);
    await elapse(quorum.clock, 1);
    await expect(store.acquire(request('client2.2'))).rejects.toThrow(/closed/);
  });

  it('returns a larger fence when the votes for a holder ended and came back', async () => {
    const quorum = await admitted();
    const store = quorum.open();
    const before = await store.acquire(request('client2.1'));
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    const other = await quorum.open().acquire(request('client3.1'));
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    // The request of the former holder is sent again, as a client does after a reconnection.
    const token = 'client2.1 ["h",1,""]';
    const vote = ['vote', token, '1000', '1', '1', '0', ''];
    for (const node of quorum.nodes) await node.run(VOTE_SCRIPT, voteKeys('a'), vote);
    const after = await store.acquire(request('client2.1'));
    assert(before.type === 'granted' && other.type === 'granted' && after.type === 'granted');
    expect(after.fence).toBeGreaterThan(other.fence);
  });

  it('grants a lock 100 times a second to six clients whose messages take 0 to 4 ms', {
    timeout: 60_000,
  }, async () => {
    const quorum = new VirtualQuorum({ nodeCount: 5, maxDelayMs: 4 });
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    let isOver = false;
    let grants = 0;
    const clients = Array.from({ length: 6 }, async () => {
      const locks = quorum.openLocks();
      while (!isOver) await locks.mutex('a').run(() => ++grants, { lease: MAX_LEASE_MS });
      await locks.close();
    });
    await quorum.clock.advanceAsync(500);
    grants = 0;
    await quorum.clock.advanceAsync(1000);
    expect(grants).toBeGreaterThan(100);
    isOver = true;
    await quorum.clock.advanceAsync(1000);
    await Promise.all(clients);
  });

  it(`keeps the order of fences under faults and delays, seed ${SEED}`, {
    timeout: 120_000,
  }, async () => {
    const random = seededRandom(Number(SEED));
    const quorum = new VirtualQuorum({
      nodeCount: 5,
      maxDelayMs: 4,
      maxLeaseMs: 400,
      keepsOrder: false,
      random,
    });
    const register = { fence: 0, holders: 0, grants: 0 };
    await elapse(quorum.clock, 2 * MAX_LEASE_MS);
    let isOver = false;
    const contend = async (): Promise<void> => {
      const locks = quorum.openLocks();
      while (!isOver) {
        try {
          await locks.mutex('a').run(
            async (lease) => {
              expect(lease.fence).toBeGreaterThan(register.fence);
              register.fence = lease.fence;
              register.grants++;
              expect(++register.holders).toBe(1);
              const work = new Promise<void>((resolve) =>
                quorum.clock.setTimer(random.next() * 20, resolve),
              );
              const lost = new Promise((resolve) =>
                lease.signal.addEventListener('abort', resolve),
              );
              await Promise.race([work, lost]);
              register.holders--;
            },
            { lease: 400, wait: 5000 },
          );
        } catch (error) {
          if (!(error instanceof Error && 'code' in error)) throw error;
        }
      }
      await locks.close();
    };
    const clients = Array.from({ length: 4 }, contend);
    const failed = Promise.race(clients.map((client) => client.then(() => undefined)));
    let isBroken = false;
    failed.catch(() => {
      isBroken = true;
    });
    for (let turn = 0; turn < 12 && !isBroken; turn++) {
      const node = quorum.nodes[Math.floor(random.next() * 5)]!;
      const fault = random.next();
      if (fault < 0.4) node.isDown = true;
      else if (fault < 0.6) node.restart();
      await quorum.clock.advanceAsync(300);
      node.isDown = false;
      // Longer than a server that restarts stays out.
      await quorum.clock.advanceAsync(900);
    }
    isOver = true;
    const ended = Promise.all(clients);
    ended.catch(() => {});
    await quorum.clock.advanceAsync(10_000);
    await ended;
    expect(register.grants).toBeGreaterThan(100);
  });
});
