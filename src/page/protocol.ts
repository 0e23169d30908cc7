/**
 * What the page's server sends to the browser, as JSON. Types only: both sides import this file.
 *
 * `GET api/stream` is a stream of server-sent events. Each has one of the types of `PageMessage` as its `event:`, and the
 * message as its `data:`. A `history` message also has an `id:`, which the browser sends as Last-Event-ID when it connects
 * again. The other requests are in `PageRequests`.
 */
export type PageMessage =
  /** First on every connection. */
  | { readonly type: 'source'; readonly source: SourceFacts }
  /** All locks, first on every connection, and again when too much has changed. */
  | { readonly type: 'locks'; readonly locks: readonly PageLock[]; readonly isCut: boolean }
  /** What changed since the message before: locks that are new or different, and the ids of those that are free. */
  | {
      readonly type: 'changes';
      readonly locks: readonly PageLock[];
      readonly free: readonly string[];
      readonly isCut: boolean;
    }
  /** New events, oldest first. `missed`: how many were dropped before the page could read them. */
  | { readonly type: 'history'; readonly events: readonly PageEvent[]; readonly missed: number }
  /** Every few seconds. */
  | { readonly type: 'contention'; readonly contention: ContentionFacts }
  | { readonly type: 'server'; readonly server: ServerFigures }
  /** The store does not answer. The last known locks stay; the next `locks` message ends this state. */
  | { readonly type: 'failed'; readonly message: string };

/** What the page shows, and what it may do. */
export interface SourceFacts {
  /** The address of the store, without a password. */
  readonly label: string;
  readonly version: string;
  /** The wall time of the page's server when it sent this. All times are of its clock. */
  readonly nowMs: number;
  /** Whether this page may release locks by force. */
  readonly canRelease: boolean;
  /** Where events come from: the server sees all clients, a process only itself. */
  readonly history: 'server' | 'process' | 'none';
  /** Changes when the history begins again, such as after a restart: events of the old one are no longer valid. */
  readonly historyEpoch: string;
  /** Whether `server` messages are sent. */
  readonly hasServer: boolean;
  /** Whether waiters report the leases that they hold (PageWaiter.holds). */
  readonly hasWaitGraph: boolean;
}

export type PageLockKind = 'mutex' | 'semaphore' | 'rw';

export interface PageLock {
  /** Opaque, unique among the locks of the store. In URLs it needs no escaping. */
  readonly id: string;
  readonly kind: PageLockKind;
  /** Bytes that are not UTF-8 are shown as U+FFFD, so two locks may show the same name. At most 1,024 characters. */
  readonly name: string;
  /** The number of all holders and waiters. The lists are cut: in `locks` and `changes` to 10. */
  readonly holderCount: number;
  readonly waiterCount: number;
  readonly holders: readonly PageHolder[];
  /** In the order in which they will be served. */
  readonly waiters: readonly PageWaiter[];
}

export interface PageParty {
  /** The id of the acquisition. */
  readonly owner: string;
  /** Null: a program that does not use Holdfast. */
  readonly client: PageClient | null;
  readonly permits: number;
}

export interface PageClient {
  readonly host: string;
  readonly pid: number;
  readonly label: string;
}

export interface PageHolder extends PageParty {
  readonly fence: number | null;
  /** Wall time of the page's server, in ms. */
  readonly sinceMs: number | null;
  /** When the lease ends unless it is renewed. Null: it does not end by itself. */
  readonly endsMs: number | null;
}

export interface PageWaiter extends PageParty {
  /** When it entered the queue, if the history has it. */
  readonly sinceMs: number | null;
  /** Owners of leases that the same callback holds while it waits: the edges of the wait-for graph. */
  readonly holds: readonly string[];
}

export type PageEventType =
  | 'waiting'
  | 'left'
  | 'granted'
  | 'handed-over'
  | 'stole'
  | 'adopted'
  | 'released'
  | 'expired'
  | 'stolen'
  | 'forced'
  | 'transferred'
  | 'session-ended';

export interface PageEvent {
  readonly id: number;
  readonly atMs: number;
  readonly type: PageEventType;
  readonly lockId: string;
  readonly kind: PageLockKind;
  readonly name: string;
  readonly owner: string;
  readonly client: PageClient | null;
  readonly fence: number | null;
  readonly heldMs: number | null;
  readonly waitedMs: number | null;
}

/** Counts of the last hour, from the history that the page's server has read. */
export interface ContentionFacts {
  /** The start of the first minute, wall time in ms. Every list of minutes has 60 entries from there on. */
  readonly fromMs: number;
  /** Groups with the most waiting first, at most 100; the rest is the group '(others)'. */
  readonly groups: readonly ContentionGroup[];
  readonly wait: Histogram;
  readonly hold: Histogram;
  /** Leases that ended other than by a release, by reason, in the last hour. */
  readonly losses: Readonly<Record<string, number>>;
  /** The newest of these events, at most 8 of each reason: `history` has them only until 10,000 others have come. */
  readonly recentLosses: readonly PageEvent[];
}

export interface ContentionGroup {
  /** The name with its numbers and ids replaced: `order:*`. */
  readonly group: string;
  readonly waits: readonly number[];
  readonly grants: readonly number[];
  readonly waitedMs: readonly number[];
}

/** `counts[i]` values are at most `boundsMs[i]`; the last count is of larger ones. */
export interface Histogram {
  readonly boundsMs: readonly number[];
  readonly counts: readonly number[];
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export interface ServerFigures {
  readonly uptimeS: number;
  readonly clients: number;
  readonly blockedClients: number;
  readonly memoryBytes: number;
  readonly maxMemoryBytes: number;
  readonly commandsPerS: number;
  readonly keys: number;
  /** Null: the server has no log. */
  readonly log: {
    readonly isFailing: boolean;
    readonly pendingBytes: number;
    readonly fileBytes: number;
  } | null;
  readonly slowest: readonly {
    readonly atMs: number;
    readonly tookUs: number;
    readonly command: string;
  }[];
}

/** Requests beside the stream. Each is refused without the page's cookie, and with a foreign Host or Origin. */
export interface PageRequests {
  /** One lock with up to 1,000 holders and waiters, its newest 200 events and its forced releases. */
  'GET api/lock?id=…': {
    readonly lock: PageLock | null;
    readonly events: readonly PageEvent[];
    readonly forced: readonly PageForcedRelease[];
  };
  /**
   * Ends all leases of a lock. 403 unless SourceFacts.canRelease. `owners`, which may be missing, are holders that the
   * user has seen: 409 if only others hold it now.
   */
  'POST api/release {"id","reason","owners"}': { readonly holders: number };
}

export interface PageForcedRelease {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
  readonly holders: number;
}
