import { allocate, memory, ScriptStopped, setBytesLeft } from './memory.ts';
import { state } from './state.ts';

/**
 * The limits of a script. A step is one iteration of a loop, one call, 128 chars of a long block, or about sixteen
 * bytes that a library function writes or reads. `deadlineMs` is a time of the host's monotonic clock. `bytes`
 * limits the sum of all allocations of the script. Default 256 MiB.
 */
export interface Budget {
  readonly steps: number;
  readonly deadlineMs: number;
  readonly bytes?: number;
}

const DEFAULT_BYTES = 256 * 1024 * 1024;

/**
 * Every char, item and node of a script is charged at least one, eight and 64 bytes before it is
 * allocated. So below this limit no string, array or Map of a script can reach the sizes at which V8
 * aborts the process: 2^29 - 24 chars, 2^27 items, 2^24 entries.
 */
const MAX_BYTES = 2 ** 29 - 2 ** 20;

/** Steps between two reads of the clock. */
const SLICE = 4096;

/** Starts counting. `state.fuel` counts down to zero in slices, so the hot path decrements one number. */
export function openBudget(budget: Budget): void {
  state.stepsLeft = budget.steps;
  state.deadlineMs = budget.deadlineMs;
  takeSlice();
  setBytesLeft(Math.min(budget.bytes ?? DEFAULT_BYTES, MAX_BYTES));
}

/** Stops counting memory: commands of clients are not charged to a script. */
export function closeBudget(): void {
  memory.bytesLeft = Number.POSITIVE_INFINITY;
}

function checkTime(): void {
  if (state.host.monotonicMs() >= state.deadlineMs) throw new ScriptStopped('deadline');
}

memory.checkTime = checkTime;

/** Called when the fuel is below zero: takes the next slice or stops the script. */
export function refuel(): void {
  const debt = -state.fuel;
  if (state.stepsLeft < debt) throw new ScriptStopped('steps');
  checkTime();
  state.stepsLeft -= debt;
  takeSlice();
}

function takeSlice(): void {
  const slice = Math.min(SLICE, state.stepsLeft);
  state.stepsLeft -= slice;
  state.fuel = slice;
}

/** Charges several steps at once. */
export function spend(steps: number): void {
  state.fuel -= steps;
  if (state.fuel < 0) refuel();
}

/** Charges the steps for reading this many bytes. */
export function spendReading(bytes: number): void {
  spend(bytes >>> 4);
}

/** Bytes that V8 uses for a string of a few chars, and for a string joined of two. */
export const PIECE_BYTES = 32;

/** Charges the memory and the steps for this many bytes of text. Call it before allocating them. */
export function spendMaking(bytes: number): void {
  allocate(bytes);
  spend(bytes >>> 4);
}
