import { createHash } from 'node:crypto';
import type { ForcedRelease, ListedHolder, ListedLock, ListedWaiter } from '../stores/index.ts';
import type {
  PageClient,
  PageForcedRelease,
  PageHolder,
  PageLock,
  PageLockKind,
  PageWaiter,
} from './protocol.ts';

/** When a waiter entered the queue, if that is known. */
export type WaitingSince = (lockId: string, owner: string) => number | undefined;

/** A listed lock as the page shows it. */
export function pageLock(lock: ListedLock, nowMs: number, waitingSince: WaitingSince): PageLock {
  const { kind, nameBytes, holderCount, waiterCount, holders, waiters } = lock;
  const id = lockId(kind, nameBytes);
  return {
    id,
    kind,
    name: shownText(nameBytes),
    holderCount,
    waiterCount,
    holders: holders.map((holder) => pageHolder(holder, nowMs)),
    waiters: waiters.map((waiter) => pageWaiter(waiter, id, waitingSince)),
  };
}

export function pageForced(forced: readonly ForcedRelease[]): PageForcedRelease[] {
  return forced.map(({ atMs, host, pid, user, reason, holders }) => {
    return { atMs, by: shortText(`${user} on ${host}:${pid}`), reason, holders };
  });
}

const LETTERS = { mutex: 'm', semaphore: 's', rw: 'r' } as const satisfies Record<
  PageLockKind,
  string
>;
const KINDS: ReadonlyMap<string, PageLockKind> = new Map([
  ['m', 'mutex'],
  ['s', 'semaphore'],
  ['r', 'rw'],
]);
/** Longer names, which only other programs can have used, are replaced by their hash. */
const MAX_NAME_BYTES = 1024;

/** The kind and the bytes of the name; of a long name the hash. */
export function lockId(kind: PageLockKind, nameBytes: string): string {
  const bytes = Buffer.from(nameBytes, 'latin1');
  if (bytes.length <= MAX_NAME_BYTES) return `${LETTERS[kind]}${bytes.toString('base64url')}`;
  return `${LETTERS[kind]}~${createHash('sha256').update(bytes).digest('base64url')}`;
}

/** The lock of an id. Undefined: the id is wrong, or that of a name that only a list of locks can tell. */
export function lockOfId(
  id: string,
): { readonly kind: PageLockKind; readonly nameBytes: string } | undefined {
  const kind = KINDS.get(id.slice(0, 1));
  const nameBytes = Buffer.from(id.slice(1), 'base64url').toString('latin1');
  return kind !== undefined && lockId(kind, nameBytes) === id ? { kind, nameBytes } : undefined;
}

/** At most 1,024 characters. Bytes that are not UTF-8 are U+FFFD. */
export function shownText(bytes: string): string {
  // A character has at most four bytes.
  return shortText(Buffer.from(bytes.slice(0, MAX_CHARS * 4), 'latin1').toString('utf8'));
}

export function pageClient(info: PageClient | undefined): PageClient | null {
  if (info === undefined) return null;
  return { host: shortText(info.host), pid: info.pid, label: shortText(info.label) };
}

function shortText(text: string): string {
  return text.length <= MAX_CHARS ? text : text.slice(0, MAX_CHARS);
}

const MAX_CHARS = 1024;

function pageHolder(holder: ListedHolder, nowMs: number): PageHolder {
  const { owner, info, permits, fence, ageMs, leftMs } = holder;
  return {
    owner: shownText(owner),
    client: pageClient(info),
    permits,
    fence: fence ?? null,
    sinceMs: ageMs === undefined ? null : Math.round(nowMs - ageMs),
    endsMs: leftMs === undefined ? null : Math.round(nowMs + leftMs),
  };
}

function pageWaiter(waiter: ListedWaiter, id: string, waitingSince: WaitingSince): PageWaiter {
  const owner = shownText(waiter.owner);
  return {
    owner,
    client: pageClient(waiter.info),
    permits: waiter.permits,
    sinceMs: waitingSince(id, owner) ?? null,
    holds: (waiter.holds ?? []).map(shownText),
  };
}
