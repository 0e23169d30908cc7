import { useEffect, useState } from 'preact/hooks';
import { RecipeFault, replayRun } from './desk.ts';
import type { Fault, RecipeSource, Run, WorldChange } from './messages.ts';

export interface RunState {
  /** The last run that could be replayed; undefined before the first. */
  readonly run: Run | undefined;
  /** Why the present one cannot be replayed. */
  readonly fault: Fault | undefined;
}

/** Replays a schedule in the worker, again whenever the recipe, the world or the schedule changes. */
export function useRun(source: RecipeSource, world: WorldChange, schedule: string): RunState {
  const [state, setState] = useState<RunState>({ run: undefined, fault: undefined });
  const key = JSON.stringify([source, world, schedule]);
  useEffect(() => {
    let isCurrent = true;
    replayRun(source, world, schedule).then(
      (run) => isCurrent && setState({ run, fault: undefined }),
      (error: unknown) =>
        isCurrent &&
        setState(({ run }) => ({
          run,
          fault: error instanceof RecipeFault ? error.fault : faultFor(error),
        })),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return state;
}

function faultFor(error: unknown): Fault {
  return { message: String(error), line: null, column: null };
}
