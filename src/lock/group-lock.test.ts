import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { elapse, settle } from '../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { createEngine, type Engine } from '../engine/index.ts';
import { engineRunner } from '../stores/redis/engine-runner.ts';
import { RedisStore } from '../stores/redis/redis-store.ts';
import {
  LockAbortedError,
  LockArgumentError,
  LockLostError,
  type LockStore,
  Locks,
  LockTimeoutError,
  LockUnavailableError,
  memoryStore,
  NotHeldError,
} from './index.ts';

let clock: VirtualClock;
let engine: Engine;
let clients = 0;

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
});

function scriptStore(slotOf?: (key: string) => number): LockStore {
  const runner = { ...engineRunner(engine), ...(slotOf && { slotOf }) };
  const clientId = `client${++clients}`;
  return new RedisStore(runner, { clock, clientId, requestTimeoutMs: 5000 });
}

const STORES = {
  memory: () => memoryStore(clock),
  scripts: () => scriptStore(),
  'scripts in a cluster': () => scriptStore((key) => key.charCodeAt(6)),
};

describe.each(Object.entries(STORES))('all(), in %s', (_name, makeStore) => {
  let store: LockStore;
  let locks: Locks;

  beforeEach(() => {
    store = makeStore();
    locks = new Locks({ store, clock, random: seededRandom(1) });
  });
  afterEach(() => locks.close());

  it('acquires and releases all locks', async () => {
    const lease = await locks.all(['b', 'a', 'b']).acquire();
    expect(lease.name).toBe('a,b');
    expect(await locks.mutex('a').tryAcquire()).toBe(null);
    expect(await locks.mutex('b').tryAcquire()).toBe(null);
    expect(await lease.release()).toBe('released');
    expect(lease.isHeld).toBe(false);
    expect((await locks.all(['a', 'b']).inspect()).holders).toEqual([]);
  });

  it('has one fence, above all earlier ones of each lock and below all later ones', async () => {
    const before = await locks.mutex('b').acquire();
    await before.release();
    const lease = await locks.all(['a', 'b', 'c']).acquire();
    expect(lease.fence).toBeGreaterThan(before.fence);
    await lease.release();
    for (const name of ['a', 'b', 'c']) {
      const after = await locks.mutex(name).acquire();
      expect(after.fence).toBeGreaterThan(lease.fence);
      await after.release();
    }
  });

  it('acquires none by tryAcquire() if one is busy', async () => {
    const busy = await locks.mutex('b').acquire();
    expect(await locks.all(['a', 'b', 'c']).tryAcquire()).toBe(null);
    await settle();
    for (const name of ['a', 'c']) {
      const lease = await locks.mutex(name).tryAcquire();
      expect(lease?.isHeld).toBe(true);
      await lease?.release();
    }
    await busy.release();
  });

  it('waits for locks in one order, so that requests for overlapping sets do not deadlock', async () => {
    const first = await locks.all(['a', 'b']).acquire();
    const turns: string[] = [];
    const tasks = [
      locks.all(['b', 'a', 'c']).run(() => turns.push('abc')),
      locks.all(['c', 'b']).run(() => turns.push('bc')),
      locks.all(['c', 'a']).run(() => turns.push('ac')),
    ];
    await settle();
    await first.release();
    await Promise.all(tasks);
    expect(turns.sort()).toEqual(['abc', 'ac', 'bc']);
  });

  it('releases the locks it has if one stays busy', async () => {
    const busy = await locks.mutex('b').acquire({ lease: '10m' });
    const waiting = locks.all(['a', 'b']).acquire({ wait: '2s' });
    const failure = expect(waiting).rejects.toThrow(LockTimeoutError);
    await elapse(clock, 2500);
    await failure;
    await settle();
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
    expect((await locks.mutex('b').inspect()).waiters).toEqual([]);
    await busy.release();
  });

  it('releases the locks it has when the signal aborts', async () => {
    const busy = await locks.mutex('b').acquire();
    const controller = new AbortController();
    const waiting = locks.all(['a', 'b']).acquire({ signal: controller.signal });
    const failure = expect(waiting).rejects.toThrow(LockAbortedError);
    await settle();
    controller.abort();
    await failure;
    await settle();
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
    await busy.release();
  });

  it('loses the lease when one lock is lost', async () => {
    const lease = await locks.all(['a', 'b']).acquire({ lease: '3s' });
    const { signal } = lease;
    await locks.mutex('b').forceRelease();
    await elapse(clock, 1100);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(() => lease.assertHeld()).toThrow(LockLostError);
    expect(await lease.release()).toBe('not-held');
  });

  it('renews all locks while they are held', async () => {
    const lease = await locks.all(['a', 'b']).acquire({ lease: '3s' });
    await elapse(clock, 10_000);
    expect(lease.isHeld).toBe(true);
    await lease.extend();
    expect(lease.expiresInMs).toBeGreaterThan(2000);
  });

  it('forceRelease() returns the holders of all locks', async () => {
    await locks.all(['a', 'b']).acquire();
    expect(await locks.all(['a', 'b']).forceRelease()).toBe(2);
  });

  it('transfers the lease to another process once', async () => {
    const lease = await locks.all(['a', 'b']).acquire();
    const text = lease.transfer();
    expect(lease.isHeld).toBe(false);
    expect(await lease.release()).toBe('not-held');
    const adopted = await locks.adopt(text);
    expect(adopted.name).toBe('a,b');
    expect(adopted.fence).toBeGreaterThan(lease.fence);
    await expect(locks.adopt(text)).rejects.toThrow(NotHeldError);
    expect(adopted.isHeld).toBe(true);
    expect(await adopted.release()).toBe('released');
  });

  it('rejects with LockUnavailableError if the store cannot be reached', async () => {
    const refuse = (): Promise<never> => Promise.reject(new Error('connection refused'));
    store.acquireAll = refuse;
    store.acquire = refuse;
    await expect(locks.all(['a', 'b']).tryAcquire()).rejects.toThrow(LockUnavailableError);
    const waiting = locks.all(['a', 'b']).acquire({ wait: '1s' });
    const failure = expect(waiting).rejects.toThrow(/connection refused/);
    await elapse(clock, 2000);
    await failure;
  });

  it.each([
    ['wait timeout', { wait: '1s' }, LockUnavailableError],
    ['signal', { wait: '60s', signal: true }, LockAbortedError],
  ] as const)(
    'rejects after the %s when the store does not reply, and releases the locks after a late reply',
    async (_name, { wait, ...given }, failure) => {
      const acquireAll = store.acquireAll.bind(store);
      let reply = (): void => {};
      store.acquireAll = async (...call) => {
        await new Promise<void>((resolve) => {
          reply = resolve;
        });
        return acquireAll(...call);
      };
      const abort = new AbortController();
      const signal = 'signal' in given ? { signal: abort.signal } : {};
      let isRejected = false;
      const failed = expect(locks.all(['a', 'b']).acquire({ wait, ...signal })).rejects.toThrow(
        failure,
      );
      void failed.then(() => {
        isRejected = true;
      });
      await elapse(clock, 1000);
      abort.abort();
      await settle();
      expect(isRejected).toBe(true);
      await failed;
      reply();
      await settle();
      expect((await locks.all(['a', 'b']).inspect()).holders).toEqual([]);
    },
  );

  it.each([
    ['not to be renewed', { lease: '1s', renew: false }],
    ['not to be held for long', { lease: '30s', maxHold: '1s' }],
  ] as const)(
    'keeps the first lock while it waits for the last, with options that say %s',
    async (_name, options) => {
      const last = await locks.mutex('b').acquire();
      const waiting = locks.all(['a', 'b']).acquire({ ...options, wait: '60s' });
      await elapse(clock, 5000);
      expect(await locks.mutex('a').tryAcquire()).toBe(null);
      await last.release();
      const lease = await waiting;
      await elapse(clock, 900);
      expect(lease.isHeld).toBe(true);
      await elapse(clock, 200);
      expect(lease.isHeld).toBe(false);
      expect(await locks.all(['a', 'b']).tryAcquire()).not.toBe(null);
    },
  );

  it.each([
    ['wait timeout', { wait: '2s' }, true],
    ['wait timeout', { wait: '2s' }, false],
    ['signal', { wait: '60s' }, true],
    ['signal', { wait: '60s' }, false],
  ] as const)(
    'rejects after the %s when the store stops replying after the last grant (%o, renew: %s)',
    async (_name, { wait }, renew) => {
      const abort = new AbortController();
      const last = await locks.mutex('b').acquire();
      let isRejected = false;
      const waiting = locks.all(['a', 'b']).acquire({ wait, renew, signal: abort.signal });
      const failed = expect(waiting.finally(() => (isRejected = true))).rejects.toThrow();
      await elapse(clock, 1000);
      const { extend, acquireAll } = store;
      let fail = (_error: Error): void => {};
      const silence = new Promise<never>((_resolve, reject) => {
        fail = reject;
      });
      if (renew) store.acquireAll = () => silence;
      else store.extend = () => silence;
      await last.release();
      await elapse(clock, 1000);
      abort.abort();
      await settle();
      const wasRejected = isRejected;
      Object.assign(store, { extend, acquireAll });
      fail(new Error('no reply'));
      expect(wasRejected).toBe(true);
      await failed;
      await settle();
      expect((await locks.all(['a', 'b']).inspect()).holders).toEqual([]);
    },
  );

  it('acquires all locks again if one was lost during the wait for the others', async () => {
    const last = await locks.mutex('b').acquire();
    const waiting = locks.all(['a', 'b']).acquire({ wait: '60s' });
    await settle();
    await locks.mutex('a').forceRelease();
    await elapse(clock, 15_000);
    await last.release();
    const lease = await waiting;
    expect(lease.isHeld).toBe(true);
    expect((await locks.all(['a', 'b']).inspect()).holders).toHaveLength(2);
    expect(await lease.release()).toBe('released');
    expect((await locks.all(['a', 'b']).inspect()).holders).toEqual([]);
  });

  it('times out if one was lost during the wait for the others, and is held by another client', async () => {
    const last = await locks.mutex('b').acquire();
    const failed = expect(locks.all(['a', 'b']).acquire({ wait: '20s' })).rejects.toThrow(
      LockTimeoutError,
    );
    await settle();
    await locks.mutex('a').forceRelease();
    await locks.mutex('a').acquire({ wait: 0 });
    await elapse(clock, 15_000);
    await last.release();
    await elapse(clock, 10_000);
    await failed;
    expect((await locks.mutex('b').inspect()).holders).toEqual([]);
  });

  it('acquires all locks again if the loss of one is reported while its fence is raised', async () => {
    const { extend } = store;
    let reply = (): void => {};
    const late = new Promise<void>((resolve) => {
      reply = resolve;
    });
    const last = await locks.mutex('b').acquire();
    const waiting = locks.all(['a', 'b']).acquire({ wait: '60s' });
    await settle();
    await locks.mutex('a').forceRelease();
    store.extend = async (...call) => {
      const isOurs = await extend.apply(store, call);
      await late;
      return isOurs;
    };
    const acquireAll = store.acquireAll.bind(store);
    store.acquireAll = async (...call) => {
      const raised = await acquireAll(...call);
      reply();
      await settle();
      return raised;
    };
    await elapse(clock, 11_000);
    await last.release();
    const lease = await waiting;
    expect(lease.isHeld).toBe(true);
    await lease.release();
    expect((await locks.all(['a', 'b']).inspect()).holders).toEqual([]);
  });

  it('throws without names, with an empty name and with reentrant: true', async () => {
    expect(() => locks.all([])).toThrow(LockArgumentError);
    expect(() => locks.all(['a', ''])).toThrow(/needs a name/);
    await expect(locks.all(['a']).acquire({ reentrant: true })).rejects.toThrow(LockArgumentError);
  });

  it('adopt() takes over a lease of any kind', async () => {
    const { write } = locks.readWrite('book');
    for (const lock of [locks.mutex('m'), write, locks.semaphore('s', 5, { permits: 3 })]) {
      const lease = await lock.acquire({ label: 'giver' });
      const adopted = await locks.adopt(lease.transfer(), { label: 'taker' });
      expect(adopted.fence).toBeGreaterThan(lease.fence);
      const { holders } = await lock.inspect();
      expect(holders).toMatchObject([{ label: 'taker' }]);
      expect(await adopted.release()).toBe('released');
      expect((await lock.inspect()).holders).toEqual([]);
    }
  });

  it('adopt() rejects after close(), and releases the lease if close() is called before the reply', async () => {
    const text = (await locks.mutex('a').acquire()).transfer();
    const adopt = store.adopt.bind(store);
    let reply = (): void => {};
    store.adopt = async (...call) => {
      const granted = await adopt(...call);
      await new Promise<void>((resolve) => {
        reply = resolve;
      });
      return granted;
    };
    const released = vi.spyOn(store, 'release');
    const adopting = expect(locks.adopt(text)).rejects.toThrow(LockAbortedError);
    await elapse(clock, 0);
    const closed = locks.close();
    reply();
    await adopting;
    await elapse(clock, 500);
    await closed;
    expect(released).toHaveBeenCalledOnce();
    await expect(locks.adopt(text)).rejects.toThrow(LockAbortedError);
  });

  it('adopt() rejects after the end of the lease, and for a text that transfer() did not return', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    const text = lease.transfer();
    await elapse(clock, 1100);
    await expect(locks.adopt(text)).rejects.toThrow(NotHeldError);
    const nameless = Buffer.from('[["mutex","",1,1,1000,"me",{}]]').toString('base64url');
    const nothing = Buffer.from('[]').toString('base64url');
    const wrongs = [
      '',
      'x',
      'holdfast1.',
      `holdfast1.${nothing}`,
      `holdfast1.${nameless}`,
      text.slice(0, -4),
    ];
    for (const wrong of wrongs) {
      await expect(locks.adopt(wrong)).rejects.toThrow(/lease.transfer\(\)/);
    }
  });
});
