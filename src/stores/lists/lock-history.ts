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

/**
 * Reads the events of all locks of a server, each once. A server can have more events than a reader may cost it: a read that
 * is full is followed by one of the newest events, and those between are missed.
 */
export class HistoryReader {
  readonly #send: SendCommand;
  readonly #prefix: string;
  readonly #durations = new Durations();
  /** Undefined: nothing was read yet. */
  #lastId: number | undefined;
  #isBehind = false;
  #count = FIRST_COUNT;

  constructor(send: SendCommand, prefix = '') {
    this.#send = send;
    this.#prefix = prefix;
  }

  /**
   * Reads the events since the last call, oldest first, at most NEXT_COUNT; the first call reads the newest FIRST_COUNT. After
   * a restart of the server, whose ids begin again, `isReset` is true.
   */
  async next(): Promise<NewEvents> {
    const lastId = this.#lastId;
    const readsNewest = lastId === undefined || this.#isBehind;
    const raw = await this.#read(readsNewest ? [] : ['AFTER', String(lastId)]);
    const fresh = raw.filter(([id]) => lastId === undefined || id > lastId);
    this.#isBehind = lastId !== undefined && fresh.length >= NEXT_COUNT;
    if (fresh.length > 0) return this.#take(fresh, lastId);
    if (this.#lastId === undefined || !(await this.#hasRestarted())) return NO_EVENTS;
    this.#lastId = undefined;
    return { ...(await this.next()), isReset: true };
  }

  /** A reply that is too large for its reader is read in smaller parts. */
  async #read(words: readonly string[]): Promise<RawEvent[]> {
    for (;;) {
      try {
        const reply = await this.#send([
          'HOLDFAST.HISTORY',
          'ALL',
          ...words,
          'COUNT',
          `${this.#count}`,
        ]);
        this.#count = Math.min(NEXT_COUNT, this.#count * 2);
        return reply as RawEvent[];
      } catch (error) {
        if (!(error instanceof ReplyTooLargeError) || this.#count === 1) throw error;
        this.#count = Math.ceil(this.#count / 4);
      }
    }
  }

  async #hasRestarted(): Promise<boolean> {
    const [newest] = (await this.#send(['HOLDFAST.HISTORY', 'ALL', 'COUNT', '1'])) as RawEvent[];
    return newest !== undefined && newest[0] < this.#lastId!;
  }

  #take(raw: readonly RawEvent[], afterId: number | undefined): NewEvents {
    const [firstId] = raw[0]!;
    this.#lastId = raw.at(-1)![0];
    return {
      events: raw.flatMap((event) => parseEvent(event, this.#prefix, this.#durations)),
      // Events of other databases count too: the server has one sequence for all.
      missed: afterId === undefined ? 0 : firstId - afterId - 1,
      isReset: false,
    };
  }
}

export interface NewEvents {
  readonly events: readonly LockHistoryEvent[];
  /** How many events were dropped before they could be read. */
  readonly missed: number;
  readonly isReset: boolean;
}

const NO_EVENTS: NewEvents = { events: [], missed: 0, isReset: false };
const FIRST_COUNT = 10_000;
const NEXT_COUNT = 1000;

/** Thrown by a SendCommand that limits the size of replies. */
export class ReplyTooLargeError extends Error {
  override readonly name = 'ReplyTooLargeError';
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

/**
 * Finds how long requests have waited, and leases were held. It remembers the newest requests that have not ended, at
 * most MAX_OPEN.
 */
class Durations {
  readonly #waitingSince = new Map<string, number>();
  readonly #heldSince = new Map<string, number>();

  add(type: string, request: string, atMs: number): Pick<LockHistoryEvent, 'heldMs' | 'waitedMs'> {
    if (type === 'waiting') remember(this.#waitingSince, request, atMs);
    else if (GRANTS.has(type)) remember(this.#heldSince, request, atMs);
    const isEnd = !GRANTS.has(type) && type !== 'waiting' && type !== 'left';
    const hasWaited = type === 'handed-over' || type === 'left';
    return {
      heldMs: isEnd ? since(this.#heldSince, request, atMs) : undefined,
      waitedMs: hasWaited ? since(this.#waitingSince, request, atMs) : undefined,
    };
  }
}

/** Some 200 bytes each. */
const MAX_OPEN = 100_000;

function remember(times: Map<string, number>, request: string, atMs: number): void {
  times.delete(request);
  if (times.size >= MAX_OPEN) times.delete(times.keys().next().value!);
  times.set(request, atMs);
}

/** The time since the beginning of a request that ends now. */
function since(times: Map<string, number>, request: string, atMs: number): number | undefined {
  const beganMs = times.get(request);
  times.delete(request);
  return beganMs === undefined ? undefined : atMs - beganMs;
}

const GRANTS: ReadonlySet<string> = new Set(['granted', 'handed-over', 'stole', 'adopted']);
