// Searches the gallery and writes web/learn/findings.json: the run that the page of the lab shows first for each variant.
// Run it when a recipe changes: npm run build && node scripts/learn-findings.js. test/learn-findings.test.ts replays them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explore, RECIPES, replay } from '../build/lab/index.js';

const MAX_STEPS = 16;

const findings = RECIPES.flatMap((recipe) =>
  recipe.variants.map(({ name: variant }) => {
    const found = explore(recipe, { variant });
    const { failure, keepsPromises, isComplete, states, interleavings } = found;
    const shown =
      failure === undefined
        ? { check: null, schedule: quietRun(recipe, variant) }
        : { check: failure.check, schedule: failure.schedule };
    const counts = { states, interleavings: String(interleavings) };
    return [`${recipe.name} ${variant}`, { ...shown, keepsPromises, isComplete, ...counts }];
  }),
);
const path = join(import.meta.dirname, '..', 'web', 'learn', 'findings.json');
writeFileSync(path, `${JSON.stringify(Object.fromEntries(findings), null, 2)}\n`);

/** The first clients act in turn, and time passes when none can: a run without faults. */
function quietRun(recipe, variant) {
  let run = replay(recipe, '', { variant });
  while (run.trace.length < MAX_STEPS) {
    const last = run.trace.at(-1)?.label;
    const steps = run.next.filter((label) => /^[ab]$/.test(label));
    const next =
      steps.find((label) => label !== last) ?? steps[0] ?? run.next.find((label) => label === '.');
    if (next === undefined) break;
    run = replay(recipe, run.schedule + next, { variant });
    if (
      run.trace
        .at(-1)
        .clients.slice(0, 2)
        .every(({ status }) => status === 'finished')
    )
      break;
  }
  return run.schedule;
}
