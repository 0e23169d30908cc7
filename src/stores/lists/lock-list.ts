import type { HolderInfo, LockKind } from '../../lock/index.ts';
import {
  keyOf,
  lockOfKey,
  parseHeld,
  parseList,
  parseQueued,
  parseToken,
} from '../redis/lock-keys.ts';
import { FORCE_SCRIPT, PAGE_SCRIPT, READ_SCRIPT } from './lock-list-script.ts';
import { parseUnreadable, scanPages, type Unreadable } from './scan-pages.ts';

/** Runs a script on one server. In both directions, each char of a string is a byte (latin1). */
export type RunScript = (
  text: string,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/** A lock as an operator sees it. The counts are exact; the lists may be truncated. */
export interface ListedLock {
  readonly kind: LockKind;
  /** The name, each char a byte: another program may have used a name that is not UTF-8. */
  readonly nameBytes: string;
  readonly holderCount: number;
  readonly holders: readonly ListedHolder[];
  readonly waiterCount: number;
  /** In the order in which they will be served. */
  readonly waiters: readonly ListedWaiter[];
}

/** A holder or a waiter, parsed from its token. */
interface Party {
  /** Unique for every acquisition; the whole token of a program that does not use Holdfast. */
  readonly owner: string;
  /** Undefined for a program that does not use Holdfast. */
  readonly info: HolderInfo | undefined;
  readonly permits: number;
}

export interface ListedHolder extends Party {
  /** Undefined for a program that does not use Holdfast: the stored fence is that of the last Holdfast holder. */
  readonly fence: number | undefined;
  readonly ageMs: number | undefined;
  /** Undefined: the key has no TTL. */
  readonly leftMs: number | undefined;
  /** The TYPE of the key of a program that does not use Holdfast. If it is not `string`, `owner` is empty. */
  readonly foreignType: string | undefined;
}

export interface ListedWaiter extends Party {
  /** Undefined: the store does not return it. */
  readonly leaseMs: number | undefined;
  /**
   * The owners of leases that the callback which waits holds: the edges of the wait-for graph. Left out: it holds none, or
   * waits since less than 100 ms, or the store does not record them.
   */
  readonly holds?: readonly string[];
  /** The names of the locks of these leases, in the same order, each char a byte. */
  readonly heldNames?: readonly string[];
}

/** A forced release of a lock by an operator. */
export interface ForcedRelease {
  readonly atMs: number;
  readonly host: string;
  readonly pid: number;
  readonly user: string;
  readonly reason: string;
  /** The number of holders that lost the lock. */
  readonly holders: number;
}

/** The permits of a writer: all slots of a read/write lock. */
export const WRITER_PERMITS = 2 ** 30;

export const LOCK_KINDS = ['mutex', 'semaphore', 'rw'] as const satisfies readonly LockKind[];

/** Keys that one call scans: well below a millisecond on Redis if none of them is a lock. */
const PAGE_KEYS = 500;
/** Maximum number of holders and waiters of each lock: in a scan, and in a read of one name. */
const MAX_IN_SCAN = 10;
const MAX_IN_READ = 1000;
/** Notes of forced releases that are kept for each lock, and for how long. */
const MAX_NOTES = 10;
const NOTES_TTL_MS = 30 * 86_400_000;

/**
 * Lists the locks of one server that have holders or waiters, page by page, in no order. Uses SCAN: a lock that is taken
 * or released meanwhile may be missing, and a lock may appear twice. Writes nothing. `pattern` is a glob for the names,
 * as in SCAN; `prefix` is that of the keys, each char a byte.
 */
export async function* scanLocks(
  run: RunScript,
  pattern = '*',
  prefix = '',
): AsyncGenerator<LockPage> {
  const glob = `${literal(prefix)}[lsr][oew]*:{${marked(pattern)}}*`;
  const args = [glob, String(PAGE_KEYS), String(MAX_IN_SCAN), prefix];
  for await (const [, found, unreadable, failure] of scanPages(run, PAGE_SCRIPT, args)) {
    const locks = (found as unknown[]).map((lock) => parseLock(lock, prefix));
    yield { locks, ...parseUnreadable(unreadable, failure) };
  }
}

/** A glob that matches this text only. */
function literal(text: string): string {
  return text.replaceAll(/[*?[\]\\]/g, '\\$&');
}

interface LockPage extends Unreadable {
  readonly locks: readonly ListedLock[];
}

/** Reads the locks of all kinds with one name, also free ones, each with the notes of its forced releases. */
export async function readLocks(
  run: RunScript,
  nameBytes: string,
  prefix = '',
): Promise<{ readonly lock: ListedLock; readonly forced: readonly ForcedRelease[] }[]> {
  const keys = LOCK_KINDS.map((kind) => prefix + keyOf({ kind, name: nameBytes }));
  const replies = (await run(READ_SCRIPT, keys, [String(MAX_IN_READ)])) as [unknown, string[]][];
  return replies.map(([lock, notes]) => ({
    lock: parseLock(lock, prefix),
    forced: notes.flatMap(parseNote),
  }));
}

/**
 * Ends all leases of a lock, raises the fence, hands the lock over to the first waiter, and stores a note of the operator
 * and the reason, in one atomic step. Returns the lock before and after it. Does nothing to a lock without holders, and
 * returns undefined for one that others than the given owners hold.
 */
export async function forceLock(
  run: RunScript,
  { kind, nameBytes }: Pick<ListedLock, 'kind' | 'nameBytes'>,
  note: Omit<ForcedRelease, 'atMs' | 'holders'>,
  prefix = '',
  owners: readonly string[] = [],
): Promise<{ readonly before: ListedLock; readonly after: ListedLock } | undefined> {
  const key = prefix + keyOf({ kind, name: nameBytes });
  const { host, pid, user, reason } = note;
  const text = bytesOf(JSON.stringify([host, pid, user, reason]));
  const args = [text, String(MAX_NOTES), String(NOTES_TTL_MS), String(MAX_IN_READ), ...owners];
  const reply = await run(FORCE_SCRIPT, [key, `${key}:moving`], args);
  if (reply === null) return undefined;
  const [before, after] = (reply as unknown[]).map((lock) => parseLock(lock, prefix));
  return { before: before!, after: after! };
}

/** Encodes a text as UTF-8, each char a byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

export function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Puts a `%` before a pattern for names that keyOf() marks in that way. */
function marked(pattern: string): string {
  return /^[}%]/.test(pattern) ? `%${pattern}` : pattern;
}

