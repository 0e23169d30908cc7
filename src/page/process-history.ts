import diagnostics from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import type { Clock } from '../clock/index.ts';
import type { LockEvents, LockKind } from '../lock/index.ts';
import type { LockHistoryEvent, NewEvents } from '../stores/index.ts';
import type { PageHistory } from './page-source.ts';
import type { PageEventType } from './protocol.ts';

const MAX_BYTES = 64 * 1024 * 1024;
/** The memory of an event beside its strings. */
const EVENT_BYTES = 200;
const MAX_READ = 10_000;
const MIN_RING = 1024;
/** Requests in queues that are remembered: of more, the hand-over is shown as a grant. */
const MAX_WAITING = 100_000;

interface ProcessHistoryOptions {
  readonly clock: Clock;
  /** Only events of owners that begin with it. */
  readonly ownerPrefix: string;
  readonly maxBytes?: number;
}

type NewEvent = Pick<LockHistoryEvent, 'type' | 'kind' | 'nameBytes' | 'owner'> &
  Partial<Pick<LockHistoryEvent, 'fence' | 'heldMs' | 'waitedMs'>>;

/** Events of the diagnostics channels, as far as the history has them. */
type Listeners = {
  readonly [Name in keyof LockEvents]?: (event: LockEvents[Name]) => NewEvent;
};

/**
 * The newest events of the locks of this process. Adding one takes constant time; the oldest are dropped when they take
 * more memory than the limit. It is on until it is closed.
 */
export class ProcessHistory implements PageHistory {
  readonly kind = 'process';
  readonly #options: ProcessHistoryOptions;
  readonly #info = { host: hostname(), pid: process.pid, label: '' };
  /** The event with the id n is at n % length. */
  #ring: (LockHistoryEvent | undefined)[] = new Array<undefined>(MIN_RING).fill(undefined);
  #oldestId = 1;
  #nextId = 1;
  #readId = 0;
  #bytes = 0;
  /** Requests in queues, by owner. A request that does not wait is in none. */
  readonly #waiting = new Set<string>();
  readonly #subscriptions: (() => void)[];

  constructor(options: ProcessHistoryOptions) {
    this.#options = options;
    this.#subscriptions = Object.entries(LISTENERS).map(([name, listener]) => {
      const channel = `holdfast:${name}`;
      const receive = (event: unknown): void => this.#receive(listener, event);
      diagnostics.subscribe(channel, receive);
      return () => void diagnostics.unsubscribe(channel, receive);
    });
  }

  async next(): Promise<NewEvents> {
    const fromId = Math.max(this.#readId + 1, this.#oldestId);
    const missed = fromId - this.#readId - 1;
    const toId = Math.min(this.#nextId, fromId + MAX_READ);
    const events = Array.from({ length: toId - fromId }, (_, index) => this.#at(fromId + index));
    this.#readId = toId - 1;
    return { events, missed, isReset: false };
  }

  async ofName(nameBytes: string, count: number): Promise<LockHistoryEvent[]> {
    const found: LockHistoryEvent[] = [];
    for (let id = this.#nextId - 1; id >= this.#oldestId && found.length < count; id--) {
      const event = this.#at(id);
      if (event.nameBytes === nameBytes) found.push(event);
    }
    return found.reverse();
  }

  /** Stops listening to events. Safe to call twice. */
  close(): void {
    for (const unsubscribe of this.#subscriptions) unsubscribe();
  }

  #receive(listener: (event: never) => NewEvent, event: unknown): void {
    const found = listener(event as never);
    if (!found.owner.startsWith(this.#options.ownerPrefix)) return;
    const hasWaited = this.#leaveQueue(found);
    if (found.type === 'left' && !hasWaited) return;
    const { fence, heldMs, ...rest } = found;
    const waitedMs = hasWaited ? found.waitedMs : undefined;
    const type = found.type === 'granted' && hasWaited ? 'handed-over' : found.type;
    const id = this.#nextId++;
    const atMs = Math.round(this.#options.clock.wallMs());
    this.#put({ id, atMs, ...rest, type, info: this.#info, fence, heldMs, waitedMs });
  }

  /** Returns whether the request was in the queue until now. */
  #leaveQueue({ type, owner }: NewEvent): boolean {
    if (type !== 'waiting') return this.#waiting.delete(owner);
    if (this.#waiting.size < MAX_WAITING) this.#waiting.add(owner);
    return false;
  }

  #at(id: number): LockHistoryEvent {
    return this.#ring[id % this.#ring.length]!;
  }

  #put(event: LockHistoryEvent): void {
    if (event.id - this.#oldestId >= this.#ring.length) this.#enlarge();
    this.#ring[event.id % this.#ring.length] = event;
    this.#bytes += bytesOf(event);
    const { maxBytes = MAX_BYTES } = this.#options;
    while (this.#bytes > maxBytes && this.#oldestId < this.#nextId) {
      this.#bytes -= bytesOf(this.#at(this.#oldestId));
      this.#ring[this.#oldestId++ % this.#ring.length] = undefined;
    }
  }

  #enlarge(): void {
    const ring = new Array<LockHistoryEvent | undefined>(this.#ring.length * 2).fill(undefined);
    for (let id = this.#oldestId; id < this.#nextId - 1; id++) {
      ring[id % ring.length] = this.#at(id);
    }
    this.#ring = ring;
  }
}

function bytesOf({ nameBytes, owner }: LockHistoryEvent): number {
  return EVENT_BYTES + nameBytes.length + owner.length;
}

const LISTENERS: Listeners = {
  wait: (event) => lockEvent('waiting', event),
  grant: ({ fence, waitedMs, ...event }) => ({ ...lockEvent('granted', event), fence, waitedMs }),
  fail: ({ waitedMs, ...event }) => ({ ...lockEvent('left', event), waitedMs }),
  lose: ({ reason, heldMs, ...event }) => ({
    ...lockEvent(reason === 'stolen' ? 'stolen' : 'expired', event),
    heldMs,
  }),
  release: ({ heldMs, ...event }) => ({ ...lockEvent('released', event), heldMs }),
  transfer: ({ heldMs, ...event }) => ({ ...lockEvent('transferred', event), heldMs }),
};

function lockEvent(
  type: PageEventType,
  { lock, kind, owner }: { readonly lock: string; readonly kind: LockKind; readonly owner: string },
): NewEvent {
  return { type, kind, nameBytes: Buffer.from(lock, 'utf8').toString('latin1'), owner };
}
