import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../src/clock/index.ts';
import { createLocks, type Locks, LockTimeoutError, memoryStore } from '../src/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RunningServer, startRealRedis, stopProcess } from './real-redis.ts';
import { withinMs } from './within.ts';

// The leases below end by the clock of a real server, and the event loop is really blocked: these tests
// let time pass. What they wait for is always an event; the times are those of the programs.

let server: RunningServer;
let client: Redis;
/** Those of somebody else, in this process. */
let others: Locks;
let programs: Program[] = [];
let monitors: Redis[] = [];

beforeEach(async () => {
  server = await startRealRedis();
  client = new Redis({ port: server.port });
  others = createLocks(`redis://127.0.0.1:${server.port}`);
  await others.mutex('first').run(() => {});
});

afterEach(async () => {
  for (const { child } of programs) await stopProcess(child);
  for (const ears of monitors) ears.disconnect();
  programs = [];
  monitors = [];
  await others.close();
  client.disconnect();
  await server.stop();
});

/** What every program below begins with. It says things by lines, and waits to be told to go on. */
const PRELUDE = `
  import { writeSync } from 'node:fs';
  import { createInterface } from 'node:readline';
  import { Redis } from 'ioredis';
  const { createLocks } = await import(process.env.BUILD);
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const say = (value) => writeSync(1, JSON.stringify(value) + '\\n');
  const told = () => lines.next();
  const spin = (durationMs) => {
    const untilMs = performance.now() + durationMs;
    while (performance.now() < untilMs);
  };
  // Blocks as well, but leaves the processor to others.
  const stall = (durationMs) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
  const look = ({ signal, isHeld }) => ({ isHeld, reason: signal.reason?.reason });
  const write = (fence) => {
    const script = "if redis.call('GET', 'last') and tonumber(redis.call('GET', 'last')) > tonumber(ARGV[1]) " +
      "then return 'refused' end redis.call('SET', 'last', ARGV[1]) return 'written'";
    const client = new Redis(process.env.ADDRESS);
    return client.eval(script, 0, fence).finally(() => client.disconnect());
  };
  const workers = [];
  process.on('worker', (worker) => workers.push(worker));
  process.on('warning', ({ code }) => say(code));
  const locks = createLocks(process.env.ADDRESS, { renewFrom: process.env.RENEW_FROM });
`;

/** A program on the package as it was built, since a worker cannot load TypeScript. */
class Program {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(body: string, { renewFrom = 'worker', port = server.port } = {}) {
    const ADDRESS = `redis://127.0.0.1:${port}`;
    this.child = spawn(process.execPath, ['--input-type=module', '--eval', PRELUDE + body], {
      env: { ...process.env, BUILD, ADDRESS, RENEW_FROM: renewFrom },
      stdio: 'pipe',
    });
    programs.push(this);
    this.#lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
    this.child.stderr!.on('data', (text) => {
      this.#errors += text;
    });
  }

  async hears(expected: unknown): Promise<void> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the program has ended: ${this.#errors}`);
    expect(JSON.parse(value)).toEqual(expected);
  }

  /** Lets it go on from where it is. */
  tell(): void {
    this.child.stdin!.write('go\n');
  }
}

/** Starts a program that says `held`, and lets it go on when its worker is connected too. */
async function start(body: string, port = server.port): Promise<Program> {
  const before = await clientCount();
  const program = new Program(body, { port });
  await program.hears('held');
  while ((await clientCount()) < before + 2);
  program.tell();
  return program;
}

/** What is asked of locks from now on, and by which connection. */
async function monitor(
  onRequest: (verb: string, key: string, source: string) => void,
): Promise<void> {
  const ears = await client.monitor();
  monitors.push(ears);
  ears.on('monitor', (_time: string, words: string[], source: string) => {
    const [command, , , key, ...args] = words;
    if (command?.toLowerCase().startsWith('eval')) onRequest(args[0]!, key!, source);
  });
}

async function clientCount(): Promise<number> {
  return String(await client.client('LIST')).split('\n').length;
}

