import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CallerProcess, type Calls } from './cache-caller-process.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

const SERVERS = { 'redis-server': startRealRedis, 'our server': startHoldfast } as const;

const PROCESSES = 4;
const CALLERS = 1000;
const LOAD_MS = 200;
const FRESH_MS = 300;

interface LoadLog {
  readonly value: number;
  /** By the server's clock. The value was written after it ended. */
  readonly beganMs: number;
  readonly endedMs: number;
}

let keys = 0;

/** Real servers, processes and clocks. */
describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])('processes, on %s', (kind) => {
  let server: RunningServer;
  let observer: Redis;
  let programs: CallerProcess[];
  let calls: Calls;

  beforeAll(async () => {
    server = await SERVERS[kind]();
    observer = new Redis(server.port, server.host);
    programs = [];
  });
  afterAll(async () => {
    for (const program of programs) await program.kill();
    observer.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    programs = programs.filter(({ isAlive }) => isAlive);
    const missing = Array.from({ length: PROCESSES - programs.length }, () =>
      CallerProcess.start(server.port),
    );
    programs.push(...(await Promise.all(missing)));
    const key = `key ${++keys}`;
    const times = { loadMs: LOAD_MS, fresh: FRESH_MS, lease: 1000, untilValue: 1 } as const;
    calls = { key, callers: CALLERS / PROCESSES, ...times };
  });
  const loadCount = async (): Promise<number> =>
    Number(await observer.get(`loads of ${calls.key}`));

  /** The loads that ended, in order. */
  async function log(): Promise<LoadLog[]> {
    const lines = await observer.lrange(`log of ${calls.key}`, 0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  it('load once for a thousand callers, and once for each expiry after that', async () => {
    const called = await Promise.all(
      programs.map((program) => program.call({ ...calls, untilValue: 3, beta: 0 })),
    );
    const loads = await log();
    expect(await loadCount()).toBe(loads.length);
    expect(loads.length).toBeGreaterThanOrEqual(3);
    for (const [index, { beganMs }] of loads.slice(1).entries()) {
      // The store ends a value in the millisecond after its last.
      expect(beganMs - loads[index]!.endedMs).toBeGreaterThanOrEqual(FRESH_MS - 1);
    }
    // A process that had no turn for so long may have missed one.
    const loaded = loads.map(({ value }) => value);
    for (const { values } of called) expect(loaded).toEqual(expect.arrayContaining([...values]));
  });

  it('load once for each expiry while callers get the stale value without waiting', async () => {
    await programs[0]!.call({ ...calls, stale: '1m', callers: 1 });
    const options = { ...calls, untilValue: 3, stale: '1m', beta: 1 } as const;
    const called = await Promise.all(programs.map((program) => program.call(options)));
    const loads = await log();
    expect(loads.map(({ value }) => value)).toEqual(loads.map((_, index) => index + 1));
    for (const [index, { beganMs }] of loads.slice(1).entries()) {
      expect(beganMs, `no two loads at once: ${JSON.stringify(loads)}`).toBeGreaterThanOrEqual(
        loads[index]!.endedMs,
      );
    }
    for (const { misses } of called) expect(misses).toBe(0);
  });

  it('load again after the lease of a killed loader', async () => {
    const working = programs.map((program) => program.call({ ...calls, loadMs: 1000 }));
    for (const each of working) each.catch(() => {});
    const loader = await Promise.race(programs.map((program) => program.loading(calls.key)));
    await loader.kill();
    const others = working.filter((_, index) => programs[index] !== loader);
    const called = await Promise.all(others);
    for (const { values } of called) expect(values).toEqual([2]);
    expect(await loadCount()).toBe(2);
    // The rest of the lease, and the second load.
    for (const { longestMs } of called) expect(longestMs).toBeLessThan(withinMs(8000));
  });

  // Redis has no sessions.
  it.runIf(kind === 'our server')(
    'load at once after a loader with a session was killed',
    async () => {
      const loader = await CallerProcess.start(server.port, true);
      programs.push(loader);
      const options = { ...calls, lease: '1m' } as const;
      const killed = loader.call({ ...options, loadMs: 60_000 }).catch(() => 'killed');
      await loader.loading(calls.key);
      const waiting = programs[0]!.call(options);
      const isWaiting = (): Promise<number> =>
        observer.exists(`value:{cache:${calls.key}}:waiters`);
      while ((await isWaiting()) === 0);
      await loader.kill();
      expect(await killed).toBe('killed');
      // Without a session its callers would give up first, after 30 s.
      expect(await waiting).toMatchObject({ values: [2] });
    },
  );

  it('load again after the lease of a paused loader, and refuse its late value', async () => {
    const working = programs.map((program) => program.call({ ...calls, fresh: '1m' }));
    const loader = await Promise.race(programs.map((program) => program.loading(calls.key)));
    loader.stop();
    const others = working.filter((_, index) => programs[index] !== loader);
    for (const { values } of await Promise.all(others)) expect(values).toEqual([2]);
    loader.continue();
    expect((await working[programs.indexOf(loader)]!).values).toEqual([2]);
    // The late write has been refused by now, or is refused after this.
    for (const program of programs) {
      expect((await program.call({ ...calls, fresh: '1m' })).values).toEqual([2]);
    }
    expect(await loadCount()).toBe(2);
  });
});
