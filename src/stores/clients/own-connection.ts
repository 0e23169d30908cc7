import { systemClock } from '../../clock/index.ts';
import { startHeartbeat } from './heartbeat.ts';
import type { OwnConnection, SubscriptionHandlers } from './redis-link.ts';

/** A duplicate of the caller's client that does not reconnect. */
export interface OwnConnectionSteps {
  /** Connects and sends the first command. */
  start(): Promise<unknown>;
  ping(): Promise<unknown>;
  /** Ends the connection. Called at most once. */
  end(): void;
  /** Calls back when the connection has ended. */
  onEnd(listener: () => void): void;
}

/** Opens a connection, and closes it when it stops replying. Aborting the signal before it is open closes it. */
export async function openConnection(
  steps: OwnConnectionSteps,
  signal: AbortSignal,
): Promise<OwnConnection> {
  let resolveEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    resolveEnded = resolve;
  });
  let isOver = false;
  steps.onEnd(() => {
    isOver = true;
    resolveEnded();
  });
  // Resolves at once: a client may need seconds to close a dead connection.
  const close = (): void => {
    if (isOver) return;
    isOver = true;
    steps.end();
    resolveEnded();
  };
  try {
    await abortable(steps.start, signal);
  } catch (error) {
    close();
    throw error;
  }
  const stopHeartbeat = startHeartbeat(steps.ping, close, systemClock);
  void ended.then(stopHeartbeat);
  return { ended, close };
}

/** Reports an open subscription, and resolves when its connection has ended. */
export async function untilEnded(
  { ended, close }: OwnConnection,
  handlers: SubscriptionHandlers,
  signal: AbortSignal,
): Promise<void> {
  signal.addEventListener('abort', close);
  if (signal.aborted) close();
  else handlers.onSubscribed();
  await ended;
  signal.removeEventListener('abort', close);
}

/** Some clients never settle a request when they are closed while connecting. */
async function abortable(start: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    await Promise.race([start(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
