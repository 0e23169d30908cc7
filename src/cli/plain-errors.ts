import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';

const STDERR = 2;

/**
 * Replaces `process.stderr` by a stream that leaves the descriptor blocking. Node makes a pipe non-blocking on the
 * first access to `process.stderr`, which its sockets do by themselves. That changes the pipe for all processes that
 * share it, and those that do not expect it lose output. Node opens a terminal separately.
 */
export function keepStderrBlocking(): void {
  if (isatty(STDERR)) return;
  const plain = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => done(tryWrite(chunk)),
  });
  Object.defineProperty(process, 'stderr', { configurable: true, get: () => plain });
}

function tryWrite(chunk: Uint8Array): undefined {
  try {
    writeSync(STDERR, chunk);
  } catch {
    // The reader has gone, or another process made the pipe non-blocking and it is full.
  }
}
