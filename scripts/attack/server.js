// Starts the servers that are attacked: a real `holdfast serve` and a redis-server, each on a free port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from './wire.js';

const ROOT = join(import.meta.dirname, '../..');
const LOG_CHARACTERS = 4096;
const START_MS = 20_000;

const COMMANDS = {
  holdfast: (port, heapMb) => [
    process.execPath,
    ...(heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`]),
    join(ROOT, 'dist/cli/main.js'),
    ...['serve', '--port', String(port), '--restart-grace', '0', '--appendonly', 'no'],
  ],
  redis: (port) => [
    'redis-server',
    ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
  ],
};

/** Servers that run. An attack suite that is interrupted leaves none behind. */
const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** A server process under attack. */
export class ServerProcess {
  #child;
  kind;
  port;
  /** The last of what the server printed. */
  log = '';
  /** 'exit 1' or 'SIGABRT', once the process has ended. */
  ended;

  static async start(kind, heapMb) {
    const port = await freePort();
    const server = new ServerProcess(kind, port, COMMANDS[kind](port, heapMb));
    await server.#listens();
    return server;
  }

  constructor(kind, port, [program, ...args]) {
    this.kind = kind;
    this.port = port;
    this.#child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(this.#child);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('latin1');
      stream.on('data', (text) => {
        this.log = (this.log + text.slice(-LOG_CHARACTERS)).slice(-LOG_CHARACTERS);
      });
    }
    this.#child.on('error', (error) => {
      this.ended = `cannot start ${program}: ${error.message}`;
    });
    this.#child.on('exit', (code, signal) => {
      running.delete(this.#child);
      this.ended = signal ?? `exit ${code}`;
    });
  }

  get pid() {
    return this.#child.pid;
  }

  signal(name) {
    this.#child.kill(name);
  }

  /** Returns how long the process took to end, or undefined if it was still there after `limitMs`. */
  async endWithin(limitMs) {
    const startMs = performance.now();
    if (this.ended === undefined) {
      await once(this.#child, 'exit', { signal: AbortSignal.timeout(limitMs) }).catch(() => {});
    }
    return this.ended === undefined ? undefined : performance.now() - startMs;
  }

  async kill() {
    if (this.ended !== undefined) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async #listens() {
    const endMs = performance.now() + START_MS;
    while (this.ended === undefined && performance.now() < endMs) {
      const client = await Client.connect(this.port);
      const reply = await client.call('PING');
      client.close();
      if (reply === '+PONG\r\n') return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await this.kill();
    throw new Error(`${this.kind} does not listen: ${this.ended}\n${this.log}`);
  }
}

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}
