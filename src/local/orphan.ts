import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

/** The descriptor by which an orphan says how its start went. */
export const REPORT_DESCRIPTOR = 3;

/**
 * Starts a program that belongs to nobody: in a session of its own, and with the first process of the
 * system as its parent. Who ends all descendants of a program, as supervisors do, does not find it.
 *
 * Resolves when the program has closed its descriptor 3, to what it wrote there; so to nothing, if it was
 * killed before. Rejects if it cannot be started.
 */
export function startOrphan(command: Command, env: NodeJS.ProcessEnv): Promise<string> {
  const shell = launch(['/bin/sh', '-c', '"$@" &', 'sh', ...command], env);
  // Where there is no shell the program is a child, which is better than not to start.
  const child = shell.pid === undefined ? launch(command, env) : shell;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    if (child.pid !== undefined) resolve(textOf(child.stdio[REPORT_DESCRIPTOR] as ReportPipe));
  });
}

type Command = readonly [program: string, ...words: string[]];

/** What comes by a descriptor of a child is a socket, which its types do not say. */
type ReportPipe = Readable & { unref(): void };

function launch([program, ...words]: Command, env: NodeJS.ProcessEnv): ChildProcess {
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe'] as const;
  const child = spawn(program, words, { detached: true, cwd: '/', env, stdio: [...stdio] });
  child.on('error', () => {});
  child.unref();
  return child;
}

/** Nobody stays only to hear it. */
function textOf(pipe: ReportPipe): Promise<string> {
  pipe.unref();
  return new Promise((resolve) => {
    let text = '';
    pipe.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    pipe.on('error', () => {});
    pipe.once('close', () => resolve(text));
  });
}
