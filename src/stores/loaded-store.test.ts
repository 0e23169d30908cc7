import { describe, expect, it } from 'vitest';
import { gate, settle } from '../../test/virtual-time.ts';
import { virtualClock } from '../clock/index.ts';
import {
  LockArgumentError,
  type LockStore,
  Locks,
  LockUnavailableError,
  memoryStore,
} from '../lock/index.ts';
import { LoadedStore } from './loaded-store.ts';
import { findStoreUrl } from './store-urls.ts';

/** A store in memory that is loaded when the gate opens, and records its calls. */
function scene(changes: Partial<LockStore> = {}) {
  const clock = virtualClock();
  const { opened, open } = gate();
  let loads = 0;
  const calls: string[] = [];
  const inner = memoryStore(clock);
  const close = async (): Promise<void> => {
    calls.push('close');
    await inner.close();
  };
  const made = Object.assign(Object.create(inner) as LockStore, { close }, changes);
  const store = new LoadedStore(async () => {
    loads++;
    await opened;
    return new Proxy(made, { get: (target, name) => bound(inner, target, name) });
  }, 'client');
  return { clock, store, open, calls, loads: () => loads, locks: new Locks({ store, clock }) };
}

/** Methods of the store in memory use its private fields, so that they are bound to it. */
function bound(inner: LockStore, target: LockStore, name: string | symbol): unknown {
  const own = Object.hasOwn(target, name) ? target : inner;
  const value: unknown = Reflect.get(own, name, own);
  return typeof value === 'function' && own === inner ? value.bind(inner) : value;
}

describe('LoadedStore', () => {
  it('loads the store once, with the first request, and sends the requests to it', async () => {
    const { locks, open, loads } = scene();
    expect(loads()).toBe(0);
    const [one, other] = [locks.mutex('a').acquire(), locks.mutex('b').acquire()];
    await settle();
    expect(loads()).toBe(1);
    open();
    const leases = [await one, await other];
    expect(leases.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    expect(await locks.mutex('a').tryAcquire()).toBe(null);
    expect((await locks.mutex('a').inspect()).holders).toHaveLength(1);
    await leases[0]!.extend();
    expect(await leases[0]!.release()).toBe('released');
    expect(await locks.mutex('b').forceRelease()).toBe(1);
    expect(loads()).toBe(1);
  });

  it('passes on losses to listeners from before and after the load', async () => {
    const { locks, open, store } = scene();
    const owners: (string | undefined)[] = [];
    store.onLost((_, owner) => owners.push(owner));
    open();
    const lease = await locks.mutex('a').acquire();
    store.onLost((_, owner) => owners.push(owner));
    await locks.mutex('a').acquire({ steal: true, reason: 'test' });
    await settle();
    expect(lease.isHeld).toBe(false);
    expect(owners).toHaveLength(2);
    expect(new Set(owners).size).toBe(1);
  });

  it('notifies a holder that another client waits', async () => {
    const { locks, open } = scene();
    open();
    const lease = await locks.mutex('a').acquire();
    const { contended } = lease;
    void locks
      .mutex('a')
      .acquire()
      .catch(() => {});
    await settle();
    expect(contended.aborted).toBe(true);
  });

  it('rejects with the reason if the store cannot be loaded', async () => {
    const clock = virtualClock();
    const failure = Object.assign(new Error('no such package'), { isFinal: true });
    const store = new LoadedStore(() => Promise.reject(failure), 'client', { hasFences: false });
    const locks = new Locks({ store, clock });
    const error = await locks
      .mutex('a')
      .acquire()
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error.message).toContain('refused it: no such package');
    await store.connected;
    await locks.close();
  });

  it('does not load a store that was closed before', async () => {
    const { store, loads } = scene();
    await store.close();
    await expect(store.inspect({ kind: 'mutex', name: 'a', slots: 1 })).rejects.toThrow(
      'the store was closed',
    );
    expect(loads()).toBe(0);
  });

  it('closes a store that is being loaded, once', async () => {
    const { store, open, calls } = scene();
    const pending = store.inspect({ kind: 'mutex', name: 'a', slots: 1 });
    const closed = [store.close(), store.close()];
    open();
    await Promise.all([...closed, pending]);
    expect(calls).toEqual(['close']);
  });
});

describe('findStoreUrl', () => {
  it('finds the store by the scheme, in any case, and shows no password', () => {
    const found = findStoreUrl(' MEMCACHED://localhost:11211 ')!;
    expect(found).toMatchObject({ scheme: 'memcached', isMutexOnly: true, options: ['prefix'] });
    expect(found.open({}).hasFences).toBe(false);
  });

  it.each(['redis://localhost', 'unix:/a', 'localhost', 'constructor://x', '__proto__://x', ''])(
    'returns undefined for %s',
    (url) => {
      expect(findStoreUrl(url)).toBe(undefined);
    },
  );

  it('throws for a URL that is wrong after the scheme', () => {
    expect(() => findStoreUrl('memcached://user:secret@host')).toThrow(LockArgumentError);
    expect(() => findStoreUrl('memcached://user:secret@host')).not.toThrow(/secret/);
  });
});

it('has the owners of the quorum at its address, which sends messages to the client of an owner', async () => {
  const url = findStoreUrl('redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3')!;
  const loaded = await url.load({ clientId: 'x' });
  expect(loaded.ownerPrefix).toBe('x.');
  expect(url.open({}).ownerPrefix).toMatch(/^[\w-]{16}\.$/);
  await loaded.close();
});
