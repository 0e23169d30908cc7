import type { HolderInfo, LockKind } from '../../lock/index.ts';
import { keyOf, lockOfKey, parseToken } from '../redis/lock-keys.ts';
import { LOCK_KINDS } from './lock-list.ts';

/** Sends one command to the server. In both directions, each char of a string is a byte (latin1). */
export type SendCommand = (argv: readonly string[]) => Promise<unknown>;

/** An event of a lock, as HOLDFAST.HISTORY returns it. */
export interface LockHistoryEvent {
  readonly id: number;
  readonly atMs: number;
  readonly type: string;
  readonly kind: LockKind;
  /** The name, each char a byte. */
  readonly nameBytes: string;
  readonly owner: string;
  /** Undefined for a program that does not use Holdfast. */
  readonly info: HolderInfo | undefined;
  /** Of a grant. */
  readonly fence: number | undefined;
  /** Of the end of a lease: the time since its grant, if that is among the events. */
  readonly heldMs: number | undefined;
  /** Of a hand-over, and of a waiter that left: the time since it entered the queue, if that is among the events. */
  readonly waitedMs: number | undefined;
}

/** Reads the newest events: of the locks with one name, or of all with this prefix of their keys. Oldest first. */
export async function readHistory(
  send: SendCommand,
  { nameBytes, prefix = '', count }: HistoryFilter,
): Promise<LockHistoryEvent[]> {
  const requests =
    nameBytes === undefined
      ? [['ALL']]
      : LOCK_KINDS.map((kind) => ['KEY', prefix + keyOf({ kind, name: nameBytes })]);
  const events: RawEvent[] = [];
  for (const words of requests) {
    const reply = await send(['HOLDFAST.HISTORY', ...words, 'COUNT', String(count)]);
    events.push(...(reply as RawEvent[]));
  }
  events.sort(([one], [other]) => one - other);
  const durations = new Durations();
  return events.flatMap((event) => parseEvent(event, prefix, durations)).slice(-count);
}

export interface HistoryFilter {
  readonly nameBytes?: string | undefined;
  readonly prefix?: string;
  readonly count: number;
}

type RawEvent = [id: number, atMs: number, type: string, key: string, token: string, fence: number];

function parseEvent(
  [id, atMs, type, key, token, fence]: RawEvent,
  prefix: string,
  durations: Durations,
): LockHistoryEvent[] {
  const rest = key.startsWith(prefix) ? key.slice(prefix.length) : '';
  if (!/^(?:lock|semaphore|rw):\{.*\}$/s.test(rest)) return [];
  const { kind, name: nameBytes } = lockOfKey(rest);
  const { owner, info } = parseToken(token, utf8) ?? { owner: token, info: undefined };
  const times = durations.add(type, `${key} ${owner}`, atMs);
  return [{ id, atMs, type, kind, nameBytes, owner, info, fence: fence || undefined, ...times }];
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Finds how long requests have waited, and leases were held. */
class Durations {
  readonly #waitingSince = new Map<string, number>();
  readonly #heldSince = new Map<string, number>();

  add(type: string, request: string, atMs: number): Pick<LockHistoryEvent, 'heldMs' | 'waitedMs'> {
    if (type === 'waiting') this.#waitingSince.set(request, atMs);
    else if (GRANTS.has(type)) this.#heldSince.set(request, atMs);
    const isEnd = !GRANTS.has(type) && type !== 'waiting' && type !== 'left';
    const hasWaited = type === 'handed-over' || type === 'left';
    return {
      heldMs: isEnd ? since(this.#heldSince.get(request), atMs) : undefined,
      waitedMs: hasWaited ? since(this.#waitingSince.get(request), atMs) : undefined,
    };
  }
}

function since(beganMs: number | undefined, atMs: number): number | undefined {
  return beganMs === undefined ? undefined : atMs - beganMs;
}

const GRANTS: ReadonlySet<string> = new Set(['granted', 'handed-over', 'stole', 'adopted']);
