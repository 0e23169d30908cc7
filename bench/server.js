// Throughput of `holdfast serve` against redis-server, with redis-benchmark as the load: 50 clients,
// rounds interleaved, median of the ratios. More than 1 means that Holdfast is faster.
import { execFileSync } from 'node:child_process';
import { printTable, shownRatio, startHoldfast, startRedis } from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 5);
const PIPELINES = [1, 16, 64];
const REQUESTS = { 1: 60_000, 16: 500_000, 64: 1_000_000 };
const KEY = 'key:__rand_int__';
const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

const servers = { holdfast: await startHoldfast(), redis: await startRedis() };
try {
  const workloads = { ...plainWorkloads(), 'EVALSHA compare-and-delete': scriptWorkload() };
  const rows = [];
  for (const [name, argv] of Object.entries(workloads)) {
    const cells = PIPELINES.map((pipeline) => shownRatio(ratios(argv, pipeline)));
    process.stderr.write(`${name}: ${cells.join(', ')}\n`);
    rows.push([name, ...cells]);
  }
  printTable(['ratio to redis-server 7', ...PIPELINES.map((p) => `pipeline ${p}`)], rows);
} finally {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
}

function plainWorkloads() {
  return {
    SETNX: ['SETNX', KEY, 'token'],
    'SET NX PX': ['SET', KEY, 'token', 'NX', 'PX', '10000'],
    GET: ['GET', KEY],
    DEL: ['DEL', KEY],
  };
}

function scriptWorkload() {
  for (const { port } of Object.values(servers)) {
    execFileSync('redis-cli', ['-p', String(port), 'SCRIPT', 'LOAD', COMPARE_AND_DELETE]);
  }
  const [sha] = /[0-9a-f]{40}/.exec(
    execFileSync(
      'redis-cli',
      ['-p', String(servers.redis.port), 'SCRIPT', 'LOAD', COMPARE_AND_DELETE],
      {
        encoding: 'latin1',
      },
    ),
  );
  return ['EVALSHA', sha, '1', KEY, 'token'];
}

function ratios(argv, pipeline) {
  rate('holdfast', argv, pipeline);
  rate('redis', argv, pipeline);
  return Array.from({ length: ROUNDS }, (_, round) => {
    const order = round % 2 === 0 ? ['holdfast', 'redis'] : ['redis', 'holdfast'];
    const rates = Object.fromEntries(order.map((name) => [name, rate(name, argv, pipeline)]));
    return rates.holdfast / rates.redis;
  });
}

function rate(name, argv, pipeline) {
  const { port } = servers[name];
  const count = REQUESTS[pipeline];
  const flags = ['-p', port, '-c', 50, '-P', pipeline, '-n', count, '-r', 100_000, '--csv'];
  const output = execFileSync('redis-benchmark', [...flags.map(String), ...argv], {
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const figures = output
    .trim()
    .split('\n')
    .at(-1)
    .match(/"([^"]*)","([\d.]+)"/);
  return Number(figures[2]);
}
