import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type AcquireResult,
  LockArgumentError,
  LockLostError,
  type LockRequest,
  type LockStore,
  Locks,
  LockTimeoutError,
  LockUnavailableError,
  type WaiterEvent,
} from '../src/lock/index.ts';
import { type EtcdStoreOptions, etcdStore } from '../src/stores/etcd/etcd-store.ts';
import { CertificateAuthority } from './certificate-authority.ts';
import { FaultProxy, PASS } from './fault-proxy.ts';
import { BUILD } from './lock-holder-process.ts';
import { type EtcdCluster, startEtcd } from './real-etcd.ts';
import { suspendProcess } from './suspend-process.ts';
import { withinMs } from './within.ts';

const STORES = pathToFileURL(join(import.meta.dirname, '..', 'dist', 'public', 'stores.js')).href;

vi.setConfig({ maxConcurrency: 100 });

let etcd: EtcdCluster;
/** Ends what the tests have opened. */
const cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  etcd = await startEtcd(1);
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  await etcd.stop();
});

let prefixes = 0;
let owners = 0;

/** Unique for each test. */
const newPrefix = (): string => `test ${++prefixes}/`;

/** Stores that share the locks of one test. */
function openStores(count: number, prefix = newPrefix()): LockStore[] {
  const stores = Array.from({ length: count }, () => etcdStore(etcd.endpoints, { prefix }));
  for (const store of stores) cleanups.push(() => store.close());
  return stores;
}

