// Measures the speed of the lab: every interleaving of four clients of set-nx-px-lua-del, with a crash and a
// pause; hours of virtual time in random runs; and the real library in every schedule with two preemptions.
// HOLDFAST_LAB names another build.
import { median, printTable } from './measure.js';

const { explore, exploreAtRandom, exploreLibrary, exploreLibraryAtRandom } = await import(
  process.env.HOLDFAST_LAB ?? '../build/lab/index.js'
);

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 3);
const WORLD = { clients: 4, crashes: 1, pauses: 1, ticks: 6 };
const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

// The smallest steps first: a search grows the heap, which slows down every later step.
const libraries = await inTurn(() => exploreLibrary('mutex'));
const randomLibraries = await inTurn((seed) =>
  exploreLibraryAtRandom('mutex', { seed, runs: 1000 }),
);

const searches = rounds(() => explore('set-nx-px-lua-del', WORLD));
const walks = rounds((round) => exploreAtRandom('set-nx-px-lua-del', { seed: round, runs: 300 }));

const [{ states, moves, interleavings, isComplete, isExpected }] = searches;
const seconds = median(searches.map((search) => search.seconds));
const [{ schedules }] = libraries;
const failures = [...walks, ...libraries, ...randomLibraries].filter(({ failure }) => failure);
if (!isComplete || !isExpected || failures.length > 0) {
  throw new Error('the lab found a failure, or did not complete the search');
}
printTable(
  ['lab, one core', 'measured', 'target'],
  [
    ['interleavings covered, 4 clients', number.format(interleavings), '10⁹'],
    ['in seconds', number.format(seconds), '10'],
    ['states', number.format(states), ''],
    ['states a second', number.format(states / seconds), ''],
    ['moves a second', number.format(moves / seconds), ''],
    ['virtual hours a second, at random', number.format(median(walks.map(hoursASecond))), '1'],
    ['schedules of the library', number.format(schedules), ''],
    [
      'schedules a second of the library',
      number.format(median(libraries.map(schedulesASecond))),
      '10,000',
    ],
    [
      'virtual hours a second of the library, at random',
      number.format(median(randomLibraries.map(hoursASecond))),
      '1',
    ],
  ],
);

function rounds(run) {
  return Array.from({ length: ROUNDS }, (_, round) => run(round));
}

async function inTurn(run) {
  const found = [];
  for (let round = 0; round < ROUNDS; round++) found.push(await run(round));
  return found;
}

function schedulesASecond({ schedules, seconds }) {
  return schedules / seconds;
}

function hoursASecond({ virtualHours, seconds }) {
  return virtualHours / seconds;
}
