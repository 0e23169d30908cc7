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

/** How long a server may take to start, and then to answer. */
const START_MS = 20_000;
/** How long one may take to answer who only wants to look. */
const LOOK_MS = 3000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/**
 * A session on the local server of this user, which is started if need be. The server does not end while
 * the session lives. Rejects with a LocalError.
 */
export async function openLocalSession({ environment, signal }: LocalOptions): Promise<Session> {
  const folder = localFolder(environment);
  using starter = new Starter(folder, environment);
  using patience = new Patience(folder, START_MS + LOST_GRACE_MS, signal);
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(1.5 * pauseMs, LONGEST_PAUSE_MS)) {
    prepareFolder(folder);
    const earlier = await tryEarlierServer(environment, folder, patience.signal);
    const found = earlier ?? (await tryServer(folder, patience.signal));
    if (typeof found === 'object') return found;
    if (found !== 'busy') starter.start(numberIn(folder) + 1);
    await pause(pauseMs);
  }
}

/**
 * Where the local server of this user is, which is started if need be: `unix:/…`. It ends when nobody has
 * been connected for some seconds. Rejects with a LocalError.
 */
export async function localAddress(options: LocalOptions): Promise<StoreAddress> {
  const session = await openLocalSession(options);
  await session.close();
  return session.address;
}

/** The same, if it runs; nobody starts it. One that runs and does not answer is an error. */
export async function findLocalAddress({
  environment,
  signal,
}: LocalOptions): Promise<StoreAddress | undefined> {
  const folder = localFolder(environment);
  using patience = new Patience(folder, LOOK_MS + LOST_GRACE_MS, signal);
  for (;;) {
    const number = numberFound(folder);
    const earlier = await tryEarlierServer(environment, folder, patience.signal);
    const found = earlier ?? (number === 0 ? 'nobody' : await tryServer(folder, patience.signal));
    if (typeof found === 'object') {
      await found.close();
      return found.address;
    }
    // Nobody listens, unless another server has just come.
    if (found === 'nobody' && numberFound(folder) === number) return undefined;
    await pause(LONGEST_PAUSE_MS);
  }
}

/**
 * A session on the server that was started in /tmp before the home folder could be used: as long as it serves, it is
 * the server of this user. It is never started there again. Undefined: there is none.
 */
async function tryEarlierServer(
  environment: LocalEnvironment,
  folder: string,
  signal: AbortSignal,
): Promise<Session | 'busy' | undefined> {
  const earlier = earlierFolder(environment, folder);
  const found = earlier === undefined ? 'nobody' : await tryServer(earlier, signal);
  if (found === 'nobody') return undefined;
  return found === 'closed' ? 'busy' : found;
}

/** `busy`: more wait than it lets in. `closed`: it is about to end, or has just been killed. */
async function tryServer(
  folder: string,
  signal: AbortSignal,
): Promise<Session | 'nobody' | 'busy' | 'closed'> {
  signal.throwIfAborted();
  const number = numberIn(folder);
  if (number === 0 || hasEnded(folder, number)) return 'nobody';
  try {
    // The signal ends it earlier.
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

/** What it means that there is no connection. */
const MEANINGS = {
  ECONNREFUSED: 'nobody',
  ENOENT: 'nobody',
  EAGAIN: 'busy',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  closed: 'closed',
} as const;

/** A signal that aborts with what its owner asked for, or because a server did not answer in time. */
class Patience implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: Timer;

  constructor(folder: string, durationMs: number, signal: AbortSignal | undefined) {
    const late = new AbortController();
    this.#timer = systemClock.setTimer(durationMs, () => late.abort(silent(folder, durationMs)));
    this.signal = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
  }
}

/** 0: there was never a server here, or the folder is not there. */
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

function silent(folder: string, durationMs: number): LocalError {
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
