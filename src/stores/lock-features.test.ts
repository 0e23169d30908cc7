import { describe, expect, it, onTestFinished } from 'vitest';
import { elapse, settle } from '../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { createEngine } from '../engine/index.ts';
import {
  type AcquireOptions,
  DeadlockError,
  type Lease,
  type Lock,
  LockArgumentError,
  LockLostError,
  type LockStore,
  Locks,
  LockTimeoutError,
  memoryStore,
} from '../lock/index.ts';
import { engineRunner } from './redis/engine-runner.ts';
import { RedisStore } from './redis/redis-store.ts';

interface World {
  readonly clock: VirtualClock;
  /** Locks of another process; in memory there is one process only. */
  open(): Locks;
}

const WORLDS: Readonly<Record<string, () => World>> = {
  memory() {
    const clock = virtualClock();
    const locks = closing(clock, memoryStore(clock));
    return { clock, open: () => locks };
  },
  Redis() {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    let count = 0;
    const newStore = (): LockStore =>
      new RedisStore(engineRunner(engine), {
        clock,
        clientId: `client${++count}`,
        requestTimeoutMs: 2000,
      });
    return { clock, open: () => closing(clock, newStore()) };
  },
};

function closing(clock: VirtualClock, store: LockStore): Locks {
  const locks = new Locks({ store, clock });
  onTestFinished(async () => {
    const closed = locks.close();
    await elapse(clock, 1000);
    await closed;
  });
  return locks;
}

const KINDS: Readonly<Record<string, (locks: Locks) => Lock>> = {
  mutex: (locks) => locks.mutex('a'),
  semaphore: (locks) => locks.semaphore('a', 1),
  'write lock': (locks) => locks.readWrite('a').write,
};

const CASES = Object.entries(WORLDS).flatMap(([place, openWorld]) =>
  Object.entries(KINDS).map(([kind, lockOf]) => ({ place, kind, openWorld, lockOf })),
);

