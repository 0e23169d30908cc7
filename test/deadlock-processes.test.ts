import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../src/clock/index.ts';
import { CliProcess, runCli } from './cli-process.ts';
import { mutex, NestingProcess, type Task } from './deadlock-process.ts';
import { newSeed } from './new-seed.ts';
import { startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

/** Deadlocks between real processes, on redis-server and on `holdfast serve`. */

interface Server {
  readonly url: string;
  stop(): Promise<unknown>;
}

async function startRedis(): Promise<Server> {
  const { port, stop } = await startRealRedis();
  return { url: `redis://127.0.0.1:${port}`, stop };
}

async function startOurs(): Promise<Server> {
  const server = CliProcess.node(['serve', '--port', '0']);
  const [, port] = await server.waitFor(/listens on 127\.0\.0\.1:(\d+)/);
  return { url: `redis://127.0.0.1:${port}`, stop: () => server[Symbol.asyncDispose]() };
}

async function resultsOf(...tasks: readonly Task[]): Promise<string[]> {
  for (const task of tasks) task.go();
  const ended = await Promise.all(tasks.map((task) => task.ended));
  return ended.map(({ result }) => result).sort();
}

describe.each([
  ['redis-server', startRedis],
  ['holdfast serve', startOurs],
] as const)('a deadlock between processes, on %s', (_, startServer) => {
  let server: Server;
  let one: NestingProcess;
  let two: NestingProcess;
  let three: NestingProcess;

  beforeAll(async () => {
    server = await startServer();
    [one, two, three] = await Promise.all([start(), start(), start()]);
  });

  afterAll(async () => {
    for (const { child } of [one, two, three]) child.kill();
    await server.stop();
  });

  afterEach(async () => {
    // A process that was killed keeps its place in a queue for ten seconds.
    await expect
      .poll(async () => (await runCli(['ls', '--quiet', '--store', server.url])).output, {
        timeout: withinMs(15_000),
      })
      .toBe('');
  }, withinMs(20_000));

  function start(): Promise<NestingProcess> {
    return NestingProcess.start(server.url);
  }

  it('of two mutexes in opposite order is reported to one of them within a second', async () => {
    const first = await one.hold(mutex('a'), mutex('b'));
    const second = await two.hold(mutex('b'), mutex('a'));
    const beganMs = performance.now();
    expect(await resultsOf(first, second)).toEqual(['deadlock', 'done']);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(1000, 30_000));
    const { message } = [await first.ended, await second.ended].find(
      ({ result }) => result !== 'done',
    )!;
    for (const { child } of [one, two]) expect(message).toContain(` pid ${child.pid} holds `);
  });

  it('of three processes is reported to one of them', async () => {
    const tasks = [
      await one.hold(mutex('a'), mutex('b')),
      await two.hold(mutex('b'), mutex('c')),
      await three.hold(mutex('c'), mutex('a')),
    ];
    expect(await resultsOf(...tasks)).toEqual(['deadlock', 'done', 'done']);
  });

  it('of a reader and a writer is reported to one of them', async () => {
    const first = await one.hold({ kind: 'read', name: 'book' }, mutex('m'));
    const second = await two.hold(mutex('m'), { kind: 'write', name: 'book' });
    expect(await resultsOf(first, second)).toEqual(['deadlock', 'done']);
  });

  it('with a group of all() is reported to one of them', async () => {
    const first = await one.hold({ kind: 'all', names: ['a', 'b'] }, mutex('c'));
    const second = await two.hold(mutex('c'), { kind: 'all', names: ['b', 'd'] });
    expect(await resultsOf(first, second)).toEqual(['deadlock', 'done']);
  });

  it('is not reported while another holder of a semaphore can release', async () => {
    const semaphore = { kind: 'semaphore', name: 's', slots: 2 } as const;
    const first = await one.hold(semaphore, mutex('m'));
    const second = await two.hold(mutex('m'), semaphore);
    const other = await three.hold(semaphore);
    let hasEnded = false;
    const results = resultsOf(first, second);
    void results.then(() => {
      hasEnded = true;
    });
    await searchedTwice(server.url, 'm');
    expect(hasEnded).toBe(false);
    other.go();
    expect(await results).toEqual(['done', 'done']);
  });

  it('is not reported when a member has timed out', async () => {
    const first = await one.holdFor(500, mutex('a'), mutex('b'));
    const second = await two.hold(mutex('b'), mutex('a'));
    first.go();
    expect((await first.ended).result).toBe('timeout');
    second.go();
    expect((await second.ended).result).toBe('done');
  });

  it('ends with the lease of a member that was killed', async () => {
    const victim = await start();
    const first = await one.hold(mutex('a'), mutex('b'));
    const second = await victim.hold(mutex('b'), mutex('a'));
    second.go();
    await shown(server.url, 'a', /holds b/);
    victim.child.kill('SIGKILL');
    await once(victim.child, 'exit');
    first.go();
    // The dead member counts for two seconds. In that time the other one may be the one that fails.
    expect(['done', 'deadlock']).toContain((await first.ended).result);
    const free = await two.hold(mutex('b'));
    free.go();
    expect((await free.ended).result).toBe('done');
  });

  it('is not reported for 200 tasks that take locks in one order', async () => {
    const members = [one, two, three];
    const tasks = Array.from({ length: 200 }, (_, index) => {
      const names = ['a', 'b', 'c', 'd'].filter((_, bit) => ((index % 15) + 1) & (1 << bit));
      return members[index % 3]!.run(names.map(mutex), 2);
    });
    const ended = await Promise.all(tasks);
    expect(new Set(ended.map(({ result }) => result))).toEqual(new Set(['done']));
  });

  const seed = Number(process.env['HOLDFAST_SEED'] ?? newSeed());

  it(`is reported in all of 20 rounds of random tasks (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random.next() * limit);
    const results: string[] = [];
    for (let round = 0; round < 20; round++) {
      const tasks = [one, two, three, one, two].map((member) => {
        const order = ['a', 'b', 'c'].sort(() => random.next() - 0.5).slice(0, 2);
        return member.run(order.map(mutex), 5 + below(30));
      });
      const ended = await Promise.all(tasks);
      results.push(...ended.map(({ result }) => result));
    }
    expect(results).not.toContain('timeout');
    expect(results).toContain('deadlock');
    expect(results.filter((result) => result === 'done').length).toBeGreaterThan(20);
  });
});

/** Waits until `holdfast show` prints this. */
async function shown(url: string, name: string, pattern: RegExp): Promise<void> {
  await expect
    .poll(async () => (await runCli(['show', name, '--store', url])).output, {
      timeout: withinMs(5000),
    })
    .toMatch(pattern);
}

/** Waits until a task that holds this lock has looked for deadlocks twice: they are a second apart. */
async function searchedTwice(url: string, name: string): Promise<void> {
  await shown(url, name, /holds s/);
  await new Promise((resolve) => setTimeout(resolve, 1500));
}
