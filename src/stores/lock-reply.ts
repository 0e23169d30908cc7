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

/** For a foreign holder, the script gives the fence and the age of the last Holdfast holder. */
function parseHolder([token, take, fence, left, ageMs, type = 'string']: unknown[]): Holder {
  const info = parseToken(String(token))?.info;
  const leftMs = Number(left) < 0 ? Number.POSITIVE_INFINITY : Number(left);
  if (info === undefined) {
    return { foreign: true, type: String(type), value: String(token), take: 1, leftMs };
  }
  return {
    foreign: false,
    ...info,
    take: Number(take),
    fence: Number(fence),
    leftMs,
    ageMs: Math.max(0, Number(ageMs)),
  };
}

/** Only Holdfast clients queue. A token of another form in the queue gets an empty host. */
function parseWaiter([token, take]: unknown[]): HolderInfo & { take: number } {
  return { ...(parseToken(String(token))?.info ?? NO_INFO), take: Number(take) };
}

const NO_INFO: HolderInfo = { host: '', pid: 0, label: '' };

/** The parts of a Holdfast token: owner and holder. Undefined: the token of another program. */
export function parseToken(
  token: string,
  textOf: (text: string) => string = String,
): { readonly owner: string; readonly info: HolderInfo } | undefined {
  const [, owner = '', text = ''] = /^(\S+) (\[.*\])$/s.exec(token) ?? [];
  const info = parseInfo(textOf(text));
  return info && { owner, info };
}

/** Another program may write a list that has the right form, but other types. */
function parseInfo(text: string): HolderInfo | undefined {
  const [host, pid, label] = parseList(text);
  if (typeof host !== 'string' || typeof pid !== 'number' || typeof label !== 'string') return;
  return { host, pid, label };
}

/** A JSON list. Empty: the text is none. */
export function parseList(text: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
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
