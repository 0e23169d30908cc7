// How fast the lab is: every interleaving of four clients of set-nx-px-lua-del, with a crash and a
// pause, and hours of virtual time at random. HOLDFAST_LAB names another build.
import { median, printTable } from './measure.js';

const { explore, exploreAtRandom } = await import(
  process.env.HOLDFAST_LAB ?? '../dist/lab/index.js'
);

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 3);
const WORLD = { clients: 4, crashes: 1, pauses: 1, ticks: 6 };
const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

const searches = rounds(() => explore('set-nx-px-lua-del', WORLD));
const walks = rounds((round) => exploreAtRandom('set-nx-px-lua-del', { seed: round, runs: 300 }));

const [{ states, moves, interleavings, isComplete, isExpected }] = searches;
const seconds = median(searches.map((search) => search.seconds));
if (!isComplete || !isExpected || walks.some(({ failure }) => failure !== undefined)) {
  throw new Error('the lab found what it should not have found');
}
printTable(
  ['lab, one core', 'measured', 'mark'],
  [
    ['interleavings covered, 4 clients', number.format(interleavings), '10⁹'],
    ['in seconds', number.format(seconds), '10'],
    ['states', number.format(states), ''],
    ['states a second', number.format(states / seconds), ''],
    ['moves a second', number.format(moves / seconds), ''],
    ['virtual hours a second, at random', number.format(median(walks.map(hoursASecond))), '1'],
  ],
);

function rounds(run) {
  return Array.from({ length: ROUNDS }, (_, round) => run(round));
}

function hoursASecond({ virtualHours, seconds }) {
  return virtualHours / seconds;
}
