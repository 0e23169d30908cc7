import {
  type AcquireResult,
  type Contention,
  type HeldLock,
  type Holder,
  type HolderInfo,
  type Inspection,
  type LockRequest,
  type LockTarget,
  type LockWaits,
  type NestedWaiter,
  otherSlots,
  StolenError,
  type WaiterInfo,
} from '../../lock/index.ts';
import { ownerOf, parseHeld, parseToken, tokenOf } from './lock-keys.ts';

/** One request to the lock script: see the comment of LOCK_SCRIPT. */
export interface LockCall {
  readonly key: string;
  readonly operation: string;
  readonly token: string;
  readonly number: number;
}

/** A call for a request. For a lock other than a mutex, the operation includes slots and permits. */
export function lockCall(
  key: string,
  verb: string,
  request: LockRequest,
  number: number,
  rest?: string,
): LockCall {
  const { kind, slots, permits, owner, info } = request;
  const numbered = kind === 'mutex' ? verb : `${verb} ${slots} ${permits}`;
  const operation = rest === undefined ? numbered : `${numbered} ${rest}`;
  return { key, operation, token: tokenOf(owner, info), number };
}

/** A call for a lock without an owner, such as `force` or `inspect`. */
export function targetCall(
  key: string,
  verb: string,
  { kind, slots }: LockTarget,
  ownerPrefix: string,
): LockCall {
  const operation = kind === 'mutex' ? verb : `${verb} ${slots} 1`;
  return { key, operation, token: ownerPrefix, number: 0 };
}

/** The ARGV of the script for these calls. */
export function argsOf(calls: readonly LockCall[], session: string | undefined): string[] {
  const args: string[] = [];
  for (const { operation, token, number } of calls) {
    args.push(operation, token, String(Math.round(number)));
  }
  if (session !== undefined) args.push(session);
  return args;
}

/** The replies to the calls, and the waiters of this client that were served by them. */
export function parseReplies(
  reply: unknown,
  count: number,
): { readonly replies: readonly unknown[]; readonly served: readonly Served[] } {
  // The reply to a single `inspect` or `contention` is a list too: it begins with a list.
  const isList = Array.isArray(reply) && (count > 1 || !Array.isArray(reply[0]));
  if (!isList) return { replies: [reply], served: NONE };
  const { [count]: served = [] } = reply as unknown[][];
  return { replies: reply, served: served.length === 0 ? NONE : parseServed(served) };
}

/** A waiter that was handed the lock. */
export interface Served {
  readonly token: string;
  readonly fence: number;
}

const NONE: readonly Served[] = [];

function parseServed(list: readonly unknown[]): Served[] {
  const served: Served[] = [];
  for (let index = 0; index < list.length; index += 2) {
    served.push({ token: String(list[index]), fence: Number(list[index + 1]) });
  }
  return served;
}

/** A message on the channel of this client, for one of its waiters or holders. */
export type LockMessage =
  | { readonly type: 'granted'; readonly served: Served }
  | { readonly type: 'contended'; readonly owner: string }
  /** The lock may become free earlier than the waiter expects. */
  | { readonly type: 'refresh'; readonly owner: string }
  /** The waiter is part of a deadlock, which it should report. */
  | { readonly type: 'check'; readonly owner: string }
  | { readonly type: 'stolen'; readonly owner: string; readonly reason: Error };

/** Undefined: the text is no message of the lock script. */
export function parseMessage(text: string): LockMessage | undefined {
  const [, fence, granted] = /^(\d+) (.*)$/s.exec(text) ?? [];
  if (granted !== undefined) {
    return { type: 'granted', served: { token: granted, fence: Number(fence) } };
  }
  const [type, token = '', by = '', ...reason] = text.split('\n');
  const owner = ownerOf(token);
  if (type === 'contended' || type === 'refresh' || type === 'check') return { type, owner };
  if (type !== 'stolen') return undefined;
  const info = parseToken(by)?.info ?? NO_INFO;
  return { type, owner, reason: new StolenError(info, reason.join('\n')) };
}

/** Redis expires a key up to a millisecond after the end of its TTL. */
export const MARGIN_MS = 2;

/**
 * Parses the reply to an acquisition. Some clients return numbers as text.
 *
 * @throws LockArgumentError if the lock is in use with another number of slots.
 */
export function acquireResult(reply: unknown, { name, slots }: LockTarget): AcquireResult {
  const [, inUse] = /^SLOTS (\d+)$/.exec(String(reply)) ?? [];
  if (inUse !== undefined) throw otherSlots(name, Number(inUse), slots);
  return toResult(reply);
}

export function toResult(reply: unknown): AcquireResult {
  const number = Number(reply);
  if (number > 0) return { type: 'granted', fence: number };
  return { type: 'busy', retryInMs: MARGIN_MS - number };
}

export function isOne(reply: unknown): boolean {
  return Number(reply) === 1;
}

export function parseInspection(reply: unknown): Inspection {
  const [holders, waiters] = reply as [unknown[][], unknown[][]];
  return { holders: holders.map(parseHolder), waiters: waiters.map(parseWaiter) };
}

export function parseContention(reply: unknown): Contention {
  const [holders, place] = reply as [unknown[][], unknown];
  return { holders: holders.map(parseHolder), place: Number(place) || undefined };
}

/** For a foreign holder, fence and age in the reply are those of the last Holdfast holder: ignores them. */
function parseHolder([token, permits, fence, left, ageMs, type = 'string']: unknown[]): Holder {
  const parsed = parseToken(String(token));
  const leftMs = Number(left) < 0 ? Number.POSITIVE_INFINITY : Number(left);
  if (parsed === undefined) {
    return { foreign: true, type: String(type), value: String(token), permits: 1, leftMs };
  }
  return {
    foreign: false,
    owner: parsed.owner,
    ...parsed.info,
    permits: Number(permits),
    fence: Number(fence),
    leftMs,
    ageMs: Math.max(0, Number(ageMs)),
  };
}

/** Only Holdfast clients queue. A token of another form in the queue gets an empty host. */
function parseWaiter([token, permits]: unknown[]): WaiterInfo {
  const { owner, info } = parseToken(String(token)) ?? { owner: String(token), info: NO_INFO };
  return { owner, ...info, permits: Number(permits) };
}

const NO_INFO: HolderInfo = { host: '', pid: 0, label: '' };

/** The text of the leases that the callback of a waiter holds: see parseHeld(). */
export function heldText(holds: readonly HeldLock[]): string {
  return JSON.stringify(holds.map(({ kind, name, slots, owner }) => [kind, name, slots, owner]));
}

export function parseWaits(reply: unknown): LockWaits {
  const [holders, waiters, slots] = reply as [unknown[][], unknown[][], unknown];
  return {
    slots: Number(slots),
    holders: holders.map(([token, permits]) => ({
      owner: ownerOf(String(token)),
      permits: Number(permits),
    })),
    waiters: waiters.map(parseNested),
  };
}

function parseNested([token, permits, ahead, text]: unknown[]): NestedWaiter {
  const waiter = parseWaiter([token, permits]);
  return { ...waiter, aheadPermits: Number(ahead), holds: parseHeld(String(text)) };
}
