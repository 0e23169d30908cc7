import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

interface CommandOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Whether it leads a group, and a session, of its own. */
  readonly ownsGroup: boolean;
}

/** How a process ended: with a code or by a signal. */
export interface Ending {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

/** The command that runs while the lock is held. Its streams are the runner's. */
export class Command {
  readonly pid: number;
  readonly ownsGroup: boolean;
  readonly ended: Promise<Ending>;

  /** Throws if it cannot be started, as a system error. */
  static async start(options: CommandOptions): Promise<Command> {
    const { command, args, environment, ownsGroup } = options;
    const child = spawn(command, args, { stdio: 'inherit', detached: ownsGroup, env: environment });
    if (child.pid !== undefined) return new Command(child, child.pid, ownsGroup);
    const [error] = await once(child, 'error');
    throw error;
  }

  private constructor(child: ChildProcess, pid: number, ownsGroup: boolean) {
    this.pid = pid;
    this.ownsGroup = ownsGroup;
    this.ended = once(child, 'exit').then(([code, signal]) => ({
      code: code ?? codeOfSignal(signal),
      signal,
    }));
  }

  /** To its group, if that is its own, else to itself. Whether anybody was there. */
  signal(signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(this.ownsGroup ? -this.pid : this.pid, signal);
      return true;
    } catch {
      return false;
    }
  }
}

/** The exit code by which shells tell of a death by a signal. */
export function codeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
