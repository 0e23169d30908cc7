import { exposition, type Labels, type MetricFamily, type Sample } from './exposition.ts';
import { KIND, LOSS_REASON, LockFigures, lockFamily } from './lock-figures.ts';
import type { PageEvent, PageEventType, PageLock } from './protocol.ts';
import { parseInfo } from './server-figures.ts';

/**
 * The metrics of a server. Totals come from its INFO, so that they are those of all clients since its start. Durations and
 * groups come from the events that were added, so that they begin with the page.
 */
export class ServerMetrics {
  readonly #figures = new LockFigures();
  #missed = 0;

  /** Counts events of the history, each once. `missed`: those that were dropped before they could be read. */
  add(events: readonly PageEvent[], missed = 0): void {
    this.#missed += missed;
    for (const event of events) this.#count(event);
  }

  /** The text for `/metrics`, from the reply to `INFO everything` and the locks of the server if they could be listed. */
  text(info: string, locks: readonly PageLock[] | undefined): string {
    const fields = parseInfo(info);
    return exposition([
      ...this.#figures.families(),
      ...lockFamilies(fields),
      countFamily('holdfast_lock_active_leases', locks, ({ holderCount }) => holderCount),
      countFamily('holdfast_lock_waiters', locks, ({ waiterCount }) => waiterCount),
      {
        name: 'holdfast_lock_events_missed_total',
        type: 'counter',
        help: 'Events that the durations and groups do not include.',
        samples: [{ labels: {}, value: this.#missed }],
      },
      ...serverFamilies(fields),
      ...keysFamily(fields),
      ...logSyncFamily(fields),
    ]);
  }

  #count({ type, kind, name, heldMs, waitedMs }: PageEvent): void {
    const figures = this.#figures;
    if (type === 'waiting') figures.enqueued(name);
    if (HOWS.includes(type)) {
      figures.granted(name);
      figures.waited(kind, 'granted', waitedMs ?? 0);
    } else if (type === 'left' && waitedMs !== null) figures.waited(kind, type, waitedMs);
    if (waitedMs !== null) figures.dequeued(name, waitedMs);
    if (heldMs !== null) figures.held(kind, REASONS.includes(type) ? 'lost' : type, heldMs);
  }
}

type Fields = ReadonlyMap<string, string>;

const HOWS: readonly PageEventType[] = ['granted', 'handed-over', 'stole', 'adopted'];
const REASONS: readonly PageEventType[] = ['expired', 'stolen', 'forced', 'session-ended'];

function lockFamilies(fields: Fields): MetricFamily[] {
  if (fields.get('holdfast_lock_history') !== '1') return [];
  const sample = (type: PageEventType, labels: Labels = {}): Sample => {
    const count = fields.get(`holdfast_lock_events_${type.replace('-', '_')}`);
    return { labels, value: Number(count ?? 0) };
  };
  return [
    lockFamily(
      'holdfast_lock_grants_total',
      HOWS.map((how) => sample(how, { how })),
    ),
    lockFamily('holdfast_lock_contentions_total', [sample('waiting')]),
    lockFamily('holdfast_lock_failures_total', [sample('left', { error_type: 'left' })]),
    lockFamily(
      'holdfast_lock_losses_total',
      REASONS.map((reason) => sample(reason, { [LOSS_REASON]: reason })),
    ),
    lockFamily('holdfast_lock_forced_releases_total', [sample('forced')]),
  ];
}

function countFamily(
  name: 'holdfast_lock_active_leases' | 'holdfast_lock_waiters',
  locks: readonly PageLock[] | undefined,
  countOf: (lock: PageLock) => number,
): MetricFamily {
  if (locks === undefined) return lockFamily(name, []);
  const samples = (['mutex', 'semaphore', 'rw'] as const).map((kind) => {
    const counts = locks.filter((lock) => lock.kind === kind).map(countOf);
    return { labels: { [KIND]: kind }, value: counts.reduce((sum, count) => sum + count, 0) };
  });
  return lockFamily(name, samples);
}

/** Fields of INFO that are metrics as they are. A field that the server does not have is left out. */
const SERVER_METRICS: readonly [
  name: string,
  type: MetricFamily['type'],
  field: string,
  help: string,
][] = [
  ['holdfast_server_uptime_seconds', 'gauge', 'uptime_in_seconds', 'Time since the start.'],
  [
    'holdfast_server_memory_bytes',
    'gauge',
    'used_memory',
    'Memory that data and clients use, as maxmemory limits it.',
  ],
  ['holdfast_server_memory_limit_bytes', 'gauge', 'maxmemory', 'The limit of the memory.'],
  ['holdfast_server_resident_bytes', 'gauge', 'used_memory_rss', 'Memory of the process.'],
  ['holdfast_server_clients', 'gauge', 'connected_clients', 'Clients that are connected.'],
  ['holdfast_server_blocked_clients', 'gauge', 'blocked_clients', 'Clients in a blocking command.'],
  [
    'holdfast_server_commands_total',
    'counter',
    'total_commands_processed',
    'Commands that were run, also by scripts.',
  ],
  ['holdfast_server_errors_total', 'counter', 'total_error_replies', 'Error replies.'],
  [
    'holdfast_server_rejected_clients_total',
    'counter',
    'rejected_connections',
    'Connections over the limit of clients.',
  ],
  [
    'holdfast_server_evicted_clients_total',
    'counter',
    'evicted_clients',
    'Clients that were closed for their memory.',
  ],
  [
    'holdfast_lock_history_bytes',
    'gauge',
    'holdfast_lock_history_memory',
    'Memory of the history of locks.',
  ],
  ['holdfast_log_pending_bytes', 'gauge', 'aof_buffer_length', 'Changes that are not written yet.'],
  ['holdfast_log_file_bytes', 'gauge', 'aof_current_size', 'Size of the log.'],
  [
    'holdfast_log_delayed_syncs_total',
    'counter',
    'aof_delayed_fsync',
    'Syncs that took longer than a second.',
  ],
];

function serverFamilies(fields: Fields): MetricFamily[] {
  return SERVER_METRICS.map(([name, type, field, help]) => {
    const value = fields.get(field);
    const samples = value === undefined ? [] : [{ labels: {}, value: Number(value) }];
    return { name, type, help, samples };
  });
}

function keysFamily(fields: Fields): MetricFamily[] {
  const samples = [...fields].flatMap(([name, text]) => {
    const keys = /^db\d+$/.test(name) ? /^keys=(\d+)/.exec(text)?.[1] : undefined;
    return keys === undefined ? [] : [{ labels: { db: name }, value: Number(keys) }];
  });
  const help = 'Keys of each database that has any.';
  return [{ name: 'holdfast_server_keys', type: 'gauge', help, samples }];
}

/** `sum=0.5,0.001=2,…,inf=4`, cumulative as Prometheus wants it. */
function logSyncFamily(fields: Fields): MetricFamily[] {
  const text = fields.get('holdfast_log_sync_seconds');
  if (text === undefined) return [];
  const [sum = 0, ...counts] = text.split(',').map((part) => Number(part.split('=')[1]));
  const bounds = text.split(',').map((part) => part.split('=')[0]!);
  const buckets = counts.map((value, at) => {
    const bound = bounds[at + 1]!;
    return { suffix: '_bucket', labels: { le: bound === 'inf' ? '+Inf' : bound }, value };
  });
  return [
    {
      name: 'holdfast_log_sync_duration_seconds',
      type: 'histogram',
      help: 'Time until the disk had the log.',
      samples: [
        ...buckets,
        { suffix: '_sum', labels: {}, value: sum },
        { suffix: '_count', labels: {}, value: counts.at(-1) ?? 0 },
      ],
    },
  ];
}