describe('a program that blocks its event loop for more than two leases', () => {
  const BLOCKS = `
    const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
    const { signal } = lease;
    signal.addEventListener('abort', () => say('aborted'));
    say('held');
    await told();
    spin(${withinMs(2500)});
    say(signal.aborted);
    say(look(lease));
    say(await write(lease.fence));
    say(await lease.release());
  `;

  it('loses its lease, and is told on the next line', async () => {
    const program = new Program(BLOCKS, { renewFrom: 'main' });
    await program.hears('held');
    program.tell();
    const next = await others.mutex('a').acquire({ wait: withinMs(4000) });
    await client.set('last', next.fence);
    await program.hears('aborted');
    await program.hears(true);
    await program.hears({ isHeld: false, reason: 'unreachable' });
    await program.hears('refused');
    await program.hears('not-held');
  });

  it('keeps it when a worker renews it, and goes on as if nothing had been', async () => {
    const program = await start(BLOCKS);
    const wait = others.mutex('a').acquire({ wait: withinMs(2000) });
    await expect(wait).rejects.toThrow(LockTimeoutError);
    await program.hears(false);
    await program.hears({ isHeld: true });
    await program.hears('written');
    await program.hears('released');
  });

  it('keeps locks of every kind, also several', async () => {
    const program = await start(`
      const leases = await Promise.all([
        locks.semaphore('s', 3, { permits: 2 }).acquire({ lease: ${withinMs(900)} }),
        locks.readWrite('r').write.acquire({ lease: ${withinMs(1000)} }),
        locks.all(['x', 'y']).acquire({ lease: ${withinMs(1100)} }),
      ]);
      say('held');
      await told();
      stall(${withinMs(2500)});
      say(leases.map((lease) => look(lease)));
      await new Promise(setImmediate);
      say(leases.map((lease) => look(lease)));
    `);
    const held = { isHeld: true };
    await program.hears([held, held, held]);
    await program.hears([held, held, held]);
    expect(await others.semaphore('s', 3, { permits: 2 }).tryAcquire()).toBe(null);
    expect(await others.readWrite('r').read.tryAcquire()).toBe(null);
    expect(await others.mutex('y').tryAcquire()).toBe(null);
  });

  it('is told on the next line that somebody took its lock by force', async () => {
    const program = await start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await told();
      say('stalls');
      stall(${withinMs(2500)});
      say(look(lease));
      say(await lease.release());
    `);
    await program.hears('stalls');
    expect(await others.mutex('a').forceRelease()).toBe(1);
    await program.hears({ isHeld: false, reason: 'stolen' });
    await program.hears('not-held');
  });

  it('loses its lease when the worker cannot reach the store either', async () => {
    const program = await start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await told();
      say('stalls');
      stall(${withinMs(2500)});
      say(look(lease));
    `);
    await program.hears('stalls');
    await client.client('PAUSE', withinMs(3000), 'ALL');
    await program.hears({ isHeld: false, reason: 'unreachable' });
    await client.client('UNPAUSE');
  });
});

