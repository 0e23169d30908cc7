import { allocate, memory, ScriptStopped } from './memory.ts';
import { state } from './state.ts';

/**
 * What a script may spend. A step is one turn of a loop, one call, or about sixteen bytes that a
 * library function makes or looks at. `deadlineMs` is a time of the host's monotonic clock. `bytes`
 * is the sum of all that the script allocates, 512 MiB if it is not given.
 */
export interface Budget {
  readonly steps: number;
  readonly deadlineMs: number;
  readonly bytes?: number;
}

const DEFAULT_BYTES = 512 * 1024 * 1024;

/** Steps between two looks at the clock. */
const SLICE = 4096;

/** Starts counting. `state.fuel` runs down to zero in slices, so the hot path has one number. */
export function openBudget(budget: Budget): void {
  state.stepsLeft = budget.steps;
  state.deadlineMs = budget.deadlineMs;
  state.fuel = 0;
  memory.bytesLeft = budget.bytes ?? DEFAULT_BYTES;
}

/** Called when the fuel has run below zero: takes the next slice or stops the script. */
export function refuel(): void {
  const debt = -state.fuel;
  if (state.stepsLeft < debt) throw new ScriptStopped('steps');
  if (state.host.monotonicMs() >= state.deadlineMs) throw new ScriptStopped('deadline');
  state.stepsLeft -= debt;
  const slice = Math.min(SLICE, state.stepsLeft);
  state.stepsLeft -= slice;
  state.fuel = slice;
}

/** Pays for work that is not a single step. */
export function spend(steps: number): void {
  state.fuel -= steps;
  if (state.fuel < 0) refuel();
}

/** Pays for looking at so many bytes. */
export function spendReading(bytes: number): void {
  spend(bytes >>> 4);
}

/** Pays for making so many bytes of text. */
export function spendMaking(bytes: number): void {
  allocate(bytes);
  spend(bytes >>> 4);
}
