/** Thrown through everything, past every pcall of the script, when its budget is spent. */
export class ScriptStopped {
  readonly reason: 'steps' | 'deadline' | 'memory';
  constructor(reason: 'steps' | 'deadline' | 'memory') {
    this.reason = reason;
  }
}

/** What the running script may still allocate. */
export const memory = { bytesLeft: Number.POSITIVE_INFINITY };

/**
 * Counts what a script makes. Nothing is ever given back, because only V8 knows what is still in
 * use, so the limit is on the sum: the same script always stops at the same place.
 */
export function allocate(bytes: number): void {
  memory.bytesLeft -= bytes;
  if (memory.bytesLeft < 0) throw new ScriptStopped('memory');
}
