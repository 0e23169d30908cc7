import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, settle } from '../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { createEngine } from '../engine/index.ts';
import { engineRunner } from '../stores/redis/engine-runner.ts';
import { RedisStore } from '../stores/redis/redis-store.ts';
import { DeadlockError, type Lease, Locks, LockTimeoutError, memoryStore } from './index.ts';

let clock: VirtualClock;
let locks: Locks;

beforeEach(() => {
  clock = virtualClock();
  locks = new Locks({ store: memoryStore(clock), clock, random: seededRandom(1) });
});

afterEach(async () => {
  await locks.close();
  expect(clock.pendingTimers).toBe(0);
});

describe('a request inside a callback of run() that holds the lock', () => {
  it('rejects with DeadlockError at once instead of waiting for itself', async () => {
    const lock = locks.mutex('a');
    await lock.run(async () => {
      await expect(lock.acquire()).rejects.toThrow(DeadlockError);
      await expect(lock.run(() => 0)).rejects.toThrow(
        /the callback of run\(\) that requests it holds it/,
      );
      expect(await lock.tryAcquire()).toBe(null);
    });
    expect((await lock.inspect()).waiters).toEqual([]);
  });

  it('shares the lease with reentrant: true, at any depth', async () => {
    const lock = locks.mutex('a');
    const fences: number[] = [];
    await lock.run(async (outer) => {
      await lock.run(
        async (inner) => {
          await lock.run((innermost) => fences.push(innermost.fence), { reentrant: true });
          fences.push(inner.fence);
          inner.assertHeld();
        },
        { reentrant: true },
      );
      expect(outer.isHeld).toBe(true);
      fences.push(outer.fence);
    });
    expect(new Set(fences).size).toBe(1);
    expect((await lock.inspect()).holders).toEqual([]);
  });

  it('shares the lease through acquire(), and release() ends only its turn', async () => {
    const lock = locks.mutex('a');
    await lock.run(async (outer) => {
      const inner = await lock.acquire({ reentrant: true });
      expect(inner.name).toBe('a');
      expect(await inner.release()).toBe('released');
      expect(inner.isHeld).toBe(false);
      expect(outer.isHeld).toBe(true);
      expect((await lock.inspect()).holders).toHaveLength(1);
    });
  });

  it('takes turns with other reentrant requests under Promise.all', async () => {
    const lock = locks.mutex('a');
    let inside = 0;
    let max = 0;
    const order: number[] = [];
    const sibling = (number: number) => async (): Promise<void> => {
      max = Math.max(max, ++inside);
      await settle();
      order.push(number);
      inside--;
    };
    await lock.run(async () => {
      await Promise.all(
        [1, 2, 3, 4].map((number) => lock.run(sibling(number), { reentrant: true })),
      );
    });
    expect(max).toBe(1);
    expect(order).toEqual([1, 2, 3, 4]);
  });

  it('does not share the lease with a request outside of the callback', async () => {
    const lock = locks.mutex('a');
    const held = gate();
    const running = lock.run(() => held.opened);
    const outside = lock.acquire({ reentrant: true });
    await settle();
    expect((await lock.inspect()).waiters).toHaveLength(1);
    held.open();
    await running;
    expect((await outside).isHeld).toBe(true);
  });

  it('has a reentrant lease that ends with the outer lease', async () => {
    const lock = locks.mutex('a');
    await expect(
      lock.run(async (outer) => {
        const inner = await lock.acquire({ reentrant: true });
        await outer.release();
        expect(inner.isHeld).toBe(false);
        expect(() => inner.assertHeld()).toThrow(/not held/);
        expect(() => inner.transfer()).toThrow(/shared with the callback around it/);
      }),
    ).rejects.toThrow(/not held/);
  });

  it('is granted after the callback released its lease', async () => {
    const lock = locks.mutex('a');
    const run = lock.run(async (outer) => {
      await outer.release();
      const again = await lock.acquire();
      expect(again.fence).toBeGreaterThan(outer.fence);
      await again.release();
    });
    await expect(run).rejects.toThrow(/not held/);
  });

  it('waits without an error after the callback released its lease and another holder took the lock', async () => {
    const lock = locks.mutex('a');
    const run = lock.run(async (outer) => {
      const other = lock.acquire();
      await expect(other).rejects.toThrow(DeadlockError);
      await outer.release();
      const taken = await lock.acquire();
      const waiting = lock.acquire();
      await settle();
      await taken.release();
      await (await waiting).release();
    });
    await expect(run).rejects.toThrow(/not held/);
  });

  it('rejects an upgrade from read to write, and grants a reentrant read to a writer', async () => {
    const { read, write } = locks.readWrite('book');
    await read.run(async () => {
      await expect(write.acquire()).rejects.toThrow(DeadlockError);
      await expect(write.acquire({ reentrant: true })).rejects.toThrow(/that requests to write/);
    });
    await write.run(async () => {
      await read.run(() => {}, { reentrant: true });
      await expect(read.acquire()).rejects.toThrow(DeadlockError);
    });
  });

  it('rejects with DeadlockError behind a writer that waits for the callback', async () => {
    const { read, write } = locks.readWrite('book');
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const reading = read.run(async () => {
      await read.run(() => {});
      await begun;
      await expect(read.acquire()).rejects.toThrow(/a request in front of it/);
      await read.run(() => {}, { reentrant: true });
    });
    await read.run(() => {});
    const writing = write.run(() => {});
    begin();
    await reading;
    await writing;
  });

  it('waits behind a writer that is rejected at the same time', async () => {
    const engine = createEngine({ clock, random: seededRandom(1) });
    const store = new RedisStore(engineRunner(engine), {
      clock,
      clientId: 'client',
      requestTimeoutMs: 5000,
    });
    const others = new Locks({ store, clock, random: seededRandom(2) });
    const { read, write } = others.readWrite('book');
    // The first wait opens the subscription. Later requests enter the queue at once.
    await Promise.all([others.mutex('a').run(settle), others.mutex('a').run(settle)]);
    const bothRead = gate();
    const upgrading = read.run(async () => {
      await bothRead.opened;
      await expect(write.acquire()).rejects.toThrow(DeadlockError);
    });
    const reading = read.run(async () => {
      await bothRead.opened;
      return (await read.acquire()).release();
    });
    await settle();
    bothRead.open();
    expect(await reading).toBe('released');
    await upgrading;
    await others.close();
    engine.close();
  });

  it('counts the permits that the callback holds', async () => {
    const three = locks.semaphore('s', 3, { permits: 2 });
    await three.run(async () => {
      await expect(three.acquire()).rejects.toThrow(DeadlockError);
      const one = await locks.semaphore('s', 3).acquire();
      await one.release();
    });
  });

  it('rejects with DeadlockError behind a request for more permits than the callback leaves', async () => {
    const one = locks.semaphore('s', 3);
    const inQueue = gate();
    const task = one.run(async () => {
      await inQueue.opened;
      await expect(one.acquire()).rejects.toThrow(/a request in front of it/);
      await one.run(() => {}, { reentrant: true });
    });
    await settle();
    const all = locks.semaphore('s', 3, { permits: 3 }).acquire();
    inQueue.open();
    await task;
    await (await all).release();
  });

  it('waits while a request for more permits has not reached the store', async () => {
    const store = memoryStore(clock);
    const { acquire } = store;
    store.acquire = (request, waiter) =>
      request.permits === 3
        ? Promise.reject(new Error('away'))
        : acquire.call(store, request, waiter);
    const others = new Locks({ store, clock, random: seededRandom(2) });
    const one = others.semaphore('s', 3);
    const away = gate();
    const task = one.run(async () => {
      await away.opened;
      return (await one.acquire()).release();
    });
    await settle();
    const theirs = await others.semaphore('s', 3, { permits: 2 }).acquire();
    const all = others.semaphore('s', 3, { permits: 3 }).acquire().catch(String);
    await settle();
    away.open();
    await settle();
    await theirs.release();
    expect(await task).toBe('released');
    await others.close();
    await all;
  });

  it('waits behind a request for as many permits as are left, and in front of one for more', async () => {
    const [one, two] = [locks.semaphore('s', 3), locks.semaphore('s', 3, { permits: 2 })];
    const [inQueue, requested] = [gate(), gate()];
    const task = one.run(async () => {
      await inQueue.opened;
      const another = one.acquire();
      requested.open();
      await (await another).release();
      // A later request waits for all permits.
      await expect(locks.semaphore('s', 3).acquire()).rejects.toThrow(DeadlockError);
    });
    await settle();
    const others = await two.acquire();
    const inFront = two.acquire();
    inQueue.open();
    await requested.opened;
    const all = locks.semaphore('s', 3, { permits: 3 }).acquire();
    await settle();
    await others.release();
    await (await inFront).release();
    await task;
    await (await all).release();
  });
});

