// A million locks in the log: how long a server needs to load them, beside redis-server with the same files, and the
// longest reply time of other clients while the log is rewritten, beside the same time without a rewrite.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, longestPing, printTable, shownRatio, startHoldfast } from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 5);
const LOCKS = Number(process.env.HOLDFAST_LOCKS ?? 1_000_000);
const MAIN = join(import.meta.dirname, '..', 'dist', 'cli', 'main.js');

const folder = mkdtempSync(
  join(process.env.HOLDFAST_BENCH_DIR ?? tmpdir(), 'holdfast-bench-restart-'),
);
const ours = join(folder, 'ours');
const theirs = join(folder, 'theirs');
try {
  const stalls = await fillAndRewrite();
  cpSync(ours, theirs, { recursive: true, filter: (path) => !path.endsWith('.lock') });
  const ratios = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const holdfastMs = await loadMs(process.execPath, (port) => [
      ...[MAIN, 'serve', '--port', port, '--dir', ours, '--maxmemory', '2gb'],
    ]);
    const redisMs = await loadMs('redis-server', (port) => [
      ...['--port', port, '--dir', theirs, '--appendonly', 'yes', '--save', ''],
      ...['--auto-aof-rewrite-percentage', '0'],
    ]);
    process.stderr.write(
      `load: ${Math.round(holdfastMs)} ms, redis-server ${Math.round(redisMs)} ms\n`,
    );
    // The first round fills the caches of the system.
    if (round > 0) ratios.push(holdfastMs / redisMs);
  }
  printTable(
    [`${LOCKS} locks`, 'measured'],
    [
      ['restart: time until the first reply ÷ redis-server', shownRatio(ratios)],
      ['longest reply without a rewrite', `${stalls.without.toFixed(1)} ms`],
      ['longest reply during a rewrite', `${stalls.during.toFixed(1)} ms`],
    ],
  );
} finally {
  rmSync(folder, { recursive: true });
}

async function fillAndRewrite() {
  const server = await startHoldfast('--dir', ours, '--appendonly', 'yes', '--maxmemory', '2gb');
  const cli = (...args) =>
    execFileSync('redis-cli', ['-p', String(server.port), ...args], { encoding: 'latin1' });
  cli('CONFIG', 'SET', 'auto-aof-rewrite-percentage', '0');
  const script =
    "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do redis.call('set', 'lock:' .. i, 'token-of-a-lock-' .. i, 'PX', 86400000) end";
  for (let at = 0; at < LOCKS; at += 10_000) {
    cli('EVAL', script, '0', String(at + 1), String(Math.min(at + 10_000, LOCKS)));
  }
  const isRewriting = () => cli('INFO', 'persistence').includes('aof_rewrite_in_progress:1');
  const pause = (durationMs) => new Promise((resolve) => setTimeout(resolve, durationMs));
  const without = await longestPing(server.port, () => pause(3000));
  const during = await longestPing(server.port, async () => {
    cli('BGREWRITEAOF');
    do await pause(200);
    while (isRewriting());
  });
  await server.stop();
  return { without, during };
}

/** The time from the start of the process until it answers PING. */
async function loadMs(program, argsFor) {
  const port = await freePort();
  const beganMs = performance.now();
  const child = spawn(program, argsFor(String(port)), { stdio: 'ignore' });
  const ended = once(child, 'exit');
  for (;;) {
    const reply = ping(port);
    if (reply === 'PONG') break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const tookMs = performance.now() - beganMs;
  child.kill('SIGTERM');
  await ended;
  return tookMs;
}

function ping(port) {
  try {
    const options = { encoding: 'latin1', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('redis-cli', ['-p', String(port), 'PING'], options).trim();
  } catch {
    return '';
  }
}
