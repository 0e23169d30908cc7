import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

/** The descriptor to which an orphan writes the result of its start. */
export const REPORT_DESCRIPTOR = 3;

/**
 * Starts a program as an orphan: in its own session, with the first process of the system as its parent. A supervisor
 * that ends all descendants of the caller does not find it.
 *
 * Resolves when the program has closed its descriptor 3, to the text it wrote there: an empty text if it was killed
 * before. Rejects if it cannot be started.
 */
export function startOrphan(command: Command, env: NodeJS.ProcessEnv): Promise<string> {
  const shell = launch(['/bin/sh', '-c', '"$@" &', 'sh', ...command], env);
  // Without /bin/sh the program is started as a child.
  const child = shell.pid === undefined ? launch(command, env) : shell;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    if (child.pid !== undefined) resolve(textOf(child.stdio[REPORT_DESCRIPTOR] as ReportPipe));
  });
}

type Command = readonly [program: string, ...args: string[]];

/** A pipe from a child is a socket, which its types do not say. */
type ReportPipe = Readable & { unref(): void };

function launch([program, ...args]: Command, env: NodeJS.ProcessEnv): ChildProcess {
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe'] as const;
  const child = spawn(program, args, { detached: true, cwd: '/', env, stdio: [...stdio] });
  child.on('error', () => {});
  child.unref();
  return child;
}

/** The pipe does not keep the process alive. */
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
