import type { TraceKey, TraceStep } from '../index.ts';

export interface KeyChanges {
  readonly changed: readonly TraceKey[];
  /** The names of the keys that a command removed. */
  readonly gone: readonly string[];
}

/** The keys that a step changed or removed. A TTL that runs down is not a change; expired keys are in the notes. */
export function keyChanges(step: TraceStep, before: TraceStep | undefined): KeyChanges {
  if (step.kind === 'tick' || before === undefined) {
    return { changed: step.kind === 'tick' ? [] : step.keys, gone: [] };
  }
  const known = new Set(before.keys.map((key) => JSON.stringify(key)));
  const names = new Set(step.keys.map(({ key }) => key));
  return {
    changed: step.keys.filter((key) => !known.has(JSON.stringify(key))),
    gone: before.keys.map(({ key }) => key).filter((key) => !names.has(key)),
  };
}
