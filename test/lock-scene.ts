import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { createClient } from 'redis';
import { type Clock, systemClock } from '../src/clock/index.ts';
import { createLocks, type Lease, type Locks, redisStore } from '../src/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { HolderProcess } from './lock-holder-process.ts';
import { spawnRealRedis, startHoldfast } from './real-redis.ts';
import { suspendProcess } from './suspend-process.ts';
import { withinMs } from './within.ts';

export interface ProgramOptions {
  /** Connects through the proxy, or directly to the server. */
  readonly by?: 'proxy' | 'direct';
  readonly client?: 'ioredis' | 'node-redis';
  readonly ioredis?: Pick<RedisOptions, 'autoResendUnfulfilledCommands' | 'enableReadyCheck'>;
  readonly requestTimeoutMs?: number;
  readonly clock?: Clock;
}

/**
 * A redis-server, a proxy in front of it, and programs that use its locks. Disposing the scene ends all of them.
 */
export class LockScene implements AsyncDisposable {
  readonly port: number;
  readonly proxy: FaultProxy;
  /** A client that is not affected by the faults of the proxy. */
  readonly direct: Redis;
  readonly #closers: (() => unknown)[] = [];
  readonly #redisOptions: readonly string[];
  #redis: ChildProcess | undefined;
  #neighbour: Locks | undefined;

  /** Opens a scene on redis-server. */
  static async open(...redisOptions: readonly string[]): Promise<LockScene> {
    const port = await nextPort();
    const scene = new LockScene(port, await FaultProxy.start(port), redisOptions);
    await scene.startServer();
    return scene;
  }

  /** Opens a scene on a Holdfast server in this process. */
  static async openOnHoldfast(): Promise<LockScene> {
    const server = await startHoldfast();
    const scene = new LockScene(server.port, await FaultProxy.start(server.port), []);
    scene.#closers.push(() => server.stop());
    return scene;
  }

  private constructor(port: number, proxy: FaultProxy, redisOptions: readonly string[]) {
    this.port = port;
    this.proxy = proxy;
    this.#redisOptions = redisOptions;
    this.direct = this.client();
  }

