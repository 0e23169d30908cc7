// Measures the cache beside bentocache and cacheable, in one run: what a hit costs, how many of four processes load
// when a value is missing, and when the waiting callers have it. HOLDFAST_DIST names another build.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { INSTALL, NAMES, openerOf } from './cache/contenders.js';
import {
  interleaveTurns,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownRatio,
  startRedis,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 5);
const TURNS = 4;
const TURN_MS = 100;
const AT_ONCE = 50;
const PROCESSES = 4;
const CALLERS = 1000;
const LOAD_MS = 200;
const VALUE = { id: 7, name: 'a product', price: 1999, tags: ['red', 'big'] };

const openers = new Map();
for (const name of NAMES) {
  const opener = await openerOf(name);
  if (opener !== undefined) openers.set(name, opener);
}
if (openers.size < NAMES.length) {
  const missing = NAMES.filter((name) => !openers.has(name)).join(' and ');
  process.stdout.write(`${missing} not installed. To measure beside them: ${INSTALL}\n\n`);
}

const redis = await startRedis();
const url = `redis://127.0.0.1:${redis.port}`;
await printHits();
await printMemoryTier();
await printLoads();
await redis.stop();
process.exit(0);

async function printHits() {
  const inProcess = await measureHits(undefined, 1, {});
  const onRedis = await measureHits(url, AT_ONCE, { layers: 1 });
  printTable(
    [
      'hits a second',
      'in the process',
      'holdfast ÷ it',
      `on Redis, ${AT_ONCE} at once`,
      'holdfast ÷ it',
    ],
    [...openers.keys()].map((name) => [
      name,
      shownCount(median(inProcess[name])),
      shownRatio(ratiosOf(inProcess.holdfast, inProcess[name])),
      shownCount(median(onRedis[name])),
      shownRatio(ratiosOf(onRedis.holdfast, onRedis[name])),
    ]),
  );
}

/** The same cache on the same Redis, with and without a memory tier. */
async function printMemoryTier() {
  const open = openers.get('holdfast');
  const caches = { memory: open(url, { layers: 2 }), redis: open(url, { layers: 1 }) };
  const rows = [];
  for (const atOnce of [1, AT_ONCE]) {
    // The first gets subscribe, and fill the memory.
    for (const cache of Object.values(caches)) await hitsASecond(cache, 'tier', atOnce);
    const figures = await interleaveTurns(caches, ROUNDS, TURNS, (cache) =>
      hitsASecond(cache, 'tier', atOnce),
    );
    rows.push([
      `${atOnce}`,
      shownCount(median(figures.memory)),
      shownCount(median(figures.redis)),
      shownRatio(ratiosOf(figures.memory, figures.redis)),
    ]);
  }
  for (const cache of Object.values(caches)) await cache.close();
  printTable(
    ['holdfast, hits at once', 'memory tier, a second', 'Redis, a second', 'memory ÷ Redis'],
    rows,
  );
}

/** Values on Redis are kept there alone: no side answers from the process. */
async function measureHits(place, atOnce, options) {
  const caches = {};
  for (const [name, open] of openers) {
    caches[name] = open(place, options);
    for (let index = 0; index < atOnce; index++) await hit(caches[name], name, index);
  }
  const figures = await interleaveTurns(caches, ROUNDS, TURNS, (cache) => {
    const name = Object.keys(caches).find((each) => caches[each] === cache);
    return hitsASecond(cache, name, atOnce);
  });
  for (const cache of Object.values(caches)) await cache.close();
  return figures;
}

async function hitsASecond(cache, name, atOnce) {
  const beganMs = performance.now();
  let count = 0;
  const caller = async (index) => {
    while (performance.now() - beganMs < TURN_MS) {
      await hit(cache, name, index);
      count++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, index) => caller(index)));
  return (count / (performance.now() - beganMs)) * 1000;
}

function hit(cache, name, index) {
  return cache.get(`${name} ${index}`, 3_600_000, () => VALUE);
}

async function printLoads() {
  const rows = [];
  for (const name of openers.keys()) {
    const programs = await startPrograms(name);
    // The first round opens connections and compiles.
    await miss(programs, `miss ${name}`);
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++)
      rounds.push(await miss(programs, `miss ${name} ${round}`));
    for (const program of programs) program.kill();
    rows.push([
      name,
      median(rounds.map(({ loads }) => loads)),
      `${median(rounds.map(({ lateMs }) => lateMs)).toFixed(1)} ms`,
      `${Math.max(...rounds.map(({ lateMs }) => lateMs)).toFixed(1)} ms`,
    ]);
  }
  printTable(
    [
      `${shownCount(CALLERS)} callers in ${PROCESSES} processes, a load of ${LOAD_MS} ms`,
      'loads',
      'the last has its value after the load, median',
      'worst',
    ],
    rows,
  );
}

async function startPrograms(name) {
  const file = join(import.meta.dirname, 'cache', 'callers.child.js');
  const programs = Array.from({ length: PROCESSES }, () => fork(file, [name, url]));
  await Promise.all(programs.map((program) => once(program, 'message')));
  return programs;
}

async function miss(programs, key) {
  const answers = programs.map(async (program) => {
    const answer = once(program, 'message');
    program.send({ key, callers: CALLERS / PROCESSES, loadMs: LOAD_MS });
    return (await answer)[0];
  });
  const all = await Promise.all(answers);
  return {
    loads: all.reduce((sum, { loads }) => sum + loads, 0),
    lateMs: Math.max(...all.map(({ lateMs }) => lateMs)),
  };
}
