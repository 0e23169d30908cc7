import type { TraceStep } from '../../lab/index.ts';
import { withoutControls } from '../printable.ts';

/** A run with escaped control characters: the script of a recipe can produce any character. */
export function printableTrace(trace: readonly TraceStep[]): TraceStep[] {
  return trace.map(printableStep);
}

function printableStep(step: TraceStep): TraceStep {
  return {
    ...step,
    action: withoutControls(step.action),
    reply: step.reply === null ? null : withoutControls(step.reply),
    keys: step.keys.map(({ key, value, ttlMs }) => ({
      key: withoutControls(key),
      value: withoutControls(value),
      ttlMs,
    })),
    notes: step.notes.map(({ en, zh }) => ({ en: withoutControls(en), zh: withoutControls(zh) })),
  };
}
