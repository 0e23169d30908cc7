import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createEngine, type Engine } from '../src/engine/index.ts';
import { type CreateLocksOptions, createLocks } from '../src/index.ts';
import { type Server, startServer } from '../src/server/index.ts';
import { startMemcached } from './real-memcached.ts';
import { startRealQuorum } from './real-quorum.ts';
import { startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

const root = new URL('..', import.meta.url);

/** Runs a program that uses the built library. Resolves when it exits. */
async function program(code: string): Promise<string> {
  const text = `import { createLocks, LockTimeoutError } from './dist/index.js'; ${code}`;
  const args = ['--input-type=module', '--eval', text];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    timeout: withinMs(20_000),
  });
  return stdout.trim();
}

describe('a program', () => {
  it('exits without close(), with or without holding a lock', async () => {
    expect(
      await program(`await createLocks().mutex('a').acquire(); process.stdout.write('done')`),
    ).toBe('done');
    expect(
      await program(`
        const locks = createLocks();
        await locks.mutex('a').run(() => locks.semaphore('s', 3).run(() => {}));
        const held = await locks.mutex('b').acquire();
        const waiting = locks.mutex('b').acquire({ wait: '1h' });
        await held.release();
        await (await waiting).release();
        process.stdout.write('done')`),
    ).toBe('done');
  });

  it('stays alive while it waits for a lock', async () => {
    expect(
      await program(`
        const locks = createLocks();
        await locks.mutex('a').acquire();
        try { await locks.mutex('a').acquire({ wait: 200 }) }
        catch (error) { process.stdout.write([error instanceof LockTimeoutError, error.code].join(' ')) }`),
    ).toBe('true timeout');
  });

  it('stays alive while it waits for a reply, also with a client that is unref()ed', async () => {
    const server = await startRealRedis();
    onTestFinished(() => server.stop());
    expect(
      await program(`
        import { createClient } from 'redis';
        import { redisStore } from './dist/index.js';
        const client = createClient({ url: 'redis://127.0.0.1:${server.port}' });
        await client.connect();
        client.unref();
        const locks = createLocks({ store: redisStore(client) });
        for (const wait of ['10s', Infinity, 0]) {
          void client.sendCommand(['CLIENT', 'PAUSE', '300']);
          await (await locks.mutex('a').acquire({ wait })).release();
        }
        process.stdout.write('done')`),
    ).toBe('done');
  });

  it('stays alive while it waits for a value that another process loads, also if it joins late', async () => {
    const server = await startRealRedis();
    onTestFinished(() => server.stop());
    const url = `redis://127.0.0.1:${server.port}`;
    const options = { fresh: '100ms', stale: '2s', beta: 0 } as const;
    const endless = { ...options, hardTimeout: Infinity, softTimeout: Infinity };
    await using locks = createLocks(url);
    await locks.cache('k', options, () => 'old');
    await new Promise((resolve) => setTimeout(resolve, 150));
    let finish = (_value: string): void => {};
    const loading = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const loaded = locks.cache('k', endless, () => loading);
    const output = program(`
      const locks = createLocks('${url}');
      const read = () => locks.cache('k', { ...${JSON.stringify(options)}, hardTimeout: Infinity }, () => 'other');
      process.stdout.write(await read() + ' ');
      await new Promise((resolve) => setTimeout(resolve, 2500));
      process.stdout.write(await read());`);
    await new Promise((resolve) => setTimeout(resolve, 4500));
    finish('new');
    await loaded;
    expect(await output).toBe('old new');
  });

  it('stays alive until its election ends, also after its leadership was lost', async () => {
    const server = await startRealRedis();
    onTestFinished(() => server.stop());
    const output = await program(`
      const locks = createLocks('redis://127.0.0.1:${server.port}');
      let terms = 0;
      const election = locks.elect('e', async () => {
        process.stdout.write('leads ');
        if (++terms === 2) return void election.stop();
        await locks.mutex('e').forceRelease();
        await new Promise((resolve) => setTimeout(resolve, 2000).unref());
      }, { lease: '1s' });
      await election.done;
      process.stdout.write('over');`);
    expect(output).toBe('leads leads over');
  });

  it('exits soon after close(), also if the server is down', async () => {
    const server = await startRealRedis();
    onTestFinished(() => server.stop());
    const text = await program(`
      import { Redis } from 'ioredis';
      const locks = createLocks('redis://127.0.0.1:${server.port}');
      await locks.mutex('a').run(() => {});
      await new Redis(${server.port}, { retryStrategy: null }).shutdown('NOSAVE').catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 300));
      await locks.close();
      const closedMs = performance.now();
      process.on('exit', () => process.stdout.write(String(performance.now() - closedMs)));`);
    expect(Number(text)).toBeLessThan(withinMs(1500));
  });
});

