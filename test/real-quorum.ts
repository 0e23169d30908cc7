import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { Locks } from '../src/lock/index.ts';
import { quorumUrlStore } from '../src/stores/quorum/quorum-store.ts';
import { freePort, spawnRealRedis, stopProcess } from './real-redis.ts';
import { suspendProcess } from './suspend-process.ts';

/** Redis servers that know nothing of each other. Without persistence: a restart loses all data. */
export interface RealQuorum extends AsyncDisposable {
  readonly nodes: readonly RealNode[];
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts servers, and has them admitted as the nodes of a quorum. */
export async function startRealQuorum(count = 5): Promise<RealQuorum> {
  const nodes: RealNode[] = [];
  for (let index = 0; index < count; index++) nodes.push(new RealNode(await freePort()));
  await Promise.all(nodes.map((node) => node.start()));
  const url = quorumUrl(nodes.map(({ port }) => port));
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  await admit(url);
  return { nodes, url, stop, [Symbol.asyncDispose]: stop };
}

export function quorumUrl(ports: readonly number[]): string {
  return `redis+quorum://${ports.map((port) => `127.0.0.1:${port}`).join()}`;
}

/**
 * New nodes wait for the longest lease: with a short one, they vote soon. The lease may end before it is released, on a
 * busy machine: that the lock was granted is enough.
 */
async function admit(url: string): Promise<void> {
  await using locks = new Locks({ store: quorumUrlStore(url, { maxLease: 30 }) });
  const lease = await locks.mutex('admit').acquire({ lease: 30, wait: '20s', renew: false });
  await lease.release();
}

/** A redis-server that keeps its port when it is started again. */
export class RealNode {
  readonly port: number;
  #process: ChildProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  async start(...options: readonly string[]): Promise<void> {
    const place = ['--port', `${this.port}`, '--bind', '127.0.0.1'];
    this.#process = await spawnRealRedis(...place, ...options);
  }

  async kill(): Promise<void> {
    const exited = once(this.#process!, 'exit');
    this.#process!.kill('SIGKILL');
    await exited;
  }

  /** Whether the server was admitted since it started. */
  async votes(): Promise<boolean> {
    const client = new Redis(this.port, '127.0.0.1');
    const [run, info] = await Promise.all([
      client.hget('quorum:node', 'run'),
      client.info('server'),
    ]);
    client.disconnect();
    return run !== null && info.includes(`run_id:${run}`);
  }

  pause(): void {
    suspendProcess(this.#process!.pid!);
  }

  resume(): void {
    this.#process!.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.resume();
    await stopProcess(this.#process!);
  }
}
