import {
  type AcquireResult,
  type Contention,
  type HolderInfo,
  type HoldfastHolder,
  type Inspection,
  type LockKind,
  type LockListing,
  StolenError,
  type WaiterInfo,
} from '../../lock/index.ts';
import type { Granted } from './waiters.ts';

/** A waiter of this client that a request has served. */
export type Served = readonly [kind: LockKind, name: string, owner: string, fence: number];

/** The reply of a function that acquires. */
export interface AcquireReply {
  readonly result: AcquireResult | { readonly type: 'slots'; readonly slots: number };
  readonly served: readonly Served[];
  /** Former owners of this client. */
  readonly lost: readonly string[];
}

/** A fence alone is the reply for a lock that was free. */
export function acquireReply(reply: unknown): AcquireReply {
  if (typeof reply === 'number')
    return { result: { type: 'granted', fence: reply }, served: [], lost: [] };
  const {
    fence,
    busy,
    slots,
    served,
    lost = [],
  } = reply as Readonly<{
    fence?: number;
    busy?: number;
    slots?: number;
    served: Served[];
    lost?: string[];
  }>;
  if (fence !== undefined) return { result: { type: 'granted', fence }, served, lost };
  if (slots !== undefined) return { result: { type: 'slots', slots }, served, lost };
  return { result: { type: 'busy', retryInMs: busy ?? 0 }, served, lost };
}

/** See `refresh` in schema.ts. */
export interface RefreshReply {
  readonly queued: readonly string[];
  readonly granted: readonly Granted[];
  readonly served: readonly Served[];
  readonly next: number | null;
}

type HolderReply = readonly [
  owner: string,
  permits: number,
  fence: number,
  ageMs: number,
  leftMs: number,
  info: string,
];
type WaiterReply = readonly [owner: string, permits: number, info: string];
interface Parties {
  readonly holders: readonly HolderReply[];
  readonly waiters: readonly WaiterReply[];
}

export function parseInspection(reply: unknown): Inspection {
  const { holders, waiters } = reply as Parties;
  return { holders: holders.map(holderOf), waiters: waiters.map(waiterOf) };
}

/** Places beyond this are not counted. */
const MAX_PLACE = 1000;

export function parseContention(reply: unknown): Contention {
  const { holders, place } = reply as { holders: HolderReply[]; place: number };
  const isCounted = place > 0 && place <= MAX_PLACE;
  return { holders: holders.map(holderOf), place: isCounted ? place : undefined };
}

type ListedLock = Parties & {
  readonly kind: LockKind;
  readonly name: string;
  readonly slots: number;
  readonly holderCount: number;
  readonly waiterCount: number;
};

export function parseListing(reply: unknown, maxLocks: number): LockListing {
  const locks = reply as readonly ListedLock[];
  const shown = locks
    .slice(0, maxLocks)
    .map((lock) => ({ ...lock, name: decodeName(lock.name), ...parseInspection(lock) }));
  return { locks: shown, isCut: locks.length > maxLocks };
}

function holderOf([owner, permits, fence, ageMs, leftMs, info]: HolderReply): HoldfastHolder {
  return { foreign: false, owner, permits, fence, ageMs, leftMs, ...infoOf(info) };
}

function waiterOf([owner, permits, info]: WaiterReply): WaiterInfo {
  return { owner, permits, ...infoOf(info) };
}

function infoOf(text: string): HolderInfo {
  const [host, pid, label] = JSON.parse(text) as [string, number, string];
  return { host, pid, label };
}

/** A message to this client. */
type Message =
  | { readonly type: 'granted'; readonly owner: string; readonly fence: number }
  | { readonly type: 'contended'; readonly owner: string }
  | { readonly type: 'stolen'; readonly owner: string; readonly reason: Error }
  | { readonly type: 'refresh' | 'probe' };

/** Undefined: it is none of ours, since any user of the database can send to any channel. */
export function parseMessage(text: string): Message | undefined {
  try {
    const message = JSON.parse(text) as Message & { info?: string | null; reason?: string };
    if (message.type !== 'stolen') return message;
    const { owner, info, reason } = message;
    const thief = info ? infoOf(info) : { host: 'another client', pid: 0, label: '' };
    return { type: 'stolen', owner, reason: new StolenError(thief, String(reason)) };
  } catch {
    return undefined;
  }
}

/** PostgreSQL cannot store NUL in a text. */
export function encodeName(name: string): string {
  return name.replaceAll('\\', '\\\\').replaceAll('\0', '\\0');
}

function decodeName(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, char: string) => (char === '0' ? '\0' : char));
}
