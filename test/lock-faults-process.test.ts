import { describe, expect, it } from 'vitest';
import { LockScene, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/*
 * Programs in processes of their own that are stopped, killed and stalled. The server and each process have clocks of
 * their own, so these tests take real time. Time limits are wide; the order of events is checked strictly.
 */

const LEASE_MS = 800;
const WAIT = { wait: '25s' } as const;

describe.concurrent('mode 1: a holder that is stopped', () => {
  it('beyond its lease loses the lock at its end, and sees the loss before its next statement', async () => {
    await using scene = await LockScene.open();
    const [stopped, next] = [await scene.program(), await scene.program()];
    const first = await stopped.acquire('a', { lease: LEASE_MS });
    const waiting = next.acquire('a', WAIT);
    await until(async () => (await scene.waitersOf('a')) === 1);
    stopped.stop();
    // This message arrives before the process continues, so it is handled before our timers run.
    const state = stopped.leaseState();
    const second = await waiting;
    const owner = await scene.ownerOf('a');
    stopped.continue();
    expect(await state).toMatchObject({ held: false, code: 'lost', leaseSignalAborted: true });
    expect(await stopped.lost).toBe('unreachable');
    expect(await stopped.release()).toBe('not-held');
    expect(await scene.ownerOf('a')).toBe(owner);
    expect(await next.leaseState()).toMatchObject({ held: true });
    expect(second.fence).toBeGreaterThan(first.fence);
    expect([stopped.output, next.output]).toEqual(['', '']);
  });

  it('sees that the signal it kept is aborted before its next statement', async () => {
    await using scene = await LockScene.open();
    const stopped = await scene.program();
    await stopped.acquire('a', { lease: LEASE_MS });
    stopped.stop();
    const state = stopped.leaseState();
    await until(async () => (await scene.ownerOf('a')) === null);
    stopped.continue();
    expect(await state).toMatchObject({ keptSignalAborted: true });
  });

  it('within its lease keeps the lock', async () => {
    await using scene = await LockScene.open();
    const stopped = await scene.program();
    const { fence } = await stopped.acquire('a', { lease: '6s' });
    stopped.stop();
    expect(await scene.neighbour().mutex('a').tryAcquire()).toBe(null);
    stopped.continue();
    expect(await stopped.leaseState()).toMatchObject({ held: true, keptSignalAborted: false });
    expect(await scene.holdersOf('a')).toMatchObject([{ fence }]);
    expect(await stopped.release()).toBe('released');
  });
});

describe.concurrent('mode 2: a process that dies', () => {
  it('as holder loses the lock to a waiter no later than the end of its lease', async () => {
    await using scene = await LockScene.open();
    const holder = await scene.program();
    const { fence } = await holder.acquire('a', { lease: LEASE_MS });
    const waiting = scene.neighbour().mutex('a').acquire(WAIT);
    await until(async () => (await scene.waitersOf('a')) === 1);
    const leftMs = await scene.leftMs('a');
    const beganMs = performance.now();
    await holder.kill();
    const next = await waiting;
    const tookMs = performance.now() - beganMs;
    expect(next.fence).toBeGreaterThan(fence);
    expect(tookMs).toBeGreaterThan(leftMs / 2);
    expect(tookMs).toBeLessThan(LEASE_MS + withinMs(2000));
  });

  it.each(['kill', 'stop'] as const)(
    'as first waiter (%s) delays the next by its reservation',
    async (end) => {
      await using scene = await LockScene.open();
      const lease = await scene.neighbour().mutex('a').acquire();
      const [first, second] = [await scene.program(), await scene.program()];
      const lost = first.acquire('a', WAIT).catch(() => undefined);
      await until(async () => (await scene.waitersOf('a')) === 1);
      const waiting = second.acquire('a', WAIT);
      await until(async () => (await scene.waitersOf('a')) === 2);
      await first[end]();
      const beganMs = performance.now();
      await lease.release();
      const { fence } = await waiting;
      expect(performance.now() - beganMs).toBeLessThan(withinMs(8000));
      expect(await scene.holdersOf('a')).toMatchObject([{ fence }]);
      if (end === 'kill') return;
      // A process that was only stopped gets the lock later.
      first.continue();
      expect(await second.release()).toBe('released');
      expect((await lost)!.fence).toBeGreaterThan(fence);
    },
  );

  it('as holder of a permit frees it at the end of its lease', async () => {
    await using scene = await LockScene.open();
    const holder = await scene.program();
    await holder.acquire('s', { lease: LEASE_MS, permits: 1 });
    const semaphore = scene.neighbour().semaphore('s', 1);
    expect(await semaphore.tryAcquire()).toBe(null);
    await holder.kill();
    expect((await semaphore.acquire(WAIT)).isHeld).toBe(true);
  });
});

describe.concurrent('mode 1: a holder whose event loop stalls', () => {
  it('beyond its lease sees the loss in the next statement', async () => {
    await using scene = await LockScene.open();
    const holder = await scene.program();
    const { fence } = await holder.acquire('a', { lease: LEASE_MS });
    const waiting = scene.neighbour().mutex('a').acquire(WAIT);
    await until(async () => (await scene.waitersOf('a')) === 1);
    const state = await holder.stall(LEASE_MS * 3);
    expect(state).toMatchObject({ held: false, code: 'lost', leaseSignalAborted: true });
    expect((await waiting).fence).toBeGreaterThan(fence);
    expect(await holder.release()).toBe('not-held');
    expect(holder.output).toBe('');
  });

  it('sees that the signal it kept is aborted in the next turn', async () => {
    await using scene = await LockScene.open();
    const holder = await scene.program();
    await holder.acquire('a', { lease: LEASE_MS });
    expect(await holder.stall(LEASE_MS * 2, 'then a turn')).toMatchObject({
      keptSignalAborted: true,
    });
  });

  it('within its lease keeps the lock', async () => {
    await using scene = await LockScene.open();
    const holder = await scene.program();
    await holder.acquire('a', { lease: '6s' });
    expect(await holder.stall(300)).toMatchObject({ held: true });
  });
});

/**
 * Two programs increment a counter: read, pause, write. In every round the first is stopped between its read and its
 * write, until the second has incremented under the same lock. Returns the number of acknowledged increments and the
 * value of the counter.
 */
async function count(verb: 'write' | 'writeFenced', rounds: number): Promise<[number, number]> {
  await using scene = await LockScene.open();
  const [paused, other] = [await scene.program(), await scene.program()];
  let acknowledged = 0;
  for (let round = 0; round < rounds; round++) {
    await paused.acquire('counter', { lease: 400, ...WAIT });
    const seen = await paused.read('count');
    paused.stop();
    const late = paused.write(verb, 'count', seen + 1);
    await other.acquire('counter', WAIT);
    const written = await other.write(verb, 'count', (await other.read('count')) + 1);
    await other.release();
    paused.continue();
    for (const isDone of [written, await late]) acknowledged += isDone ? 1 : 0;
    await paused.release();
  }
  return [acknowledged, await other.read('count')];
}

describe.concurrent('modes 1 and 21: programs that are stopped between their read and their write', () => {
  it('lose updates without the fence (control)', async () => {
    const [acknowledged, stored] = await count('write', 4);
    expect(acknowledged).toBe(8);
    expect(stored).toBeLessThan(acknowledged);
  });

  it('lose no update with the fence', async () => {
    const [acknowledged, stored] = await count('writeFenced', 4);
    // Only the second program of each round: the late write of the first is refused.
    expect(acknowledged).toBe(4);
    expect(stored).toBe(acknowledged);
  });
});

describe.concurrent('mode 15: a server that may evict locks', () => {
  const warnings = (output: string): number => output.match(/^.*maxmemory-policy/gm)?.length ?? 0;

  it('causes one warning', async () => {
    await using scene = await LockScene.open('--maxmemory-policy', 'allkeys-lru');
    const program = await scene.program();
    await program.acquire('a');
    await program.acquire('b');
    await until(() => program.output !== '');
    await program.close();
    expect(program.output).toMatch(/allkeys-lru/);
    expect(program.output).toMatch(/noeviction/);
    expect(warnings(program.output)).toBe(1);
  });

  it('causes no warning with noeviction', async () => {
    await using scene = await LockScene.open('--maxmemory-policy', 'noeviction');
    const program = await scene.program();
    await program.acquire('a');
    await program.close();
    expect(program.output).toBe('');
  });
});
