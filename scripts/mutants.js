// Plants bugs in copies of the library, one at a time, and has each caught by the lab or by named tests.
//
//   npm run mutants                      all of them
//   npm run mutants -- fence             those whose names contain a word
//   npm run mutants -- --slice 3 --seed 7   three of them, others for another seed
//   npm run mutants -- --list            only whether each can still be planted
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { transformWithOxc } from 'vite';
import { MUTANTS } from './mutants/table.js';

const root = join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const HUNT_MS = 180_000;
const TEST_MS = 300_000;
const COPIED = [
  'src',
  'test',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'vitest.config.ts',
];

/** Those that were seen to pass without a bug. */
const soundTests = new Set();

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    slice: { type: 'string' },
    seed: { type: 'string', default: '0' },
    list: { type: 'boolean', default: false },
  },
});

const mutants = chosen();
const stale = mutants.flatMap(misfits);
for (const line of stale) console.error(line);
if (stale.length > 0) process.exitCode = 1;
else if (values.list) console.log(`${mutants.length} mutants can be planted`);
else await plantAll();

function chosen() {
  if (values.slice === undefined) {
    return MUTANTS.filter(({ name }) => positionals.every((word) => name.includes(word)));
  }
  const count = Number(values.slice);
  const first = (Number(values.seed) * count) % MUTANTS.length;
  return Array.from({ length: count }, (_, at) => MUTANTS[(first + at) % MUTANTS.length]);
}

/** Why a mutant can no longer be planted. */
function misfits({ name, edits }) {
  return edits.flatMap(({ file, find }) => {
    const count = readFileSync(join(root, file), 'utf8').split(find).length - 1;
    return count === 1 ? [] : [`"${name}": ${file} has its text ${count} times instead of once`];
  });
}

async function plantAll() {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-mutants-'));
  try {
    prepare(work);
    const survivors = [];
    for (const mutant of mutants) {
      const caught = await plant(work, mutant);
      console.log(
        `${caught ? 'caught  ' : 'SURVIVED'}  ${mutant.name}${caught ? `\n          ${caught}` : ''}`,
      );
      if (!caught) survivors.push(mutant.name);
    }
    console.log(`${mutants.length - survivors.length} of ${mutants.length} mutants were caught`);
    if (survivors.length > 0) process.exitCode = 1;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A copy of the source with its tests, and a build of it. Without a bug the lab must find none. */
function prepare(work) {
  for (const name of COPIED) cpSync(join(root, name), join(work, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'));
  const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const project = join(work, 'tsconfig.build.json');
  execFileSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' });
  // A slice is part of the tests, which show this anyway.
  const found = values.slice === undefined ? caughtByLab(work) : undefined;
  if (found) throw new Error(`without any bug, one is caught by ${found}`);
}

/** What caught it; undefined: it survived. */
async function plant(work, { edits, tests }) {
  const files = (await Promise.all(edits.map((edit) => mutated(work, edit)))).flat();
  const write = (version) => {
    for (const file of files) writeFileSync(file.path, file[version]);
  };
  try {
    write('mutant');
    const caught = caughtByLab(work);
    if (caught) return caught;
    for (const test of tests) {
      write('sound');
      proveSound(work, test);
      write('mutant');
      const failed = failureIn(work, test);
      if (failed) return failed;
    }
    return undefined;
  } finally {
    write('sound');
  }
}

/** A test that fails without the bug, too, catches nothing. */
function proveSound(work, test) {
  if (soundTests.has(test)) return;
  const failed = failureIn(work, test);
  if (failed) throw new Error(`without any bug, one is caught by ${failed}`);
  soundTests.add(test);
}

/** The source and its build, each with and without the bug. */
async function mutated(work, { file, find, replace }) {
  const path = join(work, file);
  const sound = readFileSync(path, 'utf8');
  const mutant = sound.split(find).join(replace);
  const { code } = await transformWithOxc(mutant, path);
  const built = join(work, file.replace(/^src/, 'dist').replace(/\.ts$/, '.js'));
  return [
    { path, sound, mutant },
    {
      path: built,
      sound: readFileSync(built, 'utf8'),
      mutant: code.replace(/(from\s*"\.[^"]+)\.ts"/g, '$1.js"'),
    },
  ];
}

function caughtByLab(work) {
  const hunt = join(import.meta.dirname, 'mutants/hunt.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [hunt, join(work, 'dist')], {
    encoding: 'utf8',
    timeout: HUNT_MS,
  });
  if (status === null) return `the lab: no end within ${HUNT_MS / 1000} s`;
  if (status !== 0) return `the lab: ${/^\w*Error.*$/m.exec(stderr)?.[0] ?? stderr.trim()}`;
  const found = JSON.parse(stdout);
  if (found === null) return undefined;
  const { by, schedules, check, schedule } = found;
  return `the lab: ${check} in ${by}, after ${schedules} schedules: ${schedule || 'as usual'}`;
}

function failureIn(work, test) {
  const runner = join(dirname(require.resolve('vitest/package.json')), 'vitest.mjs');
  const args = [runner, 'run', '--root', work, '--reporter', 'json', test];
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: TEST_MS,
  });
  return status === 0 ? undefined : `${test}: ${failedTest(stdout)}`;
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
