// Throughput of `holdfast serve` against redis-server, with redis-benchmark as the load: 50 clients,
// rounds interleaved, median of the ratios. More than 1 means that Holdfast is faster. Without a
// pipeline the load is the limit, so the processor time of the servers is compared too: less than 1 means
// that Holdfast takes less. A server of plain Node that only replies to PING shows how much of that is Node's.
import { execFileSync } from 'node:child_process';
import {
  median,
  printTable,
  processorNs,
  shownRatio,
  startBareNode,
  startHoldfast,
  startRedis,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const PIPELINES = [1, 16, 64];
const REQUESTS = { 1: 60_000, 16: 500_000, 64: 1_000_000 };
const KEY = 'key:__rand_int__';
const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

const servers = {
  holdfast: await startHoldfast(),
  redis: await startRedis(),
  bareNode: await startBareNode(),
};
try {
  const workloads = { ...plainWorkloads(), 'EVALSHA compare-and-delete': scriptWorkload() };
  const rows = [];
  const costs = [];
  for (const [name, argv] of Object.entries(workloads)) {
    const figures = PIPELINES.map((pipeline) => measure(argv, pipeline));
    const cells = figures.map(({ rates }) => shownRatio(rates));
    process.stderr.write(`${name}: ${cells.join(', ')}\n`);
    rows.push([name, ...cells]);
    const [{ ownUs, redisUs, costRatios }] = figures;
    costs.push([name, ownUs.toFixed(1), redisUs.toFixed(1), shownRatio(costRatios)]);
  }
  printTable(['ratio to redis-server 7', ...PIPELINES.map((p) => `pipeline ${p}`)], rows);
  printTable(['processor time, pipeline 1', 'holdfast, µs', 'redis-server 7, µs', 'ratio'], costs);
  for (const pipeline of [1, 16]) {
    printTable(
      [`PING, pipeline ${pipeline}: ratio to redis-server 7`, 'requests', 'processor time'],
      [
        pings('holdfast', 'holdfast', pipeline),
        pings('plain Node that only replies', 'bareNode', pipeline),
      ],
    );
  }
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
  for (const { port } of [servers.holdfast, servers.redis]) {
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

/** A row of the table: a server beside redis-server. */
function pings(title, name, pipeline) {
  const { rates, costRatios } = measure(['PING'], pipeline, name);
  return [title, shownRatio(rates), shownRatio(costRatios)];
}

/** The ratios of a server to redis-server, round by round. */
function measure(argv, pipeline, name = 'holdfast') {
  run(name, argv, pipeline);
  run('redis', argv, pipeline);
  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    const order = round % 2 === 0 ? [name, 'redis'] : ['redis', name];
    return Object.fromEntries(order.map((each) => [each, run(each, argv, pipeline)]));
  });
  return {
    rates: rounds.map(({ [name]: own, redis }) => own.rate / redis.rate),
    costRatios: rounds.map(({ [name]: own, redis }) => own.us / redis.us),
    ownUs: median(rounds.map(({ [name]: own }) => own.us)),
    redisUs: median(rounds.map(({ redis }) => redis.us)),
  };
}

/** Requests a second, and the processor time of the server for one of them. */
function run(name, argv, pipeline) {
  const { port, pid } = servers[name];
  const count = REQUESTS[pipeline];
  const flags = ['-p', port, '-c', 50, '-P', pipeline, '-n', count, '-r', 100_000, '--csv'];
  const beganNs = processorNs(pid);
  const output = execFileSync('redis-benchmark', [...flags.map(String), ...argv], {
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const us = (processorNs(pid) - beganNs) / 1000 / count;
  const figures = output
    .trim()
    .split('\n')
    .at(-1)
    .match(/"([^"]*)","([\d.]+)"/);
  return { rate: Number(figures[2]), us };
}
