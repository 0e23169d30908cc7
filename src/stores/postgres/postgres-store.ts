import type { Clock, Timer } from '../../clock/index.ts';
import {
  type AcquireResult,
  type Contention,
  type Inspection,
  type ListFilter,
  LockArgumentError,
  type LockListing,
  type LockRequest,
  type LockStore,
  type LockTarget,
  otherSlots,
  StolenError,
  type Waiter,
} from '../../lock/index.ts';
import { databaseOf, type PgQueryable, type PostgresSql } from './database.ts';
import { openListenOf } from './listen-connection.ts';
import { Listener } from './listener.ts';
import {
  type AcquireReply,
  acquireReply,
  encodeName,
  parseContention,
  parseInspection,
  parseListing,
  parseMessage,
  type RefreshReply,
  type Served,
} from './lock-reply.ts';
import {
  type PostgresStoreOptions,
  type PostgresStoreSettings,
  settingsOf,
} from './postgres-options.ts';
import { prepareTables } from './prepare-tables.ts';
import { type Replied, Requests, type SendOptions, type SentTimes } from './requests.ts';
import { Waiters } from './waiters.ts';

/**
 * Locks in PostgreSQL, through a Pool or a Client of `pg`, or the `sql` function of `postgres`. Each request is one
 * statement, so that the client may be connected through a pooler such as PgBouncer, also in transaction mode. The client
 * stays the caller's: `close()` closes only the connection that the store has opened for `listen`.
 *
 * @throws LockArgumentError for any other client, and for an option that cannot be right.
 *
 * @example
 * const pool = new Pool({ connectionString, connectionTimeoutMillis: 5000 });
 * const locks = createLocks({ store: postgresStore(pool, { listen: true, createTables: true }) });
 */
export function postgresStore(
  client: PgQueryable | PostgresSql,
  options: PostgresStoreOptions = {},
): LockStore {
  const settings = settingsOf(options);
  const database = databaseOf(client, settings.requestTimeoutMs);
  if (database === undefined) throw new LockArgumentError('', WRONG_CLIENT);
  const openListen = openListenOf(options.listen, client, settings.requestTimeoutMs);
  return new PostgresStore({ ...settings, database, openListen });
}

const WRONG_CLIENT =
  'postgresStore needs a client: new Pool() or new Client() of pg, or the sql function that postgres() returns';

/** With LISTEN, waiters are refreshed at least this often, and when a lease ends. */
const REFRESH_MS = 2000;
/** Without LISTEN. */
const POLL_MS = 250;
/** Between two refreshes, also when a lease has ended. */
const MIN_REFRESH_MS = 20;
/** The next refresh, if one of the waiters may have lost its place. */
const RECHECK_MS = 100;
/** A lease has ended for the server a little after it has ended by our clock. */
const MARGIN_MS = 5;
/** A connection that has received no message for this time is checked by one. */
const PROBE_MS = 10_000;
/** Maximum number of owners that are remembered after they left a queue. */
const MAX_ABANDONED = 1000;
/** At most so often this process removes rows of locks that are not in use. */
const SWEEP_MS = 3_600_000;

/**
 * Locks in PostgreSQL. The functions of the schema do all the work: see schema.ts. While requests of this process wait,
 * one timer refreshes them all by one query.
 */
export class PostgresStore implements LockStore {
  readonly ownerPrefix: string;
  /** Resolves when the first request has a reply or has failed. */
  readonly connected: Promise<void>;
  #markConnected = IGNORE;
  readonly #settings: PostgresStoreSettings;
  readonly #clock: Clock;
  readonly #clientId: string;
  readonly #requests: Requests;
  readonly #waiters = new Waiters();
  /** The last owners that were released while they waited. An owner is not used again. */
  readonly #abandoned = new Set<string>();
  /** Callbacks of holders that use `lease.contended`, by owner. */
  readonly #watchers = new Map<string, { request: LockRequest; onContended: () => void }>();
  #onLost: (reason: Error, owner?: string) => void = IGNORE;
  #listener: Listener | undefined;
  #hasWarned = false;
  #preparing: Promise<void> | undefined;
  #isPrepared = false;
  /** The statement that calls a function, by its name. */
  readonly #texts = new Map<string, string>();
  #timer: Timer | undefined;
  #timerMs = 0;
  #isRefreshing = false;
  #sweptMs: number;
  #closing: Promise<void> | undefined;

