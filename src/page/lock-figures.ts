import { DURATION_BOUNDS_S, DurationHistogram } from '../clock/index.ts';
import { histogramSamples, type Labels, type MetricFamily, type Sample } from './exposition.ts';
import { GroupCounts } from './lock-group.ts';

/**
 * Counts what happened to locks, by kind, outcome and group, for `/metrics`. Each call takes constant time. The names are
 * those that OpenTelemetry's translation to Prometheus gives the metrics of docs/observability.md.
 */
export class LockFigures {
  readonly #waits = new Series([KIND, OUTCOME], () => new DurationHistogram());
  readonly #holds = new Series([KIND, OUTCOME], () => new DurationHistogram());
  readonly #groups = new GroupCounts(() => ({ grants: 0, waits: 0, waitedSeconds: 0 }));

  /** A request was granted or failed after this time. */
  waited(kind: string, outcome: string, ms: number): void {
    this.#waits.of(kind, outcome).add(ms / 1000);
  }

  /** A lease ended after this time. */
  held(kind: string, outcome: string, ms: number): void {
    this.#holds.of(kind, outcome).add(ms / 1000);
  }

  granted(name: string): void {
    this.#groups.of(name).grants++;
  }

  /** A request has entered the queue. */
  enqueued(name: string): void {
    this.#groups.of(name).waits++;
  }

  /** A request has left the queue, with or without the lock. */
  dequeued(name: string, waitedMs: number): void {
    this.#groups.of(name).waitedSeconds += waitedMs / 1000;
  }

  families(): MetricFamily[] {
    return [
      histogram(
        'holdfast_lock_wait_duration_seconds',
        'From the request for a lock until it was granted or failed.',
        this.#waits,
      ),
      histogram(
        'holdfast_lock_hold_duration_seconds',
        'From the grant of a lock until its lease ended.',
        this.#holds,
      ),
      ...this.#groupFamilies(),
    ];
  }

  #groupFamilies(): MetricFamily[] {
    const groups = this.#groups.entries();
    const family = (name: string, help: string, key: keyof (typeof groups)[0][1]): MetricFamily => {
      const samples = groups.map(([group, counts]) => ({ labels: { group }, value: counts[key] }));
      return { name: `holdfast_lock_group_${name}_total`, type: 'counter', help, samples };
    };
    return [
      family('grants', 'Grants of locks whose names have this pattern.', 'grants'),
      family('waits', 'Requests that entered a queue of such locks.', 'waits'),
      family('wait_seconds', 'Time that requests spent in queues of such locks.', 'waitedSeconds'),
    ];
  }
}

/** Values by one or two labels, which must have few values. */
export class Series<Value> {
  readonly #names: readonly [string, string?];
  readonly #create: () => Value;
  readonly #values = new Map<string, Map<string, Value>>();

  constructor(names: readonly [string, string?], create: () => Value) {
    this.#names = names;
    this.#create = create;
  }

  of(first: string, second = ''): Value {
    let values = this.#values.get(first);
    if (values === undefined) {
      values = new Map();
      this.#values.set(first, values);
    }
    let value = values.get(second);
    if (value === undefined) {
      value = this.#create();
      values.set(second, value);
    }
    return value;
  }

  entries(): { readonly labels: Labels; readonly value: Value }[] {
    const [name, other] = this.#names;
    return [...this.#values].flatMap(([first, values]) => {
      return [...values].map(([second, value]) => {
        const labels = { [name]: first, ...(other !== undefined && { [other]: second }) };
        return { labels, value };
      });
    });
  }
}

export const KIND = 'holdfast_lock_kind';
const OUTCOME = 'holdfast_lock_outcome';
export const LOSS_REASON = 'holdfast_lock_loss_reason';

/** The metrics of locks that are plain numbers, of a server and of a process alike. */
const LOCK_METRICS = {
  holdfast_lock_grants_total: ['counter', 'Leases that were granted, by how.'],
  holdfast_lock_contentions_total: ['counter', 'Acquisitions that found the lock busy.'],
  holdfast_lock_failures_total: ['counter', 'Acquisitions that were not granted.'],
  holdfast_lock_losses_total: ['counter', 'Leases that ended before their holder released them.'],
  holdfast_lock_forced_releases_total: ['counter', 'Leases that were ended by force.'],
  holdfast_lock_renewals_total: ['counter', 'Renewals of leases.'],
  holdfast_lock_active_leases: ['gauge', 'Leases that are held now.'],
  holdfast_lock_waiters: ['gauge', 'Requests that are in queues now.'],
} as const satisfies Record<string, readonly [MetricFamily['type'], string]>;

export type LockMetric = keyof typeof LOCK_METRICS;

export function lockFamily(name: LockMetric, samples: readonly Sample[]): MetricFamily {
  const [type, help] = LOCK_METRICS[name];
  return { name, type, help, samples };
}

function histogram(name: string, help: string, series: Series<DurationHistogram>): MetricFamily {
  const samples = series.entries().flatMap(({ labels, value: { counts, sumSeconds } }) => {
    return histogramSamples(labels, DURATION_BOUNDS_S, counts, sumSeconds);
  });
  return { name, type: 'histogram', help, samples };
}
