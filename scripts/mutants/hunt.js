// Looks for a planted bug with the lab alone, in the build whose folder is given: in the scenario that is
// named, if one is, and then everywhere, the quick searches first.
// Prints what was found first, as JSON; `null` if nothing was.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, scenario] = process.argv.slice(2);
const lab = await import(pathToFileURL(join(folder, 'lab/index.js')));

/** Too large to be gone through. */
const LARGE = 'mutex-crowd';
const SEED = 1;
const RECIPES = ['holdfast-mutex', 'holdfast-read-write', 'holdfast-semaphore'];

process.stdout.write(`${JSON.stringify(await hunt())}\n`);

async function hunt() {
  let [schedules, states] = [0, 0];
  for (const search of [inScenario, onePreemption, twoPreemptions, atRandom, everyInterleaving]) {
    for await (const { by, failure, ...seen } of search()) {
      schedules += seen.schedules ?? 0;
      states += seen.states ?? 0;
      if (failure === undefined) continue;
      const after = `${schedules} schedules${states > 0 ? ` and ${states} states` : ''}`;
      return { by, after, check: failure.check, schedule: failure.schedule };
    }
  }
  return null;
}

async function* inScenario() {
  if (scenario) {
    yield { by: scenario, ...(await lab.exploreLibrary(scenario, { mostSchedules: 40_000 })) };
  }
}

async function* onePreemption() {
  yield* everyScenario({ preemptions: 1 });
}

/** Some of them, from all over. */
async function* twoPreemptions() {
  yield* everyScenario({ mostSchedules: 6000 });
}

async function* everyScenario(options) {
  for (const { name: by } of lab.SCENARIOS) {
    if (by !== LARGE) yield { by, ...(await lab.exploreLibrary(by, options)) };
  }
}

async function* atRandom() {
  for (const { name } of lab.SCENARIOS) {
    const found = await lab.exploreLibraryAtRandom(name, { seed: SEED, runs: 200 });
    yield { by: `${name} at random`, ...found };
  }
}

/** Each recipe in its first world, made smaller, and in the one where replies are lost. */
async function* everyInterleaving() {
  for (const name of RECIPES) {
    for (const options of [{ ticks: 3 }, { variant: 'lost-reply', ticks: 4 }]) {
      const { states, verdicts } = lab.explore(name, options);
      const wrong = verdicts.find(({ isExpected, failure }) => !isExpected && failure);
      yield { by: `the recipe ${name}`, states, failure: wrong?.failure };
    }
  }
}
