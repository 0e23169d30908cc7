import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { describe, expect, it, type TestContext, vi } from 'vitest';
import { systemClock } from '../src/clock/index.ts';
import { createLocks, type Locks, LockTimeoutError, memoryStore } from '../src/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { BUILD } from './lock-holder-process.ts';
import { monitor } from './monitor.ts';
import { type RunningServer, startRealRedis, stopProcess } from './real-redis.ts';
import { withinMs } from './within.ts';

// Leases end by the clock of a real server, and the event loop is really blocked, so these tests take real time. They
// wait for events; the durations are those of the programs.

/** Most of them wait for leases to end, each with a server of its own. */
vi.setConfig({ maxConcurrency: 4 });

/** The start of every program below. A program prints one JSON value per line, and waits for a line before it continues. */
const PRELUDE = `
  import { writeSync } from 'node:fs';
  import { createInterface } from 'node:readline';
  import { Redis } from 'ioredis';
  const { createLocks } = await import(process.env.BUILD);
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const say = (value) => writeSync(1, JSON.stringify(value) + '\\n');
  const next = () => lines.next();
  const spin = (durationMs) => {
    const untilMs = performance.now() + durationMs;
    while (performance.now() < untilMs);
  };
  // Blocks without using the processor.
  const stall = (durationMs) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
  const stateOf = ({ signal, isHeld }) => ({ isHeld, reason: signal.reason?.reason });
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

/** A server, another client of it, and programs that use it. */
class Scene {
  readonly server: RunningServer;
  readonly client: Redis;
  /** Locks of another client, in this process. */
  readonly others: Locks;
  readonly #programs: Program[] = [];
  readonly #monitors: Socket[] = [];

  private constructor(server: RunningServer) {
    this.server = server;
    this.client = new Redis({ port: server.port });
    this.others = createLocks(`redis://127.0.0.1:${server.port}`);
  }

  /** Opens a scene that is closed when the test has ended, also if it ended by its time limit. */
  static async open({ onTestFinished }: TestContext): Promise<Scene> {
    const scene = new Scene(await startRealRedis());
    onTestFinished(() => scene.#close());
    await scene.others.mutex('first').run(() => {});
    return scene;
  }

  program(code: string, { renewFrom = 'worker', port = this.server.port } = {}): Program {
    const program = new Program(code, renewFrom, port);
    this.#programs.push(program);
    return program;
  }

  /** Starts a program that prints `held`, and continues it when its worker is connected too. */
  async start(code: string, port = this.server.port): Promise<Program> {
    const before = await this.clientCount();
    const program = this.program(code, { port });
    await program.prints('held');
    while ((await this.clientCount()) < before + 2);
    program.continue();
    return program;
  }

  /** Reports each request on locks from now on, with its connection. */
  async monitor(onRequest: (verb: string, key: string, source: string) => void): Promise<void> {
    const monitoring = await monitor(this.server.port, (argv, source) => {
      const [command, , , key, ...args] = argv;
      if (command?.toLowerCase().startsWith('eval')) onRequest(args[0]!, key!, source);
    });
    this.#monitors.push(monitoring);
  }

  async clientCount(): Promise<number> {
    return String(await this.client.client('LIST')).split('\n').length;
  }

  async #close(): Promise<void> {
    for (const { child } of this.#programs) await stopProcess(child);
    for (const socket of this.#monitors) socket.destroy();
    await this.others.close();
    this.client.disconnect();
    await this.server.stop();
  }
}

/** A program that uses the built package, since a worker cannot load TypeScript. */
class Program {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(code: string, renewFrom: string, port: number) {
    const ADDRESS = `redis://127.0.0.1:${port}`;
    this.child = spawn(process.execPath, ['--input-type=module', '--eval', PRELUDE + code], {
      env: { ...process.env, BUILD, ADDRESS, RENEW_FROM: renewFrom },
      stdio: 'pipe',
    });
    this.#lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
    this.child.stderr!.on('data', (text) => {
      this.#errors += text;
    });
  }

  async prints(expected: unknown): Promise<void> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the program has ended: ${this.#errors}`);
    expect(JSON.parse(value)).toEqual(expected);
  }

  /** Sends the line that next() waits for. */
  continue(): void {
    this.child.stdin!.write('go\n');
  }
}

describe('a program that blocks its event loop for more than two leases', () => {
  const BLOCKS = `
    const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
    const { signal } = lease;
    signal.addEventListener('abort', () => say('aborted'));
    say('held');
    await next();
    spin(${withinMs(2500)});
    say(signal.aborted);
    say(stateOf(lease));
    say(await write(lease.fence));
    say(await lease.release());
  `;

  it('loses its lease without a worker, and sees the loss in the next statement', async (context) => {
    const scene = await Scene.open(context);
    const program = scene.program(BLOCKS, { renewFrom: 'main' });
    await program.prints('held');
    program.continue();
    const next = await scene.others.mutex('a').acquire({ wait: withinMs(4000) });
    await scene.client.set('last', next.fence);
    await program.prints('aborted');
    await program.prints(true);
    await program.prints({ isHeld: false, reason: 'unreachable' });
    await program.prints('refused');
    await program.prints('not-held');
  });

  it('keeps its lease when a worker renews it', async (context) => {
    const scene = await Scene.open(context);
    const program = await scene.start(BLOCKS);
    const wait = scene.others.mutex('a').acquire({ wait: withinMs(2000) });
    await expect(wait).rejects.toThrow(LockTimeoutError);
    await program.prints(false);
    await program.prints({ isHeld: true });
    await program.prints('written');
    await program.prints('released');
  });

  it.concurrent('keeps locks of every kind, also those of all()', async (context) => {
    const scene = await Scene.open(context);
    const program = await scene.start(`
      const leases = await Promise.all([
        locks.semaphore('s', 3, { permits: 2 }).acquire({ lease: ${withinMs(900)} }),
        locks.readWrite('r').write.acquire({ lease: ${withinMs(1000)} }),
        locks.all(['x', 'y']).acquire({ lease: ${withinMs(1100)} }),
      ]);
      say('held');
      await next();
      stall(${withinMs(2500)});
      say(leases.map((lease) => stateOf(lease)));
      await new Promise(setImmediate);
      say(leases.map((lease) => stateOf(lease)));
    `);
    const held = { isHeld: true };
    await program.prints([held, held, held]);
    await program.prints([held, held, held]);
    expect(await scene.others.semaphore('s', 3, { permits: 2 }).tryAcquire()).toBe(null);
    expect(await scene.others.readWrite('r').read.tryAcquire()).toBe(null);
    expect(await scene.others.mutex('y').tryAcquire()).toBe(null);
  });

  it.concurrent('sees in the next statement that its lock was released by force', async (context) => {
    const scene = await Scene.open(context);
    const program = await scene.start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await next();
      say('stalls');
      stall(${withinMs(2500)});
      say(stateOf(lease));
      say(await lease.release());
    `);
    await program.prints('stalls');
    expect(await scene.others.mutex('a').forceRelease()).toBe(1);
    await program.prints({ isHeld: false, reason: 'stolen' });
    await program.prints('not-held');
  });

  it.concurrent('loses its lease when the worker cannot reach the store either', async (context) => {
    const scene = await Scene.open(context);
    const program = await scene.start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await next();
      say('stalls');
      stall(${withinMs(2500)});
      say(stateOf(lease));
    `);
    await program.prints('stalls');
    await scene.client.client('PAUSE', withinMs(3000), 'ALL');
    await program.prints({ isHeld: false, reason: 'unreachable' });
    await scene.client.client('UNPAUSE');
  });
});

