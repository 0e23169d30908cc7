// The program of the local server: `node server-process.js <folder>`. Whoever needs it first starts it (see
// local-server.ts). Its exit code tells why it could not serve, as the number of the system's error.
import { constants } from 'node:os';
import type { LocalEnvironment } from './folder.ts';
import { serveLocally } from './serve-locally.ts';

const [, , folder = ''] = process.argv;
const environment: LocalEnvironment = process.env;
const idleMs = Number(environment.HOLDFAST_LOCAL_IDLE_MS) || 10_000;

process.umask(0o077);
// It belongs to no terminal: what interrupts a program that happens to have started it is not meant for it.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
const asked = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()));

try {
  await serveLocally(folder, idleMs, asked);
} catch (error) {
  process.exitCode = errnoOf(error);
}

function errnoOf(error: unknown): number {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  const name = [cause?.code, code].find((each) => each !== undefined && each in constants.errno);
  return name === undefined ? 1 : constants.errno[name as keyof typeof constants.errno];
}
