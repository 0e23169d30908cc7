import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import {
  createEngine,
  createLocks,
  LockUnavailableError,
  redisStore,
  startServer,
} from '../src/index.ts';
import { startRealRedis } from './real-redis.ts';

describe('createLocks', () => {
  it('keeps locks in this process by default', async () => {
    await using locks = createLocks();
    await using lease = await locks.mutex('order:42').acquire({ wait: '5s', lease: '30s' });
    expect(lease.fence).toBeGreaterThan(0);
    expect(await locks.mutex('order:42').tryAcquire()).toBe(null);
  });

  it('keeps them in a Redis, for several programs at once', async () => {
    const server = await startRealRedis();
    const here = createLocks(`redis://127.0.0.1:${server.port}`);
    const there = createLocks(`redis://127.0.0.1:${server.port}`);
    const lease = await here.mutex('a').acquire();
    const waiting = there.mutex('a').acquire({ wait: '5s' });
    while ((await here.mutex('a').inspect()).waiters.length === 0);
    await lease.release();
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
    await here.close();
    await there.close();
    await server.stop();
  });

  it('keeps them behind a Unix socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    const engine = createEngine();
    const unix = join(folder, 'socket');
    const server = await startServer({ engine, unix });
    const locks = createLocks(`unix:${unix}`);
    await locks.mutex('a').run((lease) => expect(lease.isHeld).toBe(true));
    await locks.close();
    await server.close();
    engine.close();
    rmSync(folder, { recursive: true });
  });

  it('uses a client that it was given, and does not close it', async () => {
    const server = await startRealRedis();
    const client = new Redis({ port: server.port });
    const locks = createLocks({ store: redisStore(client as never) });
    await locks.mutex('a').run(() => {});
    await locks.close();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
    await server.stop();
  });

  it('says that a store is down, not that the lock is busy', async () => {
    const locks = createLocks('redis://127.0.0.1:1');
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(LockUnavailableError);
    await locks.close();
  });

  it('refuses an address that it does not know', () => {
    expect(() => createLocks('http://localhost' as never)).toThrow(/redis:\/\/host:port/);
  });
});
