import {
  type Algorithm,
  explore,
  LabError,
  parseRecipe,
  RECIPES,
  replay,
} from '../../../src/lab/index.ts';
import { isRunnable, recipeText } from '../../../src/lab/report/recipe-text.ts';
import type { Fault, RecipeSource, Run, SearchResult, WorldChange } from './messages.ts';

/** Runs one schedule. Throws LabError for a wrong recipe or a schedule that does not fit. */
export function runSchedule(source: RecipeSource, world: WorldChange, schedule: string): Run {
  const recipe = algorithmOf(source);
  const run = replay(recipe, schedule, { ...world, ...variantOf(source) });
  return {
    names: Array.from({ length: run.world.clients }, (_, at) => String.fromCharCode(65 + at)),
    variants: (recipe.variants ?? []).map(({ name }) => name),
    schedule: run.schedule,
    labels: run.trace.map(({ label }) => label),
    trace: run.trace,
    lines: run.lines,
    violations: run.violations,
    next: run.next,
  };
}

/** Runs every interleaving. */
export function searchAll(
  source: RecipeSource,
  world: WorldChange,
  onProgress: (states: number, seconds: number) => void,
): SearchResult {
  const found = explore(algorithmOf(source), {
    ...world,
    ...variantOf(source),
    mostStates: MAX_STATES,
    onProgress: ({ states, seconds }) => {
      onProgress(states, seconds);
      return true;
    },
  });
  const { failure } = found;
  return {
    verdicts: found.verdicts,
    keepsPromises: found.keepsPromises,
    isComplete: found.isComplete,
    states: found.states,
    interleavings: found.interleavings,
    failingChance: found.failing?.chance ?? null,
    seconds: found.seconds,
    world: found.world,
    failure: failure === undefined ? null : { check: failure.check, schedule: failure.schedule },
  };
}

/** A tab of a browser has less memory than Node. */
const MAX_STATES = 600_000;

/** Anything but an error of the recipe is a bug, and is thrown again. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof LabError)) throw error;
  const [prefix, line, column] = PLACE.exec(error.message) ?? [];
  if (prefix === undefined) return { message: error.message, line: null, column: null };
  return {
    message: error.message.slice(prefix.length),
    line: Number(line),
    column: Number(column),
  };
}

/** Recipes of the page are called this in errors. */
const NAME = 'recipe';
const PLACE = /^line (\d+), column (\d+) of recipe: /;

function algorithmOf(source: RecipeSource): Algorithm {
  if (source.kind === 'text') return parseRecipe(source.text, NAME);
  const recipe = RECIPES.find(({ name }) => name === source.recipe);
  if (recipe === undefined) throw new LabError(`there is no recipe "${source.recipe}"`);
  if (!isRunnable(recipe)) return recipe;
  // The pseudo-code instead of the program in TypeScript, so that each step has a line.
  return { ...recipe, client: parseRecipe(recipeText(recipe, source.variant), NAME).client };
}

function variantOf({ variant }: RecipeSource): { variant?: string } {
  return variant === undefined ? {} : { variant };
}
