// Attacks a real server as hostile or careless clients would, one fresh server for each attack, and prints
// what an innocent client saw: its longest stall, the server's peak memory and whether the server survived,
// beside redis-server under the same attack. Exits with 1 if an attack breaks a rule of verdict.js.
//
//   npm run attack                          all attacks at default settings
//   npm run attack -- --heap 256            the same with a heap of 256 MB
//   npm run attack -- --only lua            one family, or the attacks whose names contain a word
//   npm run attack -- --only quick          the slice that `npm test` runs
//   npm run attack -- --no-redis --seconds 10 --json
//   npm run attack -- --list                names and what each does
//
// To add an attack, add a row to a table in tables/: { name, family, what, run(context) }. `run` uses
// hostile clients (wire.js) and returns when it is done; run.js closes its clients when its time is over.
// Optional fields: seconds (more time than --seconds), quick (part of the slice), noRedis (the reason why
// redis-server is not compared), endsServer (the server must end with exit code 0).
import { parseArgs } from 'node:util';
import { measure } from './run.js';
import { ATTACKS, CONTROLS } from './tables/index.js';
import { faults } from './verdict.js';

const MIB = 1024 * 1024;
const NAME_WIDTH = 42;
const CELL_WIDTH = 30;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
    heap: { type: 'string' },
    'no-redis': { type: 'boolean', default: false },
    seconds: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
  },
});
const options = {
  seconds: Number(values.seconds),
  ...(values.heap !== undefined && { heapMb: Number(values.heap) }),
};

const attacks = chosen(values.only);
if (attacks.length === 0) {
  console.error(`no attack has "${values.only.join('" or "')}" in its name or as its family`);
  process.exitCode = 2;
} else if (values.list) {
  for (const { name, family, what } of attacks) {
    console.log(`${family.padEnd(12)} ${name.padEnd(NAME_WIDTH)} ${what}`);
  }
} else {
  await runAll();
}

/** The controls break a rule on purpose; they run only when they are asked for. */
function chosen(words) {
  if (words.length === 0) return ATTACKS;
  const all = [...ATTACKS, ...CONTROLS];
  const picked = new Set(words.flatMap((word) => matching(all, word)));
  return all.filter((attack) => picked.has(attack));
}

/** A family, a name, or else the names that contain the word. */
function matching(all, word) {
  if (word === 'quick') return all.filter(({ quick }) => quick === true);
  const exact = all.filter(({ name, family }) => name === word || family === word);
  return exact.length > 0 ? exact : all.filter(({ name }) => name.includes(word));
}

async function runAll() {
  const results = [];
  printHead();
  for (const attack of attacks) {
    const result = await runOne(attack);
    results.push(result);
    if (!values.json) printRow(result);
  }
  const failed = results.filter((result) => result.faults.length > 0).length;
  if (values.json) console.log(JSON.stringify(results, null, 2));
  else console.log(`\n${results.length} attacks, ${failed} break a rule`);
  if (failed > 0) process.exitCode = 1;
}

async function runOne(attack) {
  const holdfast = await measure(attack, 'holdfast', options);
  const redis = isCompared(attack)
    ? await measure(attack, 'redis', { seconds: options.seconds })
    : undefined;
  const { name, family, what, noRedis } = attack;
  return { name, family, what, noRedis, holdfast, redis, faults: faults(attack, holdfast, redis) };
}

function isCompared({ noRedis, family }) {
  return !values['no-redis'] && noRedis === undefined && family !== 'control';
}

function printHead() {
  if (values.json) return;
  const heap = options.heapMb === undefined ? 'default heap' : `heap of ${options.heapMb} MB`;
  console.log(`${attacks.length} attacks, ${heap}\n`);
  const cells = ['holdfast: stall, peak, end', 'redis-server: the same'];
  console.log(
    `${'attack'.padEnd(NAME_WIDTH)} ${cells.map((cell) => cell.padEnd(CELL_WIDTH)).join(' ')} verdict`,
  );
}

function printRow({ name, holdfast, redis, noRedis, faults }) {
  const verdict = faults.length === 0 ? 'ok' : `FAIL ${faults.join('; ')}`;
  const other = redis === undefined ? (noRedis ?? '-') : cell(redis);
  console.log(
    `${name.padEnd(NAME_WIDTH)} ${cell(holdfast).padEnd(CELL_WIDTH)} ${other.padEnd(CELL_WIDTH)} ${verdict}`,
  );
  for (const note of holdfast.notes) console.log(`    holdfast: ${note}`);
  for (const note of redis?.notes ?? []) console.log(`    redis:    ${note}`);
  if (!holdfast.survived && holdfast.lastLine) console.log(`    ${holdfast.lastLine.trim()}`);
}

function cell({ stallMs, peakBytes, ended }) {
  return `${Math.round(stallMs)} ms, ${Math.round(peakBytes / MIB)} MB, ${ended}`;
}
