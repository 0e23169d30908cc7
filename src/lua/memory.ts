/** Thrown through everything, past every pcall of the script, when its budget is spent. */
export class ScriptStopped {
  readonly reason: StopReason;
  constructor(reason: StopReason) {
    this.reason = reason;
  }
}

/** `oom` is the host's: the script has written, and the host has no memory for more. */
export type StopReason = 'steps' | 'deadline' | 'memory' | 'oom';

/** What a script makes between two looks at the clock: at most some milliseconds of work. */
const SLICE_BYTES = 512 * 1024;

/** What V8 takes for a value in a list of arguments or results. */
export const VALUE_BYTES = 8;

/** The memory of the running script. It is counted only while a script runs. */
export const memory = {
  /** What the script may still allocate. */
  bytesLeft: Number.POSITIVE_INFINITY,
  /** When `bytesLeft` falls below this, the clock is looked at. */
  nextCheck: 0,
  /** Throws ScriptStopped when the script's time is over. */
  checkTime(): void {},
};

export function setBytesLeft(bytes: number): void {
  memory.bytesLeft = bytes;
  memory.nextCheck = Math.max(0, bytes - SLICE_BYTES);
}

/**
 * Counts what the running script is about to make, or what it makes the host hold; does nothing
 * between scripts. Nothing is ever given back, because only V8 knows what is still in use, so the
 * limit is on the sum: the same script always stops at the same place. Making much takes time, so
 * this looks at the clock as well.
 */
export function allocate(bytes: number): void {
  memory.bytesLeft -= bytes;
  if (memory.bytesLeft < memory.nextCheck) check();
}

function check(): void {
  if (memory.bytesLeft < 0) throw new ScriptStopped('memory');
  setBytesLeft(memory.bytesLeft);
  memory.checkTime();
}
