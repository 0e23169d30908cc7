import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';

const STDERR = 2;

/**
 * From now on stderr is written to and otherwise left as it is. Node makes a pipe non-blocking as soon as
 * `process.stderr` is looked at, which its sockets do by themselves, also for all others that have it open:
 * programs that do not expect that lose what they write. A terminal is opened anew for Node.
 */
export function leaveStderr(): void {
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
    // Nobody reads it any more, or somebody else has made it non-blocking and it is full.
  }
}
