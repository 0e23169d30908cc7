// Looks for a planted bug with the lab alone, in the build whose folder is given: the quick searches first.
// Prints what was found first, as JSON; `null` if nothing was.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder] = process.argv.slice(2);
const lab = await import(pathToFileURL(join(folder, 'lab/index.js')));

/** Too large to be gone through. */
const LARGE = 'mutex-crowd';
const SEED = 1;
const RECIPES = ['holdfast-mutex', 'holdfast-read-write', 'holdfast-semaphore'];

process.stdout.write(`${JSON.stringify(await hunt())}\n`);

async function hunt() {
  let schedules = 0;
  for (const search of [onePreemption, everyInterleaving, twoPreemptions, atRandom]) {
    for await (const { by, count, failure } of search()) {
      schedules += count;
      if (failure) return { by, schedules, check: failure.check, schedule: failure.schedule };
    }
  }
  return null;
}

async function* onePreemption() {
  for (const { name } of lab.SCENARIOS) {
    if (name !== LARGE) yield* library(name, { preemptions: 1 });
  }
}

async function* twoPreemptions() {
  for (const { name } of lab.SCENARIOS) {
    if (name !== LARGE) yield* library(name, { mostSchedules: 6000 });
  }
}

async function* library(name, options) {
  const { schedules: count, failure } = await lab.exploreLibrary(name, options);
  yield { by: name, count, failure };
}

async function* atRandom() {
  for (const { name } of lab.SCENARIOS) {
    const found = await lab.exploreLibraryAtRandom(name, { seed: SEED, runs: 200 });
    yield { by: `${name} at random`, count: found.schedules, failure: found.failure };
  }
}

/** Each recipe in its first world, made smaller, and in the one where replies are lost. */
async function* everyInterleaving() {
  for (const name of RECIPES) {
    for (const options of [{ ticks: 3 }, { variant: 'lost-reply', ticks: 4 }]) {
      const { states, verdicts } = lab.explore(name, options);
      const wrong = verdicts.find(({ isExpected, failure }) => !isExpected && failure);
      yield { by: `the recipe ${name}`, count: states, failure: wrong?.failure };
    }
  }
}
