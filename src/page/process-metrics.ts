import diagnostics from 'node:diagnostics_channel';
import type { LockEvents } from '../lock/index.ts';
import { exposition } from './exposition.ts';
import {
  KIND,
  LOSS_REASON,
  LockFigures,
  type LockMetric,
  lockFamily,
  Series,
} from './lock-figures.ts';

/**
 * The metrics of all locks of this process, from its events. It subscribes to them until `close`: a channel with
 * subscribers makes an event for each request. Leases and waiters from before are not counted.
 */
export class ProcessMetrics {
  readonly #figures = new LockFigures();
  readonly #numbers = {
    holdfast_lock_grants_total: counts(KIND, 'how'),
    holdfast_lock_contentions_total: counts(KIND),
    holdfast_lock_failures_total: counts(KIND, 'error_type'),
    holdfast_lock_losses_total: counts(KIND, LOSS_REASON),
    holdfast_lock_forced_releases_total: counts(KIND),
    holdfast_lock_renewals_total: counts(KIND, 'outcome'),
    holdfast_lock_active_leases: counts(KIND),
    holdfast_lock_waiters: counts(KIND),
  } as const satisfies Record<LockMetric, Series<Count>>;
  readonly #waiting = new Owners();
  readonly #held = new Owners();

  readonly #listeners: Listeners = {
    wait: ({ kind, owner, lock }) => {
      this.#waiting.add(owner);
      this.#numbers.holdfast_lock_waiters.of(kind).count++;
      this.#numbers.holdfast_lock_contentions_total.of(kind).count++;
      this.#figures.enqueued(lock);
    },
    grant: (event) => {
      const { kind, owner, lock } = event;
      const how = this.#settled(event, 'granted') ? 'handed-over' : 'granted';
      this.#held.add(owner);
      this.#figures.granted(lock);
      this.#numbers.holdfast_lock_active_leases.of(kind).count++;
      this.#numbers.holdfast_lock_grants_total.of(kind, how).count++;
    },
    fail: (event) => {
      const { kind, code } = event;
      this.#settled(event, code);
      this.#numbers.holdfast_lock_failures_total.of(kind, code).count++;
      if (code === 'busy') this.#numbers.holdfast_lock_contentions_total.of(kind).count++;
    },
    renew: ({ kind }) => {
      this.#numbers.holdfast_lock_renewals_total.of(kind, 'renewed').count++;
    },
    lose: (event) => {
      if (!this.#ended(event, 'lost')) return;
      this.#numbers.holdfast_lock_losses_total.of(event.kind, event.reason).count++;
    },
    release: (event) => {
      this.#ended(event, event.outcome);
    },
    transfer: (event) => {
      this.#ended(event, 'transferred');
    },
    force: ({ kind, holders }) => {
      this.#numbers.holdfast_lock_forced_releases_total.of(kind).count += holders;
    },
  };

  constructor() {
    for (const [name, listener] of this.#channels()) diagnostics.subscribe(name, listener);
  }

  /** The text for `/metrics`. */
  text(): string {
    const numbers = Object.entries(this.#numbers).map(([name, series]) => {
      const samples = series.entries().map(({ labels, value }) => ({ labels, value: value.count }));
      return lockFamily(name as LockMetric, samples);
    });
    return exposition([...this.#figures.families(), ...numbers]);
  }

  close(): void {
    for (const [name, listener] of this.#channels()) diagnostics.unsubscribe(name, listener);
  }

  #channels(): [name: string, listener: diagnostics.ChannelListener][] {
    return Object.entries(this.#listeners).map(([name, listener]) => {
      return [`holdfast:${name}`, listener as diagnostics.ChannelListener];
    });
  }

  /** Returns whether the request was in the queue. */
  #settled({ kind, owner, lock, waitedMs }: Settled, outcome: string): boolean {
    this.#figures.waited(kind, outcome, waitedMs);
    if (!this.#waiting.remove(owner)) return false;
    this.#numbers.holdfast_lock_waiters.of(kind).count--;
    this.#figures.dequeued(lock, waitedMs);
    return true;
  }

  /** Returns false for a lease that was granted before the subscription. */
  #ended({ kind, owner, heldMs }: Ended, outcome: string): boolean {
    if (!this.#held.remove(owner)) return false;
    this.#numbers.holdfast_lock_active_leases.of(kind).count--;
    this.#figures.held(kind, outcome, heldMs);
    return true;
  }
}

/** Requests by their owners. The locks that all() takes have one owner. */
class Owners {
  readonly #counts = new Map<string, number>();

  add(owner: string): void {
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1);
  }

  /** Returns false if there is none. */
  remove(owner: string): boolean {
    const count = this.#counts.get(owner);
    if (count === undefined) return false;
    if (count === 1) this.#counts.delete(owner);
    else this.#counts.set(owner, count - 1);
    return true;
  }
}

type Listeners = { readonly [Name in keyof LockEvents]?: (event: LockEvents[Name]) => void };
type Settled = LockEvents['grant' | 'fail'];
type Ended = LockEvents['release' | 'lose' | 'transfer'];

interface Count {
  count: number;
}

function counts(...names: readonly [string, string?]): Series<Count> {
  return new Series(names, () => ({ count: 0 }));
}