describe('a cycle of callbacks that wait for each other', () => {
  it('rejects the request that closes it, and grants the other', async () => {
    const [a, b] = [locks.mutex('a'), locks.mutex('b')];
    const [heldA, heldB] = [gate(), gate()];
    const first = a.run(async () => {
      heldA.open();
      await heldB.opened;
      return b.run(() => 'first');
    });
    const second = b.run(async () => {
      heldB.open();
      await heldA.opened;
      await settle();
      return a.run(() => 'second');
    });
    await expect(second).rejects.toThrow(/its holder waits for a lock that this task holds/);
    expect(await first).toBe('first');
  });

  it('includes the locks that all() holds while it waits for the rest', async () => {
    const [a, b] = [locks.mutex('a'), locks.mutex('b')];
    const waits = gate();
    const callback = b.run(async () => {
      await waits.opened;
      return a.run(() => 'callback');
    });
    await settle();
    const all = locks.all(['a', 'b']).run(() => 'all');
    await settle();
    waits.open();
    await expect(callback).rejects.toThrow(DeadlockError);
    expect(await all).toBe('all');
  });

  it('rejects all() if that closes it, and releases the locks it held', async () => {
    const [a, b] = [locks.mutex('a'), locks.mutex('b')];
    const waits = gate();
    const callback = b.run(async () => {
      await waits.opened;
      return a.run(() => 'callback');
    });
    const held = await a.acquire();
    const all = locks.all(['a', 'b']).run(() => 'all');
    await settle();
    waits.open();
    await settle();
    await held.release();
    await expect(all).rejects.toThrow(DeadlockError);
    expect(await callback).toBe('callback');
  });

  it('is found among three callbacks', async () => {
    const names = ['a', 'b', 'c'];
    const gates = names.map(() => gate());
    const tasks = names.map((name, index) =>
      locks.mutex(name).run(async () => {
        gates[index]!.open();
        await Promise.all(gates.map(({ opened }) => opened));
        for (let turn = 0; turn < index; turn++) await settle();
        return locks.mutex(names[(index + 1) % 3]!).run(() => name);
      }),
    );
    const outcomes = await Promise.allSettled(tasks);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    const [, , last] = outcomes;
    expect(last?.status === 'rejected' && last.reason).toBeInstanceOf(DeadlockError);
  });

  it('is found through a request in front', async () => {
    const [one, all] = [locks.semaphore('s', 2), locks.semaphore('s', 2, { permits: 2 })];
    const mutex = locks.mutex('m');
    const [heldOne, heldMutex] = [gate(), gate()];
    const first = one.run(async () => {
      heldOne.open();
      await heldMutex.opened;
      return mutex.run(() => 'first');
    });
    await heldOne.opened;
    const inFront = all.run(() => 'in front');
    const second = mutex.run(async () => {
      heldMutex.open();
      await settle();
      return one.run(() => 'second');
    });
    await expect(second).rejects.toThrow(DeadlockError);
    expect(await first).toBe('first');
    expect(await inFront).toBe('in front');
  });

  it('is found through a writer that waits in front of a reader', async () => {
    const { read, write } = locks.readWrite('book');
    const other = locks.mutex('other');
    const [reads, writerWaits] = [gate(), gate()];
    const reader = read.run(async () => {
      reads.open();
      await writerWaits.opened;
      return other.run(() => 'reader');
    });
    const second = other.run(async () => {
      await writerWaits.opened;
      await settle();
      return read.run(() => 'second');
    });
    await reads.opened;
    const writer = write.run(() => 'writer');
    await settle();
    writerWaits.open();
    await expect(second).rejects.toThrow(DeadlockError);
    expect(await reader).toBe('reader');
    expect(await writer).toBe('writer');
  });

  it('is found when a callback requests more permits of a semaphore that it holds', async () => {
    const [one, two] = [locks.semaphore('s', 3), locks.semaphore('s', 3, { permits: 2 })];
    const other = locks.mutex('other');
    const [hasOne, wantsTwo] = [gate(), gate()];
    const first = one.run(async () => {
      hasOne.open();
      await wantsTwo.opened;
      await settle();
      return other.run(() => 'first');
    });
    await hasOne.opened;
    const second = other.run(() =>
      one.run(async () => {
        wantsTwo.open();
        return two.run(() => 'second');
      }),
    );
    await expect(first).rejects.toThrow(DeadlockError);
    expect(await second).toBe('second');
  });

  it('does not include requests behind', async () => {
    const [one, all] = [locks.semaphore('s', 3), locks.semaphore('s', 3, { permits: 3 })];
    const mutex = locks.mutex('m');
    const [requested, inQueue] = [gate(), gate()];
    const other = await one.acquire();
    const first = one.run(async () => {
      await inQueue.opened;
      return mutex.run(() => 'first');
    });
    const second = one.run(() =>
      mutex.run(async () => {
        const another = one.acquire();
        requested.open();
        await (await another).release();
        return 'second';
      }),
    );
    await requested.opened;
    const last = all.run(() => 'last');
    inQueue.open();
    await settle();
    await other.release();
    expect(await Promise.all([first, second, last])).toEqual(['first', 'second', 'last']);
  });

  it('is not reported for requests of one callback that wait for each other', async () => {
    const [outer, inner] = [locks.mutex('outer'), locks.mutex('inner')];
    const done: number[] = [];
    await outer.run(() =>
      Promise.all([1, 2, 3].map((number) => inner.run(() => done.push(number)))),
    );
    expect(done).toEqual([1, 2, 3]);
  });

  it('does not include leases of acquire(), which any code may release', async () => {
    const lease: Lease = await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').acquire({ wait: 100 });
    const failure = expect(waiting).rejects.toThrow(LockTimeoutError);
    await settle();
    clock.advance(100);
    await failure;
    await lease.release();
  });

  it('is not reported while a holder outside of it can release a permit', async () => {
    const semaphore = locks.semaphore('s', 2);
    const mutex = locks.mutex('m');
    const held = gate();
    const other = semaphore.run(() => held.opened);
    const task = semaphore.run(() =>
      mutex.run(async () => {
        const third = semaphore.acquire();
        await settle();
        held.open();
        return third;
      }),
    );
    await (await task).release();
    await other;
  });
});