describe('a worker that renews', () => {
  it.concurrent('does not renew a lease after its release', async (context) => {
    const scene = await Scene.open(context);
    const verbs: string[] = [];
    await scene.monitor((verb, key) => {
      if (key === 'lock:{a}') verbs.push(verb);
    });
    const program = await scene.start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await next();
      stall(${withinMs(2000)});
      say(await lease.release());
      stall(${withinMs(2000)});
      say('over');
    `);
    await program.prints('released');
    await program.prints('over');
    expect(verbs).toContain('extend');
    expect(verbs.slice(verbs.indexOf('release'))).toEqual(['release']);
  });

  it.concurrent('does not renew a lease whose release was not sent yet', async (context) => {
    const scene = await Scene.open(context);
    const program = await scene.start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await next();
      stall(${withinMs(2000)});
      say('releases');
      const released = lease.release();
      stall(${withinMs(3000)});
      say(await released);
    `);
    await program.prints('releases');
    await scene.others.mutex('a').acquire({ wait: withinMs(2500) });
    // After the stall, the timeout of the release runs before its reply is read.
    await program.prints('unknown');
  });

  it.concurrent('does not renew a lease with renew: false, or after maxHold', async (context) => {
    const scene = await Scene.open(context);
    const program = await scene.start(`
      await locks.mutex('first').acquire();
      say('held');
      await next();
      const short = await locks.mutex('a').acquire({ lease: ${withinMs(900)}, renew: false });
      const limited = await locks.mutex('b').acquire({ lease: ${withinMs(900)}, maxHold: ${withinMs(1500)} });
      say('stalls');
      stall(${withinMs(4000)});
      say([stateOf(short), stateOf(limited)]);
    `);
    await program.prints('stalls');
    await scene.others.mutex('a').acquire({ wait: withinMs(2000) });
    expect(await scene.others.mutex('b').tryAcquire()).toBe(null);
    await scene.others.mutex('b').acquire({ wait: withinMs(3000) });
    await program.prints([
      { isHeld: false, reason: 'expired' },
      { isHeld: false, reason: 'unreachable' },
    ]);
  });

  it.concurrent('keeps a lease that the main thread cannot renew, and reports the loss when it cannot renew it either', async (context) => {
    const scene = await Scene.open(context);
    await using proxy = await FaultProxy.start(scene.server.port);
    const program = await scene.start(
      `
      const lease = await locks.mutex('a').acquire({ lease: 1800 });
      say('held');
      await next();
      await new Promise((resolve) => setTimeout(resolve, 2800));
      const { isHeld, signal } = lease;
      say(isHeld);
      signal.addEventListener('abort', () => say(signal.reason.reason));
    `,
      proxy.port,
    );
    const [main] = proxy.links;
    main!.set({ kind: 'swallow' });
    await program.prints(true);
    const beganMs = performance.now();
    await proxy.set({ kind: 'swallow' });
    await program.prints('unreachable');
    // Before the timeout of the main thread's own request.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(2500, 5000));
  });

  it.concurrent('reports a stolen lease at once, also if the program does not use it', async (context) => {
    const scene = await Scene.open(context);
    await using proxy = await FaultProxy.start(scene.server.port);
    const program = await scene.start(
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
    await scene.others.mutex('a').forceRelease();
    await program.prints('stolen');
    // The worker renews after 3 s. The main thread itself would notice the loss after 6 s.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(5000, 6000));
  });

  it.concurrent('sends no request while the main thread renews', async (context) => {
    const scene = await Scene.open(context);
    const sources = new Set<string>();
    let extendCount = 0;
    await scene.monitor((verb, _key, source) => {
      if (verb !== 'extend') return;
      sources.add(source);
      extendCount++;
    });
    const program = await scene.start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await next();
      for (let turn = 0; turn < 40; turn++) {
        await new Promise((resolve) => setTimeout(resolve, ${withinMs(50)}));
      }
      say(stateOf(lease));
    `);
    await program.prints({ isHeld: true });
    expect(extendCount).toBeGreaterThan(4);
    expect(sources.size).toBe(1);
  });

  it.concurrent('that ends causes a warning, and the main thread renews alone', async (context) => {
    const scene = await Scene.open(context);
    const program = await scene.start(`
      const lease = await locks.mutex('a').acquire({ lease: ${withinMs(900)} });
      say('held');
      await next();
      await workers[0].terminate();
      await new Promise((resolve) => setTimeout(resolve, ${withinMs(2500)}));
      say(stateOf(lease));
      stall(${withinMs(1500)});
      say(stateOf(lease));
      await locks.mutex('b').run(() => {});
      say(workers.length);
    `);
    await program.prints('HOLDFAST_RENEWAL_WORKER');
    await program.prints({ isHeld: true });
    await program.prints({ isHeld: false, reason: 'unreachable' });
    await program.prints(1);
  });

  it('that cannot be started causes one warning', async (context) => {
    const scene = await Scene.open(context);
    // In this process the worker's file does not exist: only the build has it as .js.
    const codes: unknown[] = [];
    const onWarning = (warning: Error & { code?: string }) => codes.push(warning.code);
    process.on('warning', onWarning);
    const locks = createLocks(`redis://127.0.0.1:${scene.server.port}`, { renewFrom: 'worker' });
    const lease = await locks.mutex('a').acquire();
    while (codes.length === 0) await new Promise(setImmediate);
    expect(lease.isHeld).toBe(true);
    await locks.close();
    process.off('warning', onWarning);
    expect(codes).toEqual(['HOLDFAST_RENEWAL_WORKER']);
  });

  it.concurrent('is started with the first lease, and ended by close()', async (context) => {
    const scene = await Scene.open(context);
    const before = await scene.clientCount();
    const program = scene.program(`
      say(workers.length);
      await locks.mutex('a').inspect();
      say(workers.length);
      await locks.mutex('a').run(() => {});
      await locks.mutex('b').run(() => {});
      say(workers.length);
      workers[0].on('exit', () => say('ended'));
      await next();
      await locks.close();
      say('closed');
      process.stdin.destroy();
    `);
    for (const count of [0, 0, 1]) await program.prints(count);
    while ((await scene.clientCount()) < before + 2);
    program.continue();
    await program.prints('ended');
    await program.prints('closed');
    const [code] = await once(program.child, 'exit');
    expect(code).toBe(0);
  });
});

describe('renewFrom', () => {
  it('throws without an address', () => {
    const calls = [
      () => createLocks({ renewFrom: 'worker' }),
      () => createLocks({ store: memoryStore(systemClock), renewFrom: 'worker' }),
    ];
    for (const call of calls) expect(call).toThrow(/renewFrom needs an address/);
  });

  it('throws for a value that is not main or worker', () => {
    const call = () => createLocks('redis://127.0.0.1:1', { renewFrom: 'thread' as never });
    expect(call).toThrow(/renewFrom is 'main' or 'worker'; got 'thread'/);
  });
});
