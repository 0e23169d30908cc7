import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

interface CommandOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Whether the command leads its own process group and session. */
  readonly ownsGroup: boolean;
}

/** The exit code of a process, and the signal that ended it, if one did. */
export interface Ending {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

/** The command that runs while the lock is held. It inherits the standard streams of the runner. */
export class Command {
  readonly pid: number;
  readonly ownsGroup: boolean;
  readonly ended: Promise<Ending>;

  /** Throws a system error if the command cannot be started. */
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

  /** Signals its own process group, else the process alone. Returns false if no process is left. */
  signal(signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(this.ownsGroup ? -this.pid : this.pid, signal);
      return true;
    } catch {
      return false;
    }
  }
}

/** The exit code that shells use for a process that a signal ended. */
export function codeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
