import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readdirSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/*
 * How one server at a time comes to serve a folder, with no lock to rely on.
 *
 * A server listens on a socket of a name of its own, and then takes a place: it links that socket to
 * `server-<n>.sock`, where n is one more than the highest number there is, if nobody listens behind that
 * highest one. Clients connect to the highest. A link is atomic: it is made once, or fails.
 *
 * 1. The highest number never falls. A name is only removed by who has found a higher one. A server that
 *    ends leaves its name, behind which nobody listens any more. (Who empties the folder by hand breaks
 *    this: see below.)
 * 2. A dead name stays dead. A socket file belongs to the one socket that it was made for; once that is
 *    closed, every attempt to connect is refused, for ever.
 * 3. A server that links n+1 has found n to be the highest, and dead. If n was still the highest when it
 *    linked, then it is the highest now. Else somebody had made n+1, and a successor of that, n+2 or more,
 *    has removed it. By 1 the higher one is still there, so that a second look finds it, and the server
 *    withdraws. It has answered nobody: link and look are one turn of its event loop.
 * 4. So servers that serve have taken their numbers as the highest, one after the other, and each found
 *    the one before it dead, before it took its own. There is no moment at which two serve.
 * 5. While a server lives, nobody takes its place: to connect to it succeeds, whether or not it has come
 *    to look at the connection. It may be stopped for hours; clients then wait, or give up.
 * 6. Somebody gets a place. Of several that try n+1 one succeeds, and the others look again.
 *
 * A server that ends with nothing to lose marks that before it stops listening, in the same turn: it links
 * its name to `server-<n>.ended` too. A successor that misses the mark lets those who held locks stop
 * first. A client that connected in the last moment gets no answer, and tries again.
 *
 * A server that misses its own name takes a place again, as if it were new, before anybody who starts now
 * has come so far. As long as it has that, by 5, nobody else takes one, so that it can move up to its old
 * number, by which its clients know it. If somebody was faster, because this server was stopped, it ends,
 * so that its holders are told. Only then have two served at a time.
 */

export interface Place {
  readonly number: number;
  /** Nobody can still believe to hold a lock of the server before. */
  readonly isFresh: boolean;
}

/** A name to listen on, before there is a place. */
export function temporarySocket(folder: string): string {
  return join(folder, `.${randomBytes(6).toString('hex')}.sock`);
}

export function socketOf(folder: string, number: number): string {
  return join(folder, `server-${number}.sock`);
}

export function hasEnded(folder: string, number: number): boolean {
  return existsSync(endMark(folder, number));
}

/** 0: there was never a server here. */
export function highestNumber(folder: string): number {
  const numbers = readdirSync(folder).map((name) => Number(/^server-(\d+)\.sock$/.exec(name)?.[1]));
  return Math.max(0, ...numbers.filter((number) => number > 0));
}

/**
 * Takes a place for the server that listens on `temporary`, with this number or a higher one; undefined:
 * another one serves.
 */
export async function takePlace(
  folder: string,
  temporary: string,
  number = 1,
): Promise<Place | undefined> {
  for (;;) {
    const before = highestNumber(folder);
    if (before > 0 && (await listens(socketOf(folder, before)))) return undefined;
    const taken = tryPlace(folder, temporary, before);
    if (taken !== 'again') return taken && moveUp(folder, taken, number);
  }
}

function moveUp(folder: string, place: Place, number: number): Place {
  if (place.number >= number) return place;
  linkSync(socketOf(folder, place.number), socketOf(folder, number));
  clear(folder, number);
  return { ...place, number };
}

/** In one turn, so that no client was answered when it withdraws. */
function tryPlace(folder: string, temporary: string, before: number): Place | undefined | 'again' {
  const number = before + 1;
  try {
    linkSync(temporary, socketOf(folder, number));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return 'again';
    // Whoever has the place clears away the names of the others.
    if (code === 'ENOENT') return undefined;
    throw error;
  }
  if (highestNumber(folder) > number) {
    remove(socketOf(folder, number));
    return 'again';
  }
  const isFresh = before === 0 || hasEnded(folder, before);
  clear(folder, number);
  return { number, isFresh };
}

/** To be called in the same turn as listening ends, by a server that nobody needs. */
export function markEnd(folder: string, number: number): void {
  try {
    linkSync(socketOf(folder, number), endMark(folder, number));
  } catch {
    // The next server then waits for holders that do not exist.
  }
}

function endMark(folder: string, number: number): string {
  return join(folder, `server-${number}.ended`);
}

/** Removes what the servers before have left, and the names of those that were too late. */
function clear(folder: string, number: number): void {
  for (const name of readdirSync(folder)) {
    const earlier = /^(?:server|starting)-(\d+)\b/.exec(name)?.[1];
    const isOld = earlier !== undefined && Number(earlier) < number;
    if (isOld || /^\.[0-9a-f]{12}\.sock$/.test(name)) remove(join(folder, name));
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Whether somebody listens there. If that is not sure, somebody does. */
function listens(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });
}
