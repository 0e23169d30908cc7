// The cost of the log: SETNX of new keys, 50 clients, with redis-benchmark as the load, rounds interleaved.
// `always` beside redis-server with appendfsync always; `everysec` beside Holdfast without a log. More than 1 means
// that the first is faster.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printTable, shownRatio, startHoldfast, startRedis } from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 7);
const PIPELINES = [1, 16];
const REQUESTS = {
  always: { 1: 30_000, 16: 200_000 },
  everysec: { 1: 60_000, 16: 600_000 },
};

const folder = mkdtempSync(join(process.env.HOLDFAST_BENCH_DIR ?? tmpdir(), 'holdfast-bench-log-'));
const data = (name) => ['--dir', join(folder, name), '--appendonly', 'yes'];
const servers = {
  always: await startHoldfast(...data('always'), '--appendfsync', 'always'),
  everysec: await startHoldfast(...data('everysec')),
  memory: await startHoldfast(),
  redis: await startRedis('--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always'),
  redisEverysec: await startRedis(
    ...['--dir', folder, '--appendonly', 'yes', '--appenddirname', 'everysec-redis'],
  ),
  redisMemory: await startRedis(),
};
try {
  const pairs = [
    ['always ÷ redis-server always', 'always', 'redis', REQUESTS.always],
    ['everysec ÷ without a log', 'everysec', 'memory', REQUESTS.everysec],
    ['everysec ÷ redis-server everysec', 'everysec', 'redisEverysec', REQUESTS.everysec],
    ['redis-server: everysec ÷ without a log', 'redisEverysec', 'redisMemory', REQUESTS.everysec],
  ];
  const rows = [];
  for (const [title, first, second, requests] of pairs) {
    const cells = PIPELINES.map((pipeline) =>
      shownRatio(ratios(first, second, pipeline, requests[pipeline])),
    );
    process.stderr.write(`${title}: ${cells.join(', ')}\n`);
    rows.push([title, ...cells]);
  }
  printTable(['SETNX, 50 clients', ...PIPELINES.map((each) => `pipeline ${each}`)], rows);
} finally {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  rmSync(folder, { recursive: true });
}

function ratios(first, second, pipeline, count) {
  rate(first, pipeline, count);
  rate(second, pipeline, count);
  return Array.from({ length: ROUNDS }, (_, round) => {
    const order = round % 2 === 0 ? [first, second] : [second, first];
    const rates = Object.fromEntries(order.map((name) => [name, rate(name, pipeline, count)]));
    return rates[first] / rates[second];
  });
}

/** Nearly every key is new, so that nearly every command is written. */
function rate(name, pipeline, count) {
  const port = String(servers[name].port);
  execFileSync('redis-cli', ['-p', port, 'FLUSHALL']);
  const flags = ['-p', port, '-c', 50, '-P', pipeline, '-n', count, '-r', 1_000_000_000, '--csv'];
  const output = execFileSync(
    'redis-benchmark',
    [...flags.map(String), 'SETNX', 'key:__rand_int__', 'token'],
    { encoding: 'latin1', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const figures = output
    .trim()
    .split('\n')
    .at(-1)
    .match(/"([^"]*)","([\d.]+)"/);
  return Number(figures[2]);
}
