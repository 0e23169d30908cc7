// Locks inside one process, beside async-mutex, which keeps no lease, no fence and no deadline: one
// caller that acquires and releases, and 10,000 workers that acquire the same lock ten times each.
import { Mutex, withTimeout } from 'async-mutex';
import { createLocks } from 'holdfast';
import {
  interleave,
  interleaveTurns,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
} from '../measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const FEW_ROUNDS = Math.ceil(ROUNDS / 3);
const TURNS_OF_ONE = 5;
const TURN_MS = 40;
const WORKERS = 10_000;
const TURNS = 10;
const PATIENCE_MS = 120_000;

/** A side is a cycle: take the lock, do what is to be done, release it. */
const sides = {
  'async-mutex': cycleOfAsyncMutex(new Mutex()),
  'async-mutex with a time-out': cycleOfAsyncMutex(withTimeout(new Mutex(), PATIENCE_MS)),
  holdfast: cycleOfHoldfast(createLocks().mutex('embedded')),
};

for (const [name, cycle] of Object.entries(sides)) await proveExclusion(name, cycle);
show('embedded, one caller', await interleaveTurns(sides, ROUNDS, TURNS_OF_ONE, rateOfOne));
show(
  `embedded, ${shownCount(WORKERS)} workers × ${TURNS}`,
  await interleave(sides, FEW_ROUNDS, rateOfMany),
);

function cycleOfAsyncMutex(mutex) {
  return async (work) => {
    const release = await mutex.acquire();
    if (work !== undefined) await work();
    release();
  };
}

function cycleOfHoldfast(lock) {
  return async (work) => {
    const lease = await lock.acquire({ wait: PATIENCE_MS });
    if (work !== undefined) await work();
    await lease.release();
  };
}

async function rateOfOne(cycle) {
  const beganMs = performance.now();
  let count = 0;
  for (let nowMs = beganMs; nowMs < beganMs + TURN_MS; nowMs = performance.now()) {
    for (let turn = 0; turn < 100; turn++) await cycle();
    count += 100;
  }
  return (count * 1000) / (performance.now() - beganMs);
}

async function rateOfMany(cycle) {
  const beganMs = performance.now();
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      for (let turn = 0; turn < TURNS; turn++) await cycle();
    }),
  );
  return (WORKERS * TURNS * 1000) / (performance.now() - beganMs);
}

/** A hundred callers whose work takes a turn of the event loop: never two inside. */
async function proveExclusion(name, cycle) {
  let inside = 0;
  let done = 0;
  const work = async () => {
    if (++inside !== 1) throw new Error(`${name}: two held the lock at once`);
    await new Promise(setImmediate);
    inside--;
    done++;
  };
  await Promise.all(Array.from({ length: 100 }, () => cycle(work)));
  if (done !== 100) throw new Error(`${name}: ${done} of 100 had their turn`);
}

function show(title, figures) {
  const { holdfast, 'async-mutex': peer } = figures;
  const rows = Object.entries(figures).map(([name, rates]) => [
    name,
    shownCount(median(rates)),
    rates === peer ? '1' : shownRatio(ratiosOf(rates, peer)),
    rates === holdfast ? shownMark(median(ratiosOf(rates, peer)), { least: 1 }) : '',
  ]);
  printTable([title, 'cycles/s', 'of async-mutex', 'mark'], rows);
}
