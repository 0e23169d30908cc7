import { spawn } from 'node:child_process';
import type { Environment } from '../verb.ts';

/**
 * Reports the state of the server to systemd, for units of Type=notify. Node has no Unix datagram sockets, so that the
 * program systemd-notify sends the message. Without NOTIFY_SOCKET it does nothing.
 */
export function notifyManager(
  state: 'ready' | 'stopping',
  environment: Environment,
  onError: (message: string) => void,
): void {
  if (!environment['NOTIFY_SOCKET']) return;
  const program = spawn('systemd-notify', [STATES[state]], { stdio: 'ignore' });
  program.on('error', ({ message }) => onError(`cannot run systemd-notify (${message})`));
  program.on('exit', (code) => {
    if (code !== 0) onError(`systemd-notify ended with ${code}`);
  });
}

const STATES = { ready: 'READY=1', stopping: 'STOPPING=1' } as const;
