// Acquire and release, again and again, on redis-server and on `holdfast serve`: one after the other
// through 100 names, and 1,000 locks at once. Ratios to the floor, which is the textbook's bare
// SET NX PX and compare-and-delete, and to the peers. More than 1 means that Holdfast is faster.

import { metrics, trace } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import {
  interleaveTurns,
  median,
  pinnedApart,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
  startHoldfast,
  startRedis,
} from '../measure.js';
import { mutexes, otherKinds, pipedFloor, renewers, sessions } from './contenders.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const FEW_ROUNDS = Math.ceil(ROUNDS / 3);
const NAMES = Array.from({ length: 1000 }, (_, index) => `bench:${index}`);

/**
 * One worker goes through a hundred names, in turns of some dozen cycles: a slow period of the machine lasts longer
 * than a turn. Or a thousand workers have a name each. Their turns are longer, so that the start and the end of a
 * turn count little.
 */
const inSequence = { turns: 126, turnMs: 5, namesOfWorkers: [NAMES.slice(0, 100)] };
const warmUp = { turnMs: 400, namesOfWorkers: NAMES.slice(0, 100).map((name) => [name]) };
const atOnce = { turns: 1, turnMs: 250, namesOfWorkers: NAMES.map((name) => [name]) };

/** The marks are for Redis; for our own server, the same is shown for information. */
await withServer(startRedis, async ({ port }) => {
  await showMutexes(port, 'redis-server 7', ROUNDS, [{ least: 0.95 }, { least: 3 }]);
  await showOtherKinds(port);
  await showRenewals(port);
});
await withServer(startHoldfast, async ({ port }) => {
  await showMutexes(port, 'holdfast serve', FEW_ROUNDS, []);
  await showSessions(port);
});
await withServer(startRedis, (redis) =>
  withServer(startHoldfast, (own) => showServers(redis, own)),
);
await withServer(startRedis, ({ port }) => showTelemetry(port));

