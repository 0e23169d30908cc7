import type { Clock, Random, Timer } from '../../clock/index.ts';
import { type EtcdClient, isLeaseNotFound, isLeaseThere } from './etcd-client.ts';
import { LEASE_GRANT, LEASE_KEEP_ALIVE, RANGE } from './etcd-messages.ts';

/**
 * A lease of etcd that many entries share. Its TTL is a second longer than the leases of their requests, in whole
 * seconds. So one renewal serves all requests of about a second, and a request on a fresh lease costs no other request.
 *
 * `aliveUntilMs` is the time, on this process's monotonic clock, until which etcd keeps the lease: the time before the
 * last renewal was sent, and the TTL. A leader that another has replaced can still renew a lease in its own memory, which
 * extends nothing. So a renewal counts only if the same member then replies to a linearizable read, which needs a quorum,
 * and its raft term was the same before the renewal, after it, and after the read.
 */
export class SharedLease {
  /** Below 2^53, and chosen by this client: a grant that is sent again does not make a second lease. */
  readonly id: number;
  readonly ttlMs: number;
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #probeKey: string;
  #aliveUntilMs = 0;
  #renewal: { readonly sentMs: number; readonly done: Promise<void> } | undefined;
  /** etcd has ended the lease. */
  #isDead = false;
  #isAbandoned = false;

