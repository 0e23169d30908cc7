import { availableParallelism } from 'node:os';
import { type Figure, fsyncFigure, lockFigure, requestFigures } from './bench/figures.ts';
import { ServerProcess } from './bench/server-process.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { safeJson } from './printable.ts';
import { print, type Verb } from './verb.ts';
import { version } from './version.ts';

const BENCH_OPTIONS = {
  dir: {
    placeholder: 'folder',
    help: 'folder whose disk is measured, the current one if not given',
  },
  json: { help: 'prints the figures as JSON' },
  help: HELP,
} as const satisfies OptionTable;

/** `holdfast bench`: figures of this machine. */
export const bench: Verb = {
  options: BENCH_OPTIONS,

  help: `holdfast bench: measures a server, locks and the disk of this machine

Usage: holdfast bench [options]

${describeOptions(BENCH_OPTIONS)}

It starts a server of its own on a free loopback port, and takes about 10 seconds. It measures:
  SETNX, GET   requests per second of 50 connections, with 1 and with 16 requests in flight on each
  lock         acquire and release of a free mutex, one after the other
  fsync        writing 4 KiB to a file and waiting for the disk, which bounds a log with appendfsync always
One process makes the load, so that a server with several client machines does more.

Examples:
  holdfast bench
  holdfast bench --dir /var/lib/holdfast --json`,

  async run(args, io) {
    const { values } = readMixed(BENCH_OPTIONS, args, io.environment, 0);
    if (values.help) return print(io, this.help);
    const disk = fsyncFigure(values.dir ?? '.');
    const figures = [...(await serverFigures()), disk];
    return print(io, values.json ? asJson(figures) : asText(figures));
  },
};

async function serverFigures(): Promise<Figure[]> {
  const server = await ServerProcess.start();
  try {
    return [...(await requestFigures(server.port)), await lockFigure(server.port)];
  } finally {
    await server.stop();
  }
}

function asText(figures: readonly Figure[]): string {
  const cells = figures.map(({ name, perSecond, medianMs, p99Ms }) => [
    name,
    Math.round(perSecond).toLocaleString('en-US'),
    medianMs.toFixed(3),
    p99Ms.toFixed(3),
  ]);
  const rows = [['FIGURE', 'PER SECOND', 'MEDIAN MS', 'P99 MS'], ...cells];
  const lines = rows.map(([name, ...numbers]) =>
    [name!.padEnd(18), ...numbers.map((number) => number.padStart(10))].join('  '),
  );
  return [...lines, machine()].join('\n');
}

function asJson(figures: readonly Figure[]): string {
  return safeJson({ machine: machine(), figures }, 2);
}

function machine(): string {
  const { node } = process.versions;
  return `holdfast ${version()}, Node ${node}, ${availableParallelism()} cores`;
}
