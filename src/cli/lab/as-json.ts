import type { Exploration, FailingRuns, Failure, Replay } from '../../lab/index.ts';

/** The result of a search as JSON data, without functions; whole numbers of any size are text. */
export function explorationData(found: Exploration, failure = withoutTrace(found.failure)): object {
  const { recipe, variant, world, isExpected, keepsPromises, isComplete } = found;
  const { states, moves, interleavings, failing, seconds } = found;
  return {
    recipe: recipe.name,
    variant: variant.name,
    world,
    isExpected,
    keepsPromises,
    isComplete,
    states,
    moves,
    interleavings: String(interleavings),
    failing: failingData(failing),
    seconds,
    verdicts: found.verdicts.map((verdict) => ({
      check: verdict.check,
      holds: verdict.holds,
      isExpected: verdict.isExpected,
      isPromised: verdict.isPromised,
      failing: failingData(verdict.failing),
      ...(verdict.failure && { failure: withoutTrace(verdict.failure) }),
    })),
    ...(failure && { failure }),
  };
}

export function replayData(run: Replay, isExpected: boolean): object {
  const { recipe, variant, world, schedule, trace, violations, next } = run;
  return {
    recipe: recipe.name,
    variant: variant.name,
    world,
    isExpected,
    schedule,
    trace,
    violations,
    next,
  };
}

function failingData(failing: FailingRuns | null): object | null {
  return failing && { ...failing, interleavings: String(failing.interleavings) };
}

function withoutTrace(failure: Failure | undefined): object | undefined {
  if (failure === undefined) return undefined;
  const { check, schedule, steps, sentence } = failure;
  return { check, schedule, steps, sentence };
}
