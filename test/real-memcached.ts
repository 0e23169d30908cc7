import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, type RunningServer, stopProcess } from './real-redis.ts';
import { suspendProcess } from './suspend-process.ts';

/** A memcached that can be killed, paused and started again on the same port. */
export interface RunningMemcached extends RunningServer {
  readonly url: string;
  /** Ends it by SIGKILL: its locks are gone. */
  kill(): Promise<void>;
  /** Starts it again, without data. */
  restart(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Sends one command, and returns the lines of its reply. */
  command(text: string): Promise<string>;
}

/** Starts a memcached on a free loopback port. */
export async function startMemcached(...options: readonly string[]): Promise<RunningMemcached> {
  const port = await freePort();
  let child = await spawnMemcached(port, options);
  return {
    host: '127.0.0.1',
    port,
    url: `memcached://127.0.0.1:${port}`,
    stop: () => stopProcess(child),
    async kill() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
    async restart() {
      child = await spawnMemcached(port, options);
    },
    pause: () => suspendProcess(child.pid!),
    resume: () => void child.kill('SIGCONT'),
    command: (text) => command(port, text),
  };
}

/** memcached refuses to run as root, and prints nothing when it is ready. */
async function spawnMemcached(port: number, options: readonly string[]): Promise<ChildProcess> {
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const args = ['-l', '127.0.0.1', '-p', `${port}`, '-U', '0', '-t', '2', ...user, ...options];
  const child = spawn('memcached', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error('memcached ended before it was ready');
    await pause(10);
  }
  return child;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The reply ends with a line that is complete: commands with longer replies need `END`. */
async function command(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('utf8');
  socket.write(`${text}\r\n`);
  let reply = '';
  for await (const chunk of socket) {
    reply += chunk;
    if (/(?:^|\r\n)(?:[A-Z_]+(?: [^\r]*)?)\r\n$/.test(reply)) break;
  }
  socket.destroy();
  return reply.trimEnd();
}
