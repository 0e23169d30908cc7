import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../src/engine/index.ts';
import { createLocks, type Locks } from '../src/index.ts';
import { startServer } from '../src/server/index.ts';
import { runCli } from './cli-process.ts';
import { isDead, Lifeline, startRun } from './cli-run-process.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';

const { PATH = '' } = process.env;
const LOST = 79;
let server: RunningServer;
let store: `redis://${string}`;
let locks: Locks;

beforeAll(async () => {
  server = await startHoldfast();
  store = `redis://127.0.0.1:${server.port}`;
  locks = createLocks(store);
});

afterAll(async () => {
  await locks.close();
  await server.stop();
});

/** Starts a run of a shell script with --session and a lease longer than any test. */
function startInSession(name: string, script: string, at: string = store) {
  const options = ['--store', at, '--session', '--lease', '10m'];
  return startRun([name, ...options, '--', 'sh', '-c', script]);
}

describe('run --session, on holdfast serve', () => {
  it('killed: the lock is free at once, and no earlier than the command is dead', async () => {
    using line = new Lifeline();
    const grandchild = `trap "" TERM HUP INT; echo $$ >&9; exec sleep 1000`;
    const script = `exec 9>"${line.path}"; (setsid sh -c '${grandchild}' &); trap "" TERM; while :; do sleep 1000; done`;
    await using runner = startInSession('killed', script);
    const pid = await line.next();
    await using next = startInSession('killed', isDead(pid));
    while ((await locks.mutex('killed').inspect()).waiters.length === 0);
    runner.child.kill('SIGKILL');
    expect(await next.ended()).toBe(0);
    expect(next.text).toBe('dead\n');
    await line.ended();
  });

  it('killed while it waits: it leaves the queue', async () => {
    const lock = locks.mutex('place');
    await using _lease = await lock.acquire();
    await using waiter = startInSession('place', 'true');
    while ((await lock.inspect()).waiters.length === 0);
    waiter.child.kill('SIGKILL');
    while ((await lock.inspect()).waiters.length > 0);
  });

  it('ends the command when the session ends before the runner', async () => {
    const other = await startHoldfast();
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; trap 'echo told >&9; exit 0' TERM; echo on >&9; while :; do sleep 1000 & wait; done`;
    await using runner = startInSession('ends', script, `redis://127.0.0.1:${other.port}`);
    await line.next();
    await other.stop();
    expect(await line.next()).toBe('told');
    expect(await runner.ended()).toBe(LOST);
    expect(runner.text).toMatch(/has ended|was lost/);
  });

  it('opens the session again when it ends during the wait and the server comes back', async () => {
    const first = await startHoldfast();
    const at = `redis://127.0.0.1:${first.port}` as const;
    const before = createLocks(at);
    const lock = before.mutex('back');
    await lock.acquire();
    await using waiter = startInSession('back', 'echo ran', at);
    while ((await lock.inspect()).waiters.length === 0);
    await before.close();
    await first.stop();
    const refusing = createServer((socket) => socket.destroy()).listen(first.port, '127.0.0.1');
    await once(refusing, 'connection');
    await refusing[Symbol.asyncDispose]();
    const engine = createEngine();
    const second = await startServer({ engine, port: first.port, report: console.error });
    expect(await waiter.ended()).toBe(0);
    expect(waiter.text).toBe('ran\n');
    await second.close();
    engine.close();
  });

  it('is refused by another server, and over TLS', async () => {
    const redis = await startRealRedis();
    const run = (at: string) =>
      runCli(['run', 'a', '--session', '--store', at, '--', 'true'], { environment: { PATH } });
    const there = await run(`redis://127.0.0.1:${redis.port}`);
    await redis.stop();
    expect(there.errors).toContain('knows no sessions: they need `holdfast serve`');
    expect(there.code).toBe(125);
    const secure = await run('rediss://127.0.0.1:1');
    expect(secure.errors).toContain('--session needs a store at redis://');
    expect(secure.code).toBe(2);
  });

  it('signs in with HOLDFAST_PASSWORD', async () => {
    const guarded = await startHoldfast();
    const at = `redis://127.0.0.1:${guarded.port}`;
    await runCli(['cli', '--store', at, 'CONFIG', 'SET', 'requirepass', 'a/b@c%']);
    const environment = { PATH, HOLDFAST_PASSWORD: 'a/b@c%' };
    const words = ['run', 'a', '--session', '--store', at, '--', 'true'];
    expect(await runCli(words, { environment })).toEqual({ code: 0, output: '', errors: '' });
    expect((await runCli(words, { environment: { PATH } })).code).toBe(69);
    await guarded.stop();
  });
});
