import type {
  ContentionFacts,
  PageClient,
  PageEvent,
  PageEventType,
  PageLock,
  PageMessage,
  PageWaiter,
  ServerFigures,
  SourceFacts,
} from '../src/page/protocol.ts';

/** What the page is shown in tests: a shop with contention, losses and a deadlock. */

export const SOURCE: SourceFacts = {
  label: 'redis://127.0.0.1:6379',
  version: '0.1.0',
  /** The browser runs on this machine. */
  get nowMs() {
    return Date.now();
  },
  canRelease: true,
  history: 'server',
  historyEpoch: 'e',
  hasServer: true,
  hasWaitGraph: true,
};

/** Names that must do no harm, each with the text that the page shows. */
export const HOSTILE = [
  [
    '<img src=x onerror="document.title=\'owned\'">',
    '<img src=x onerror="document.title=\'owned\'">',
  ],
  ['invoice\u202egnp.exe', 'invoice\\u{202e}gnp.exe'],
  ['nul\0byte', 'nul\\0byte'],
  ['__proto__', '__proto__'],
  ['long-'.repeat(200), 'long-'.repeat(200)],
  ['שלום:עולם', 'שלום:עולם'],
  ['\ud800lone', '\\u{d800}lone'],
  ['', '""'],
] as const;

const BASE_FENCE = 1_794_869_343_930_000;

export function client(host: string, pid: number, label = ''): PageClient {
  return { host, pid, label };
}

const WEB = client('web-1', 22_790, 'checkout');
const WORKER = client('worker-7', 812, 'invoices');
const CRON = client('cron-2', 4410, 'nightly');
const API = client('api-3', 31_007);

function waiter(
  owner: string,
  from: PageClient | null,
  sinceMs: number,
  holds: string[] = [],
): PageWaiter {
  return { owner, client: from, permits: 1, sinceMs, holds };
}

interface LockOptions {
  readonly kind?: PageLock['kind'];
  readonly owner?: string;
  readonly holders?: number;
  readonly heldMs?: number;
  readonly leftMs?: number | null;
  readonly waiters?: readonly PageWaiter[];
  readonly waiterCount?: number;
}

export function lock(
  id: string,
  name: string,
  holder: PageClient | null,
  nowMs: number,
  options: LockOptions = {},
): PageLock {
  const {
    kind = 'mutex',
    owner = `${id}.1`,
    heldMs = 4000,
    leftMs = 26_000,
    waiters = [],
  } = options;
  const count = options.holders ?? 1;
  return {
    id,
    kind,
    name,
    holderCount: count,
    waiterCount: options.waiterCount ?? waiters.length,
    holders: Array.from({ length: Math.min(10, count) }, (_, index) => ({
      owner: index === 0 ? owner : `${owner}-${index}`,
      client: holder,
      permits: 1,
      fence: BASE_FENCE + Number.parseInt(id.replace(/\D/g, '') || '0', 10) * 7 + index,
      sinceMs: nowMs - heldMs,
      endsMs: leftMs === null ? null : nowMs + leftMs,
    })),
    waiters,
  };
}

export function shopLocks(nowMs: number): PageLock[] {
  return [
    lock('l1', 'order:4711', WEB, nowMs, {
      owner: 'web.1',
      heldMs: 12_400,
      waiters: [
        waiter('worker.2', WORKER, nowMs - 9200, ['worker.1']),
        waiter('api.1', API, nowMs - 7000),
        waiter('cron.1', CRON, nowMs - 2100),
      ],
    }),
    lock('l2', 'stock:eu-west:17', WORKER, nowMs, {
      owner: 'worker.1',
      heldMs: 14_000,
      waiters: [waiter('web.2', WEB, nowMs - 8700, ['web.1'])],
    }),
    lock('l3', 'reports', CRON, nowMs, {
      owner: 'cron.9',
      heldMs: 3_700_000,
      leftMs: 1200,
      waiters: [waiter('api.4', API, nowMs - 4000, ['api.3'])],
    }),
    lock('l4', 'session:api', API, nowMs, { owner: 'api.3', heldMs: 61_000 }),
    lock('l5', 'pool:thumbnails', WORKER, nowMs, {
      kind: 'semaphore',
      holders: 4,
      waiters: Array.from({ length: 10 }, (_, index) =>
        waiter(`s.${index}`, API, nowMs - 900 * (10 - index)),
      ),
      waiterCount: 23,
    }),
    lock('l6', 'config', API, nowMs, { kind: 'rw', holders: 3, leftMs: null }),
    lock('l7', 'legacy-cron', null, nowMs, { leftMs: 58_000 }),
  ];
}