describe.each(CASES)('a $kind in $place', ({ openWorld, lockOf }) => {
  describe('steal', () => {
    it('takes the lock from its holder, before a waiter, with a larger fence', async () => {
      const { clock, open } = openWorld();
      const [first, second, third] = [open(), open(), open()].map(lockOf) as [Lock, Lock, Lock];
      const held = await first.acquire();
      const waiting = second.acquire({ wait: '1m' });
      await settle();
      const stolen = await third.acquire({ steal: true, reason: 'the host is gone' });
      expect(stolen.fence).toBeGreaterThan(held.fence);
      expect((await first.inspect()).holders).toMatchObject([{ fence: stolen.fence }]);
      await elapse(clock, 10_001);
      expect(held.signal.reason).toBeInstanceOf(LockLostError);
      expect(held.signal.reason).toMatchObject({ reason: 'stolen' });
      expect(await held.release()).toBe('not-held');
      await stolen.release();
      await elapse(clock, 10);
      expect((await waiting).fence).toBeGreaterThan(stolen.fence);
    });

    it('aborts the signal of a subscribed holder at once, with the reason', async () => {
      const { clock, open } = openWorld();
      const lock = lockOf(open());
      const held = await lock.acquire();
      // A wait opens the subscription of its process.
      const waiting = lock.acquire({ wait: '1s' }).catch(() => {});
      await elapse(clock, 1001);
      await waiting;
      await lockOf(open()).acquire({ steal: true, reason: 'deploy\nnow' });
      await settle();
      expect(held.isHeld).toBe(false);
      expect(String((held.signal.reason as Error).cause)).toContain('stole it: deploy\nnow');
    });

    it('acquires a free lock', async () => {
      const { open } = openWorld();
      const lease = await lockOf(open()).acquire({ steal: true, reason: 'to be sure' });
      expect(lease.isHeld).toBe(true);
    });

    it.each([
      [{ steal: true }, 'steal needs a reason'],
      [{ reason: 'why' }, 'reason is for { steal: true }'],
      [{ steal: 'yes', reason: 'why' }, 'steal must be true or false'],
    ])('refuses %o', async (options, message) => {
      const lock = lockOf(openWorld().open());
      await expect(lock.acquire(options as never)).rejects.toThrow(message);
    });
  });

  describe('contended', () => {
    it('aborts when another client begins to wait', async () => {
      const { open } = openWorld();
      const lease = await lockOf(open()).acquire();
      const { contended } = lease;
      await settle();
      expect(contended.aborted).toBe(false);
      const waiting = lockOf(open()).acquire();
      await settle();
      expect(contended.aborted).toBe(true);
      await lease.release();
      await settle();
      expect((await waiting).contended.aborted).toBe(false);
    });

    it('aborts when a client waits already', async () => {
      const { open } = openWorld();
      const lease = await lockOf(open()).acquire();
      waitFor(lockOf(open()));
      await settle();
      const { contended } = lease;
      await settle();
      expect(contended.aborted).toBe(true);
    });

    it('aborts for a client that begins to wait after three days', async () => {
      const { clock, open } = openWorld();
      const { contended } = await lockOf(open()).acquire({ lease: '1h' });
      await elapse(clock, 3 * 86_400_000, 300);
      expect(contended.aborted).toBe(false);
      waitFor(lockOf(open()));
      await settle();
      expect(contended.aborted).toBe(true);
    });

    it('does not abort for a lease that was released before', async () => {
      const { open } = openWorld();
      const lease = await lockOf(open()).acquire();
      const { contended } = lease;
      await settle();
      await lease.release();
      await lockOf(open()).acquire();
      waitFor(lockOf(open()));
      await settle();
      expect(contended.aborted).toBe(false);
    });
  });

  describe('keepFor', () => {
    it('keeps the lock taken after the release, counted from the grant', async () => {
      const { clock, open } = openWorld();
      const lock = lockOf(open());
      const lease = await lock.acquire({ keepFor: '5m' });
      await elapse(clock, 60_000);
      expect(await lease.release()).toBe('kept');
      expect(lease.isHeld).toBe(false);
      await elapse(clock, 239_000);
      expect(await lockOf(open()).tryAcquire()).toBe(null);
      await elapse(clock, 2000);
      expect(await lockOf(open()).tryAcquire()).not.toBe(null);
    });

    it('runs a job once when five processes start it one after the other', async () => {
      const { clock, open } = openWorld();
      let runs = 0;
      for (let process = 0; process < 5; process++) {
        await lockOf(open())
          .run(() => ++runs, { wait: 0, keepFor: '1m' })
          .catch((error: unknown) => expect(error).toBeInstanceOf(LockTimeoutError));
        await elapse(clock, 1000);
      }
      expect(runs).toBe(1);
    });

    it('lets a waiter have the lock at its end, also if that is less than a second', async () => {
      const { clock, open } = openWorld();
      const lease = await lockOf(open()).acquire({ keepFor: '500ms' });
      const waiting = lockOf(open()).acquire();
      const grantedMs = waiting.then(() => clock.monotonicMs());
      await elapse(clock, 100);
      expect(await lease.release()).toBe('kept');
      await elapse(clock, 600, 60);
      expect(await grantedMs).toBeGreaterThanOrEqual(500);
      expect(await grantedMs).toBeLessThan(540);
    });

    it('releases the lock if the callback took longer', async () => {
      const { clock, open } = openWorld();
      const lease = await lockOf(open()).acquire({ keepFor: '1s' });
      await elapse(clock, 1500);
      expect(await lease.release()).toBe('released');
      expect(await lockOf(open()).tryAcquire()).not.toBe(null);
    });
  });

  describe('extend', () => {
    it('makes the lease longer, also after later renewals', async () => {
      const { clock, open } = openWorld();
      const lease = await lockOf(open()).acquire({ lease: '1s' });
      await lease.extend('1h');
      expect(lease.expiresInMs).toBeGreaterThan(3_500_000);
      await elapse(clock, 1_300_000);
      expect(lease.expiresInMs).toBeGreaterThan(3_400_000);
      const [holder] = (await lockOf(open()).inspect()).holders;
      expect(holder!.leftMs).toBeGreaterThan(3_400_000);
    });

    it('counts a renewal under way with the lease that it had', async () => {
      const { clock, open } = openWorld();
      const lease = await lockOf(open()).acquire({ lease: '3s' });
      await elapse(clock, 900);
      const [first, second] = [lease.extend('10m'), lease.extend()];
      await elapse(clock, 200);
      await Promise.all([first, second]);
      const shown = (await lockOf(open()).inspect()).holders[0]!;
      expect(lease.expiresInMs).toBeLessThanOrEqual(shown.leftMs);
      expect(shown.leftMs).toBeGreaterThan(590_000);
    });

    it('never makes it shorter', async () => {
      const { open } = openWorld();
      const lease = await lockOf(open()).acquire({ lease: '1m' });
      await lease.extend('1s');
      expect(lease.expiresInMs).toBeGreaterThan(50_000);
      await expect(lease.extend('soon' as never)).rejects.toThrow('lease must be a duration');
    });

    it('is not needed by adopt(), which accepts another lease', async () => {
      const { open } = openWorld();
      const lease = await lockOf(open()).acquire({ lease: '1m' });
      const adopted = await open().adopt(lease.transfer(), { lease: '2h' });
      expect(adopted.expiresInMs).toBeGreaterThan(7_000_000);
    });
  });

  describe('a wait timeout', () => {
    it('names the holder and the place in the queue', async () => {
      const { clock, open } = openWorld();
      await lockOf(open()).acquire({ label: 'nightly' });
      waitFor(lockOf(open()));
      await settle();
      const waiting = expectRejection(lockOf(open()).acquire({ wait: '2s' }));
      await elapse(clock, 2001);
      const error = await waiting;
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ place: 2, holders: [{ label: 'nightly', pid: process.pid }] });
      expect(String(error)).toMatch(
        /stayed busy for 2\d{3} ms: held by .+ pid \d+ \(nightly\) for 2/,
      );
      expect(String(error)).toContain('this request was number 2 in the queue');
    });

    it('names the holder to a caller that does not wait', async () => {
      const { open } = openWorld();
      await lockOf(open()).acquire({ label: 'nightly' });
      const error = await expectRejection(lockOf(open()).acquire({ wait: 0 }));
      expect(error).toMatchObject({ place: undefined, holders: [{ label: 'nightly' }] });
    });

    it('has the frames of its caller', async () => {
      const { clock, open } = openWorld();
      await lockOf(open()).acquire();
      async function theCaller(): Promise<void> {
        await lockOf(open()).acquire({ wait: '1s' });
      }
      const waiting = expectRejection(theCaller());
      await elapse(clock, 1001);
      expect((await waiting).stack).toContain('theCaller');
    });
  });
});

