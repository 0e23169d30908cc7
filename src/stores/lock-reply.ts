import type { Answer, Holder, HolderInfo, Inspection } from '../lock/index.ts';

/** Redis ends a key in the millisecond after its last. */
const MARGIN_MS = 2;

/** What the lock script says to who asks: see its head. */
export function toAnswer(reply: unknown): Answer {
  const number = Number(reply);
  if (number > 0) return { held: true, fence: number };
  return { held: false, retryInMs: MARGIN_MS - number };
}

export function isOne(reply: unknown): boolean {
  return Number(reply) === 1;
}

export function parseInspection(reply: unknown): Inspection {
  const [holders, waiters] = reply as [unknown[][], unknown[][]];
  return { holders: holders.map(parseHolder), waiters: waiters.map(parseWaiter) };
}

function parseHolder([token, take, fence, leftMs, ageMs]: unknown[]): Holder {
  return {
    ...parseInfo(token),
    take: Number(take),
    fence: Number(fence),
    leftMs: Number(leftMs),
    ageMs: Math.max(0, Number(ageMs)),
  };
}

function parseWaiter([token, take]: unknown[]): HolderInfo & { take: number } {
  return { ...parseInfo(token), take: Number(take) };
}

/** A holder of another program left no information. */
function parseInfo(token: unknown): HolderInfo {
  try {
    const [host, pid, label] = JSON.parse(/^\S+ (\[.*\])$/s.exec(String(token))?.[1] ?? '');
    return { host, pid, label };
  } catch {
    return { host: '', pid: 0, label: '' };
  }
}

export function ownerOf(token: unknown): string {
  const text = String(token);
  const end = text.indexOf(' ');
  return end < 0 ? text : text.slice(0, end);
}

/** Whose turn it is, and the fence of the grant; 0: one behind them is to watch. */
export interface LockCall {
  readonly owner: string;
  readonly fence: number;
}

/** A message, or a reply that is one: fence, owner, and what others may know of that. Some clients write numbers as text. */
export function readCall(reply: unknown): LockCall | undefined {
  if (typeof reply === 'number') return undefined;
  // Some clients give text as bytes.
  const text = Array.isArray(reply) ? '' : String(reply);
  const end = text.indexOf(' ');
  if (end < 0) return undefined;
  return { owner: ownerOf(text.slice(end + 1)), fence: Number(text.slice(0, end)) };
}

/** A reply of several holders is a list too, but of no list that is its last. */
export function isListOfServed(reply: unknown): boolean {
  return Array.isArray(reply) && reply.length === 2 && !Array.isArray(reply[0]);
}