function mutex(name: string, leaseMs = 60_000): LockRequest {
  const info = { host: 'here', pid: 7, label: '' };
  return { kind: 'mutex', name, slots: 1, permits: 1, owner: `owner ${++owners}/%`, leaseMs, info };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A waiter that collects its events. */
function collector(): {
  events: WaiterEvent[];
  notify(event: WaiterEvent): void;
  next(): Promise<WaiterEvent>;
} {
  const events: WaiterEvent[] = [];
  let wake = (): void => {};
  return {
    events,
    notify(event) {
      events.push(event);
      wake();
    },
    async next() {
      while (events.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return events.shift()!;
    },
  };
}

async function fenceOf(result: ReturnType<LockStore['acquire']>): Promise<number> {
  const reply = await result;
  if (reply.type !== 'granted') throw new Error('the lock is busy');
  return reply.fence;
}

describe('acquireAll', () => {
  it('takes all locks or none, and returns the same grant to a repeated request', async () => {
    const [store] = openStores(1) as [LockStore];
    const [a, b, c, busy] = [mutex('a'), mutex('b'), mutex('c'), mutex('b')];
    await store.acquire(busy);
    expect(await store.acquireAll([a, b, c], 0)).toMatchObject({ type: 'busy' });
    expect((await store.inspect(a)).holders).toEqual([]);
    await store.release(busy);
    const all = await store.acquireAll([a, b, c], 0);
    expect(await store.acquireAll([a, b, c], 0)).toEqual(all);
    for (const request of [a, b, c]) expect(await store.release(request)).toBe(true);
  });

  it('raises the fence of a held lock to the fence of another, below all later fences', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    const [a, b] = [mutex('a'), mutex('b')];
    const lower = await fenceOf(store.acquire(a));
    const highest = await fenceOf(store.acquire(b));
    expect(lower).toBeLessThan(highest);
    const raised = { type: 'granted', fence: highest };
    expect(await store.acquireAll([a], highest)).toEqual(raised);
    expect(await store.acquireAll([a], highest)).toEqual(raised);
    const { holders } = await other.inspect(a);
    expect(holders).toMatchObject([{ fence: highest }]);
    await store.release(a);
    expect(await fenceOf(other.acquire(mutex('a')))).toBeGreaterThan(highest);
  });

  it('throws for a fence above the revision of etcd', async () => {
    const [store] = openStores(1) as [LockStore];
    const a = mutex('a');
    await store.acquire(a);
    await expect(store.acquireAll([a], 2 ** 50)).rejects.toThrow(LockArgumentError);
  });
});

describe.concurrent('a lease', () => {
  it('ends in a live process that does not renew it, while others of the process are renewed', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    const [kept, left] = [mutex('kept', 1000), mutex('left', 1000)];
    await store.acquire(kept);
    await store.acquire(left);
    for (let turn = 0; turn < 4; turn++) {
      await pause(400);
      expect(await store.extend(kept)).toBe(true);
    }
    expect((await other.inspect(left)).holders).toEqual([]);
    expect((await other.inspect(kept)).holders).toHaveLength(1);
  });

  it('moves to a longer lease of etcd with the same fence', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    const request = mutex('a', 1000);
    const fence = await fenceOf(store.acquire(request));
    expect(await store.extend({ ...request, leaseMs: 60_000 })).toBe(true);
    const { holders } = await other.inspect(request);
    expect(holders).toMatchObject([{ fence }]);
    expect(holders[0]!.leftMs).toBeGreaterThan(10_000);
    expect(await store.release(request, fence)).toBe(true);
  });

  it('is kept after close(), until the time of keep()', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    const request = mutex('a', 1000);
    await store.acquire(request);
    const sentMs = performance.now();
    expect(await store.keep({ ...request, leaseMs: 4000 })).toBe(true);
    await store.close();
    expect((await other.inspect(request)).holders).toHaveLength(1);
    const waiter = collector();
    expect(await other.acquire(mutex('a'), waiter)).toMatchObject({ type: 'busy' });
    expect(await waiter.next()).toMatchObject({ type: 'granted' });
    expect(performance.now() - sentMs).toBeGreaterThan(4000);
  });

  it('lasts for the whole duration, also on a lease of etcd that is older', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    await store.acquire(mutex('first', 2000));
    await pause(2500);
    const request = mutex('second', 2000);
    await store.acquire(request);
    const sentMs = performance.now();
    // As if the process had died.
    await store.close();
    while ((await other.inspect(request)).holders.length > 0) await pause(50);
    expect(performance.now() - sentMs).toBeGreaterThan(2000);
  });

  it('ends for a request whose reply was lost, while others of the process are renewed', async () => {
    const prefix = newPrefix();
    const [other] = openStores(1, prefix) as [LockStore];
    await using proxy = await FaultProxy.start(etcd.members[0]!.port);
    const store = etcdStore(`127.0.0.1:${proxy.port}`, { prefix, requestTimeout: 300 });
    cleanups.push(() => store.close());
    const [kept, unknown] = [mutex('kept', 1500), mutex('unknown', 1500)];
    await store.acquire(kept);
    await proxy.set({ kind: 'swallow', way: 'replies' });
    await expect(store.acquire(unknown)).rejects.toThrow(/no answer within/);
    await proxy.set(PASS);
    expect((await other.inspect(unknown)).holders).toHaveLength(1);
    const beganMs = performance.now();
    while ((await other.inspect(unknown)).holders.length > 0) {
      expect(performance.now() - beganMs).toBeLessThan(withinMs(5000));
      await pause(300);
      expect(await store.extend(kept)).toBe(true);
    }
  });

  it('is not ended by a release of the request before, which etcd executes late', async () => {
    const prefix = newPrefix();
    const [other] = openStores(1, prefix) as [LockStore];
    await using proxy = await FaultProxy.start(etcd.members[0]!.port);
    const store = etcdStore(`127.0.0.1:${proxy.port}`, { prefix, requestTimeout: 300 });
    cleanups.push(() => store.close());
    const [first, second] = [mutex('a'), mutex('a')];
    const fence = await fenceOf(store.acquire(first));
    // The store uses another connection after the timeout. The cancellation is delayed like the request, so that etcd
    // executes the request first.
    for (const link of proxy.links) link.set({ kind: 'delay', delayMs: 1000, way: 'requests' });
    await expect(store.release(first, fence)).rejects.toThrow(/no answer within/);
    expect(await store.release(first, fence)).toBe(true);
    await store.acquire(second);
    await pause(1000);
    expect((await other.inspect(second)).holders).toHaveLength(1);
  });

  it('is reported as stolen at once, with the reason, after its first renewal', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    await using locks = new Locks({ store });
    await using others = new Locks({ store: other });
    const lease = await locks.mutex('a').acquire({ lease: '60s' });
    await lease.extend();
    const lost = once(lease.signal, 'abort');
    const stolen = await others.mutex('a').acquire({ steal: true, reason: 'the host is gone' });
    await lost;
    expect(lease.signal.reason).toBeInstanceOf(LockLostError);
    expect(String(lease.signal.reason.cause)).toContain('the host is gone');
    expect(stolen.fence).toBeGreaterThan(lease.fence);
    expect(await lease.release()).toBe('not-held');
  });
});

