// Throughput over TLS: `holdfast serve` against redis-server, with redis-benchmark as the load: SETNX, 50 clients,
// pipelines 1 and 16, rounds interleaved. More than 1 means that Holdfast is faster. The figure of each server without
// TLS is beside it. The certificate is made with openssl.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  freePort,
  interleave,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
  startHoldfast,
  startRedis,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 7);
const REQUESTS = { 1: 40_000, 16: 300_000 };
const LEAST = 0.9;

const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-tls-'));
const [cert, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
execFileSync(
  'openssl',
  [
    ...['req', '-x509', '-days', '1', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ...['-nodes', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ...['-keyout', key, '-out', cert],
  ],
  { stdio: 'ignore' },
);

const ports = { holdfast: await freePort(), redis: await freePort() };
const servers = {
  holdfast: await startHoldfast(...tlsFlags(ports.holdfast)),
  redis: await startRedis(...tlsFlags(ports.redis)),
};
try {
  const rows = [];
  for (const pipeline of [1, 16]) rows.push(await measure(pipeline));
  printTable(
    [
      'SETNX, 50 clients',
      'ours with TLS, per s',
      'ours ÷ redis-server, both with TLS',
      'mark',
      'ours, TLS ÷ plain',
      'redis-server, TLS ÷ plain',
    ],
    rows,
  );
} finally {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  rmSync(folder, { recursive: true });
}

function tlsFlags(port) {
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
  return ['--tls-port', String(port), ...files, '--tls-auth-clients', 'no'];
}

async function measure(pipeline) {
  const sides = {
    holdfast: { port: ports.holdfast, flags: ['--tls', '--cacert', cert] },
    redis: { port: ports.redis, flags: ['--tls', '--cacert', cert] },
    plainHoldfast: { port: servers.holdfast.port, flags: [] },
    plainRedis: { port: servers.redis.port, flags: [] },
  };
  const rates = await interleave(sides, ROUNDS, (side) => rate(side, pipeline));
  const ratios = ratiosOf(rates.holdfast, rates.redis);
  return [
    `pipeline ${pipeline}`,
    shownCount(median(rates.holdfast)),
    shownRatio(ratios),
    shownMark(median(ratios), { least: LEAST }),
    shownRatio(ratiosOf(rates.holdfast, rates.plainHoldfast)),
    shownRatio(ratiosOf(rates.redis, rates.plainRedis)),
  ];
}

function rate({ port, flags }, pipeline) {
  const load = [
    '-p',
    port,
    '-c',
    50,
    '-P',
    pipeline,
    '-n',
    REQUESTS[pipeline],
    '-r',
    100_000,
    '--csv',
  ];
  const words = [...load.map(String), ...flags, 'SETNX', 'key:__rand_int__', 'token'];
  const output = execFileSync('redis-benchmark', words, {
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return Number(/"[^"]*","([\d.]+)"/.exec(output.trim().split('\n').at(-1))[1]);
}
