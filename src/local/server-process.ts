// The program of the local server: `node server-process.js [descriptor] <folder>`. Whoever needs it first
// starts it (see local-server.ts). It tells by the descriptor, and at its end by its exit code, how that
// went: 0, or the number of the system's error because of which it cannot serve.
import { closeSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { LocalEnvironment } from './folder.ts';
import { closeInherited } from './inherited.ts';
import { serveLocally } from './serve-locally.ts';

const [descriptor, folder] = process.argv.slice(-2) as [string, string];
const environment: LocalEnvironment = process.env;
const idleMs = Number(environment.HOLDFAST_LOCAL_IDLE_MS) || 10_000;
let isReported = process.argv.length < 4;

closeInherited();
process.umask(0o077);
// It belongs to no terminal: what interrupts a program that happens to have started it is not meant for it.
// At SIGUSR1 Node would open its debugger, for everybody on the machine.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) {
  process.on(signal, () => {});
}
const asked = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()));

serveLocally(folder, { idleMs, asked, onPlace: () => report(0) }).then(
  () => report(0),
  (error) => report(errnoOf(error)),
);

/** Once, and then nobody who started it is waited for by it, or waits for it. */
function report(errno: number): void {
  process.exitCode = errno;
  if (isReported) return;
  isReported = true;
  try {
    writeSync(Number(descriptor), String(errno));
    closeSync(Number(descriptor));
  } catch {
    // Whoever started it does not care any more.
  }
}

function errnoOf(error: unknown): number {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  const name = [cause?.code, code].find((each) => each !== undefined && each in constants.errno);
  return name === undefined ? 1 : constants.errno[name as keyof typeof constants.errno];
}
