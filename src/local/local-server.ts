import { systemClock, type Timer } from '../clock/index.ts';
import { openSession, type Session, SessionError, type StoreAddress } from '../stores/index.ts';
import { LocalError } from './errors.ts';
import { cannotUse, findFolder, type LocalEnvironment, prepareFolder } from './folder.ts';
import { earlierFolder, localFolder } from './local-folder.ts';
import { LOST_GRACE_MS } from './lost-grace.ts';
import { hasEnded, highestNumber, socketOf } from './place.ts';
import { Starter } from './start.ts';

export interface LocalOptions {
  readonly environment: LocalEnvironment;
  readonly signal?: AbortSignal;
}

/** Maximum time for a server to start and to answer. */
const START_MS = 20_000;
/** Maximum time for a running server to answer. */
const ANSWER_MS = 3000;
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 50;

/**
 * Opens a session on the local server of this user, and starts the server if none runs. The server does not end before
 * the session.
 *
 * @throws LocalError
 */
export async function openLocalSession({ environment, signal }: LocalOptions): Promise<Session> {
  const folder = localFolder(environment);
  using starter = new Starter(folder, environment);
  using deadline = new Deadline(folder, START_MS + LOST_GRACE_MS, signal);
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(1.5 * pauseMs, MAX_PAUSE_MS)) {
    prepareFolder(folder);
    const earlier = await tryEarlierServer(environment, folder, deadline.signal);
    const found = earlier ?? (await tryServer(folder, deadline.signal));
    if (typeof found === 'object') return found;
    if (found !== 'busy') starter.start(numberIn(folder) + 1);
    await pause(pauseMs);
  }
}

/**
 * The address of the local server of this user, `unix:/…`. Starts the server if none runs. The server ends after some
 * seconds without a client.
 *
 * @throws LocalError
 */
export async function localAddress(options: LocalOptions): Promise<StoreAddress> {
  const session = await openLocalSession(options);
  await session.close();
  return session.address;
}

/**
 * The address of the local server of this user; undefined if none runs. Does not start it.
 *
 * @throws LocalError if a server runs and does not answer
 */
export async function findLocalAddress({
  environment,
  signal,
}: LocalOptions): Promise<StoreAddress | undefined> {
  const folder = localFolder(environment);
  using deadline = new Deadline(folder, ANSWER_MS + LOST_GRACE_MS, signal);
  for (;;) {
    const number = numberFound(folder);
    const earlier = await tryEarlierServer(environment, folder, deadline.signal);
    const found = earlier ?? (number === 0 ? 'none' : await tryServer(folder, deadline.signal));
    if (typeof found === 'object') {
      await found.close();
      return found.address;
    }
    // No server listens, unless another one has just started.
    if (found === 'none' && numberFound(folder) === number) return undefined;
    await pause(MAX_PAUSE_MS);
  }
}

/**
 * Opens a session on a server that was started in /tmp before the home folder could be used. While it serves, it is the
 * server of this user. It is never started there again. Undefined: there is none.
 */
async function tryEarlierServer(
  environment: LocalEnvironment,
  folder: string,
  signal: AbortSignal,
): Promise<Session | 'busy' | undefined> {
  const earlier = earlierFolder(environment, folder);
  const found = earlier === undefined ? 'none' : await tryServer(earlier, signal);
  if (found === 'none') return undefined;
  return found === 'closed' ? 'busy' : found;
}

/** `busy`: its backlog of connections is full. `closed`: it is about to end, or was just killed. */
async function tryServer(
  folder: string,
  signal: AbortSignal,
): Promise<Session | 'none' | 'busy' | 'closed'> {
  signal.throwIfAborted();
  const number = numberIn(folder);
  if (number === 0 || hasEnded(folder, number)) return 'none';
  try {
    // The signal aborts earlier.
    const timeoutMs = 2 * START_MS;
    return await openSession(`unix:${socketOf(folder, number)}`, { timeoutMs, signal });
  } catch (error) {
    if (!(error instanceof SessionError) || error.code !== 'unreachable') throw error;
    const { code = 'closed' } = error.cause as NodeJS.ErrnoException;
    const meaning = MEANINGS[code as keyof typeof MEANINGS];
    if (meaning === undefined) throw cannotUse(folder, error.cause);
    return meaning;
  }
}

/** The state of the server by the error of the connection. */
const MEANINGS = {
  ECONNREFUSED: 'none',
  ENOENT: 'none',
  EAGAIN: 'busy',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  closed: 'closed',
} as const;

/** Aborts with the signal of the caller, or when the time is over. */
class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: Timer;

  constructor(folder: string, durationMs: number, signal: AbortSignal | undefined) {
    const late = new AbortController();
    this.#timer = systemClock.setTimer(durationMs, () => late.abort(lateError(folder, durationMs)));
    this.signal = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
  }
}

/** 0 if the folder never had a server, or does not exist. */
function numberFound(folder: string): number {
  return findFolder(folder) ? numberIn(folder) : 0;
}

function numberIn(folder: string): number {
  try {
    return highestNumber(folder);
  } catch (error) {
    throw cannotUse(folder, error);
  }
}

function lateError(folder: string, durationMs: number): LocalError {
  return new LocalError(
    'start',
    `the local server in ${folder} did not answer within ${durationMs / 1000} s: it hangs, or is stopped. ` +
      'End it (ps shows it with this folder), or name another server with --store.',
  );
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.setTimer(durationMs, resolve).keepAlive(true);
  });
}
