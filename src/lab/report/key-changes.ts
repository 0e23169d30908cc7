import type { TraceKey, TraceStep } from '../index.ts';

export interface KeyChanges {
  readonly changed: readonly TraceKey[];
  /** The names of those that a command removed. */
  readonly gone: readonly string[];
}

/** What a step did to the keys. That time passes is no change, and what ends by itself is in the notes. */
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
