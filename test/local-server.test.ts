import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { createLocks } from '../src/index.ts';
import { LOST_GRACE_MS } from '../src/local/index.ts';
import { LOCK_SCRIPT } from '../src/stores/index.ts';
import { newFolder, serversOf, start, starts, until } from './local-scene.ts';
import { withinMs } from './within.ts';

describe('the local server', () => {
  it(
    'is one, when fifty want it at once, and another one after it has ended',
    async () => {
      const folder = newFolder();
      const clients = await starts(50, folder, 1000);
      for (const number of [1, 2]) {
        const opened = await Promise.all(clients.map((client) => client.open()));
        const pids = new Set(opened.map(({ pid }) => pid));
        expect(pids.size).toBe(1);
        expect(new Set(opened.map(({ address }) => address)).size).toBe(1);
        // Servers that were too late end by themselves.
        await until(() => serversOf(folder).length === 1);
        expect(serversOf(folder)).toEqual([...pids]);
        await Promise.all(clients.map((client) => client.close()));
        await until(() => serversOf(folder).length === 0);
        expect(readdirSync(folder).sort()).toEqual([
          `server-${number}.ended`,
          `server-${number}.sock`,
        ]);
      }
    },
    withinMs(120_000),
  );

  it(
    'excludes, while servers end and start all the time',
    async () => {
      const folder = newFolder();
      const clients = await starts(3, folder, 1);
      const visits = await Promise.all(clients.map((client) => client.visit(folder, 8)));
      // Else the test would prove nothing.
      expect(new Set(visits.flat()).size).toBeGreaterThan(2);
      await until(() => serversOf(folder).length === 0);
      expect(readdirSync(folder).length).toBe(2);
    },
    withinMs(120_000),
  );

  it('grants a lock to a waiter as soon as the holder is killed', async () => {
    const folder = newFolder();
    const [holder, waiter] = await starts(2, folder);
    const { address } = await holder!.open();
    await waiter!.open();
    const { fence } = await holder!.acquire('a', { lease: '1h' });
    const waiting = waiter!.acquire('a', { lease: '1h', wait: '1h' });
    await using locks = createLocks(address);
    while ((await locks.mutex('a').inspect()).waiters.length === 0);
    await holder!.kill();
    // The lease would end in an hour: the test passes if this resolves.
    expect((await waiting).fence).toBeGreaterThan(fence);
  });

  it('removes a waiter that is killed from the queue', async () => {
    const folder = newFolder();
    const [holder, waiter] = await starts(2, folder);
    const { address } = await holder!.open();
    await waiter!.open();
    await holder!.acquire('a', { lease: '1h' });
    waiter!.acquire('a', { lease: '1h', wait: '1h' }).catch(() => {});
    await using locks = createLocks(address);
    while ((await locks.mutex('a').inspect()).waiters.length === 0);
    await waiter!.kill();
    while ((await locks.mutex('a').inspect()).waiters.length > 0);
  });

  it('that is killed is followed by one that gives holders time to stop', async () => {
    const folder = newFolder();
    const [holder, next] = await starts(2, folder);
    const { pid } = await holder!.open();
    const { fence } = await holder!.acquire('a', { lease: '1h' });
    const killedMs = performance.now();
    process.kill(pid, 'SIGKILL');
    await holder!.ended;
    await next!.open();
    // Real time must pass in the server.
    expect(performance.now() - killedMs).toBeGreaterThanOrEqual(LOST_GRACE_MS);
    await holder!.lost;
    expect((await next!.acquire('a', {})).fence).toBeGreaterThan(fence);
    await next!.close();
  });

  it('that ended without locks is followed at once', async () => {
    const folder = newFolder();
    const client = await start(folder, { idleMs: 100 });
    await client.open();
    await client.close();
    await until(() => serversOf(folder).length === 0);
    const beganMs = performance.now();
    await client.open();
    expect(performance.now() - beganMs).toBeLessThan(LOST_GRACE_MS);
  });

  it('does not end while a lock is held without a connection', async () => {
    const folder = newFolder();
    const client = await start(folder, { idleMs: 50 });
    const { address } = await client.open();
    const redis = new Redis({ path: address.slice('unix:'.length) });
    const endMs = performance.now() + 1500;
    const request = ['acquire 2 1', 'client.1 []', '1500'];
    await redis.eval(LOCK_SCRIPT, 1, 'semaphore:{a}', ...request);
    redis.disconnect();
    await client.close();
    // Real time must pass in the server.
    await until(() => serversOf(folder).length === 0);
    expect(performance.now()).toBeGreaterThan(endMs);
    expect(existsSync(join(folder, 'server-1.ended'))).toBe(true);
  });

  it('refreshes the time of its socket, which systems delete when it is old', async () => {
    const folder = newFolder();
    const client = await start(folder);
    await client.open();
    const path = join(folder, 'server-1.sock');
    const nowMs = statSync(path).mtimeMs;
    utimesSync(path, 1, 1);
    await until(() => statSync(path).mtimeMs >= nowMs);
  });

  it('waits a second for its first client with a shorter idle time', async () => {
    const folder = newFolder();
    const client = await start(folder, { idleMs: 1 });
    await client.open();
    expect(readdirSync(folder)).toEqual(['server-1.sock']);
  });

  it('ends by SIGTERM, and leaves the end mark only without held locks', async () => {
    const folder = newFolder();
    const client = await start(folder);
    const first = await client.open();
    process.kill(first.pid, 'SIGTERM');
    await client.ended;
    await until(() => serversOf(folder).length === 0);
    expect(existsSync(join(folder, 'server-1.ended'))).toBe(false);
    const second = await client.open();
    await client.close();
    process.kill(second.pid, 'SIGTERM');
    await until(() => serversOf(folder).length === 0);
    expect(existsSync(join(folder, 'server-2.ended'))).toBe(true);
  });

  it('outlives the process group of its starter and ignores its signals', async () => {
    const folder = newFolder();
    const client = await start(folder, { detached: true });
    const { pid } = await client.open();
    process.kill(-client.child.pid!, 'SIGINT');
    process.kill(-client.child.pid!, 'SIGKILL');
    await once(client.child, 'exit');
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']) process.kill(pid, signal);
    const other = await start(folder);
    expect((await other.open()).pid).toBe(pid);
  });

  it('keeps no file of its starter open', async () => {
    const folder = newFolder();
    const client = await start(folder);
    const closed = once(client.child, 'close');
    await client.open();
    await client.kill();
    // The output ends: no process has it open any more.
    await closed;
    expect(serversOf(folder).length).toBe(1);
  });

  it('does not get the environment of its starter', async () => {
    const folder = newFolder();
    const environment = {
      HOLDFAST_RUNTIME_DIR: folder,
      SECRET: 'x',
      HOLDFAST_LOCAL_IDLE_MS: '60000',
    };
    const client = await start(folder, { environment });
    const { pid } = await client.open();
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').filter(Boolean);
    // Shells add their own variables.
    const own = variables.filter((variable) => !/^(?:PWD|OLDPWD|SHLVL|_)=/.test(variable));
    expect(own).toEqual(['HOLDFAST_LOCAL_IDLE_MS=60000']);
  });
});
