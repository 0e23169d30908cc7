import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LockRequest, LockStore, WaiterEvent } from '../src/lock/index.ts';
import { type EtcdStoreOptions, etcdStore } from '../src/stores/etcd/etcd-store.ts';
import { GrpcProxy } from './grpc-proxy.ts';
import { type EtcdCluster, startEtcd } from './real-etcd.ts';
import { withinMs } from './within.ts';

let etcd: EtcdCluster;
const stores: LockStore[] = [];
beforeAll(async () => {
  etcd = await startEtcd(1);
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await etcd.stop();
});

function open(port: number, options: EtcdStoreOptions = {}): LockStore {
  const store = etcdStore(`127.0.0.1:${port}`, { requestTimeout: '20s', ...options });
  stores.push(store);
  return store;
}

let owners = 0;

function mutex(name: string, leaseMs = 60_000): LockRequest {
  const info = { host: 'here', pid: 7, label: '' };
  return { kind: 'mutex', name, slots: 1, permits: 1, owner: `owner ${++owners}`, leaseMs, info };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const IGNORED = { notify: (_: WaiterEvent): void => {} };

/** Resolves when the condition holds. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + withinMs(5000);
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error('the condition does not hold');
    await pause(20);
  }
}

describe.concurrent('a store of etcd', () => {
  it('does not delete the entry of a later request when a released waiter is confirmed late', async () => {
    await using proxy = await GrpcProxy.start(etcd.members[0]!.port);
    const [store, other] = [open(proxy.port), open(etcd.members[0]!.port)];
    const [holder, waiting, later] = [mutex('late', 60_000), mutex('late', 3000), mutex('late')];
    await other.acquire(holder);
    const renewals = proxy.hold('LeaseKeepAlive');
    await store.acquire(waiting, IGNORED);
    // The lease of the waiter has less than half of its time left: the confirmation renews it first.
    await pause(2700);
    const confirmation = proxy.hold('Txn', waiting.owner);
    await other.release(holder);
    await confirmation.begun;
    const before = proxy.count('LeaseKeepAlive');
    confirmation.end();
    await until(async () => proxy.count('LeaseKeepAlive') > before);
    expect(await store.release(waiting)).toBe(false);
    expect(await store.acquire(later)).toMatchObject({ type: 'granted' });
    renewals.end();
    await pause(300);
    expect((await other.inspect(later)).holders).toMatchObject([{ owner: later.owner }]);
  });

  it('deletes an entry whose lease ended while it moved to another lease of etcd', async () => {
    await using proxy = await GrpcProxy.start(etcd.members[0]!.port);
    const [store, other] = [open(proxy.port), open(etcd.members[0]!.port)];
    const request = mutex('moved', 1000);
    await store.acquire(mutex('another'));
    await store.acquire(request);
    const move = proxy.hold('Txn', '"leaseMs":60000');
    const extended = store.extend({ ...request, leaseMs: 60_000 });
    await move.begun;
    const before = proxy.count('Txn');
    // The store ends the entry, whose lease is over by its clock.
    await until(async () => proxy.count('Txn') > before);
    move.end();
    expect(await extended).toBe(false);
    await until(async () => (await other.inspect(request)).holders.length === 0);
  });

  it.each(['', 'text', '[]', 'null', '7', '{"permits":0}', '{"permits":-1}', '{"permits":null}'])(
    'does not grant a lock with a key of another program and the value %j',
    async (value) => {
      const store = open(etcd.members[0]!.port);
      const request = mutex(`foreign ${value}`);
      const lock = `holdfast/mutex/${encodeURIComponent(request.name)}`;
      const [first, second] = [`${lock}/1/a`, `${lock}/1/b`].map(base64);
      await etcd.control('kv/put', { key: first, value: base64(value) });
      await etcd.control('kv/put', { key: second, value: base64(value) });
      expect(await store.acquire(request)).toMatchObject({ type: 'busy' });
      expect(await store.acquire(request, IGNORED)).toMatchObject({ type: 'busy' });
      const { holders, waiters } = await store.inspect(request);
      expect([holders.length, waiters.length]).toEqual([1, 2]);
      expect(await store.forceRelease(request)).toBe(1);
    },
  );

  it.each([
    '{"permits":"2","slots":{},"owner":5,"place":"x","fence":[],"leaseMs":"y","at":{},"pid":"z"}',
    '{"place":-5,"host":7,"label":[],"stealReason":{}}',
  ])('counts the key of another program with the value %s as one permit', async (value) => {
    const store = open(etcd.members[0]!.port);
    const request = mutex(`fields ${value}`);
    const key = base64(`holdfast/mutex/${encodeURIComponent(request.name)}/1/a`);
    await etcd.control('kv/put', { key, value: base64(value) });
    const busy = await store.acquire(request);
    expect(busy).toEqual({ type: 'busy', retryInMs: 1 });
    const info = { owner: 'a', host: '?', pid: 0, label: '', permits: 1 };
    expect((await store.inspect(request)).holders).toMatchObject([info]);
  });

  it('renews leases with an empty prefix', async () => {
    const store = open(etcd.members[0]!.port, { prefix: '' });
    const request = mutex('no prefix', 1000);
    await store.acquire(request);
    for (let turn = 0; turn < 3; turn++) {
      await pause(700);
      expect(await store.extend(request)).toBe(true);
    }
  });
});

describe('a token that has expired', () => {
  it('is replaced by one login for all requests that it fails', async () => {
    const own = await startEtcd(1, '--auth-token-ttl', '1');
    await using proxy = await GrpcProxy.start(own.members[0]!.port);
    try {
      await own.control('auth/user/add', { name: 'root', password: 'r' });
      await own.control('auth/user/grant', { user: 'root', role: 'root' });
      await own.control('auth/enable');
      const store = open(proxy.port, { user: 'root', password: 'r' });
      await store.acquire(mutex('first'));
      // etcd removes expired tokens once a second.
      await pause(3500);
      const before = proxy.count('Authenticate');
      const requests = Array.from({ length: 50 }, (_, index) => mutex(`${index}`));
      await Promise.all(requests.map((request) => store.acquire(request)));
      expect(proxy.count('Authenticate') - before).toBe(1);
    } finally {
      await own.stop();
    }
  });
});