describe.each(Object.entries(WORLDS))('a semaphore in %s', (_place, openWorld) => {
  it('refuses another number of permits while it is in use', async () => {
    const { open } = openWorld();
    const lease = await open().semaphore('s', 5).acquire();
    const error = await expectRejection(open().semaphore('s', 8).acquire());
    expect(error).toBeInstanceOf(LockArgumentError);
    expect(String(error)).toContain("'s' is in use with 5 permits");
    expect(String(error)).toContain('one with 8');
    await expect(open().semaphore('s', 8).tryAcquire()).rejects.toThrow(LockArgumentError);
    await lease.release();
    expect(await open().semaphore('s', 8, { permits: 8 }).tryAcquire()).not.toBe(null);
  });

  it('refuses it while a client waits, and accepts it when the last lease has expired', async () => {
    const { clock, open } = openWorld();
    await open().semaphore('s', 1).acquire({ renew: false, lease: '2s' });
    const waiting = open().semaphore('s', 1).acquire({ renew: false, lease: '2s' });
    await elapse(clock, 1000);
    await expect(open().semaphore('s', 2).tryAcquire()).rejects.toThrow('with 1 permits');
    await elapse(clock, 2000);
    await waiting;
    await elapse(clock, 3000);
    expect(await open().semaphore('s', 2).tryAcquire()).not.toBe(null);
  });
});

