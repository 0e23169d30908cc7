import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../../clock/index.ts';
import { createLocks } from '../../create-locks.ts';
import { encodeRequest } from '../../resp/index.ts';
import { VerbError } from '../verb.ts';

/** One line of the table. The times are those of one round trip, one lock or one fsync. */
export interface Figure {
  readonly name: string;
  readonly perSecond: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** SETNX and GET, with 1 and 16 requests in flight on each connection. */
export async function requestFigures(port: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const pipeline of [1, 16]) {
    for (const command of COMMANDS) figures.push(await requestFigure(port, command, pipeline));
  }
  return figures;
}

/** Acquire and release of a free mutex. */
export async function lockFigure(port: number): Promise<Figure> {
  await using locks = createLocks(`redis://127.0.0.1:${port}`);
  const lock = locks.mutex('bench');
  const times: number[] = [];
  const beganMs = systemClock.monotonicMs();
  for (let nowMs = beganMs; nowMs - beganMs < MEASURE_MS; ) {
    const lease = await lock.acquire();
    await lease.release();
    const endMs = systemClock.monotonicMs();
    times.push(endMs - nowMs);
    nowMs = endMs;
  }
  return figureOf('lock', times, times.length, systemClock.monotonicMs() - beganMs);
}

/** Writes blocks to a file in the folder, each with fdatasync. Throws VerbError. */
export function fsyncFigure(folder: string): Figure {
  const path = join(folder, `.holdfast-bench-${process.pid}`);
  const times: number[] = [];
  const block = Buffer.alloc(4096, 'x');
  let file: number | undefined;
  try {
    file = openSync(path, 'wx', 0o600);
    const beganMs = systemClock.monotonicMs();
    for (let nowMs = beganMs; nowMs - beganMs < MEASURE_MS && times.length < MAX_SYNCS; ) {
      writeSync(file, block);
      fdatasyncSync(file);
      const endMs = systemClock.monotonicMs();
      times.push(endMs - nowMs);
      nowMs = endMs;
    }
    return figureOf('fsync', times, times.length, systemClock.monotonicMs() - beganMs);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new VerbError(`cannot write to ${folder} (${code}). Choose another folder with --dir.`);
  } finally {
    if (file !== undefined) {
      closeSync(file);
      rmSync(path, { force: true });
    }
  }
}

const COMMANDS = ['SETNX', 'GET'] as const;
const CONNECTIONS = 50;
const KEYS = 10_000;
/** The code of the server is compiled meanwhile. */
const WARM_UP_MS = 400;
const MEASURE_MS = 1_300;
/** 8 MB. */
const MAX_SYNCS = 2_000;

async function requestFigure(
  port: number,
  command: (typeof COMMANDS)[number],
  pipeline: number,
): Promise<Figure> {
  const load = new Load(command, pipeline);
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => opened(port)));
  for (const socket of sockets) load.drive(socket);
  await elapsed(WARM_UP_MS);
  load.times.length = 0;
  const beganMs = systemClock.monotonicMs();
  await elapsed(MEASURE_MS);
  const durationMs = systemClock.monotonicMs() - beganMs;
  const times = load.times.slice();
  for (const socket of sockets) socket.destroy();
  return figureOf(`${command}, pipeline ${pipeline}`, times, times.length * pipeline, durationMs);
}

/** Sends a batch on each connection, and the next one when its replies have arrived. */
class Load {
  /** The duration of each batch. */
  readonly times: number[] = [];
  readonly #batches: readonly string[];
  /** SETNX is sent first, so that GET finds every key: `$1`, `v`. */
  readonly #linesPerBatch: number;
  #next = 0;

  constructor(command: (typeof COMMANDS)[number], pipeline: number) {
    const requests = Array.from({ length: KEYS }, (_, index) =>
      encodeRequest(
        command === 'SETNX' ? [command, `key:${index}`, 'v'] : [command, `key:${index}`],
      ),
    );
    this.#batches = Array.from({ length: KEYS / pipeline }, (_, index) =>
      requests.slice(index * pipeline, (index + 1) * pipeline).join(''),
    );
    this.#linesPerBatch = command === 'SETNX' ? pipeline : 2 * pipeline;
  }

  drive(socket: Socket): void {
    let lines = 0;
    let sentMs = 0;
    const send = (): void => {
      sentMs = systemClock.monotonicMs();
      socket.write(this.#batches[this.#next++ % this.#batches.length]!, 'latin1');
    };
    socket.on('data', (chunk) => {
      for (const byte of chunk) if (byte === LINE_FEED) lines++;
      if (lines < this.#linesPerBatch) return;
      lines = 0;
      this.times.push(systemClock.monotonicMs() - sentMs);
      send();
    });
    send();
  }
}

const LINE_FEED = 0x0a;

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

function elapsed(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.setTimer(durationMs, resolve).keepAlive(true);
  });
}

function figureOf(name: string, times: number[], count: number, durationMs: number): Figure {
  const sorted = times.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { name, perSecond: count / (durationMs / 1000), medianMs: at(0.5), p99Ms: at(0.99) };
}
