// The cost of the history of locks: cycles of acquire and release with `lock-history-size` of 64 MB and of 0. `processor time` is
// that of the side with the history over that of the side without, rounds interleaved, median and spread: 1 means that the
// history costs nothing. The control compares two sides without a history: its distance from 1 is the noise of the run.
//
// engine: the lock script in this process, without sockets: nothing but the script, so that the share of the history is largest.
// server: `holdfast serve` and one client that sends 32 requests at a time, each of one lock or of 16.
// process: locks in memory, and on `holdfast serve`, with and without the metrics of the process, which listen to its events.
//
// `node bench/history.js server` measures one part.
import { createHash } from 'node:crypto';
import { createEngine, execute } from '../build/engine/index.js';
import { createLocks } from '../build/index.js';
import { ProcessMetrics } from '../build/page/process-metrics.js';
import { LIBRARY_SCRIPTS } from '../build/stores/library-scripts.js';
import { LOCK_SCRIPT } from '../build/stores/redis/lock-script.js';
import {
  interleave,
  median,
  openClient,
  printTable,
  processorNs,
  ratiosOf,
  request,
  shownMark,
  startHoldfast,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 31);
const STARTS = 5;
const CYCLES = 20_000;
const NAMES = 1000;
const BATCH = 16;
const PIPELINE = 16;
const MARK = { most: 1.03 };
const SIZES = { off: '0', on: '64mb', control: '0' };
const SHA = createHash('sha1').update(LOCK_SCRIPT).digest('hex');
let cycle = 0;
// Each server that is started adds a listener, which ends it with this process.
process.setMaxListeners(0);

const PARTS = { engine: engineRows, server: serverRows, process: processRows };
const chosen = process.argv.slice(2);
const rows = [];
for (const [name, measure] of Object.entries(PARTS)) {
  if (chosen.length === 0 || chosen.includes(name)) rows.push(...(await measure()));
}
printTable(['lock cycles', 'µs a cycle', 'processor time', 'control', 'mark'], rows);

async function engineRows() {
  const sides = Object.fromEntries(
    Object.entries(SIZES).map(([name, size]) => {
      const engine = createEngine({
        settings: { 'lock-history-size': size },
        lockRole: { scripts: LIBRARY_SCRIPTS, keyPrefixes: [], channelPrefixes: [] },
      });
      const session = engine.session();
      execute(session, ['SCRIPT', 'LOAD', LOCK_SCRIPT]);
      return [name, { engine, session }];
    }),
  );
  const rows = [];
  for (const batch of [1, BATCH]) {
    const run = ({ session }) => {
      const before = process.cpuUsage();
      for (let count = 0; count < CYCLES; count += batch) {
        for (const argv of requestsOf(batch)) execute(session, argv.map(asReceived));
      }
      const { user, system } = process.cpuUsage(before);
      return (user + system) / CYCLES;
    };
    for (const side of Object.values(sides)) for (let turn = 0; turn < 10; turn++) run(side);
    rows.push(rowOf(`engine, ${batch} in a request`, await interleave(sides, ROUNDS, run)));
  }
  for (const { engine } of Object.values(sides)) engine.close();
  return rows;
}

/** Servers differ from start to start by more than the history costs: several are measured. */
async function serverRows() {
  const rows = [];
  for (const batch of [1, BATCH]) {
    const figures = { off: [], on: [], control: [] };
    for (let start = 0; start < STARTS; start++) {
      const measured = await serverFigures(batch);
      for (const name of Object.keys(figures)) figures[name].push(...measured[name]);
    }
    rows.push(rowOf(`server, ${batch} in a request, pipeline ${2 * PIPELINE}`, figures));
  }
  return rows;
}

