import { readdirSync, readFileSync } from 'node:fs';

/**
 * Sends SIGSTOP, and returns when all threads of the process have stopped: after the signal alone, a thread of memcached
 * or etcd can still reply to a request.
 */
export function suspendProcess(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  const threads = `/proc/${pid}/task`;
  while (!readdirSync(threads).every((thread) => isStopped(`${threads}/${thread}`)));
}

function isStopped(thread: string): boolean {
  const line = readFileSync(`${thread}/stat`, 'utf8');
  const state = line[line.lastIndexOf(')') + 2]!;
  if (state === 'Z' || state === 'X') throw new Error(`${thread} has ended, and cannot be stopped`);
  return state === 'T';
}
