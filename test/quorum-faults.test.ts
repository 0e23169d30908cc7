import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { type Lease, LockError, Locks, LockUnavailableError } from '../src/lock/index.ts';
import { quorumUrlStore } from '../src/stores/quorum/quorum-store.ts';
import { FaultProxy } from './fault-proxy.ts';
import { quorumUrl, startRealQuorum } from './real-quorum.ts';
import { withinMs } from './within.ts';

const LEASE_MS = withinMs(500);
const REQUEST_TIMEOUT_MS = withinMs(200);
/** After a fault, a waiter gets the lock within a lease, the timeout of a request, and the pauses between retries. */
const RECOVERY_MS = withinMs(4000);

function openLocks(url: string, leaseMs = LEASE_MS): Locks {
  const store = quorumUrlStore(url, { maxLease: leaseMs, requestTimeout: REQUEST_TIMEOUT_MS });
  return new Locks({ store, defaults: { lease: leaseMs, wait: RECOVERY_MS } });
}

/** A resource that refuses smaller fences, and counts the clients that use it at once. */
class Register {
  grants = 0;
  #fence = 0;
  #users = 0;

  async use(lease: Lease, workMs: number): Promise<void> {
    assert(lease.fence > this.#fence);
    this.#fence = lease.fence;
    this.grants++;
    assert.equal(++this.#users, 1);
    await pause(workMs, undefined, { signal: lease.signal }).catch(() => {});
    this.#users--;
  }
}

/** Clients that take the lock in turn until the test stops them. An error that is not of the store ends the test. */
function contend(url: string, register: Register, count: number) {
  let isOver = false;
  const client = async (): Promise<void> => {
    await using locks = openLocks(url);
    while (!isOver) {
      try {
        await locks.mutex('a').run((lease) => register.use(lease, 2));
      } catch (error) {
        if (!(error instanceof LockError)) throw error;
      }
    }
  };
  const ended = Promise.all(Array.from({ length: count }, client));
  ended.catch(() => {});
  return {
    /** Resolves when the lock was granted so many times more. */
    async grants(more: number): Promise<void> {
      const target = register.grants + more;
      const deadlineMs = performance.now() + 2 * RECOVERY_MS;
      while (register.grants < target) {
        if (performance.now() > deadlineMs) throw new Error('the lock is granted no more');
        await Promise.race([pause(5), ended]);
      }
    },
    async stop(): Promise<void> {
      isOver = true;
      await ended;
    },
  };
}

describe.concurrent('a quorum of five servers', () => {
  it('grants the lock in order while two servers die, stall and restart without data', async () => {
    await using quorum = await startRealQuorum();
    const [first, second] = quorum.nodes;
    const register = new Register();
    const clients = contend(quorum.url, register, 4);
    await clients.grants(20);
    await first!.kill();
    await clients.grants(20);
    second!.pause();
    await clients.grants(20);
    await first!.start();
    await clients.grants(5);
    second!.resume();
    await clients.grants(20);
    await second!.kill();
    await second!.start();
    while (!(await first!.votes()) || !(await second!.votes())) await clients.grants(1);
    // Both vote again, and two others can fail.
    for (const node of quorum.nodes.slice(2, 4)) await node.kill();
    await clients.grants(20);
    await clients.stop();
  });

  it('rejects while a majority stalls, within the timeout, and grants the lock after it', async ({
    expect,
  }) => {
    await using quorum = await startRealQuorum();
    await using locks = openLocks(quorum.url);
    await locks.mutex('a').run(() => {});
    const stalled = quorum.nodes.slice(1, 4);
    for (const node of stalled) node.pause();
    const beganMs = performance.now();
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(LockUnavailableError);
    expect(performance.now() - beganMs).toBeLessThan(2 * REQUEST_TIMEOUT_MS + withinMs(100));
    const waiting = locks.mutex('a').acquire();
    for (const node of stalled) node.resume();
    await (await waiting).release();
  });

  it('reports the loss of a lease when a majority dies, before another client gets the lock', async ({
    expect,
  }) => {
    await using quorum = await startRealQuorum();
    await using locks = openLocks(quorum.url);
    const lease = await locks.mutex('a').acquire();
    await Promise.all(quorum.nodes.slice(0, 3).map((node) => node.kill()));
    const beganMs = performance.now();
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    expect(performance.now() - beganMs).toBeLessThan(LEASE_MS + withinMs(100));
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(/ECONNREFUSED|no answer|closed/);
  });

  it('keeps servers out that restarted without data, and refuses when three have', async ({
    expect,
  }) => {
    await using quorum = await startRealQuorum();
    await using locks = openLocks(quorum.url, 60_000);
    const lease = await locks.mutex('a').acquire();
    const [first, second, third] = quorum.nodes;
    // The holder keeps the votes of three. The two that restarted do not vote for another.
    for (const node of [first!, second!]) {
      await node.kill();
      await node.start();
    }
    await lease.extend();
    await using other = openLocks(quorum.url, 60_000);
    expect(await other.mutex('a').tryAcquire()).toBe(null);
    await lease.release();
    await other.mutex('a').run(() => {});
    await third!.kill();
    await third!.start();
    await using refused = openLocks(quorum.url, 60_000);
    await expect(refused.mutex('a').acquire()).rejects.toThrow(
      /Too many nodes have restarted at once.*delete the key quorum:node on every node/,
    );
  });

  it('grants the lock to six clients whose messages take 0 to 4 ms, without a storm of votes', async ({
    expect,
  }) => {
    await using quorum = await startRealQuorum();
    const register = new Register();
    await using proxies = new Disposables();
    const urls: string[] = [];
    for (let client = 0; client < 6; client++) {
      const ports: number[] = [];
      for (const [index, { port }] of quorum.nodes.entries()) {
        const proxy = proxies.use(await FaultProxy.start(port));
        await proxy.set({ kind: 'delay', delayMs: (client + 2 * index) % 5 });
        ports.push(proxy.port);
      }
      urls.push(quorumUrl(ports));
    }
    const clients = urls.map((url) => contend(url, register, 1));
    await clients[0]!.grants(50);
    const beganMs = performance.now();
    await clients[0]!.grants(100);
    const perSecond = 100_000 / (performance.now() - beganMs);
    await Promise.all(clients.map((client) => client.stop()));
    // Measured: more than 100 on an idle machine. Split votes give less than 10.
    expect(perSecond).toBeGreaterThan(30 / withinMs(1));
  });

  it('grants the lock in order while connections are cut', async () => {
    await using quorum = await startRealQuorum(3);
    await using proxies = new Disposables();
    const cut: FaultProxy[] = [];
    for (const { port } of quorum.nodes) cut.push(proxies.use(await FaultProxy.start(port)));
    const register = new Register();
    const clients = contend(quorumUrl(cut.map(({ port }) => port)), register, 3);
    for (const proxy of [...cut, ...cut]) {
      await clients.grants(10);
      await proxy.set({ kind: 'cut', way: 'replies', afterBytes: 7 });
      await pause(20);
      await proxy.set({ kind: 'reset' });
      await proxy.set({ kind: 'pass' });
    }
    await clients.grants(10);
    await clients.stop();
  });
});

/** Disposes of what it was given, as AsyncDisposableStack does in later versions of Node. */
class Disposables implements AsyncDisposable {
  readonly #items: AsyncDisposable[] = [];

  use<Item extends AsyncDisposable>(item: Item): Item {
    this.#items.push(item);
    return item;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const item of this.#items) await item[Symbol.asyncDispose]();
  }
}
