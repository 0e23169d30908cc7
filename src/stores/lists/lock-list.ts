import type { HolderInfo, LockKind } from '../../lock/index.ts';
import { keyOf, lockOfKey, parseList, parseQueued, parseToken } from '../redis/lock-keys.ts';
import { FORCE_SCRIPT, LOOK_SCRIPT, PAGE_SCRIPT } from './lock-list-script.ts';
import { parseUnreadable, scanPages, type Unreadable } from './scan-pages.ts';

/** Runs a script on one server. Texts are latin1, a char a byte, in both directions. */
export type RunScript = (
  text: string,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/** A lock as an operator sees it. Counts are of all; the lists may be cut. */
export interface ListedLock {
  readonly kind: LockKind;
  /** One char a byte: what was taken by other programs need not be UTF-8. */
  readonly nameBytes: string;
  readonly holderCount: number;
  readonly holders: readonly ListedHolder[];
  readonly waiterCount: number;
  /** In the order in which they will be served. */
  readonly waiters: readonly ListedWaiter[];
}

/** Who it is, as far as a token tells. */
interface Party {
  /** Unique for every acquisition; the whole token of a program that does not use Holdfast. */
  readonly owner: string;
  /** Undefined for a program that does not use Holdfast. */
  readonly info: HolderInfo | undefined;
  readonly permits: number;
}

export interface ListedHolder extends Party {
  /** Undefined for a program that does not use Holdfast: what is known is another's. */
  readonly fence: number | undefined;
  readonly ageMs: number | undefined;
  /** Undefined: it has no end. */
  readonly leftMs: number | undefined;
  /** Of a program that does not use Holdfast: what TYPE says of the key. Not `string`: `owner` is empty. */
  readonly foreignType: string | undefined;
}

export interface ListedWaiter extends Party {
  readonly leaseMs: number;
}

/** A lock that was taken from its holders by an operator. */
export interface ForcedRelease {
  readonly atMs: number;
  readonly host: string;
  readonly pid: number;
  readonly user: string;
  readonly reason: string;
  /** How many lost it. */
  readonly holders: number;
}

/** A writer takes so much of a read/write lock, and nobody else can. */
export const WRITER_PERMITS = 2 ** 30;

export const LOCK_KINDS = ['mutex', 'semaphore', 'rw'] as const satisfies readonly LockKind[];

/** Keys that one call looks through: well below a millisecond on Redis if they are no locks. */
const PAGE_KEYS = 500;
/** How many holders and waiters are told of each lock in a list, and of one that is asked for. */
const MOST_IN_LIST = 10;
const MOST_OF_ONE = 1000;
const NOTES_KEPT = 10;
const NOTES_LIVE_MS = 30 * 86_400_000;

/**
 * The locks of one server that are held or waited for, page by page, without any order. It walks by SCAN:
 * a lock that comes or goes meanwhile may be missing, and one may come twice. Nothing is written.
 * `pattern` is a glob for the names, as SCAN has it.
 */
export async function* scanLocks(run: RunScript, pattern = '*'): AsyncGenerator<LockPage> {
  const words = [`[lsr][oew]*:{${marked(pattern)}}*`, String(PAGE_KEYS), String(MOST_IN_LIST)];
  for await (const [, locks, unreadable, failure] of scanPages(run, PAGE_SCRIPT, words)) {
    yield { locks: (locks as unknown[]).map(parseLock), ...parseUnreadable(unreadable, failure) };
  }
}

interface LockPage extends Unreadable {
  readonly locks: readonly ListedLock[];
}

/** All kinds of locks of one name, also those that are free, each with how it was forced lately. */
export async function lookAtLocks(
  run: RunScript,
  nameBytes: string,
): Promise<{ readonly lock: ListedLock; readonly forced: readonly ForcedRelease[] }[]> {
  const keys = LOCK_KINDS.map((kind) => keyOf({ kind, name: nameBytes }));
  const replies = (await run(LOOK_SCRIPT, keys, [String(MOST_OF_ONE)])) as [unknown, string[]][];
  return replies.map(([lock, notes]) => ({
    lock: parseLock(lock),
    forced: notes.flatMap(parseNote),
  }));
}

/**
 * Takes a lock from whoever holds it, raises the fence, hands it to the first in line, and keeps a note of
 * who did it and why, all at once. Gives the lock as it was and as it is now; a free one is left alone.
 */
export async function forceLock(
  run: RunScript,
  { kind, nameBytes }: Pick<ListedLock, 'kind' | 'nameBytes'>,
  note: Omit<ForcedRelease, 'atMs' | 'holders'>,
): Promise<{ readonly before: ListedLock; readonly after: ListedLock }> {
  const key = keyOf({ kind, name: nameBytes });
  const { host, pid, user, reason } = note;
  const text = bytesOf(JSON.stringify([host, pid, user, reason]));
  const keeping = [text, String(NOTES_KEPT), String(NOTES_LIVE_MS), String(MOST_OF_ONE)];
  const reply = await run(FORCE_SCRIPT, [key, `${key}:moving`], keeping);
  const [before, after] = (reply as unknown[]).map(parseLock);
  return { before: before!, after: after! };
}

/** A text as it is sent: one char a byte. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** A pattern for names that begin as those do which `keyOf` marks. */
function marked(pattern: string): string {
  return /^[}%]/.test(pattern) ? `%${pattern}` : pattern;
}

function parseLock(reply: unknown): ListedLock {
  const [key, timeUs, holderCount, holders, waiterCount, waiters] = reply as LockReply;
  const { kind, name } = lockOfKey(key);
  return {
    kind,
    nameBytes: name,
    holderCount: Number(holderCount),
    holders: holders.map((holder) => parseHolder(holder, Number(timeUs))).sort(byFence),
    waiterCount: Number(waiterCount),
    waiters: waiters.map(parseWaiter),
  };
}

type LockReply = [string, string, string, HolderReply[], string, string[]];
/** token, permits, fence, time left, the age if it is known otherwise than by the fence, and the type of a mutex. */
type HolderReply = [string, string, string, string, string, string?];

/** The fence of a mutex is the time of its grant, by the clock of the server. */
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

function parseWaiter(member: string): ListedWaiter {
  const { permits, leaseMs, token } = parseQueued(member);
  return { ...parseParty(token, permits), leaseMs };
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