export function shopEvents(nowMs: number): PageEvent[] {
  let id = 0;
  const event = (
    agoMs: number,
    type: PageEventType,
    owner: string,
    from: PageClient | null,
    more: Partial<PageEvent> = {},
  ): PageEvent => ({
    id: ++id,
    atMs: nowMs - agoMs,
    type,
    lockId: 'l1',
    kind: 'mutex',
    name: 'order:4711',
    owner,
    client: from,
    fence: null,
    heldMs: null,
    waitedMs: null,
    ...more,
  });
  return [
    event(58_000, 'granted', 'a.1', WEB, { fence: BASE_FENCE + 1 }),
    event(55_000, 'waiting', 'b.1', WORKER),
    event(47_000, 'released', 'a.1', WEB, { heldMs: 11_000 }),
    event(47_000, 'handed-over', 'b.1', WORKER, { fence: BASE_FENCE + 2, waitedMs: 8000 }),
    event(43_000, 'waiting', 'c.1', CRON),
    event(36_000, 'expired', 'b.1', WORKER, { heldMs: 11_000 }),
    event(36_000, 'handed-over', 'c.1', CRON, { fence: BASE_FENCE + 3, waitedMs: 7000 }),
    event(27_000, 'forced', 'c.1', CRON, { heldMs: 9000 }),
    event(25_000, 'granted', 'd.1', API, { fence: BASE_FENCE + 4 }),
    event(20_000, 'waiting', 'web.1', WEB),
    event(12_400, 'released', 'd.1', API, { heldMs: 12_600 }),
    event(12_400, 'handed-over', 'web.1', WEB, { fence: BASE_FENCE + 7, waitedMs: 7600 }),
    event(9200, 'waiting', 'worker.2', WORKER),
    event(8000, 'session-ended', 'x.1', CRON, { lockId: 'l3', name: 'reports', heldMs: 90_000 }),
    event(7500, 'stolen', 'y.1', API, { lockId: 'l4', name: 'session:api', heldMs: 1000 }),
  ];
}

export function shopContention(nowMs: number): ContentionFacts {
  const groups = [
    'order:*',
    'stock:*:*',
    'pool:thumbnails',
    'invoice:*',
    'session:*',
    'reports',
    'tenant:*:sync',
    '(others)',
  ];
  const minutes = (make: (minute: number) => number) =>
    Array.from({ length: 60 }, (_, minute) => make(minute));
  return {
    fromMs: Math.floor(nowMs / 60_000) * 60_000 - 59 * 60_000,
    groups: groups.map((group, index) => {
      const waits = minutes((minute) =>
        Math.max(
          0,
          Math.round(
            (9 - index) *
              (1 + Math.sin(minute / (4 + index) + index)) *
              (minute % (index + 2) === 0 ? 2.5 : 0.8) -
              index,
          ),
        ),
      );
      return {
        group,
        waits,
        grants: waits.map((count) => count * 3 + 1),
        waitedMs: waits.map((count) => count * 140),
      };
    }),
    wait: {
      boundsMs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000],
      counts: [40, 61, 120, 260, 410, 380, 220, 140, 90, 44, 20, 11, 4, 2],
      p50Ms: 24,
      p99Ms: 1400,
    },
    hold: {
      boundsMs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000],
      counts: [900, 700, 620, 500, 480, 300, 260, 180, 160, 90, 80, 41, 22, 9],
      p50Ms: 6.2,
      p99Ms: 7200,
    },
    losses: { expired: 7, forced: 1, stolen: 2, 'session-ended': 3 },
    recentLosses: [
      {
        id: 0,
        atMs: nowMs - 1_800_000,
        type: 'expired',
        lockId: 'l9',
        kind: 'mutex',
        name: 'payment:9',
        owner: 'z.1',
        client: API,
        fence: null,
        heldMs: 30_000,
        waitedMs: null,
      },
    ],
  };
}

export function serverFigures(nowMs: number, commandsPerS = 18_420): ServerFigures {
  return {
    uptimeS: 93_784,
    clients: 214,
    blockedClients: 12,
    memoryBytes: 183_500_800,
    maxMemoryBytes: 268_435_456,
    commandsPerS,
    keys: 10_482,
    log: { isFailing: false, pendingBytes: 4096, fileBytes: 31_457_280 },
    slowest: [
      { atMs: nowMs - 61_000, tookUs: 18_400, command: 'EVALSHA 7f3c… 128 order:*' },
      { atMs: nowMs - 4000, tookUs: 12_100, command: 'SCAN 0 COUNT 10000' },
    ],
  };
}

/** All messages of a first connection. */
export function shopGreeting(nowMs: number, source: Partial<SourceFacts> = {}): PageMessage[] {
  return [
    { type: 'source', source: { ...SOURCE, ...source } },
    { type: 'locks', locks: shopLocks(nowMs), isCut: false },
    { type: 'history', events: shopEvents(nowMs), missed: 0 },
    { type: 'contention', contention: shopContention(nowMs) },
    ...Array.from(
      { length: 60 },
      (_, index): PageMessage => ({
        type: 'server',
        server: serverFigures(nowMs, 15_000 + 4000 * Math.sin(index / 5) + (index % 7) * 300),
      }),
    ),
  ];
}