describe('a worker that renews', () => {
  it('leaves alone what was released, at once', async () => {
    const verbs: string[] = [];
    await monitor((verb, key) => {
      if (key === 'lock:{a}') verbs.push(verb);
    });
    const program = await start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await told();
      stall(${withinMs(2000)});
      say(await lease.release());
      stall(${withinMs(2000)});
      say('over');
    `);
    await program.hears('released');
    await program.hears('over');
    expect(verbs).toContain('extend');
    expect(verbs.slice(verbs.indexOf('release'))).toEqual(['release']);
  });

  it('leaves alone what is being released, even before the store hears of that', async () => {
    const program = await start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await told();
      stall(${withinMs(2000)});
      say('releases');
      const released = lease.release();
      stall(${withinMs(3000)});
      say(await released);
    `);
    await program.hears('releases');
    await others.mutex('a').acquire({ wait: withinMs(2500) });
    // Its timer comes before the reply, which is late.
    await program.hears('unknown');
  });

  it('leaves alone what is not to be renewed, or no longer', async () => {
    const program = await start(`
      await locks.mutex('first').acquire();
      say('held');
      await told();
      const short = await locks.mutex('a').acquire({ lease: ${withinMs(900)}, renew: false });
      const limited = await locks.mutex('b').acquire({ lease: ${withinMs(900)}, maxHold: ${withinMs(1500)} });
      say('stalls');
      stall(${withinMs(4000)});
      say([look(short), look(limited)]);
    `);
    await program.hears('stalls');
    await others.mutex('a').acquire({ wait: withinMs(2000) });
    expect(await others.mutex('b').tryAcquire()).toBe(null);
    await others.mutex('b').acquire({ wait: withinMs(3000) });
    await program.hears([
      { isHeld: false, reason: 'expired' },
      { isHeld: false, reason: 'unreachable' },
    ]);
  });

  it('keeps a lease that the main thread cannot renew, and tells when it no longer can', async () => {
    await using proxy = await FaultProxy.start(server.port);
    const program = await start(
      `
      const lease = await locks.mutex('a').acquire({ lease: 1800 });
      say('held');
      await told();
      await new Promise((resolve) => setTimeout(resolve, 2800));
      const { isHeld, signal } = lease;
      say(isHeld);
      signal.addEventListener('abort', () => say(signal.reason.reason));
    `,
      proxy.port,
    );
    const [main] = proxy.links;
    main!.set({ kind: 'swallow' });
    await program.hears(true);
    const beganMs = performance.now();
    await proxy.set({ kind: 'swallow' });
    await program.hears('unreachable');
    // Long before the main thread's own request, which has been under way for long, ends in a time-out.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(2500, 5000));
  });

  it('tells at once of a lease that was taken, even if nobody looks', async () => {
    await using proxy = await FaultProxy.start(server.port);
    const program = await start(
      `
      const lease = await locks.mutex('a').acquire({ lease: 6000 });
      const { signal } = lease;
      signal.addEventListener('abort', () => say(signal.reason.reason));
      say('held');
    `,
      proxy.port,
    );
    const [main] = proxy.links;
    main!.set({ kind: 'swallow' });
    const beganMs = performance.now();
    await others.mutex('a').forceRelease();
    await program.hears('stolen');
    // The worker asks after three seconds; the main thread itself would look when six are over.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(5000, 6000));
  });

  it('does nothing while the main thread renews by itself', async () => {
    const sources = new Set<string>();
    let extendCount = 0;
    await monitor((verb, _key, source) => {
      if (verb !== 'extend') return;
      sources.add(source);
      extendCount++;
    });
    const program = await start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await told();
      for (let turn = 0; turn < 40; turn++) {
        await new Promise((resolve) => setTimeout(resolve, ${withinMs(50)}));
      }
      say(look(lease));
    `);
    await program.hears({ isHeld: true });
    expect(extendCount).toBeGreaterThan(4);
    expect(sources.size).toBe(1);
  });

  it('that dies is warned of, and the main thread renews alone', async () => {
    const program = await start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await told();
      await workers[0].terminate();
      await new Promise((resolve) => setTimeout(resolve, ${withinMs(2500)}));
      say(look(lease));
      stall(${withinMs(1500)});
      say(look(lease));
      await locks.mutex('b').run(() => {});
      say(workers.length);
    `);
    await program.hears('HOLDFAST_RENEWAL_WORKER');
    await program.hears({ isHeld: true });
    await program.hears({ isHeld: false, reason: 'unreachable' });
    await program.hears(1);
  });

  it('that cannot be started is warned of, once', async () => {
    // Here the program of the worker is TypeScript, which does not load under the name that it is built to.
    const codes: unknown[] = [];
    const onWarning = (warning: Error & { code?: string }) => codes.push(warning.code);
    process.on('warning', onWarning);
    const locks = createLocks(`redis://127.0.0.1:${server.port}`, { renewFrom: 'worker' });
    const lease = await locks.mutex('a').acquire();
    while (codes.length === 0) await new Promise(setImmediate);
    expect(lease.isHeld).toBe(true);
    await locks.close();
    process.off('warning', onWarning);
    expect(codes).toEqual(['HOLDFAST_RENEWAL_WORKER']);
  });

  it('is started with the first lease, and ends with close()', async () => {
    const before = await clientCount();
    const program = new Program(`
      say(workers.length);
      await locks.mutex('a').inspect();
      say(workers.length);
      await locks.mutex('a').run(() => {});
      await locks.mutex('b').run(() => {});
      say(workers.length);
      workers[0].on('exit', () => say('ended'));
      await told();
      await locks.close();
      say('closed');
      process.stdin.destroy();
    `);
    for (const count of [0, 0, 1]) await program.hears(count);
    while ((await clientCount()) < before + 2);
    program.tell();
    await program.hears('ended');
    await program.hears('closed');
    const [code] = await once(program.child, 'exit');
    expect(code).toBe(0);
  });
});

describe('renewFrom', () => {
  it('is refused where a worker could not connect', () => {
    const asks = [
      () => createLocks({ renewFrom: 'worker' }),
      () => createLocks({ store: memoryStore(systemClock), renewFrom: 'worker' }),
    ];
    for (const ask of asks) expect(ask).toThrow(/renewFrom needs an address/);
  });

  it('is one of two words', () => {
    const ask = () => createLocks('redis://127.0.0.1:1', { renewFrom: 'thread' as never });
    expect(ask).toThrow(/renewFrom is 'main' or 'worker'; got 'thread'/);
  });
});
