// A hundred thousand wait for one embedded lock. In which order do they get it, how much memory does each
// take, and does a hand-over cost more than with ten waiters? Beside it, async-mutex.
import { Mutex } from 'async-mutex';
import { createLocks } from 'holdfast';
import {
  collectGarbage,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
} from '../measure.js';

const MANY = 100_000;
const FEW = 10;
const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 3);
const PATIENCE_MS = 120_000;

/**
 * A side makes a new lock: `acquire` gives a hold, `release` ends it. So many of the many are served, and
 * the first of these hand-overs are timed: enough for the garbage collector to have its share of each.
 */
const sides = {
  holdfast() {
    const lock = createLocks().mutex('crowded');
    return {
      served: MANY,
      timed: MANY / 2,
      acquire: () => lock.acquire({ wait: PATIENCE_MS }),
      release: (lease) => lease.release(),
    };
  },
  // Its hand-over moves the whole queue: to serve all would take long, and show nothing more.
  'async-mutex'() {
    const mutex = new Mutex();
    return {
      served: MANY / 10,
      timed: MANY / 10,
      acquire: () => mutex.acquire(),
      release: (release) => release(),
    };
  },
};

const figures = {};
for (const [name, makeLock] of Object.entries(sides)) figures[name] = await costs(makeLock);
for (const [name, makeLock] of Object.entries(sides)) {
  figures[name].bytes = await bytesOfEach(makeLock());
}
show(figures);

/** With few and with many waiters in turn, after one turn to warm up. */
async function costs(makeLock) {
  const fewNs = [];
  const manyNs = [];
  for (let round = -1; round < ROUNDS; round++) {
    const few = await costWithFew(makeLock());
    const many = await costWithMany(makeLock());
    if (round < 0) continue;
    fewNs.push(few);
    manyNs.push(many);
  }
  return { fewNs, manyNs };
}

function show(all) {
  const header = [
    `${shownCount(MANY)} waiters`,
    'order',
    'bytes each',
    'mark',
    `ns a hand-over, ${FEW} wait`,
    `${shownCount(MANY)} wait`,
    'ratio',
    'mark',
  ];
  printTable(
    header,
    Object.entries(all).map(([name, figure]) => row(name, figure)),
  );
}

function row(name, { bytes, fewNs, manyNs }) {
  const isOurs = name === 'holdfast';
  const ratios = ratiosOf(manyNs, fewNs);
  return [
    name,
    `first ${shownCount(sides[name]().served)} exact`,
    shownCount(bytes),
    isOurs ? shownMark(bytes, { most: 1024 }) : '',
    shownCount(median(fewNs)),
    shownCount(median(manyNs)),
    shownRatio(ratios),
    isOurs ? shownMark(median(ratios), { most: 1.5 }) : '',
  ];
}

/** Heap of one waiter: its request and the promise that the caller got. */
async function bytesOfEach(lock) {
  const first = await lock.acquire();
  const pending = new Array(MANY).fill(null);
  const before = heapBytes();
  await queue(lock, pending);
  const bytes = (heapBytes() - before) / MANY;
  await serve(lock, first, pending, new Int32Array(lock.served), 0);
  return bytes;
}

/** An order that is not that of arrival ends the benchmark. */
async function costWithMany(lock) {
  const first = await lock.acquire();
  const pending = new Array(MANY).fill(null);
  await queue(lock, pending);
  const order = new Int32Array(lock.served);
  const timedNs = await serve(lock, first, pending, order, lock.timed);
  for (const [place, waiter] of order.entries()) {
    if (place !== waiter) throw new Error(`waiter ${waiter} was served in place ${place}`);
  }
  return timedNs / lock.timed;
}

/** The same number of hand-overs, with at most ten waiters at any time. Queueing is not timed. */
async function costWithFew(lock) {
  const order = new Int32Array(FEW);
  let sumNs = 0;
  for (let done = 0; done < lock.timed; done += FEW) {
    const first = await lock.acquire();
    const pending = new Array(FEW).fill(null);
    await queue(lock, pending);
    sumNs += await serve(lock, first, pending, order, FEW);
  }
  return sumNs / lock.timed;
}

async function queue(lock, pending) {
  for (let index = 0; index < pending.length; index++) pending[index] = lock.acquire();
  // Whatever acquire does in later turns, it has done by then.
  await new Promise(setImmediate);
}

/**
 * Notes in which order the waiters come, each releasing as soon as it runs, until `order` is full. The
 * time in nanoseconds of the first hand-overs, `timed` of them. Nothing served is kept in memory.
 */
function serve(lock, first, pending, order, timed) {
  let count = 0;
  let beganNs = 0n;
  let timedNs = 0;
  const served = new Promise((resolve, reject) => {
    for (let index = 0; index < pending.length; index++) {
      const run = async (hold) => {
        pending[index] = null;
        order[count++] = index;
        if (count === timed) timedNs = Number(process.hrtime.bigint() - beganNs);
        if (count < order.length) return lock.release(hold);
        if (count === pending.length) await lock.release(hold);
        resolve(timedNs);
      };
      pending[index].then(run).catch(reject);
    }
  });
  // To move what waits out of the nursery is a part of queueing, which is not timed.
  collectGarbage({ type: 'minor' });
  beganNs = process.hrtime.bigint();
  lock.release(first);
  return served;
}

function heapBytes() {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
