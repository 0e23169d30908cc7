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

/** Wider lines are hard to read, and narrower ones do not fit the columns. */
const MAX_COLUMNS = 100;
const MIN_COLUMNS = 60;

interface LookValues {
  readonly lang?: string;
  readonly 'no-color'?: boolean;
}

/** The style of the output, from the flags, the terminal and the environment. */
export function lookFor(values: LookValues, io: Io): Look {
  const columns = io.output.columns || 80;
  return {
    language: languageOf(values.lang, io.environment),
    width: Math.max(Math.min(columns, MAX_COLUMNS), MIN_COLUMNS),
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
  // The lab refuses unknown names.
  const chosen = namesIn(only).map((name) => replay(name, '').recipe);
  return RECIPES.filter((recipe) => chosen.includes(recipe));
}

/** Whether a verdict differs from the expected one. A stopped search that found no failure does not differ. */
export function isSurprise({ isExpected, holds }: Verdict, isComplete: boolean): boolean {
  return !isExpected && (isComplete || !holds);
}

/** The conclusion of all searches; `holdfast lab --help` describes the exit codes. */
export function conclude(all: readonly Exploration[]): Conclusion {
  const hasSurprise = all.some(({ verdicts, isComplete }) =>
    verdicts.some((verdict) => isSurprise(verdict, isComplete)),
  );
  if (hasSurprise) return 'unexpected';
  return all.every(({ isComplete }) => isComplete) ? 'expected' : 'stopped';
}

export type Conclusion = keyof typeof EXIT_CODES;

export const EXIT_CODES = { expected: 0, unexpected: 3, stopped: 4 } as const;