describe.concurrent('a waiter', () => {
  it('waits again after its entry was deleted', async () => {
    const prefix = newPrefix();
    const [store, other] = openStores(2, prefix) as [LockStore, LockStore];
    const [holder, waiting] = [mutex('a'), mutex('a')];
    const waiter = collector();
    await store.acquire(holder);
    await other.acquire(waiting, waiter);
    // The entries of the queue, without that of the holder.
    const range = { key: base64(`${prefix}mutex/a/1/`), range_end: base64(`${prefix}mutex/a/10`) };
    const { kvs = [] } = await etcd.control('kv/range', range);
    const waits = kvs.find(({ value }) => Buffer.from(value, 'base64').includes(waiting.owner));
    await etcd.control('kv/deleterange', { key: waits!.key });
    expect(await waiter.next()).toEqual({ type: 'retry' });
    expect(await other.acquire(waiting, waiter)).toMatchObject({ type: 'busy' });
    await store.release(holder);
    expect(await waiter.next()).toMatchObject({ type: 'granted' });
  });

  it('gets a larger fence than a client that stole the lock while it waited', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    const [holder, waiting] = [mutex('a'), mutex('a')];
    const thief = { ...mutex('a'), stealReason: 'the host is gone' };
    const waiter = collector();
    await store.acquire(holder);
    await other.acquire(waiting, waiter);
    const fence = await fenceOf(store.acquire(thief));
    await store.release(thief, fence);
    const event = await waiter.next();
    expect(event.type === 'granted' && event.fence > fence).toBe(true);
  });

  it('is served after the events that it missed were compacted', async () => {
    const prefix = newPrefix();
    const [store] = openStores(1, prefix) as [LockStore];
    await using proxy = await FaultProxy.start(etcd.members[0]!.port);
    const cut = etcdStore(`127.0.0.1:${proxy.port}`, { prefix });
    const [holder, waiting] = [mutex('a'), mutex('a')];
    const waiter = collector();
    await store.acquire(holder);
    await cut.acquire(waiting, waiter);
    await proxy.set({ kind: 'refuse' });
    await store.release(holder);
    await store.acquire(mutex('other'));
    const { header } = await etcd.control('kv/range', { key: 'AA==' });
    await etcd.control('kv/compaction', { revision: header.revision });
    await proxy.set(PASS);
    expect(await waiter.next()).toMatchObject({ type: 'granted' });
    await cut.close();
  });
});

async function watcherCount(): Promise<number> {
  const response = await fetch(`http://${etcd.members[0]!.endpoint}/metrics`);
  return Number(/^etcd_debugging_mvcc_watcher_total (\d+)/m.exec(await response.text())![1]);
}

describe.concurrent('a request whose connection ends during its replies', () => {
  /** After so many bytes of each connection: within the settings, the reads, or the reply to the grant. */
  const CUTS = [20, 60, 100, 140, 180, 220, 300, 400, 500];

  it.each<[string, (store: LockStore, holder: LockRequest) => () => Promise<AcquireResult>]>([
    ['acquires', (store, { name }) => acquireOf(store, mutex(name))],
    ['steals', (store, { name }) => acquireOf(store, { ...mutex(name), stealReason: 'gone' })],
    [
      'adopts',
      (store, holder) => {
        const request = mutex(holder.name);
        return () => store.adopt(request, holder);
      },
    ],
  ])('%s the lock once when it is repeated', async (verb, sender) => {
    const prefix = newPrefix();
    const [other] = openStores(1, prefix) as [LockStore];
    await using proxy = await FaultProxy.start(etcd.members[0]!.port);
    const store = etcdStore(`127.0.0.1:${proxy.port}`, { prefix });
    cleanups.push(() => store.close());
    for (const afterBytes of CUTS) {
      const holder = mutex(`cut ${afterBytes}`);
      if (verb !== 'acquires') await other.acquire(holder);
      const send = sender(store, holder);
      await proxy.set({ kind: 'cut', way: 'replies', afterBytes });
      await send().then(IGNORE, IGNORE);
      await proxy.set(PASS);
      const result = await send();
      expect(result.type).toBe('granted');
      expect(await send()).toEqual(result);
      const { holders, waiters } = await other.inspect(holder);
      expect(holders).toMatchObject([result.type === 'granted' ? { fence: result.fence } : {}]);
      expect(waiters).toEqual([]);
    }
  });
});

