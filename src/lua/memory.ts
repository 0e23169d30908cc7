/** Thrown when the budget of a script is spent. No pcall of the script catches it. */
export class ScriptStopped {
  readonly reason: StopReason;
  constructor(reason: StopReason) {
    this.reason = reason;
  }
}

/** `oom` comes from the host: the script has written, and the host has no memory left. */
export type StopReason = 'steps' | 'deadline' | 'memory' | 'oom';

/** Bytes that a script may allocate between two reads of the clock: a few milliseconds of work. */
const SLICE_BYTES = 512 * 1024;

/** Bytes that V8 uses for a value in a list of arguments or results. */
export const VALUE_BYTES = 8;

/** The memory of the running script. It is counted only while a script runs. */
export const memory = {
  /** What the script may still allocate. */
  bytesLeft: Number.POSITIVE_INFINITY,
  /** When `bytesLeft` falls below this, the clock is read. */
  nextCheck: 0,
  /** Throws ScriptStopped when the script's time is over. */
  checkTime(): void {},
};

export function setBytesLeft(bytes: number): void {
  memory.bytesLeft = bytes;
  memory.nextCheck = Math.max(0, bytes - SLICE_BYTES);
}

/**
 * Counts an allocation of the running script, or one of the host on its behalf. Does nothing between
 * scripts. Freed memory is not subtracted, because only V8 knows what is still in use: the limit is on
 * the sum, so the same script always stops at the same place. Allocating takes time, so this reads the
 * clock as well.
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