describe('a program whose server is down', () => {
  let engine: Engine;
  let port: number;
  let server: Server;
  beforeAll(async () => {
    engine = createEngine();
    server = await startServer({ engine, port: 0 });
    port = server.port!;
  });
  afterAll(async () => {
    await server.close();
    engine.close();
  });

  /** What the program prints, whose server starts again after a second. */
  const whileDown = async (code: string): Promise<string> => {
    await server.close();
    const output = program(`const locks = createLocks('redis://127.0.0.1:${port}'); ${code}`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    server = await startServer({ engine, port });
    return output;
  };

  it('stays alive in ready()', async () => {
    const output = await whileDown("await locks.ready(); process.stdout.write('ready');");
    expect(output).toBe('ready');
  });

  it('stays alive in adopt()', async () => {
    await using locks = createLocks(`redis://127.0.0.1:${port}`);
    const text = JSON.stringify((await locks.mutex('a').acquire()).transfer());
    const output = await whileDown(`
      const lease = await locks.adopt(${text});
      process.stdout.write(await lease.release());`);
    expect(output).toBe('released');
  });
});

describe('a program whose worker renews its leases', () => {
  it('exits without close()', async () => {
    const server = await startRealRedis();
    onTestFinished(() => server.stop());
    const output = await program(`
      const locks = createLocks('redis://127.0.0.1:${server.port}', { renewFrom: 'worker' });
      await locks.mutex('a').run(() => new Promise((resolve) => setTimeout(resolve, 100)));
      process.stdout.write('done');`);
    expect(output).toBe('done');
  });
});

/** What a program passes to createLocks, and what stops the servers. */
const STORES: Readonly<
  Record<string, () => Promise<{ options: CreateLocksOptions; stop(): unknown }>>
> = {
  'redis-server': async () => {
    const server = await startRealRedis();
    return { options: { url: `redis://127.0.0.1:${server.port}` }, stop: () => server.stop() };
  },
  'holdfast serve, with a session': async () => {
    const server = await startHoldfast();
    const options = { url: `redis://127.0.0.1:${server.port}`, session: true };
    return { options, stop: () => server.stop() };
  },
  memcached: async () => {
    const server = await startMemcached();
    return { options: { url: `memcached://127.0.0.1:${server.port}` }, stop: () => server.stop() };
  },
  'a quorum': async () => {
    const { url, stop } = await startRealQuorum(3);
    return { options: { url }, stop };
  },
};

describe.concurrent.each(Object.entries(STORES))('a program with locks in %s', (_, start) => {
  let options: CreateLocksOptions;
  let stop: () => unknown;
  beforeAll(async () => {
    ({ options, stop } = await start());
  });
  afterAll(() => stop());

  const run = (code: string): Promise<string> =>
    program(`const locks = createLocks(${JSON.stringify(options)}); ${code}`);

  it('exits without close() when it neither holds a lock nor waits for one', async () => {
    const output = await run(`
      await locks.mutex('a').run(() => {});
      const held = await locks.mutex('b').acquire();
      const waiting = locks.mutex('b').acquire({ wait: Infinity });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await held.release();
      await (await waiting).release();
      process.stdout.write('done');`);
    expect(output).toBe('done');
  });

  it('stays alive while it holds a lock', async () => {
    const output = await run(`
      const lease = await locks.mutex('c').acquire({ lease: '2s' });
      setTimeout(async () => process.stdout.write(await lease.release()), 1000).unref();`);
    expect(output).toBe('released');
  });

  it('stays alive until the callback of run() returns, also if it loses the lock', async () => {
    const output = await run(`
      const work = () => new Promise((resolve) => setTimeout(resolve, 1500).unref());
      await locks.mutex('e').run(work, { maxHold: '500ms' }).catch(({ code }) => process.stdout.write(code));`);
    expect(output).toBe('lost');
  });

  it('stays alive while it waits for a lock, without a wait timeout', async () => {
    await using locks = createLocks(options);
    const lease = await locks.mutex('d').acquire({ wait: '5s' });
    const output = run(`
      const lease = await locks.mutex('d').acquire({ wait: Infinity });
      process.stdout.write(await lease.release());`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await lease.release();
    expect(await output).toBe('released');
  });
});
