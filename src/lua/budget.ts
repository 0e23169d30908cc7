import { allocate, memory, ScriptStopped, setBytesLeft } from './memory.ts';
import { state } from './state.ts';

/**
 * What a script may spend. A step is one turn of a loop, one call, or about sixteen bytes that a
 * library function makes or looks at. `deadlineMs` is a time of the host's monotonic clock. `bytes`
 * is the sum of all that the script allocates, 256 MiB if it is not given.
 */
export interface Budget {
  readonly steps: number;
  readonly deadlineMs: number;
  readonly bytes?: number;
}

const DEFAULT_BYTES = 256 * 1024 * 1024;

/**
 * Every char, item and node that a script makes is paid for with at least one, eight and 64 bytes
 * before it is made. So below this limit no string, array or Map of a script can reach the sizes at
 * which V8 ends the process: 2^29 - 24 chars, 2^27 items, 2^24 entries.
 */
const MAX_BYTES = 2 ** 29 - 2 ** 20;

/** Steps between two looks at the clock. */
const SLICE = 4096;

/** Starts counting. `state.fuel` runs down to zero in slices, so the hot path has one number. */
export function openBudget(budget: Budget): void {
  state.stepsLeft = budget.steps;
  state.deadlineMs = budget.deadlineMs;
  state.fuel = 0;
  setBytesLeft(Math.min(budget.bytes ?? DEFAULT_BYTES, MAX_BYTES));
}

/** Stops counting memory: commands of clients spend no script's budget. */
export function closeBudget(): void {
  memory.bytesLeft = Number.POSITIVE_INFINITY;
}

function checkTime(): void {
  if (state.host.monotonicMs() >= state.deadlineMs) throw new ScriptStopped('deadline');
}

memory.checkTime = checkTime;

/** Called when the fuel has run below zero: takes the next slice or stops the script. */
export function refuel(): void {
  const debt = -state.fuel;
  if (state.stepsLeft < debt) throw new ScriptStopped('steps');
  checkTime();
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

/** What V8 takes for a string of a few chars, and for a string joined of two. */
export const PIECE_BYTES = 32;

/** Pays for making so many bytes of text, before they are made. */
export function spendMaking(bytes: number): void {
  allocate(bytes);
  spend(bytes >>> 4);
}
