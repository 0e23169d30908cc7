// Locks on etcd against the floor: the fewest bare transactions that could do the same, through the same client, on one
// member and on three. More than 1 means that the locks are faster than the floor.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import {
  freePort,
  interleaveTurns,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
  sleep,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 7);
const TURNS = 8;
const CYCLES = 40;
const HAND_OVERS = 40;
/** Before each hand-over and each round trip: a request after a pause takes longer than one after another. */
const PAUSE_MS = 10;
const WAITERS = 1000;

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-etcd-'));
const { EtcdClient, etcdStore, LEASE_GRANT, Locks, systemClock, TXN } = await bundled();

try {
  for (const count of [1, 3]) await measure(count);
} finally {
  rmSync(folder, { recursive: true });
}

/** One build of the locks and of the client that the floor uses. */
async function bundled() {
  const entry = join(folder, 'entry.js');
  const parts = ['stores/etcd/etcd-store', 'stores/etcd/etcd-client', 'stores/etcd/etcd-messages'];
  const lines = [...parts, 'lock/index', 'clock/index'].map(
    (part) => `export * from ${JSON.stringify(join(root, 'src', `${part}.ts`))};`,
  );
  const resolve = {
    name: 'entry',
    resolveId: (id) => (id === entry ? id : undefined),
    load: (id) => (id === entry ? lines.join('\n') : undefined),
  };
  const build = await rolldown({ input: entry, platform: 'node', plugins: [resolve] });
  const file = join(folder, 'bundle.mjs');
  await build.write({ file, format: 'esm' });
  return import(pathToFileURL(file).href);
}

async function measure(count) {
  const { endpoints, stop } = await startEtcd(count);
  const store = () => new Locks({ store: etcdStore(endpoints) });
  const [first, second] = [store(), store()];
  const floor = await openFloor(endpoints);
  try {
    const sides = { locks: () => cycles(first), floor: () => floor.cycles() };
    const rates = await interleaveTurns(sides, ROUNDS, TURNS, (side) => side());
    const ratios = ratiosOf(rates.locks, rates.floor);
    const trips = { handOver: () => handOver(first, second), trip: () => floor.tripMs() };
    const times = await interleaveTurns(trips, ROUNDS, 1, (side) => side());
    const slower = ratiosOf(times.handOver, times.trip);
    const waiters = await manyWaiters(first, second);
    const members = `${count} member${count > 1 ? 's' : ''}`;
    printTable(
      ['etcd', 'figure', 'against the floor', 'mark'],
      [
        [
          `${members}: acquire and release, one at a time`,
          `${shownCount(median(rates.locks))} per s`,
          shownRatio(ratios),
          shownMark(median(ratios), { least: 0.85 }),
        ],
        [
          `${members}: hand-over between two clients`,
          `${median(times.handOver).toFixed(2)} ms`,
          `${shownRatio(slower)} round trips`,
          shownMark(median(slower), { most: 2 }),
        ],
        [`${members}: ${WAITERS} waiters of one client, each served`, waiters, '', ''],
      ],
    );
  } finally {
    floor.close();
    await Promise.all([first.close(), second.close()]);
    await stop();
  }
}

async function cycles(locks) {
  const lock = locks.mutex('cycle');
  const beganMs = performance.now();
  for (let turn = 0; turn < CYCLES; turn++) await (await lock.acquire()).release();
  return (CYCLES * 1000) / (performance.now() - beganMs);
}

/** The median time from the release by one client to the grant of the other. */
async function handOver(one, other) {
  const times = [];
  let lease = await one.mutex('hand-over').acquire();
  for (let turn = 0; turn < HAND_OVERS; turn++) {
    const locks = turn % 2 === 0 ? other : one;
    const waiting = locks.mutex('hand-over').acquire();
    while ((await one.mutex('hand-over').inspect()).waiters.length === 0) await sleep(1);
    await sleep(PAUSE_MS);
    const beganMs = performance.now();
    const released = lease.release();
    lease = await waiting;
    times.push(performance.now() - beganMs);
    await released;
  }
  await lease.release();
  return median(times);
}

async function manyWaiters(one, other) {
  const lease = await other.mutex('many').acquire({ lease: '60s' });
  const done = Array.from({ length: WAITERS }, () =>
    one.mutex('many').run(() => {}, { wait: '120s' }),
  );
  const served = Promise.all(done);
  // Awaited below, unless something fails before.
  served.catch(() => {});
  while ((await other.mutex('many').inspect()).waiters.length < WAITERS) await sleep(50);
  const beganMs = performance.now();
  await lease.release();
  await served;
  return `${((performance.now() - beganMs) / WAITERS).toFixed(2)} ms each`;
}

/** A put of a key that is absent, with a lease, and its deletion: what a lock without waiters needs at least. */
async function openFloor(endpoints) {
  const client = new EtcdClient({
    clock: systemClock,
    endpoints: endpoints.map((label) => ({ url: `http://${label}`, label })),
    user: '',
    password: '',
    tls: undefined,
    requestTimeoutMs: 5000,
  });
  const id = 12_345;
  await client.call(LEASE_GRANT, { id, ttl: 600 });
  const key = 'floor';
  const value = 'x'.repeat(100);
  const compare = [{ key, target: 1, result: 0 }];
  const put = { compare, success: [{ put: { key, value, lease: id } }], failure: [] };
  const remove = { compare: [], success: [{ delete: { key } }], failure: [] };
  return {
    async cycles() {
      const beganMs = performance.now();
      for (let turn = 0; turn < CYCLES; turn++) {
        await client.call(TXN, put);
        await client.call(TXN, remove);
      }
      return (CYCLES * 1000) / (performance.now() - beganMs);
    },
    async tripMs() {
      const times = [];
      for (let turn = 0; turn < HAND_OVERS; turn++) {
        await sleep(PAUSE_MS);
        const beganMs = performance.now();
        await client.call(TXN, turn % 2 === 0 ? put : remove);
        times.push(performance.now() - beganMs);
      }
      return median(times);
    },
    close: () => client.close(),
  };
}

async function startEtcd(count) {
  const ports = [];
  for (let index = 0; index < 2 * count; index++) ports.push(await freePort());
  const peers = ports.slice(count).map((port) => `http://127.0.0.1:${port}`);
  const cluster = peers.map((peer, index) => `m${index}=${peer}`).join(',');
  const children = peers.map((peer, index) => {
    const client = `http://127.0.0.1:${ports[index]}`;
    const data = join(folder, `data-${count}-${index}`);
    const args = ['--name', `m${index}`, '--data-dir', data, '--initial-cluster', cluster];
    args.push('--listen-client-urls', client, '--advertise-client-urls', client);
    args.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer);
    const child = spawn('etcd', args, { stdio: 'ignore' });
    child.once('error', ({ message }) => {
      process.stderr.write(`etcd does not start (${message}): install etcd-server first\n`);
      process.exit(1);
    });
    process.once('exit', () => child.kill('SIGKILL'));
    return child;
  });
  const endpoints = ports.slice(0, count).map((port) => `127.0.0.1:${port}`);
  const probe = new Locks({ store: etcdStore(endpoints) });
  await probe.ready();
  await probe.close();
  return {
    endpoints,
    async stop() {
      for (const child of children) {
        const exited = once(child, 'exit');
        child.kill();
        await exited;
      }
    },
  };
}
