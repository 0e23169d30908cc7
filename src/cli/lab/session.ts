import {
  type Exploration,
  explore,
  RECIPES,
  type Recipe,
  replay,
  type Verdict,
} from '../../lab/index.ts';
import { choosePaint } from '../console/paint.ts';
import type { Io } from '../verb.ts';
import type { Look } from './diagram.ts';
import { languageOf, namesIn } from './lab-options.ts';
import type { ProgressLine } from './progress-line.ts';

/** Wider lines are harder to read, and in narrower ones there is no room for the columns. */
const MOST_COLUMNS = 100;
const LEAST_COLUMNS = 60;

interface LookValues {
  readonly lang?: string;
  readonly 'no-color'?: boolean;
}

/** How to print, by the flags, the terminal and the environment. */
export function lookFor(values: LookValues, io: Io): Look {
  const columns = io.output.columns || 80;
  return {
    language: languageOf(values.lang, io.environment),
    width: Math.max(Math.min(columns, MOST_COLUMNS), LEAST_COLUMNS),
    paint: choosePaint(io, values['no-color']),
  };
}

interface Found {
  readonly recipe: Recipe;
  readonly found: Exploration;
}

/** Searches every recipe, or those that are named, in every variant, one after the other. */
export function* searchGallery(only: string | undefined, progress: ProgressLine): Generator<Found> {
  for (const recipe of recipesNamed(only)) {
    for (const { name: variant } of recipe.variants) {
      const onProgress = progress.follow(`${recipe.name} ${variant}`);
      const found = explore(recipe, { variant, onProgress });
      progress.clear();
      yield { recipe, found };
    }
  }
}

function recipesNamed(only: string | undefined): readonly Recipe[] {
  if (only === undefined) return RECIPES;
  // A name that the lab does not know is refused by it.
  const chosen = namesIn(only).map((name) => replay(name, '').recipe);
  return RECIPES.filter((recipe) => chosen.includes(recipe));
}

/** A verdict that nobody foretold. That a stopped search has not found something is none. */
export function isSurprise({ isExpected, holds }: Verdict, isComplete: boolean): boolean {
  return !isExpected && (isComplete || !holds);
}

/** What searches come to; `holdfast lab --help` explains the exit codes. */
export function conclude(all: readonly Exploration[]): Conclusion {
  const hasSurprise = all.some(({ verdicts, isComplete }) =>
    verdicts.some((verdict) => isSurprise(verdict, isComplete)),
  );
  if (hasSurprise) return 'unexpected';
  return all.every(({ isComplete }) => isComplete) ? 'expected' : 'stopped';
}

export type Conclusion = keyof typeof EXIT_CODES;

export const EXIT_CODES = { expected: 0, unexpected: 3, stopped: 4 } as const;
