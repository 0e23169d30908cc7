// What every benchmark needs: both servers, medians and a table.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const root = join(import.meta.dirname, '..');

/** Runs benchmarks of this folder, each in a process of its own, until one fails. */
export function runInTurn(names) {
  for (const name of names) {
    const file = join(import.meta.dirname, `${name}.js`);
    const { status } = spawnSync(process.execPath, [file], { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
}

/** A free port on loopback. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Starts `holdfast serve` as its users do, but without its log, unless the flags turn it on. */
export function startHoldfast(...flags) {
  return startServer((port) => [
    process.execPath,
    [
      join(root, 'dist/cli/main.js'),
      'serve',
      '--port',
      String(port),
      '--restart-grace',
      '0',
      ...(flags.includes('--appendonly') ? [] : ['--appendonly', 'no']),
      ...flags,
    ],
  ]);
}

/** Starts redis-server without persistence. */
export function startRedis(...flags) {
  return startServer((port) => [
    'redis-server',
    ['--port', String(port), '--save', '', '--appendonly', 'no', ...flags],
  ]);
}

/** Starts memcached with one thread, as the others have for commands. */
export function startMemcached() {
  return startServer((port) => [
    'memcached',
    ['-l', '127.0.0.1', '-p', String(port), '-U', '0', '-t', '1', '-u', 'nobody'],
  ]);
}

/** Starts a server of plain Node that replies PONG to every 14 bytes, as PING has: the least that a server on Node costs. */
export function startBareNode() {
  const program = `require('node:net').createServer({ noDelay: true }, (socket) => {
    socket.on('data', (chunk) => socket.write('+PONG\\r\\n'.repeat(chunk.length / 14))).on('error', () => {});
  }).listen(Number(process.argv[1]), '127.0.0.1');`;
  return startServer((port) => [process.execPath, ['-e', program, String(port)]]);
}

async function startServer(commandFor) {
  const port = await freePort();
  const [file, args] = commandFor(port);
  const child = spawn(file, args, { stdio: 'ignore' });
  child.once('error', ({ message }) => {
    process.stderr.write(`${file} does not start (${message}): install it first\n`);
    process.exit(1);
  });
  // A benchmark that fails leaves no server behind.
  process.once('exit', () => child.kill('SIGKILL'));
  await untilAnswers(port);
  return {
    port,
    pid: child.pid,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function untilAnswers(port) {
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) {
    const socket = connect(port, '127.0.0.1');
    const outcome = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (outcome) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing answers on port ${port}`);
}

/**
 * Does the work with this process on the first core and the servers on the second, which Linux only can do. Otherwise the
 * system may put a server of one thread on the core of its client, where a request and its reply take half the time, and
 * one of several threads on the other.
 */
export async function pinnedApart(servers, work) {
  const pin = (pid, cores) => execFileSync('taskset', ['-a', '-c', '-p', cores, String(pid)]);
  for (const { pid } of servers) pin(pid, '1');
  pin(process.pid, '0');
  try {
    await work();
  } finally {
    pin(process.pid, `0-${cpus().length - 1}`);
  }
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid) {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(kilobytes) * 1024;
}

/** The processor time of all threads of a process. */
export function processorNs(pid) {
  let sum = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    sum += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]);
  }
  return sum;
}

/** The longest time that a PING took, in milliseconds, while `work` went on. */
export async function longestPing(port, work) {
  const client = await openClient(port);
  let longestMs = 0;
  let isOver = false;
  const finished = work().then(() => {
    isOver = true;
  });
  while (!isOver) {
    const beganMs = performance.now();
    await client.call('PING');
    longestMs = Math.max(longestMs, performance.now() - beganMs);
  }
  await finished;
  client.close();
  return longestMs;
}

/** A small client: one command, one reply, in order. Replies are counted by their first line. */
export async function openClient(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  socket.on('error', () => {});
  let waiting = [];
  let rest = '';
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1');
    for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
      const line = rest.slice(0, end);
      const isBulk = line.startsWith('$') && line !== '$-1';
      const needed = isBulk ? end + 2 + Number(line.slice(1)) + 2 : end + 2;
      if (rest.length < needed) return;
      rest = rest.slice(needed);
      waiting.shift()?.(line);
    }
  });
  return {
    socket,
    call(...argv) {
      socket.write(request(argv), 'latin1');
      return new Promise((resolve) => waiting.push(resolve));
    },
    close() {
      waiting = [];
      socket.destroy();
    },
  };
}

export function request(argv) {
  return `*${argv.length}\r\n${argv.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The value below which such a share of the values lies. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/**
 * Measures every side once in each round, after one turn to warm up, and gives the figures of each by
 * its name. The order changes from round to round, so that no side always follows the same one.
 */
export async function interleave(sides, rounds, measure) {
  const names = Object.keys(sides);
  const figures = Object.fromEntries(names.map((name) => [name, []]));
  for (const name of names) await measure(sides[name]);
  for (let round = 0; round < rounds; round++) {
    const first = round % names.length;
    const order = [...names.slice(first), ...names.slice(0, first)];
    if (round % 2 === 1) order.reverse();
    for (const name of order) figures[name].push(await measure(sides[name]));
  }
  return figures;
}

/**
 * The same for rates, with several short turns of each side in a round, whose mean is the round's: so
 * slow periods of the machine meet all sides alike.
 */
export async function interleaveTurns(sides, rounds, turns, measure) {
  const figures = await interleave(sides, rounds * turns, measure);
  for (const [name, rates] of Object.entries(figures)) {
    figures[name] = Array.from({ length: rounds }, (_, round) =>
      mean(rates.slice(round * turns, (round + 1) * turns)),
    );
  }
  return figures;
}

function mean(values) {
  return values.reduce((sum, value) => sum + value) / values.length;
}

/** Round by round, how many times the other side's figure one has. */
export function ratiosOf(figures, others) {
  return figures.map((figure, round) => figure / others[round]);
}

/** `met (≥ 0.90)` or `missed (≥ 0.90)`, for a figure that should be at least or at most so much. */
export function shownMark(figure, { least, most }) {
  const isMet = least === undefined ? figure <= most : figure >= least;
  return `${isMet ? 'met' : 'missed'} (${least === undefined ? `≤ ${most}` : `≥ ${least}`})`;
}

export function shownCount(number) {
  return Math.round(number).toLocaleString('en-US');
}

export function sleep(durationMs) {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

setFlagsFromString('--expose-gc');

/**
 * Frees unreachable objects. For measuring memory only: after a few forced collections the engine also
 * drops optimised code whose objects are gone, and what is timed next runs several times slower.
 */
export const collectGarbage = runInNewContext('gc');

/** `1.04 (0.98–1.10)`: the median and the spread. */
export function shownRatio(ratios) {
  const low = Math.min(...ratios).toFixed(2);
  const high = Math.max(...ratios).toFixed(2);
  return `${median(ratios).toFixed(2)} (${low}–${high})`;
}

/** Prints a Markdown table. */
export function printTable(header, rows) {
  const lines = [header, header.map(() => '---'), ...rows];
  for (const cells of lines) process.stdout.write(`| ${cells.join(' | ')} |\n`);
  process.stdout.write('\n');
}