const IGNORE = (): void => {};

function acquireOf(store: LockStore, request: LockRequest) {
  return async () => store.acquire(request);
}

describe('waiters of one process', () => {
  it('are served in order, with one watch for all of them', async () => {
    const [store, other] = openStores(2) as [LockStore, LockStore];
    const COUNT = 200;
    await using locks = new Locks({ store });
    const first = await fenceOf(other.acquire(mutex('a')));
    const before = await watcherCount();
    const fences: number[] = [];
    const done = Array.from({ length: COUNT }, () =>
      locks.mutex('a').run(({ fence }) => void fences.push(fence), { wait: '60s' }),
    );
    while ((await other.inspect(mutex('a'))).waiters.length < COUNT) await pause(50);
    expect((await watcherCount()) - before).toBe(1);
    await other.forceRelease(mutex('a'));
    await Promise.all(done);
    expect(fences).toEqual([...fences].sort((one, two) => one - two));
    expect(new Set(fences).size).toBe(COUNT);
    expect(fences[0]).toBeGreaterThan(first);
  });
});

describe('list', () => {
  it('returns locks of all kinds in the order of their names, with exact counts', async () => {
    const [store] = openStores(1) as [LockStore];
    const semaphore = { ...mutex('b'), kind: 'semaphore', slots: 5, permits: 2 } as const;
    await store.acquire(mutex('c/%锁'));
    await store.acquire(semaphore);
    await store.acquire({ ...semaphore, owner: 'second' });
    await store.acquire(mutex('a'));
    for (let count = 0; count < 3; count++) await store.acquire(mutex('a'), collector());
    const all = await store.list!({ maxLocks: 10, maxParties: 2 });
    expect(all.isCut).toBe(false);
    expect(all.locks).toMatchObject([
      { kind: 'mutex', name: 'a', slots: 1, holderCount: 1, waiterCount: 3 },
      { kind: 'semaphore', name: 'b', slots: 5, holderCount: 2, waiterCount: 0 },
      { kind: 'mutex', name: 'c/%锁', slots: 1, holderCount: 1, waiterCount: 0 },
    ]);
    expect(all.locks[0]!.waiters).toHaveLength(2);
    const cut = await store.list!({ maxLocks: 1, maxParties: 2 });
    expect([cut.isCut, cut.locks.length, cut.locks[0]!.name]).toEqual([true, 1, 'a']);
    const named = await store.list!({ name: 'b', maxLocks: 1, maxParties: 1 });
    expect(named.locks).toMatchObject([{ name: 'b', holderCount: 2 }]);
    expect(named.locks[0]!.holders).toHaveLength(1);
  });
});

