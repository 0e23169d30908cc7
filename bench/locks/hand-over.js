// One lock on redis-server, requested by ten workers in each of two processes. Each works for 5 ms under it.
// How long from the call of release until the next holder, another worker, runs? The measure is a round
// trip: PINGs of the same two processes, at the same pace, before the workers begin and beside them.
// Without a queue, the worker that released often gets the lock again at once: that is counted apart.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import {
  interleave,
  median,
  percentile,
  printTable,
  shownMark,
  shownRatio,
  sleep,
  startRedis,
} from '../measure.js';
import { mutexes } from './contenders.js';

const PROCESSES = 2;
const WORKERS = 10;
const WORK_MS = 5;
const PING_EVERY_MS = 5;
const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const IDLE_MS = 200;
const BUSY_MS = 1000;
const LOCK = 'handed-over';
const SIDES = ['holdfast', 'redlock', 'redis-semaphore'];

if (process.argv[2] === 'process') await serveRounds(Number(process.argv[3]));
else await main();

async function main() {
  const server = await startRedis();
  const children = Array.from({ length: PROCESSES }, () => startProcess(server.port));
  try {
    await Promise.all(children.map((child) => child.reply()));
    // Without work there are many more hand-overs: what they run through is then optimised.
    for (const side of SIDES) await measureRound(children, side, 0);
    const sides = Object.fromEntries(SIDES.map((side) => [side, side]));
    show(await interleave(sides, ROUNDS, (side) => measureRound(children, side, WORK_MS)));
  } finally {
    for (const child of children) child.kill();
    await server.stop();
  }
}

function startProcess(port) {
  const child = fork(fileURLToPath(import.meta.url), ['process', String(port)]);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('a process ended')));
  ended.catch(() => {});
  return {
    send: (order) => child.send(order),
    reply: async () => (await Promise.race([once(child, 'message'), ended]))[0],
    kill: () => child.kill('SIGTERM'),
  };
}

function show(figures) {
  const header = [
    `hand-over, ${PROCESSES} × ${WORKERS} workers`,
    'median, ms',
    'p99, ms',
    'PING idle / beside, ms',
    'in idle PINGs',
    'in PINGs beside',
    'kept by the same worker',
    'turns of a worker',
    'mark',
  ];
  printTable(
    header,
    Object.entries(figures).map(([name, rounds]) => row(name, rounds)),
  );
}

function row(name, rounds) {
  const all = (figure) => rounds.flatMap((round) => round[figure]);
  // If one worker always gets the lock again, a round ends without a hand-over, perhaps every round.
  const handedOver = rounds.filter((round) => round.handOversUs.length > 0);
  const inPings = (pings) =>
    handedOver.map((round) => median(round.handOversUs) / median(round[pings]));
  const turns = all('turnsOfWorkers');
  const kept = all('keptCount').reduce((sum, count) => sum + count);
  const ifAny = (shown) => (handedOver.length > 0 ? shown() : 'none');
  return [
    name,
    ifAny(() => shownMs(median(all('handOversUs')))),
    ifAny(() => shownMs(percentile(all('handOversUs'), 0.99))),
    `${shownMs(median(all('idlePingsUs')))} / ${shownMs(median(all('busyPingsUs')))}`,
    ifAny(() => shownRatio(inPings('idlePingsUs'))),
    ifAny(() => shownRatio(inPings('busyPingsUs'))),
    `${Math.round((100 * kept) / (kept + all('handOversUs').length))} %`,
    `${Math.min(...turns)}–${Math.max(...turns)}`,
    name === 'holdfast' ? shownMark(median(inPings('busyPingsUs')), { most: 2 }) : '',
  ];
}

function shownMs(us) {
  return (us / 1000).toFixed(us < 10_000 ? 2 : 0);
}

/** Both processes begin and end by the same clock, which is the machine's. */
async function measureRound(children, side, workMs) {
  const beginUs = nowUs() + (IDLE_MS + 100) * 1000;
  for (const child of children) child.send({ side, beginUs, workMs });
  const reports = await Promise.all(children.map((child) => child.reply()));
  const turnsOfWorkers = reports.flatMap((report) => report.turnsOfWorkers);
  return {
    ...handOvers(side, turnsOfWorkers),
    idlePingsUs: reports.flatMap((report) => report.idlePingsUs),
    busyPingsUs: reports.flatMap((report) => report.busyPingsUs),
    turnsOfWorkers: turnsOfWorkers.map((turns) => turns.length),
  };
}

/** From each release to the next grant. A lock that two held at once ends the benchmark. */
function handOvers(side, turnsOfWorkers) {
  const turns = turnsOfWorkers
    .flatMap((own, worker) => own.map((turn) => ({ ...turn, worker })))
    .sort((one, other) => one.grantedUs - other.grantedUs);
  const handOversUs = [];
  for (const [index, { worker, grantedUs }] of turns.entries()) {
    const before = turns[index - 1];
    if (before === undefined) continue;
    if (grantedUs < before.releasedUs) throw new Error(`${side}: two held the lock at once`);
    if (worker !== before.worker) handOversUs.push(grantedUs - before.releasedUs);
  }
  return { handOversUs, keptCount: turns.length - 1 - handOversUs.length };
}

/** One of the processes: opens every side once and works on request. */
async function serveRounds(port) {
  const pinger = new Redis(port);
  const sides = {};
  for (const name of SIDES) sides[name] = await mutexes[name](port);
  await pinger.ping();
  process.on('message', async ({ side, beginUs, workMs }) => {
    process.send(await workRound(sides[side], pinger, beginUs, workMs));
  });
  process.send('ready');
}

async function workRound(side, pinger, beginUs, workMs) {
  const idlePingsUs = await pingUntil(pinger, nowUs() + IDLE_MS * 1000);
  await sleep((beginUs - nowUs()) / 1000);
  const endUs = beginUs + BUSY_MS * 1000;
  const [busyPingsUs, ...turnsOfWorkers] = await Promise.all([
    pingUntil(pinger, endUs),
    ...Array.from({ length: WORKERS }, () => workUntil(side, endUs, workMs)),
  ]);
  return { idlePingsUs, busyPingsUs, turnsOfWorkers };
}

async function pingUntil(pinger, endUs) {
  const timesUs = [];
  while (nowUs() < endUs) {
    await sleep(PING_EVERY_MS);
    const beganUs = nowUs();
    await pinger.ping();
    timesUs.push(nowUs() - beganUs);
  }
  return timesUs;
}

async function workUntil(side, endUs, workMs) {
  const turns = [];
  while (nowUs() < endUs) {
    const hold = await side.acquire(LOCK);
    const grantedUs = nowUs();
    // A worker that gets the lock after the end releases it at once.
    if (grantedUs < endUs && workMs > 0) await sleep(workMs);
    const releasedUs = nowUs();
    if (grantedUs < endUs) turns.push({ grantedUs, releasedUs });
    await hold.release();
  }
  return turns;
}

/** The machine's monotonic clock: the same in all its processes. */
function nowUs() {
  return Number(process.hrtime.bigint()) / 1000;
}
