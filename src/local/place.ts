import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readdirSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/*
 * The protocol by which at most one server at a time serves a folder, without a lock.
 *
 * A server listens on a temporary socket, and then takes a place: it links that socket to `server-<n>.sock`, where n
 * is one more than the highest number in the folder, if no server listens on the highest one. Clients connect to the
 * highest number. Creating a link is atomic: it succeeds for one server, and fails for the others.
 *
 * 1. The highest number never falls. A server removes a name only after it has found a higher one. A server that ends
 *    leaves its name, on which no server listens any more. (A program that empties the folder breaks this: see below.)
 * 2. A dead name stays dead. A socket file belongs to the socket that created it; once that is closed, every attempt
 *    to connect is refused.
 * 3. A server that links n+1 has found that n is the highest, and dead. If n was still the highest when it linked,
 *    n+1 is the highest now. Else another server had created n+1, and a successor of that, n+2 or more, has removed
 *    it. By 1 the higher name is still there: a second check finds it, and the server withdraws. It has answered no
 *    client: link and check are one turn of its event loop.
 * 4. So all servers that serve took their numbers as the highest, one after the other, and each found the one before
 *    it dead before it took its own. Two never serve at the same time.
 * 5. While a server lives, no other server takes its place: connecting to it succeeds, even before it accepts the
 *    connection. It may be stopped for hours; clients then wait, or give up.
 * 6. One server gets a place. Of several that try n+1 one succeeds, and the others check again.
 *
 * A server that ends without locks marks that before it stops listening, in the same turn: it links its name to
 * `server-<n>.ended` too. Without the mark, a successor waits until the holders of lost locks have stopped. A client
 * that connected in the last moment gets no reply, and tries again.
 *
 * A server whose name was removed takes a place again, as a new server would, and faster than one that starts now. By
 * 5 no other server takes a place meanwhile, so that it can move up to its old number, which its clients know. If
 * another was faster, because this server was stopped, it ends, which notifies its holders. Only in that case did two
 * servers serve at the same time.
 */

export interface Place {
  readonly number: number;
  /** No client can still hold a lock of the server before. */
  readonly isFresh: boolean;
}

/** The name of the socket of a server that has no place yet. */
export function temporarySocket(folder: string): string {
  return join(folder, `.${randomBytes(6).toString('hex')}.sock`);
}

export function socketOf(folder: string, number: number): string {
  return join(folder, `server-${number}.sock`);
}

export function hasEnded(folder: string, number: number): boolean {
  return existsSync(endMark(folder, number));
}

/** 0 if the folder never had a server. */
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

/** One turn of the event loop: a server that withdraws has answered no client. */
function tryPlace(folder: string, temporary: string, before: number): Place | undefined | 'again' {
  const number = before + 1;
  try {
    linkSync(temporary, socketOf(folder, number));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return 'again';
    // The server that has the place removes the temporary sockets of the others.
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

/** Called by an idle server in the turn in which it stops listening. */
export function markEnd(folder: string, number: number): void {
  try {
    linkSync(socketOf(folder, number), endMark(folder, number));
  } catch {
    // Without the mark the next server waits for holders that do not exist.
  }
}

function endMark(folder: string, number: number): string {
  return join(folder, `server-${number}.ended`);
}

/** Removes the names of earlier servers, and the temporary sockets of servers that were too late. */
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

/** Whether a server listens on this socket. True if unknown. */
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
