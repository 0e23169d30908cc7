// The program of the local server: `node server-process.js [descriptor] <folder>`. The first client starts it (see
// local-server.ts). It writes the result of the start to the descriptor, and exits with it at its end: 0, or the
// errno of the system error that prevents it from serving.
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
// Signals for the program that started the server are not for the server, which has no terminal.
// At SIGUSR1 Node would open its debugger, on a port that every user of the machine can connect to.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) {
  process.on(signal, () => {});
}
const stop = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()));

serveLocally(folder, { idleMs, stop, onPlace: () => report(0) }).then(
  () => report(0),
  (error) => report(errnoOf(error)),
);

/** Reports once, and closes the descriptor, so that the starter no longer waits. */
function report(errno: number): void {
  process.exitCode = errno;
  if (isReported) return;
  isReported = true;
  try {
    writeSync(Number(descriptor), String(errno));
    closeSync(Number(descriptor));
  } catch {
    // The starter has gone.
  }
}

function errnoOf(error: unknown): number {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  const name = [cause?.code, code].find((each) => each !== undefined && each in constants.errno);
  return name === undefined ? 1 : constants.errno[name as keyof typeof constants.errno];
}
