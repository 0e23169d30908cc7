// Plants bugs in copies of the library, one at a time, and has each caught by the lab or by named tests.
//
//   npm run mutants                         all of them
//   npm run mutants -- fence                those whose names contain a word
//   npm run mutants -- --count 4 --seed 7   four of them, from the place in the table that the seed gives
//   npm run mutants -- --list               only whether each can still be planted
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, mutated, write } from './mutants/build.js';
import { MUTANTS } from './mutants/table.js';

const root = join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const HUNT_MS = 360_000;
const FILE_MS = 120_000;
/** What hangs because of a bug is not waited for as long as usual. */
const TEST_MS = 8000;
const COPIED = ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

/** Those that were seen to pass without a bug. */
const soundTests = new Set();

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string' },
    seed: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});
const count = wholeNumber('count', { least: 1, otherwise: Number.POSITIVE_INFINITY });
const seed = wholeNumber('seed', { least: 0, otherwise: 0 });
const isSlice = values.seed !== undefined;

const mutants = chosen();
const stale = mutants.flatMap(misfits);
for (const line of stale) console.error(line);
if (stale.length > 0 || mutants.length === 0) process.exitCode = 1;
else if (values.list) console.log(`${mutants.length} mutants can be planted`);
else await plantAll();

function chosen() {
  const named = MUTANTS.filter(({ name }) => positionals.every((word) => name.includes(word)));
  if (named.length === 0) console.error(`no mutant has "${positionals.join(' ')}" in its name`);
  const first = seed % Math.max(named.length, 1);
  return [...named.slice(first), ...named.slice(0, first)].slice(0, count);
}

/** The value of an option. Ends the program if it is not a whole number. */
function wholeNumber(option, { least, otherwise }) {
  const text = values[option];
  if (text === undefined) return otherwise;
  if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text);
  console.error(`--${option} must be a whole number from ${least} on, but is "${text}"`);
  process.exit(1);
}

/** Why a mutant can no longer be planted. */
function misfits({ name, edits }) {
  return edits.flatMap(({ file, find }) => {
    const path = join(root, file);
    const count = existsSync(path) ? readFileSync(path, 'utf8').split(find).length - 1 : 0;
    if (count === 1) return [];
    return [
      `The mutant "${name}" cannot be planted: ${file} has this text ${count} times instead of once.\n` +
        `${find.replace(/^/gm, '    ')}\n` +
        'If the code was changed, say in the table of scripts/mutants/ what breaks it now.',
    ];
  });
}

async function plantAll() {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-mutants-'));
  try {
    await prepare(work);
    if (isSlice) console.log(`${mutants.length} mutants, from seed ${seed}`);
    const survivors = await plantEach(work);
    console.log(`${mutants.length - survivors} of ${mutants.length} mutants were caught`);
    if (survivors > 0) process.exitCode = 1;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function plantEach(work) {
  let survivors = 0;
  for (const mutant of mutants) {
    const caught = await plant(work, mutant);
    console.log(`${caught ? 'caught  ' : 'SURVIVED'}  ${mutant.name}`);
    if (caught) console.log(`          ${caught}`);
    else survivors++;
  }
  return survivors;
}

/** A copy of the source with its tests, and a build of it. Without a bug the lab must find none. */
async function prepare(work) {
  for (const name of COPIED) cpSync(join(root, name), join(work, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'));
  await build(work);
  // A slice is part of the tests, which show this anyway.
  const found = isSlice ? undefined : await caughtByLab(work);
  if (found) throw new Error(`without any bug, one is caught by ${found}`);
}

/** What caught it; undefined: it survived. */
async function plant(work, { edits, tests, scenario }) {
  const files = await mutated(work, edits);
  try {
    if (tests.length === 0) {
      write(files, 'mutant');
      return await caughtByLab(work, scenario);
    }
    return await caughtByTests(work, files, tests);
  } finally {
    write(files, 'sound');
  }
}

async function caughtByTests(work, files, tests) {
  for (const test of tests) {
    await proveSound(work, test);
    write(files, 'mutant');
    const failed = await failureIn(work, test);
    write(files, 'sound');
    if (failed) return failed;
  }
  return undefined;
}

/** A test that fails without the bug, too, catches nothing. */
async function proveSound(work, test) {
  if (soundTests.has(test) || isSlice) return;
  const failed = await failureIn(work, test);
  if (failed) throw new Error(`without any bug, one is caught by ${failed}`);
  soundTests.add(test);
}

async function caughtByLab(work, scenario = '') {
  const hunt = join(import.meta.dirname, 'mutants/hunt.js');
  const { code, output, errors } = await run([hunt, join(work, 'dist'), scenario], HUNT_MS);
  if (code === null) return `the lab: no end within ${HUNT_MS / 1000} s`;
  if (code !== 0) return `the lab: ${/^\w*Error.*$/m.exec(errors)?.[0] ?? errors.trim()}`;
  const found = JSON.parse(output);
  if (found === null) return undefined;
  const { by, after, check, schedule } = found;
  return `the lab: ${check} in ${by}, after ${after}: ${schedule || 'as usual'}`;
}

async function failureIn(work, test) {
  const runner = join(dirname(require.resolve('vitest/package.json')), 'vitest.mjs');
  const options = ['--reporter', 'json', '--bail', '1', '--testTimeout', String(TEST_MS)];
  const { code, output } = await run([runner, 'run', '--root', work, ...options, test], FILE_MS);
  return code === 0 ? undefined : `${test}: ${failedTest(output)}`;
}

/** Runs a program of ours, and ends all that it leaves behind: a bug may keep its children from ending. */
function run(args, mostMs) {
  // A test that runs inside of another must not report to it.
  const { VITEST, NODE_ENV, ...env } = process.env;
  const child = spawn(process.execPath, args, { detached: true, env });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (data) => {
      text[name] += data;
    });
  }
  const endAll = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All have ended.
    }
  };
  const timer = setTimeout(endAll, mostMs);
  return new Promise((resolve) => {
    child.once('exit', endAll);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output: text.stdout, errors: text.stderr });
    });
  });
}

function failedTest(stdout) {
  try {
    const { testResults } = JSON.parse(stdout.slice(stdout.indexOf('{')));
    const results = testResults.flatMap(({ assertionResults }) => assertionResults);
    return results.find(({ status }) => status === 'failed')?.fullName ?? 'it does not run';
  } catch {
    return 'it does not end';
  }
}