  async startServer(): Promise<void> {
    const where = ['--port', `${this.port}`, '--bind', '127.0.0.1'];
    this.#redis = await spawnRealRedis(...where, ...this.#redisOptions);
    RUNNING.add(this.#redis);
  }

  /** Kills the server by SIGKILL. */
  async crashServer(): Promise<void> {
    const died = once(this.#redis!, 'exit');
    this.#redis!.kill('SIGKILL');
    await died;
    RUNNING.delete(this.#redis!);
  }

  /** Stops the server by SIGSTOP, like a suspended machine. */
  stopServer(): void {
    suspendProcess(this.#redis!.pid!);
  }

  continueServer(): void {
    this.#redis!.kill('SIGCONT');
  }

  /** A client that reconnects at once. */
  client(port = this.port, options: ProgramOptions['ioredis'] = {}): Redis {
    const quick = { host: '127.0.0.1', retryStrategy: () => 1, enableReadyCheck: false };
    const client = new Redis({ port, ...quick, ...options });
    client.on('error', () => {});
    this.onClose(() => client.disconnect());
    return client;
  }

  /** The locks of a program with a client of its own. */
  async locks(options: ProgramOptions = {}): Promise<Locks> {
    const { by = 'proxy', client = 'ioredis', clock = systemClock } = options;
    const port = by === 'proxy' ? this.proxy.port : this.port;
    const connected =
      client === 'ioredis' ? this.client(port, options.ioredis) : await this.#nodeRedis(port);
    const store = redisStore(connected as never, {
      requestTimeout: options.requestTimeoutMs ?? 5000,
    });
    const locks = createLocks({ store, clock });
    this.onClose(() => locks.close());
    return locks;
  }

  /** The locks of a program that uses an address, and so our own client. */
  locksByUrl(): Locks {
    const locks = createLocks(`redis://127.0.0.1:${this.proxy.port}`);
    this.onClose(() => locks.close());
    return locks;
  }

  /** The locks of another program, which is not affected by the faults of the proxy. */
  neighbour(): Locks {
    if (this.#neighbour === undefined) {
      const locks = createLocks({ store: redisStore(this.direct as never) });
      this.onClose(() => locks.close());
      this.#neighbour = locks;
    }
    return this.#neighbour;
  }

  /** A program in a process of its own. */
  async program(by: 'proxy' | 'direct' = 'direct'): Promise<HolderProcess> {
    const child = await HolderProcess.start(by === 'proxy' ? this.proxy.port : this.port);
    this.onClose(() => child.kill());
    return child;
  }

  /** The token in the key of a mutex. */
  ownerOf(name: string): Promise<string | null> {
    return this.direct.get(`lock:{${name}}`);
  }

  /** The remaining TTL of a mutex. Negative if it is free. */
  leftMs(name: string): Promise<number> {
    return this.direct.pttl(`lock:{${name}}`);
  }

  /** When the lease of a mutex ends in the store, as wall-clock time. Negative if it is free. */
  endMs(name: string): Promise<number> {
    return this.direct.pexpiretime(`lock:{${name}}`);
  }

  async waitersOf(name: string): Promise<number> {
    return (await this.neighbour().mutex(name).inspect()).waiters.length;
  }

  async holdersOf(name: string): Promise<readonly { fence: number; leftMs: number }[]> {
    const { holders } = await this.neighbour().mutex(name).inspect();
    return holders.filter((holder) => !holder.foreign);
  }

  /** The number of calls of a command, also by scripts, since the last `forgetCalls`. */
  async callsOf(command: string): Promise<number> {
    const stats = await this.direct.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  async forgetCalls(): Promise<void> {
    await this.direct.config('RESETSTAT');
  }

  onClose(closer: () => unknown): void {
    this.#closers.push(closer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.set({ kind: 'pass' });
    for (const close of this.#closers.reverse()) await close();
    await this.proxy[Symbol.asyncDispose]();
    if (this.#redis?.exitCode === null && this.#redis.signalCode === null) await this.crashServer();
  }

  async #nodeRedis(port: number): Promise<unknown> {
    const socket = { port, host: '127.0.0.1', reconnectStrategy: () => 1 };
    const client = createClient({ socket });
    client.on('error', () => {});
    await client.connect();
    this.onClose(() => client.destroy());
    return client;
  }
}

/** Servers that are killed when the test run exits, also if a test failed. */
const RUNNING = new Set<ChildProcess>();
process.once('exit', () => {
  for (const redis of RUNNING) redis.kill('SIGKILL');
});

const FIRST_PORT = 17_300;
const PORTS_OF_WORKER = 25;
let lastPort = 0;

/**
 * A port that a server can use again after a restart: below the ephemeral ports of the system, and different in each
 * worker of the test run.
 */
async function nextPort(): Promise<number> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % 8;
  for (;;) {
    const port = FIRST_PORT + worker * PORTS_OF_WORKER + (lastPort++ % PORTS_OF_WORKER);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const listener = createServer();
  try {
    listener.listen(port, '127.0.0.1');
    await once(listener, 'listening');
    listener.close();
    await once(listener, 'close');
    return true;
  } catch {
    return false;
  }
}

/** When the signal of a lease aborted, and why. */
export interface Loss {
  readonly reason: unknown;
  /** Wall-clock time, like the ends of leases on the server. */
  readonly atMs: number;
  /** The delay of the event loop at that time, which delays the abort. */
  readonly lateMs: number;
}

export function lossOf(lease: Lease): Promise<Loss> {
  const { signal } = lease;
  let lastTurnMs = performance.now();
  let lateMs = 0;
  const turns = setInterval(() => {
    lateMs = Math.max(lateMs * 0.9, performance.now() - lastTurnMs - TURN_MS);
    lastTurnMs = performance.now();
  }, TURN_MS);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      clearInterval(turns);
      lateMs = Math.max(lateMs, performance.now() - lastTurnMs - TURN_MS);
      resolve({ reason: signal.reason, atMs: Date.now(), lateMs });
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}

const TURN_MS = 4;

/** Resolves with the value, or with the error as a value. */
export function settled<Value>(work: Promise<Value>): Promise<Value | Error> {
  return work.catch((error: Error) => error);
}

/**
 * Polls until the condition is true: for the state of another process or of a server, which sends no event.
 */
export async function until(
  condition: () => Promise<boolean> | boolean,
  limitMs = withinMs(15_000),
): Promise<void> {
  const untilMs = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error(`not true within ${limitMs} ms: ${condition}`);
    await elapse(2);
  }
}

/** Waits in real time, for the clock of a server or of another process. */
export function elapse(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