describe.each(Object.entries(WORLDS))('shared locks in %s', (_place, openWorld) => {
  it('hand permits that a steal leaves free to waiters at once', async () => {
    const { open } = openWorld();
    const semaphores = Array.from({ length: 6 }, () => open().semaphore('s', 3));
    for (const each of semaphores.slice(0, 3)) await each.acquire();
    const waiting = semaphores.slice(3, 5).map((each) => each.acquire());
    await settle();
    await semaphores[5]!.acquire({ steal: true, reason: 'all are gone' });
    await settle();
    const leases = await Promise.all(waiting);
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
  });

  it('let waiters have kept permits at their ends, which are less than a second apart', async () => {
    const { clock, open } = openWorld();
    const take = (options: AcquireOptions): Promise<Lease> =>
      open().semaphore('a', 2).acquire(options);
    const holders = [await take({ keepFor: 400 }), await take({ keepFor: 600 })];
    const grantedMs = [1, 2].map(async () => {
      await take({ wait: '10s' });
      return clock.monotonicMs();
    });
    await elapse(clock, 100);
    for (const holder of holders) expect(await holder.release()).toBe('kept');
    await elapse(clock, 1000, 100);
    const [first, second] = await Promise.all(grantedMs);
    expect(first).toBeLessThan(430);
    expect(second).toBeGreaterThanOrEqual(600);
    expect(second).toBeLessThan(630);
  });

  it('can be stolen with another number of permits', async () => {
    const { open } = openWorld();
    await open().semaphore('s', 3).acquire();
    const stolen = await open().semaphore('s', 5).acquire({ steal: true, reason: 'config' });
    expect(stolen.isHeld).toBe(true);
    expect(await open().semaphore('s', 5, { permits: 4 }).tryAcquire()).not.toBe(null);
  });

  it('give each of several waiters that time out together its own place', async () => {
    const { clock, open } = openWorld();
    const locks = open();
    await locks.mutex('a').acquire();
    const waits = [1, 2, 3].map(() => expectRejection(locks.mutex('a').acquire({ wait: '1s' })));
    await elapse(clock, 1100);
    const errors = await Promise.all(waits);
    expect(errors.map((error) => (error as LockTimeoutError).place)).toEqual([1, 2, 3]);
  });
});

describe.each(Object.entries(WORLDS))('all() in %s', (_place, openWorld) => {
  it('is contended when one of its locks is', async () => {
    const { open } = openWorld();
    const lease = await open().all(['a', 'b']).acquire();
    const { contended } = lease;
    await settle();
    waitFor(open().mutex('b'));
    await settle();
    expect(contended.aborted).toBe(true);
  });

  it('counts keepFor from when the last lock was granted', async () => {
    const { clock, open } = openWorld();
    await open().mutex('b').acquire({ renew: false, lease: '8s' });
    const acquiring = open().all(['a', 'b']).acquire({ keepFor: '5s' });
    await elapse(clock, 9100);
    const lease = await acquiring;
    expect(await lease.release()).toBe('kept');
    await elapse(clock, 4000);
    expect(await open().mutex('a').tryAcquire()).toBe(null);
    expect(await open().mutex('b').tryAcquire()).toBe(null);
  });

  it('keeps all locks with keepFor, and refuses to steal', async () => {
    const { open } = openWorld();
    const lease = await open().all(['a', 'b']).acquire({ keepFor: '1m' });
    expect(await lease.release()).toBe('kept');
    const refused = open().all(['a', 'b']).acquire({ steal: true, reason: 'why' });
    await expect(refused).rejects.toThrow('all() cannot steal');
    const error = await expectRejection(open().all(['a', 'b']).acquire({ wait: 0 }));
    expect(error).toMatchObject({ code: 'timeout', holders: [{}, {}] });
  });
});

describe.each(Object.entries(WORLDS))('errors in %s', (_place, openWorld) => {
  it('of a deadlock have the frames of the caller', async () => {
    const { open } = openWorld();
    const lock = open().mutex('a');
    async function theCaller(): Promise<void> {
      await lock.run(() => lock.acquire());
    }
    const error = await expectRejection(theCaller());
    expect(error).toBeInstanceOf(DeadlockError);
    expect(error.stack).toContain('theCaller');
  });

  it('of a lost lease have the frames of the call that reports it', async () => {
    const { clock, open } = openWorld();
    const lease = await open().mutex('a').acquire({ renew: false, lease: '1s' });
    await elapse(clock, 1001);
    const theCaller = (): void => lease.assertHeld();
    expect(theCaller).toThrow(LockLostError);
    try {
      theCaller();
    } catch (error) {
      expect((error as Error).stack).toContain('theCaller');
    }
  });
});

/** Waits until the test ends. */
function waitFor(lock: Lock): void {
  lock.acquire({ wait: Number.POSITIVE_INFINITY }).catch(() => {});
}

async function expectRejection(promise: Promise<unknown>): Promise<Error> {
  const result = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(result).toBeInstanceOf(Error);
  return result as Error;
}
