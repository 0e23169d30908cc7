// The cost of ACL checks: SETNX by users of one server, with redis-benchmark as the load: 50 clients, pipeline 16, rounds
// interleaved, median of the ratios to the user `default`, which has all rights. 1 means that the checks cost nothing.
// The first row is a control: a user with all rights takes the same path as `default`, so that its distance from 1 is the
// noise of the run, and no smaller difference of another row means anything. A rate also depends on the client and on other programs. The processor time of the server does so less: it decides.
import { execFileSync } from 'node:child_process';
import {
  interleaveTurns,
  median,
  openClient,
  printTable,
  processorNs,
  ratiosOf,
  shownMark,
  shownRatio,
  startHoldfast,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 5);
const TURNS = 3;
const REQUESTS = 200_000;
const MARK = { most: 1.02 };
const RULES = {
  'all rights (control)': ['+@all', '~*', '&*'],
  'all commands but one': ['+@all', '-flushall', '~*', '&*'],
  'one pattern of keys': ['+@all', '~key:*', '&*'],
  'eight patterns of keys': ['+@all', ...eightPatterns(), '&*'],
  'a second selector': ['+get', '~*', '(+setnx ~key:*)'],
};

const server = await startHoldfast();
try {
  const users = Object.fromEntries(await Promise.all(Object.entries(RULES).map(createUser)));
  const sides = { default: [], ...users };
  const figures = await interleaveTurns(sides, ROUNDS, TURNS, async (flags) => secondsFor(flags));
  const rows = Object.keys(RULES).map((name) => {
    const ratios = ratiosOf(figures[name], figures.default);
    return [name, shownRatio(ratios), shownMark(median(ratios), MARK)];
  });
  printTable(
    ['SETNX by a user with', 'processor time to that of `default`, pipeline 16', 'mark'],
    rows,
  );
} finally {
  await server.stop();
}

function eightPatterns() {
  return [...Array.from({ length: 7 }, (_, at) => `~other${at}:*`), '~key:*'];
}

/** Returns the flags of redis-benchmark for a user with these rules. */
async function createUser([name, rules], at) {
  const client = await openClient(server.port);
  const reply = await client.call('ACL', 'SETUSER', `user${at}`, 'on', '>pw', ...rules);
  client.close();
  if (reply !== '+OK') throw new Error(`${name}: ${reply}`);
  return [name, ['--user', `user${at}`, '-a', 'pw']];
}

/** The processor time of the server for one turn, in seconds. */
function secondsFor(flags) {
  const load = ['-p', server.port, '-c', 50, '-P', 16, '-n', REQUESTS, '-r', 100_000, '-q'];
  const argv = [...load.map(String), ...flags, 'SETNX', 'key:__rand_int__', 'token'];
  const before = processorNs(server.pid);
  execFileSync('redis-benchmark', argv, { stdio: 'ignore' });
  return (processorNs(server.pid) - before) / 1e9;
}
