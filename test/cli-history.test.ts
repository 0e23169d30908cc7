import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLocks, type Locks } from '../src/index.ts';
import { runCli } from './cli-process.ts';
import { DurableServer } from './durable-server.ts';
import { startRealRedis } from './real-redis.ts';

const server = new DurableServer();
let locks: Locks;

beforeAll(async () => {
  await server.start();
  locks = createLocks(server.url);
  const lock = locks.mutex('deploy\x1b');
  const lease = await lock.acquire({ label: 'first' });
  const waiting = lock.acquire({ label: 'second' });
  while ((await lock.inspect()).waiters.length === 0);
  await lease.release();
  await (await waiting).release();
  await (await locks.semaphore('pool', 3).acquire()).release();
});

afterAll(async () => {
  await locks.close();
  await server[Symbol.asyncDispose]();
});

async function history(...args: string[]): Promise<{ code: number | null; output: string }> {
  const { code, output, errors } = await runCli(['history', ...args, '--store', server.url]);
  return { code, output: output + errors };
}

it('prints the events of all locks, with fence and durations', async () => {
  const { code, output } = await history();
  expect(code).toBe(0);
  const lines = output.trim().split('\n');
  const seen = lines.map((line) => line.split('  ').slice(1, 3).join(': '));
  expect(seen).toEqual([
    'deploy\\x1b: granted',
    'deploy\\x1b: waiting',
    'deploy\\x1b: released',
    'deploy\\x1b: handed-over',
    'deploy\\x1b: released',
    'pool (semaphore): granted',
    'pool (semaphore): released',
  ]);
  expect(lines[3]).toMatch(/\xe2\x80\x9csecond\xe2\x80\x9d {2}fence \d{16}, waited for \d+\.\ds$/);
});

it('prints the events of one lock as JSON', async () => {
  const { output } = await history('pool', '--json');
  const events = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(events).toMatchObject([
    { type: 'granted', kind: 'semaphore', name: 'pool', pid: process.pid, heldMs: null },
    { type: 'released', kind: 'semaphore', name: 'pool', fence: null },
  ]);
  expect(events[1]!['heldMs']).toBeTypeOf('number');
});

it('prints no events of a lock that was not used, or before --since', async () => {
  expect(await history('other')).toEqual({ code: 0, output: 'There are no events.\n' });
  expect((await history('pool', '--since', '1h')).output).toContain('granted');
});

it.each([
  [['--count', '0'], '--count is a whole number from 1 to 10000'],
  [['--since', 'yesterday'], '--since is a duration'],
  [['a', 'b'], 'one word too many'],
])('refuses %j', async (args, message) => {
  const { code, output } = await history(...args);
  expect(code).toBe(2);
  expect(output).toContain(message);
});

it('prints all events of --since, and the newest 100 without it', async () => {
  for (let round = 0; round < 60; round++) await (await locks.mutex('often').acquire()).release();
  const lines = async (...args: string[]): Promise<number> =>
    (await history('often', ...args)).output.trim().split('\n').length;
  expect(await lines('--since', '1h')).toBe(120);
  expect(await lines('--since', '1h', '--count', '5')).toBe(5);
  expect(await lines()).toBe(100);
});

it('says that a Redis keeps no history', async () => {
  const redis = await startRealRedis();
  const { code, errors } = await runCli(['history', '--store', `redis://127.0.0.1:${redis.port}`]);
  await redis.stop();
  expect(code).toBe(69);
  expect(errors).toContain('only holdfast serve keeps');
});