function parseLock(reply: unknown, prefix: string): ListedLock {
  const [key, timeUs, holderCount, holders, waiterCount, waiters, leases] = reply as LockReply;
  const { kind, name } = lockOfKey(key.slice(prefix.length));
  return {
    kind,
    nameBytes: name,
    holderCount: Number(holderCount),
    holders: holders.map((holder) => parseHolder(holder, Number(timeUs))).sort(byFence),
    waiterCount: Number(waiterCount),
    waiters: waiters.map((member, index) => parseWaiter(member, leases[index] ?? '')),
  };
}

type LockReply = [string, string, string, HolderReply[], string, string[], string[]];
/** token, permits, fence, time left, age (empty for a mutex, whose fence shows it), and the type of a mutex. */
type HolderReply = [string, string, string, string, string, string?];

/** The fence of a mutex is the time of its grant on the server's clock, in microseconds. */
function parseHolder(
  [token, permits, fence, left, age, type = 'string']: HolderReply,
  timeUs: number,
): ListedHolder {
  const party = parseParty(token, Number(permits));
  const isForeign = party.info === undefined;
  const ageMs = age === '' ? Math.max(0, timeUs - Number(fence)) / 1000 : Number(age);
  return {
    ...party,
    fence: isForeign || fence === '' ? undefined : Number(fence),
    ageMs: isForeign || fence === '' ? undefined : ageMs,
    leftMs: Number(left) < 0 ? undefined : Number(left),
    foreignType: isForeign ? String(type) : undefined,
  };
}

function byFence(one: ListedHolder, other: ListedHolder): number {
  return (one.fence ?? 0) - (other.fence ?? 0);
}

function parseWaiter(member: string, leases: string): ListedWaiter {
  const { permits, leaseMs, token } = parseQueued(member);
  const waiter = { ...parseParty(token, permits), leaseMs };
  const held = parseHeld(textOf(leases));
  if (held.length === 0) return waiter;
  const heldNames = held.map(({ name }) => bytesOf(name));
  return { ...waiter, holds: held.map(({ owner }) => owner), heldNames };
}

function parseParty(token: string, permits: number): Party {
  const parsed = parseToken(token, textOf);
  return { owner: parsed?.owner ?? token, info: parsed?.info, permits };
}

function parseNote(note: string): ForcedRelease[] {
  const [, atMs, holders, text = ''] = /^(\d+) (\d+) (.*)$/s.exec(note) ?? [];
  const [host, pid, user, reason] = parseList(textOf(text)).map(String);
  if (reason === undefined) return [];
  return [
    {
      atMs: Number(atMs),
      host: host!,
      pid: Number(pid),
      user: user!,
      reason,
      holders: Number(holders),
    },
  ];
}