  constructor(client: EtcdClient, clock: Clock, random: Random, seconds: number, probeKey: string) {
    this.#client = client;
    this.#clock = clock;
    this.#probeKey = probeKey;
    this.ttlMs = seconds * 1000;
    this.id = leaseId(random);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get aliveUntilMs(): number {
    return this.#aliveUntilMs;
  }

  markDead(): void {
    this.#isDead = true;
  }

  /**
   * Whether a request on this lease has failed: etcd may execute it later, when the store does not expect it any more,
   * and leave a key that no request deletes. So the lease is not renewed for long: its entries move to another lease,
   * and the key ends with this one.
   */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  abandon(): void {
    this.#isAbandoned = true;
  }

  async grant(): Promise<void> {
    const sentMs = this.#clock.monotonicMs();
    try {
      await this.#client.call(LEASE_GRANT, { id: this.id, ttl: this.ttlMs / 1000 });
    } catch (error) {
      if (!isLeaseThere(error)) throw error;
    }
    this.#aliveUntilMs = sentMs + this.ttlMs;
  }

  /**
   * Resolves when etcd keeps the lease until this time at least. Renews it if necessary, and in the background if it will
   * be soon.
   *
   * @throws LeaseEndedError if etcd has ended the lease.
   */
  async ensure(untilMs: number): Promise<void> {
    if (this.#isDead) throw new LeaseEndedError();
    if (this.#aliveUntilMs >= untilMs) {
      const isStale = this.#aliveUntilMs < untilMs + SLACK_MS / 2;
      if (isStale && this.#renewal === undefined) this.renew().catch(IGNORE);
      return;
    }
    const pending = this.#renewal;
    const isSoonEnough = pending !== undefined && pending.sentMs + this.ttlMs >= untilMs;
    await (isSoonEnough ? pending.done : this.renew());
    // The first renewal of a member may not count: see #renewOnce.
    if (this.#aliveUntilMs < untilMs) await this.renew();
    if (this.#aliveUntilMs < untilMs) throw new Error('the leader of etcd has changed');
  }

  renew(): Promise<void> {
    const sentMs = this.#clock.monotonicMs();
    const done = this.#renewOnce(sentMs).finally(() => {
      if (this.#renewal === renewal) this.#renewal = undefined;
    });
    const renewal = { sentMs, done };
    this.#renewal = renewal;
    return done;
  }

  async #renewOnce(sentMs: number): Promise<void> {
    const { ttl, isLed } = await this.#client.run(async (member) => {
      const termBefore = member.connection.raftTerm;
      const kept = await member.call(LEASE_KEEP_ALIVE, { id: this.id });
      const read = await member.call(RANGE, { key: this.#probeKey, countOnly: true });
      const { raftTerm } = kept.header;
      return { ttl: kept.ttl, isLed: raftTerm === termBefore && raftTerm === read.header.raftTerm };
    });
    // The reply for a lease that has ended is a success without a TTL.
    if (ttl <= 0 && isLed) {
      this.#isDead = true;
      throw new LeaseEndedError();
    }
    if (isLed && ttl > 0) {
      this.#aliveUntilMs = Math.max(this.#aliveUntilMs, sentMs + ttl * 1000);
    }
  }
}

/** etcd has ended a lease, and deleted its keys. */
export class LeaseEndedError extends Error {
  constructor() {
    super('etcd has ended the lease of this process');
  }
}

/** By how much the TTL is longer than the leases of the requests, at least. */
const SLACK_MS = 1000;
/** etcd's minimum, at the default election timeout. */
const MIN_TTL_S = 2;
const IGNORE = (): void => {};

function leaseId(random: Random): number {
  const bytes = Buffer.from(random.bytes(7));
  // 0 would let etcd choose.
  return bytes.readUIntBE(0, 6) * 32 + (bytes[6]! % 32) || 1;
}

/** The leases of one process: one for each TTL. */
export class SharedLeases {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #probeKey: string;
  readonly #leases = new Map<number, Promise<SharedLease>>();
  readonly #timers = new Map<SharedLease, Timer>();

  constructor(client: EtcdClient, clock: Clock, random: Random, probeKey: string) {
    this.#client = client;
    this.#clock = clock;
    this.#random = random;
    this.#probeKey = probeKey;
  }

  /** The lease for requests of this duration. A lease that may have ended is replaced. */
  async of(leaseMs: number): Promise<SharedLease> {
    const seconds = Math.max(MIN_TTL_S, Math.ceil((leaseMs + SLACK_MS) / 1000));
    const known = this.#leases.get(seconds);
    const lease = await known;
    if (lease !== undefined && this.#isUsable(lease)) return lease;
    // Another request may have replaced it meanwhile.
    if (known !== this.#leases.get(seconds)) return this.of(leaseMs);
    const opened = this.#open(seconds);
    this.#leases.set(seconds, opened);
    opened.catch(() => {
      if (this.#leases.get(seconds) === opened) this.#leases.delete(seconds);
    });
    return opened;
  }

  #isUsable(lease: SharedLease): boolean {
    const isAlive = !lease.isDead && lease.aliveUntilMs > this.#clock.monotonicMs();
    return isAlive && !lease.isAbandoned;
  }

  /** A lease of its own, for an entry that outlives this process. */
  async alone(leaseMs: number): Promise<SharedLease> {
    return this.#open(Math.max(MIN_TTL_S, Math.ceil(leaseMs / 1000)));
  }

  async #open(seconds: number): Promise<SharedLease> {
    const lease = new SharedLease(this.#client, this.#clock, this.#random, seconds, this.#probeKey);
    await lease.grant();
    return lease;
  }

  /** Renews the lease at a third of its TTL, while `isNeeded`. Calls back when etcd has ended it. */
  keepAlive(lease: SharedLease, isNeeded: () => boolean, onEnded: () => void): void {
    if (this.#timers.has(lease)) return;
    const schedule = (delayMs: number): void => {
      this.#timers.set(lease, this.#clock.setTimer(delayMs, tick));
    };
    const tick = async (): Promise<void> => {
      if (!isNeeded()) {
        this.#timers.delete(lease);
        return;
      }
      const isRenewed = await lease.renew().then(
        () => true,
        () => false,
      );
      if (this.#client.isClosed) return;
      if (lease.isDead) {
        this.#timers.delete(lease);
        onEnded();
      } else schedule(isRenewed ? lease.ttlMs / RENEWALS : RETRY_MS);
    };
    schedule(lease.ttlMs / RENEWALS);
  }

  close(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }
}

const RENEWALS = 3;
const RETRY_MS = 500;

/** Whether the request failed since its lease has ended. */
export function isLeaseEnded(error: unknown): boolean {
  return error instanceof LeaseEndedError || isLeaseNotFound(error);
}
