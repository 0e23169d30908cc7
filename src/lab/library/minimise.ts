import type { Chosen } from './option.ts';
import { type Played, playBack } from './replay.ts';
import type { Scenario } from './scenario.ts';
import { SharedStore } from './shared-store.ts';
import type { LibraryCheck } from './watcher.ts';

/**
 * Removes choices from a failing run while the same check still fails: the usual step takes the place of
 * each removed choice. Removes large pieces first. No single choice of the result can be removed.
 */
export async function minimise(
  scenario: Scenario,
  check: LibraryCheck,
  failing: readonly Chosen[],
): Promise<readonly Chosen[]> {
  const store = new SharedStore(scenario);
  const play = (schedule: readonly Chosen[]): Promise<Played> =>
    playBack(scenario, schedule, true, store);
  let best = failing;
  for (let size = countChosen(best); size > 0; ) {
    const fewer = await withoutSome(best, size, check, play);
    if (fewer === undefined) size >>= 1;
    else {
      best = fewer;
      size = Math.min(size, countChosen(best));
    }
  }
  return best;
}

async function withoutSome(
  schedule: readonly Chosen[],
  size: number,
  check: LibraryCheck,
  play: (schedule: readonly Chosen[]) => Promise<Played>,
): Promise<readonly Chosen[] | undefined> {
  const places = [...schedule.keys()].filter((step) => schedule[step] !== undefined);
  for (let at = 0; at < places.length; at += size) {
    const left = new Set(places.slice(at, at + size));
    const candidate = schedule.map((choice, step) => (left.has(step) ? undefined : choice));
    const { found, chosen } = await play(candidate);
    if (found?.check === check && countChosen(chosen) < places.length) return chosen;
  }
  return undefined;
}

function countChosen(schedule: readonly Chosen[]): number {
  return schedule.filter((choice) => choice !== undefined).length;
}
