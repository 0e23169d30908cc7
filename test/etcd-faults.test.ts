import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lease, LockError, Locks } from '../src/lock/index.ts';
import { etcdStore } from '../src/stores/etcd/etcd-store.ts';
import { FaultProxy, PASS } from './fault-proxy.ts';
import { type EtcdCluster, startEtcd } from './real-etcd.ts';
import { withinMs } from './within.ts';

const LEASE_MS = 2000;
/** How long after the end of a fault the lock is granted again: the lease, its rounding in etcd, and an election. */
const LIVE_MS = withinMs(10_000);

/** A resource that guards itself by the fence, and counts the clients that believe to hold the lock. */
class Register {
  readonly violations: string[] = [];
  writeCount = 0;
  #fence = 0;
  #holder: Lease | undefined;
  #onWrite = (): void => {};

  write(lease: Lease): void {
    if (lease.fence <= this.#fence) this.violations.push(`${lease.fence} after ${this.#fence}`);
    if (this.#holder?.isHeld) this.violations.push(`${this.#holder.fence} still held`);
    this.writeCount++;
    this.#fence = lease.fence;
    this.#holder = lease;
    this.#onWrite();
  }

  /** Resolves with the next grants. */
  async written(count = 1): Promise<void> {
    for (let left = count; left > 0; left--) {
      await new Promise<void>((resolve) => {
        this.#onWrite = resolve;
      });
    }
  }
}

/** Clients with stores of their own that take one lock in turn until they are stopped. */
class Clients implements AsyncDisposable {
  readonly register = new Register();
  readonly #all: Locks[];
  readonly #loops: Promise<void>[];
  #isOver = false;

  constructor(endpoints: readonly string[], count = 3) {
    // Each client starts with another member.
    this.#all = Array.from({ length: count }, (_, index) => {
      const turned = [...endpoints.slice(index), ...endpoints.slice(0, index)];
      return new Locks({ store: etcdStore(turned, { requestTimeout: '2s' }) });
    });
    this.#loops = this.#all.map((locks) => this.#loop(locks));
  }

  async #loop(locks: Locks): Promise<void> {
    while (!this.#isOver) {
      try {
        await using lease = await locks.mutex('shared').acquire({ lease: LEASE_MS, wait: '30s' });
        this.register.write(lease);
        await pause(5);
      } catch (error) {
        if (!(error instanceof LockError)) throw error;
        await pause(20);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#all.map((locks) => locks.close()));
    await Promise.all(this.#loops);
  }
}

async function within<Result>(limitMs: number, what: Promise<Result>): Promise<Result> {
  const late = pause(limitMs, undefined, { ref: false }).then(() => {
    throw new Error(`not within ${limitMs} ms`);
  });
  return Promise.race([what, late]);
}

describe('three members of etcd', () => {
  let cluster: EtcdCluster;
  beforeAll(async () => {
    cluster = await startEtcd(3);
  });
  afterAll(() => cluster.stop());

  /** Clients take the lock before, during and after the fault. */
  async function survives(
    fault: (register: Register) => Promise<void>,
  ): Promise<readonly string[]> {
    await using clients = new Clients(cluster.endpoints);
    const { register } = clients;
    await within(LIVE_MS, register.written(5));
    await fault(register);
    await within(LIVE_MS, register.written(5));
    return register.violations;
  }

  it('grants one lease at a time when the leader is killed and started again', async () => {
    const violations = await survives(async () => {
      const leader = await cluster.leader();
      await leader.kill();
      await pause(1000);
      await leader.start();
    });
    expect(violations).toEqual([]);
  });

  it('grants one lease at a time when a follower is paused', async () => {
    const violations = await survives(async () => {
      const leader = await cluster.leader();
      const follower = cluster.members.find((member) => member !== leader)!;
      follower.pause();
      await pause(1500);
      follower.resume();
    });
    expect(violations).toEqual([]);
  });

  it('keeps the order of fences when the leader is paused', async () => {
    const violations = await survives(async () => {
      const leader = await cluster.leader();
      leader.pause();
      await pause(3000);
      leader.resume();
    });
    // A leader of etcd before 3.4.31 and 3.5.13 that was paused ends leases that others have renewed (etcd#15247).
    expect(violations.filter((text) => text.includes('after'))).toEqual([]);
  });

  it('grants nothing without a majority, and grants again with one', async () => {
    const violations = await survives(async (register) => {
      const [first, second] = cluster.members;
      first!.pause();
      second!.pause();
      await pause(500);
      const { writeCount } = register;
      await pause(LEASE_MS + 1000);
      expect(register.writeCount).toBe(writeCount);
      first!.resume();
      second!.resume();
    });
    expect(violations.filter((text) => text.includes('after'))).toEqual([]);
  });

  it('grants one lease at a time when all connections are reset', async () => {
    await using proxy = await FaultProxy.start(cluster.members[0]!.port);
    await using clients = new Clients([`127.0.0.1:${proxy.port}`]);
    await within(LIVE_MS, clients.register.written(3));
    for (let turn = 0; turn < 5; turn++) {
      await proxy.set({ kind: 'reset' });
      await pause(50);
      await proxy.set(PASS);
      await within(LIVE_MS, clients.register.written(3));
    }
    expect(clients.register.violations).toEqual([]);
  });

  it('grants again after replies were lost', async () => {
    await using proxy = await FaultProxy.start(cluster.members[0]!.port);
    await using clients = new Clients([`127.0.0.1:${proxy.port}`]);
    await within(LIVE_MS, clients.register.written(3));
    for (let turn = 0; turn < 2; turn++) {
      await proxy.set({ kind: 'swallow', way: 'replies' });
      await pause(500);
      await proxy.set(PASS);
      await within(LIVE_MS, clients.register.written(5));
    }
    expect(clients.register.violations).toEqual([]);
  });
});
