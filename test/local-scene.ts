import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { onTestFinished, type TestContext } from 'vitest';
import { LocalClient, type LocalClientOptions } from './local-client.ts';
import { removeFolder } from './remove-folder.ts';

/** Calls a function at the end of the test. Concurrent tests pass the one of their context. */
export type AtEnd = TestContext['onTestFinished'];

/** A new folder for each test. The servers in it end with the test. */
export function newFolder(atEnd: AtEnd = onTestFinished): string {
  const folder = mkdtempSync('/tmp/holdfast-test-');
  atEnd(() => {
    for (const pid of serversOf(folder)) process.kill(pid, 'SIGKILL');
    removeFolder(folder);
  });
  return folder;
}

/** The pids of server processes of a folder, including those that are starting. */
export function serversOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => argumentsOf(pid).at(-1) === folder);
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}

export async function start(
  folder: string,
  { idleMs = 60_000, ...options }: { idleMs?: number } & Partial<LocalClientOptions> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<LocalClient> {
  const environment = { HOLDFAST_RUNTIME_DIR: folder, HOLDFAST_LOCAL_IDLE_MS: `${idleMs}` };
  const client = await LocalClient.start({ environment, ...options });
  atEnd(() => client.kill());
  return client;
}

/** Waits until a condition that another process changes is true. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}

export const starts = (count: number, folder: string, idleMs?: number): Promise<LocalClient[]> =>
  Promise.all(Array.from({ length: count }, () => start(folder, { ...(idleMs && { idleMs }) })));