async function withServer(start, work) {
  const server = await start();
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

async function showMutexes(port, title, rounds, [sequenceMark, atOnceMark]) {
  await withContenders(mutexes, port, async (sides) => {
    const figures = await cycleRates(sides, inSequence, rounds);
    showCycles(`${title}: one after the other`, figures, sequenceMark);
  });
  const withPiped = { ...mutexes, 'floor, auto-pipelined': pipedFloor };
  await withContenders(withPiped, port, async (sides) => {
    const figures = await cycleRates(sides, atOnce, rounds);
    showCycles(`${title}: 1,000 locks at once`, figures, atOnceMark);
  });
}

async function showOtherKinds(port) {
  await withContenders({ floor: mutexes.floor, ...otherKinds }, port, async (sides) => {
    const figures = await cycleRates(sides, inSequence, FEW_ROUNDS);
    showRates(['other kinds: one after the other', 'cycles/s', 'of the floor'], figures);
  });
}

async function showRenewals(port) {
  await withOpened(renewers, port, async (sides) => {
    const [names] = inSequence.namesOfWorkers;
    for (const side of Object.values(sides)) await Promise.all(names.map(side.hold));
    const figures = await rates(sides, inSequence, FEW_ROUNDS, (side) => side.renew);
    showRates(['renewals: one after the other', 'renewals/s', 'of the floor'], figures);
  });
}

async function showSessions(port) {
  await withContenders(sessions, port, async (sides) => {
    const figures = await cycleRates(sides, inSequence, FEW_ROUNDS);
    showRates(['holdfast serve: sessions', 'cycles/s', 'with ÷ without'], figures);
  });
}

/** The library on both servers, in the same rounds. */
async function showServers(redis, own) {
  const show = (title, load) => showServersUnder(load, title, redis, own);
  await show('1,000 at once', atOnce);
  const inTurn = () => show('one after the other, client and server on a core each', inSequence);
  await pinnedApart([redis, own], inTurn);
}

function showServersUnder(load, title, redis, own) {
  const openers = {
    'on redis-server 7': () => mutexes.holdfast(redis.port),
    'on holdfast serve': () => mutexes.holdfast(own.port),
  };
  return withContenders(openers, undefined, async (sides) => {
    const figures = await cycleRates(sides, load, ROUNDS);
    showRates([`holdfast: ${title}`, 'cycles/s', 'of redis-server 7'], figures);
  });
}

/** From here on every lock of this process is observed. */
async function showTelemetry(port) {
  metrics.setGlobalMeterProvider(new MeterProvider());
  trace.setGlobalTracerProvider(new BasicTracerProvider());
  const { floor, holdfast } = mutexes;
  const openers = { floor, 'holdfast with OpenTelemetry': holdfast };
  await withContenders(openers, port, async (sides) => {
    const figures = await cycleRates(sides, inSequence, FEW_ROUNDS);
    showRates(['redis-server 7: observed', 'cycles/s', 'of the floor'], figures);
  });
}

/** The first side is the floor. */
function showRates(header, figures) {
  const [floor] = Object.values(figures);
  const rows = Object.entries(figures).map(([name, own]) => [
    name,
    shownCount(median(own)),
    own === floor ? '1' : shownRatio(ratiosOf(own, floor)),
  ]);
  printTable(header, rows);
}

function showCycles(title, figures, mark) {
  const { floor, holdfast } = figures;
  const rows = Object.entries(figures).map(([name, own]) => [
    name,
    shownCount(median(own)),
    own === floor ? '1' : shownRatio(ratiosOf(own, floor)),
    own === holdfast ? '1' : shownRatio(ratiosOf(holdfast, own)),
    own === holdfast && mark ? shownMark(median(ratiosOf(holdfast, floor)), mark) : '',
  ]);
  printTable([title, 'cycles/s', 'of the floor', 'holdfast ÷ this', 'mark'], rows);
}

/** Opens all contenders. Throws if the locks of one do not lock. */
function withContenders(openers, port, work) {
  return withOpened(openers, port, async (sides) => {
    for (const [name, side] of Object.entries(sides)) await proveLocking(name, side);
    await work(sides);
    for (const [name, side] of Object.entries(sides)) await proveAllFree(name, side);
  });
}

async function withOpened(openers, port, work) {
  const sides = {};
  try {
    for (const [name, open] of Object.entries(openers)) sides[name] = await open(port);
    await work(sides);
  } finally {
    for (const side of Object.values(sides)) await side.close();
  }
}

async function proveLocking(name, side) {
  const hold = await side.acquire('proof');
  if (await side.isFree('proof')) throw new Error(`${name}: held, and the server says free`);
  await hold.release();
  if (!(await side.isFree('proof'))) throw new Error(`${name}: released, and still taken`);
}

async function proveAllFree(name, side) {
  const areFree = await Promise.all(NAMES.map((lock) => side.isFree(lock)));
  if (areFree.includes(false)) throw new Error(`${name}: some lock was never released`);
}

function cycleRates(sides, load, rounds) {
  return rates(sides, load, rounds, (side) => async (name) => {
    const hold = await side.acquire(name);
    await hold.release();
  });
}

/** What is called seldom is not optimised: some ten thousand calls go before what is measured, also in its own way. */
async function rates(sides, load, rounds, actOf) {
  for (const side of Object.values(sides)) {
    await rate(actOf(side), warmUp);
    await rate(actOf(side), { ...load, turnMs: 1000 });
  }
  return interleaveTurns(sides, rounds, load.turns, (side) => rate(actOf(side), load));
}

/** How often a second `act` is done by workers that each go through their names until time is up. */
async function rate(act, { namesOfWorkers, turnMs }) {
  const beganMs = performance.now();
  const endMs = beganMs + turnMs;
  let count = 0;
  await Promise.all(
    namesOfWorkers.map(async (names) => {
      for (let turn = 0; performance.now() < endMs; turn++) {
        await act(names[turn % names.length]);
        count++;
      }
    }),
  );
  return (count * 1000) / (performance.now() - beganMs);
}