  constructor(settings: PostgresStoreSettings) {
    const { database, clock, random, requestTimeoutMs } = settings;
    this.#settings = settings;
    this.#clock = clock;
    this.#clientId = Buffer.from(random.bytes(12)).toString('hex');
    this.ownerPrefix = `${this.#clientId}.`;
    this.#requests = new Requests(database, clock, random, requestTimeoutMs);
    // Not all processes that start together sweep together.
    this.#sweptMs = clock.monotonicMs() - random.next() * SWEEP_MS;
    this.connected = new Promise((resolve) => {
      this.#markConnected = resolve;
    });
  }

  async acquire(request: LockRequest, waiter?: Waiter): Promise<AcquireResult> {
    const { stealReason } = request;
    if (waiter) this.#waiters.add(request, waiter);
    const call =
      stealReason === undefined
        ? this.#call('acquire', [...this.#args(request), waiter !== undefined])
        : this.#call('steal', [...this.#args(request), stealReason.replaceAll('\0', '\ufffd')]);
    const { reply, sent } = await this.#sendFor(request, call, (late) =>
      this.#grantedLate(request, waiter, late),
    );
    const parsed = this.#handle(request, reply, sent);
    for (const owner of parsed.lost)
      this.#onLost(new StolenError(request.info, stealReason!), owner);
    const { result } = parsed;
    if (result.type === 'slots') throw otherSlots(request.name, result.slots, request.slots);
    if (!waiter) return result;
    if (result.type === 'granted') {
      this.#leave(request.owner);
      return result;
    }
    this.#waiters.queued(request.owner, sent);
    this.#listen();
    this.#refreshIn(result.retryInMs + MARGIN_MS);
    return QUEUED;
  }

  async acquireAll(requests: readonly LockRequest[], minFence: number): Promise<AcquireResult> {
    const [first] = requests;
    const list = requests.map(({ name, owner, info }) => [encodeName(name), owner, textOf(info)]);
    const values = [this.#clientId, JSON.stringify(list), first!.leaseMs, minFence];
    const { reply, sent } = await this.#sendFor(first!, this.#call('acquire_all', values));
    const { result } = this.#handle(first!, reply, sent);
    if (result.type === 'slots') throw otherSlots(first!.name, result.slots, 1);
    return result;
  }

  async adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    const call = this.#call('adopt', [...this.#args(request), from.owner]);
    const { reply, sent } = await this.#sendFor(request, call);
    const { result } = this.#handle(request, reply, sent);
    if (result.type === 'slots') throw otherSlots(request.name, result.slots, request.slots);
    return result;
  }

  extend(request: LockRequest): Promise<boolean> {
    this.#leave(request.owner);
    return this.#extend(request, false);
  }

  keep(request: LockRequest): Promise<boolean> {
    return this.#extend(request, true);
  }

  async release(request: LockRequest, fence?: number): Promise<boolean> {
    const { kind, name, owner } = request;
    if (this.#waiters.has(owner)) this.#abandon(owner);
    this.#leave(owner);
    const values = [this.#clientId, kind, encodeName(name), owner, fence ?? null];
    const { reply, sent } = await this.#sendFor(request, this.#call('release', values));
    if (typeof reply === 'boolean') return reply;
    const { released, served } = reply as { released: boolean; served: Served[] };
    this.#serve(served, sent);
    return released;
  }

  async forceRelease(target: LockTarget): Promise<number> {
    const values = [this.#clientId, target.kind, encodeName(target.name)];
    const { reply, sent } = await this.#sendFor(target, this.#call('force_release', values));
    const { count, served } = reply as { count: number; served: Served[] };
    this.#serve(served, sent);
    return count;
  }

  async inspect({ kind, name }: LockTarget): Promise<Inspection> {
    const { reply } = await this.#send(this.#call('inspect', [kind, encodeName(name)]));
    return parseInspection(reply);
  }

  async list({ name, maxLocks, maxParties }: ListFilter): Promise<LockListing> {
    const values = [name === undefined ? null : encodeName(name), maxLocks + 1, maxParties];
    const { reply } = await this.#send(this.#call('list', values));
    return parseListing(reply, maxLocks);
  }

  async contention({ kind, name, owner }: LockRequest): Promise<Contention> {
    const { reply } = await this.#send(this.#call('contention', [kind, encodeName(name), owner]));
    return parseContention(reply);
  }

  onLost(listener: (reason: Error, owner?: string) => void): void {
    this.#onLost = listener;
  }

  watch(request: LockRequest, onContended: () => void): void {
    this.#watchers.set(request.owner, { request, onContended });
    this.#listen();
    this.#sendWatch(request);
  }

  unwatch({ owner }: LockRequest): void {
    this.#watchers.delete(owner);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#timer?.cancel();
    this.#waiters.clear();
    this.#watchers.clear();
    this.#listener?.close();
    this.#requests.close();
    await this.#settings.onClose?.();
  }

  async #extend({ kind, name, owner, leaseMs }: LockRequest, isExact: boolean): Promise<boolean> {
    const values = [kind, encodeName(name), owner, leaseMs, isExact];
    // Before other requests: the lease may be about to end.
    const { reply } = await this.#send(this.#call('extend', values), { isUrgent: true });
    return reply === true;
  }

  #args(request: LockRequest): unknown[] {
    const { kind, name, slots, owner, permits, leaseMs, info } = request;
    return [this.#clientId, kind, encodeName(name), slots, owner, permits, leaseMs, textOf(info)];
  }

  #call(name: string, values: readonly unknown[]): Call {
    let text = this.#texts.get(name);
    if (text === undefined) {
      const places = values.map((_, index) => `$${index + 1}`);
      text = `select ${this.#settings.schema}.${name}(${places.join(', ')})`;
      this.#texts.set(name, text);
    }
    return { text, values };
  }

  /** Sends a request that may hand a lock over. If its reply is lost, the waiters of the lock send their requests again. */
  #sendFor(target: LockTarget, call: Call, onLate?: (late: Replied) => void): Promise<Replied> {
    return this.#send(call, { onLate }).catch((error: unknown) => {
      const { kind, name } = target;
      this.#waiters.retryAll((request) => request.kind === kind && request.name === name);
      throw error;
    });
  }

  #send({ text, values }: Call, options?: SendOptions): Promise<Replied> {
    if (this.#isPrepared) {
      this.#sweep();
      return this.#requests.send(text, values, options);
    }
    return this.#prepare()
      .finally(this.#markConnected)
      .then(() => this.#requests.send(text, values, options));
  }

  /** Once, before the first request. If it fails, the next request tries again. */
  #prepare(): Promise<void> {
    this.#preparing ??= prepareTables(this.#requests, this.#settings).then(
      () => {
        this.#isPrepared = true;
      },
      (error: unknown) => {
        this.#preparing = undefined;
        throw error;
      },
    );
    return this.#preparing;
  }

  #handle({ owner }: LockRequest, reply: unknown, sent: SentTimes): AcquireReply {
    const parsed = acquireReply(reply);
    // The owner of the request gets the result of the request.
    this.#serve(
      parsed.served.filter(([, , served]) => served !== owner),
      sent,
    );
    return parsed;
  }

  #serve(served: readonly Served[], sent: SentTimes): void {
    for (const [kind, name, owner, fence] of served) {
      if (this.#waiters.served([owner, fence], sent)) continue;
      // Replies on several connections arrive in any order: an owner that does not wait any more may have its grant from
      // another reply. Only one that was released, before it was served, does not hold the lock.
      if (!this.#abandoned.has(owner)) continue;
      this.#send(this.#call('release', [this.#clientId, kind, name, owner, null])).catch(IGNORE);
    }
    this.#stopUnlessWaiting();
  }

  /** The request has timed out. A lock that the late reply grants must be released or used. */
  #grantedLate(
    request: LockRequest,
    waiter: Waiter | undefined,
    { reply, sent }: { reply: unknown; sent: SentTimes },
  ): void {
    const { result } = this.#handle(request, reply, sent);
    if (result.type !== 'granted') return;
    if (waiter) {
      waiter.notify({ type: 'granted', fence: result.fence, ...sent, isReserved: false });
    } else this.release(request).catch(IGNORE);
  }

  /** In the background: the uncontended path does not wait for it. */
  #listen(): void {
    const { openListen, clock, requestTimeoutMs } = this.#settings;
    if (this.#listener !== undefined || this.#closing !== undefined) return;
    if (openListen === undefined) {
      this.#warn(
        'Locks in PostgreSQL without `listen` poll for their turn, four times a second in each process that waits. Pass ' +
          '{ listen: true }, or the address of a direct connection.',
      );
      return;
    }
    this.#listener = new Listener({
      clock,
      timeoutMs: requestTimeoutMs,
      channel: `holdfast_${this.#clientId}`,
      open: openListen,
      onMessage: (text) => this.#received(text),
      onOpen: () => {
        this.#refresh();
        for (const { request } of this.#watchers.values()) this.#sendWatch(request);
      },
      onDeaf: () =>
        this.#warn(
          'The connection that `listen` names receives no notifications: is it one through a pooler in transaction mode? ' +
            'Pass the address of a direct connection. Until then this process polls.',
        ),
    });
  }

  #warn(text: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    process.emitWarning(text, { code: 'HOLDFAST_POSTGRES_POLLS' });
  }

  #received(text: string): void {
    const message = parseMessage(text);
    if (message === undefined) return;
    if (message.type === 'granted') this.#waiters.reserved([message.owner, message.fence]);
    else if (message.type === 'contended') this.#contended(message.owner);
    else if (message.type === 'stolen') this.#onLost(message.reason, message.owner);
    else if (message.type === 'refresh') this.#refreshIn(0);
  }

  #contended(owner: string): void {
    const watcher = this.#watchers.get(owner);
    this.#watchers.delete(owner);
    watcher?.onContended();
  }

  /** Sent at once, and again after each gap of the connection: messages before that are lost. */
  #sendWatch({ kind, name, owner }: LockRequest): void {
    this.#send(this.#call('watch', [kind, encodeName(name), owner])).then(({ reply }) => {
      if (reply === true) this.#contended(owner);
    }, IGNORE);
  }

  #abandon(owner: string): void {
    this.#abandoned.add(owner);
    const [oldest] = this.#abandoned;
    if (this.#abandoned.size > MAX_ABANDONED) this.#abandoned.delete(oldest!);
  }

  #leave(owner: string): void {
    this.#waiters.remove(owner);
    this.#stopUnlessWaiting();
  }

  /** The timer keeps the process alive only while there are waiters. */
  #stopUnlessWaiting(): void {
    if (this.#waiters.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Schedules a refresh, unless one is due earlier: new waiters must not postpone it. */
  #refreshIn(delayMs: number): void {
    if (this.#waiters.size === 0 || this.#isRefreshing || this.#closing !== undefined) return;
    const { random } = this.#settings;
    const maxMs = this.#listener?.isWorking
      ? REFRESH_MS * (0.8 + 0.2 * random.next())
      : POLL_MS * (0.5 + random.next());
    const waitMs = Math.min(Math.max(delayMs, MIN_REFRESH_MS), maxMs);
    const dueMs = this.#clock.monotonicMs() + waitMs;
    if (this.#timer !== undefined && this.#timerMs <= dueMs) return;
    this.#timer?.cancel();
    this.#timerMs = dueMs;
    this.#timer = this.#clock.setTimer(waitMs, () => this.#refresh());
    // A program that waits for a lock stays alive.
    this.#timer.keepAlive(true);
  }

  #refresh(): void {
    if (this.#isRefreshing || this.#closing !== undefined) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    // Without waiters there is nothing to refresh, but a new connection is still checked.
    const probes = this.#listener?.isSilentFor(PROBE_MS) ?? false;
    if (this.#waiters.size === 0 && !probes) return;
    const before = this.#waiters.inQueue();
    this.#isRefreshing = true;
    this.#send(this.#call('refresh', [this.#clientId, probes]))
      .then(
        ({ reply, sent }) => this.#refreshed(before, reply as RefreshReply, sent, probes),
        () => {
          // The requests report why the store fails.
          this.#waiters.retryAll();
          return REFRESH_MS;
        },
      )
      .then((nextMs) => {
        this.#isRefreshing = false;
        this.#refreshIn(nextMs);
      });
  }

  /** Returns when the next refresh is due. */
  #refreshed(
    before: ReadonlyMap<string, SentTimes>,
    { queued, granted, served, next }: RefreshReply,
    sent: SentTimes,
    probed: boolean,
  ): number {
    if (probed) this.#listener?.expectMessage();
    this.#serve(served, sent);
    for (const each of granted) this.#waiters.reserved(each);
    if (this.#waiters.refreshed(before, new Set(queued), sent)) return RECHECK_MS;
    return next === null ? REFRESH_MS : next + MARGIN_MS;
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#sweptMs < SWEEP_MS || this.#closing !== undefined) return;
    this.#sweptMs = nowMs;
    this.#send(this.#call('sweep', [])).catch(IGNORE);
  }
}

interface Call {
  readonly text: string;
  readonly values: readonly unknown[];
}

const QUEUED: AcquireResult = { type: 'busy', retryInMs: Number.POSITIVE_INFINITY };
const IGNORE = (): void => {};

/** JSON escapes the characters that PostgreSQL cannot store. */
function textOf(info: LockRequest['info']): string {
  return JSON.stringify([info.host, info.pid, info.label]);
}