describe.concurrent('a process', () => {
  const start = (name: string, more = {}): { child: ChildProcess; fence: Promise<number> } => {
    const env = { HOLDFAST_BUILD: BUILD, HOLDFAST_STORES: STORES, ...more };
    const child = fork(join(import.meta.dirname, 'etcd-process.child.js'), {
      env: { ...process.env, ...env, HOLDFAST_ETCD: etcd.endpoints[0], HOLDFAST_LOCK: name },
      execArgv: [],
    });
    cleanups.push(() => child.kill('SIGKILL'));
    return { child, fence: once(child, 'message').then(([{ fence }]) => fence as number) };
  };

  it('that is killed loses its lock to the next one by the end of its lease', async () => {
    const first = start('killed');
    const fence = await first.fence;
    const second = start('killed');
    await using locks = new Locks({ store: etcdStore(etcd.endpoints) });
    while ((await locks.mutex('killed').inspect()).waiters.length === 0) await pause(20);
    first.child.kill('SIGKILL');
    const beganMs = performance.now();
    expect(await second.fence).toBeGreaterThan(fence);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(8000));
    second.child.kill('SIGKILL');
  });

  it('that has released its lock exits by itself, without close()', async () => {
    const { child, fence } = start('exits', { HOLDFAST_RELEASE: '1' });
    const exited = once(child, 'exit');
    await fence;
    expect(await exited).toEqual([0, null]);
  });

  it('that waits or holds stays alive until then', async () => {
    await using locks = new Locks({ store: etcdStore(etcd.endpoints) });
    const lease = await locks.mutex('stays').acquire();
    const { child, fence } = start('stays');
    while ((await locks.mutex('stays').inspect()).waiters.length === 0) await pause(20);
    // Longer than the requests and timers of a process that has begun to wait.
    await pause(1500);
    await lease.release();
    expect(await fence).toBeGreaterThan(lease.fence);
    await pause(1500);
    expect([child.exitCode, (await locks.mutex('stays').inspect()).holders.length]).toEqual([
      null,
      1,
    ]);
    child.kill('SIGKILL');
  });

  it('that is paused for longer than its lease learns that it has lost the lock', async () => {
    const { child, fence } = start('paused');
    await fence;
    suspendProcess(child.pid!);
    await using locks = new Locks({ store: etcdStore(etcd.endpoints) });
    const lease = await locks.mutex('paused').acquire({ wait: '20s' });
    expect(lease.fence).toBeGreaterThan(await fence);
    const lost = once(child, 'message');
    child.kill('SIGCONT');
    expect((await lost)[0]).toEqual({ lost: expect.stringMatching(/unreachable|stolen/) });
    child.kill('SIGKILL');
  });
});

describe.concurrent('a member that starts again', () => {
  it('keeps the locks when it was killed, and has none without its data', async () => {
    const own = await startEtcd(1);
    cleanups.push(() => own.stop());
    const store = etcdStore(own.endpoints, { requestTimeout: '1s' });
    const other = etcdStore(own.endpoints);
    cleanups.push(
      () => store.close(),
      () => other.close(),
    );
    const request = mutex('a');
    const fence = await fenceOf(store.acquire(request));
    const [member] = own.members;
    await member!.kill();
    await expect(store.extend(request)).rejects.toThrow(/ECONNREFUSED/);
    await member!.start();
    await own.leader();
    expect(await store.extend(request)).toBe(true);
    expect(await other.acquire(mutex('a'))).toMatchObject({ type: 'busy' });
    expect((await other.inspect(request)).holders).toMatchObject([{ fence }]);
    const waiter = collector();
    const waiting = mutex('a', 1500);
    await other.acquire(waiting, waiter);
    await member!.kill();
    member!.forgetData();
    await member!.start();
    await own.leader();
    expect(await store.extend(request)).toBe(false);
    expect(await waiter.next()).toEqual({ type: 'retry' });
    expect(await other.acquire(waiting, waiter)).toMatchObject({ type: 'granted' });
  });
});

describe.concurrent('users', () => {
  let own: EtcdCluster;
  beforeAll(async () => {
    own = await startEtcd(1, '--auth-token-ttl', '1');
    const steps: [string, object][] = [
      ['auth/user/add', { name: 'root', password: 'r' }],
      ['auth/user/grant', { user: 'root', role: 'root' }],
      ['auth/user/add', { name: 'locker', password: 'p:w@' }],
      ['auth/role/add', { name: 'locks' }],
      ['auth/user/grant', { user: 'locker', role: 'locks' }],
    ];
    for (const [path, body] of steps) await own.control(path, body);
    const [key, end] = ['locks/', 'locks0'].map(base64);
    const perm = { permType: 'READWRITE', key, range_end: end };
    await own.control('auth/role/grant', { name: 'locks', perm });
    await own.control('auth/enable');
  });
  afterAll(() => own.stop());

  const open = (address: string, options: EtcdStoreOptions): Locks => {
    const locks = new Locks({ store: etcdStore(address, options) });
    cleanups.push(() => locks.close());
    return locks;
  };

  it('take locks with a password, and log in again when the token has expired', async () => {
    const address = `etcd://locker:${encodeURIComponent('p:w@')}@${own.endpoints[0]}`;
    const locks = open(address, { prefix: 'locks/' });
    const lease = await locks.mutex('a').acquire();
    // etcd removes expired tokens once a second.
    await pause(3500);
    await lease.extend();
    expect(await lease.release()).toBe('released');
  });

  it.each([
    [{ user: 'locker', password: 'wrong' }, /check the user and the password/],
    [{ user: 'locker', password: 'p:w@', prefix: 'other/' }, /grant the user readwrite/],
    [{}, /pass \{ user, password \}/],
  ])('get an error that says what to do with %j', async (options, message) => {
    const locks = open(own.endpoints[0]!, { prefix: 'locks/', ...options });
    const error = await locks
      .mutex('a')
      .acquire()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(message);
  });
});