async function serverFigures(batch) {
  const sides = {};
  for (const [name, size] of Object.entries(SIZES)) {
    const server = await startHoldfast();
    sides[name] = { server, client: await openLoad(server.port, size) };
  }
  const run = async ({ server, client }) => {
    const before = processorNs(server.pid);
    for (let count = 0; count < 2 * CYCLES; count += batch * PIPELINE) {
      const requests = Array.from({ length: PIPELINE }, () => requestsOf(batch));
      await client.exchange(requests.flat(), batch);
    }
    return (processorNs(server.pid) - before) / (2000 * CYCLES);
  };
  // Fills the memory of the history: from then on it is used again.
  for (let turn = 0; turn < 6; turn++) for (const side of Object.values(sides)) await run(side);
  const figures = await interleave(sides, Math.ceil(ROUNDS / 3), run);
  for (const { server, client } of Object.values(sides)) {
    client.close();
    await server.stop();
  }
  return figures;
}

async function processRows() {
  const server = await startHoldfast();
  const rows = [];
  for (const [place, store] of [
    ['in memory', undefined],
    ['on a server', `redis://127.0.0.1:${server.port}`],
  ]) {
    const locks = store === undefined ? createLocks() : createLocks(store);
    const cycles = store === undefined ? CYCLES : CYCLES / 10;
    const run = async (isOn) => {
      const metrics = isOn ? new ProcessMetrics() : undefined;
      const before = process.cpuUsage();
      for (let count = 0; count < cycles; count += BATCH) await Promise.all(oneOfEach(locks));
      const { user, system } = process.cpuUsage(before);
      metrics?.close();
      return (user + system) / cycles;
    };
    for (let turn = 0; turn < 6; turn++) await run(turn % 2 === 0);
    const sides = { off: false, on: true, control: false };
    rows.push(rowOf(`process, locks ${place}`, await interleave(sides, ROUNDS, run)));
    await locks.close();
  }
  await server.stop();
  return rows;
}

function oneOfEach(locks) {
  return Array.from({ length: BATCH }, async () => {
    const lease = await locks.mutex(`order:${cycle++ % NAMES}`).acquire();
    await lease.release();
  });
}

/** A client that sends many requests at once, and counts the numbers in the replies. */
async function openLoad(port, historySize) {
  const client = await openClient(port);
  const { socket } = client;
  await client.call('CONFIG', 'SET', 'lock-history-size', historySize);
  socket.write(request(['SCRIPT', 'LOAD', LOCK_SCRIPT]), 'latin1');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.removeAllListeners('data');
  let missing = 0;
  let finish;
  socket.on('data', (chunk) => {
    for (const byte of chunk) if (byte === 58) missing--;
    if (missing === 0) finish();
  });
  return {
    close: () => client.close(),
    exchange(requests, batch) {
      missing = requests.length * batch;
      socket.write(requests.map(request).join(''), 'latin1');
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
  };
}

/** A request that takes `count` locks, and one that releases them. */
function requestsOf(count) {
  const keys = [];
  const acquire = [];
  const release = [];
  for (let at = 0; at < count; at++) {
    const token = `k3v9q1t7x2.${cycle} ["web-1",4242,"worker"]`;
    keys.push(`lock:{order:${cycle % NAMES}}`);
    acquire.push('queue', token, '30000');
    release.push('release', token, '30000');
    cycle++;
  }
  const words = ['EVALSHA', SHA, String(count), ...keys];
  return [
    [...words, ...acquire],
    [...words, ...release],
  ];
}

/** A new string, as the decoder makes one of received bytes. */
function asReceived(text) {
  return Buffer.from(text, 'latin1').latin1Slice();
}

function rowOf(name, { off, on, control }) {
  const ratios = ratiosOf(on, off);
  return [
    name,
    median(off).toFixed(2),
    shownQuarters(ratios),
    shownQuarters(ratiosOf(control, off)),
    shownMark(median(ratios), MARK),
  ];
}

/** The median, and the quarters around it. */
function shownQuarters(ratios) {
  const sorted = [...ratios].sort((a, b) => a - b);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(3);
  return `${median(ratios).toFixed(3)} (${at(0.25)}–${at(0.75)})`;
}
