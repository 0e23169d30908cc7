import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createEngine, type EngineOptions } from '../src/engine/index.ts';
import { startServer } from '../src/server/index.ts';

/** A server under test, ours or Redis itself. */
export interface RunningServer {
  readonly host: '127.0.0.1';
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a redis-server without persistence on a free loopback port. */
export async function startRealRedis(...options: readonly string[]): Promise<RunningServer> {
  const port = await freePort();
  const redis = await spawnRealRedis('--port', `${port}`, '--bind', '127.0.0.1', ...options);
  return { host: '127.0.0.1', port, stop: () => stopProcess(redis) };
}

/** Starts a redis-server that is ready, for a test that chooses the address. */
export async function spawnRealRedis(...options: readonly string[]): Promise<ChildProcess> {
  // A folder of its own: a replica writes a dump into its working directory, and a server that starts there loads it.
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-redis-'));
  const redis = spawn('redis-server', ['--save', '', '--appendonly', 'no', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: folder,
  });
  redis.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for await (const line of createInterface({ input: redis.stdout })) {
    if (line.includes('eady to accept connections')) {
      redis.stdout.resume();
      return redis;
    }
  }
  throw new Error('redis-server ended before it was ready');
}

/** Starts our server in this process. */
export async function startHoldfast(options: EngineOptions = {}): Promise<RunningServer> {
  const engine = createEngine(options);
  const server = await startServer({ engine, port: 0, report: console.error });
  const stop = async () => {
    await server.close();
    engine.close();
  };
  return { host: '127.0.0.1', port: server.port, stop };
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill();
  // A process that a failed test left suspended gets SIGTERM only when it continues.
  child.kill('SIGCONT');
  await exited;
}

/** A TCP port that is free now. */
export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  return address.port;
}