describe.concurrent('TLS', () => {
  it('connects with a private CA and a client certificate, and not without the CA', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-etcd-tls-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const authority = new CertificateAuthority(folder, 'etcd');
    const { certFile, keyFile } = authority.issue();
    const trust = ['--client-cert-auth', '--trusted-ca-file', authority.certFile];
    const files = ['--cert-file', certFile, '--key-file', keyFile];
    const own = await startEtcd(1, ...files, ...trust);
    cleanups.push(() => own.stop());
    const ca = readFileSync(authority.certFile);
    const [cert, key] = [readFileSync(certFile), readFileSync(keyFile)];
    await using locks = new Locks({ store: etcdStore(own.endpoints, { tls: { ca, cert, key } }) });
    expect((await locks.mutex('a').acquire()).fence).toBeGreaterThan(0);
    const store = etcdStore(`etcds://${own.endpoints[0]}`);
    await using untrusting = new Locks({ store });
    await expect(untrusting.mutex('a').acquire({ wait: 500 })).rejects.toThrow(/certificate/);
  });
});

describe('etcdStore', () => {
  it.each<[unknown, unknown, RegExp]>([
    ['', {}, /at least one member/],
    [[], {}, /at least one member/],
    [['a:1', ''], {}, /at least one member/],
    [42, {}, /at least one member/],
    ['redis://a', {}, /'redis:\/\/' is not known/],
    ['etcd://a/locks', {}, /no path/],
    ['etcd://a b', {}, /cannot be read/],
    ['etcd://a:99999', {}, /cannot be read/],
    ['etcd://u:%zz@a', {}, /%25/],
    ['etcd://u:p@a,v:p@b', {}, /different users/],
    ['etcd://a', { tls: {} }, /use etcds:\/\//],
    ['a', { perfix: 'x' }, /does not know 'perfix'/],
    ['a', { prefix: 5 }, /prefix .* string/],
    ['a', { requestTimeout: 'soon' }, /requestTimeout must be a duration/],
  ])('throws a LockArgumentError for %j and %j', (endpoints, options, message) => {
    const open = () => etcdStore(endpoints as string, options as EtcdStoreOptions);
    expect(open).toThrow(LockArgumentError);
    expect(open).toThrow(message);
  });

  it('does not repeat a password in its errors', () => {
    expect(() => etcdStore('etcd://u:secret@a b')).toThrow(/^(?!.*secret)/s);
  });

  it('fails within the request timeout when no member can be reached', async () => {
    await using proxy = await FaultProxy.start(etcd.members[0]!.port);
    await proxy.set({ kind: 'swallow' });
    const store = etcdStore(`127.0.0.1:${proxy.port}`, { requestTimeout: 300 });
    await using locks = new Locks({ store });
    await expect(locks.mutex('a').acquire({ wait: 0 })).rejects.toThrow(LockUnavailableError);
    await expect(locks.mutex('a').acquire({ wait: 500 })).rejects.toThrow(/no answer within/);
  });

  it('uses the next member when the first one refuses connections', async () => {
    await using locks = new Locks({ store: etcdStore(['127.0.0.1:1', etcd.endpoints[0]!]) });
    const name = newPrefix();
    const lease = await locks.mutex(name).acquire({ wait: 0 });
    await expect(locks.mutex(name).acquire({ wait: 50 })).rejects.toThrow(LockTimeoutError);
    await lease.release();
  });

  it('closes more than once, and then fails requests', async () => {
    const [store] = openStores(1) as [LockStore];
    await store.acquire(mutex('a'));
    await Promise.all([store.close(), store.close()]);
    await expect(store.acquire(mutex('b'))).rejects.toThrow('the store was closed');
  });
});
