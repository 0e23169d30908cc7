import { systemClock } from '../clock/index.ts';
import { openSession, type Session, SessionError, type StoreAddress } from '../stores/index.ts';
import { LocalError } from './errors.ts';
import { cannotUse, type LocalEnvironment, localFolder, prepareFolder } from './folder.ts';
import { LOST_GRACE_MS } from './lost-grace.ts';
import { hasEnded, highestNumber, socketOf } from './place.ts';
import { Starter } from './start.ts';

export interface LocalOptions {
  readonly environment: LocalEnvironment;
  readonly signal?: AbortSignal;
}

/** How long a server may take to start, and then to answer. */
const START_MS = 20_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/**
 * A session on the local server of this user, which is started if need be. The server does not end while
 * the session lives. Rejects with a LocalError.
 */
export async function openLocalSession({ environment, signal }: LocalOptions): Promise<Session> {
  const folder = localFolder(environment);
  prepareFolder(folder);
  using starter = new Starter(folder, environment);
  const untilMs = systemClock.monotonicMs() + START_MS + LOST_GRACE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(1.5 * pauseMs, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const leftMs = untilMs - systemClock.monotonicMs();
    if (leftMs <= 0) throw silent(folder);
    const session = await tryServer(folder, Math.max(leftMs, 1), signal);
    if (session !== undefined) return session;
    starter.start(numberIn(folder) + 1);
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

/** The same, if it runs; nobody starts it. */
export async function findLocalAddress(options: LocalOptions): Promise<StoreAddress | undefined> {
  const folder = localFolder(options.environment);
  prepareFolder(folder);
  const session = await tryServer(folder, LOST_GRACE_MS + START_MS, options.signal);
  await session?.close();
  return session?.address;
}

/** Undefined: nobody listens there, or no longer. */
async function tryServer(
  folder: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Session | undefined> {
  const number = numberIn(folder);
  if (number === 0 || hasEnded(folder, number)) return undefined;
  try {
    const address = `unix:${socketOf(folder, number)}`;
    return await openSession(address, { timeoutMs, ...(signal && { signal }) });
  } catch (error) {
    if (error instanceof SessionError && error.code === 'unreachable') return undefined;
    throw error;
  }
}

function numberIn(folder: string): number {
  try {
    return highestNumber(folder);
  } catch (error) {
    throw cannotUse(folder, error);
  }
}

function silent(folder: string): LocalError {
  return new LocalError(
    'start',
    `the local server in ${folder} does not answer. End it (ps shows it with this folder), or name another server with --store.`,
  );
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.setTimer(durationMs, resolve).keepAlive(true);
  });
}
