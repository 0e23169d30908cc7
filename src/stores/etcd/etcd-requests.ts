import { Batcher } from '../../client/index.ts';
import type { Clock, Random } from '../../clock/index.ts';
import { type Entry, entriesOf, type LockKeys } from './entry.ts';
import type { EtcdClient } from './etcd-client.ts';
import { type KeyValue, TXN, type TxnReply, type TxnRequest } from './etcd-messages.ts';
import { isLeaseEnded, type SharedLease, SharedLeases } from './shared-lease.ts';

/**
 * Sends the transactions of a store. Every one can be sent again: this process knows the key of each owner, and an entry
 * names its owner. A write to an existing key compares its mod revision, so that a write that etcd executes late cannot
 * undo a later one. After a request whose outcome is unknown, the lease is abandoned, so that an entry that it creates
 * late ends with that lease; and later entries have other keys, so that a late deletion does not end one of them.
 */
export class EtcdRequests {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly leases: SharedLeases;
  /** Called when a request has failed since etcd has ended its lease. */
  onLeaseEnded: (lease: SharedLease) => void = IGNORE;
  readonly #reads: Batcher<PendingRead>;
  readonly #clientId: string;
  /** How many requests had an unknown outcome. */
  #doubtCount = 0;

  constructor(client: EtcdClient, clock: Clock, random: Random, probeKey: string) {
    this.client = client;
    this.clock = clock;
    this.leases = new SharedLeases(client, clock, random, probeKey);
    this.#clientId = Buffer.from(random.bytes(12)).toString('base64url');
    this.#reads = new Batcher(MAX_READS, (batch) => this.#sendReads(batch));
  }

  /** Begins the slots of this client. Another one after each request with an unknown outcome. */
  get slotPrefix(): string {
    return `${this.#clientId}.${this.#doubtCount.toString(36)}.`;
  }

  /** Sends a transaction, and renews the lease at the same time if necessary. On a lease that has ended, sends it again. */
  async write(
    leaseMs: number,
    sentMs: number,
    build: (lease: SharedLease) => TxnRequest,
  ): Promise<{ readonly reply: TxnReply; readonly lease: SharedLease }> {
    for (let attempt = 0; ; attempt++) {
      const lease = await this.leases.of(leaseMs);
      try {
        const [reply] = await Promise.all([
          this.client.call(TXN, build(lease), () => this.doubt(lease)),
          lease.ensure(sentMs + leaseMs),
        ]);
        return { reply, lease };
      } catch (error) {
        const isEnded = isLeaseEnded(error);
        if (isEnded) this.onLeaseEnded(lease);
        else this.doubt(lease);
        if (!isEnded || attempt > 0) throw error;
      }
    }
  }

  /** Sends a transaction about a key with this lease. If it fails, the key ends with the lease. */
  async txn(request: TxnRequest, lease?: SharedLease): Promise<TxnReply> {
    try {
      return await this.client.call(TXN, request, () => lease && this.doubt(lease));
    } catch (error) {
      if (lease !== undefined) this.doubt(lease);
      throw error;
    }
  }

  /** The outcome of a request about a key with this lease is not known: etcd may still execute it. */
  doubt(lease: SharedLease | undefined): void {
    this.#doubtCount++;
    lease?.abandon();
  }

  async read(keys: LockKeys): Promise<{ readonly entries: Entry[]; readonly revision: number }> {
    const reply = await this.txn({ compare: [], success: keys.read(), failure: [] });
    return { entries: entriesOf(reply.responses), revision: reply.header.revision };
  }

  /** Keys that are read in one turn, such as for renewals, are read in one request. */
  readKey(key: string): Promise<KeyValue | undefined> {
    return new Promise((resolve, reject) => this.#reads.add(0, [{ key, resolve, reject }]));
  }

  #sendReads(batch: readonly PendingRead[]): void {
    const success = batch.map(({ key }) => ({ range: { key } }));
    this.txn({ compare: [], success, failure: [] }).then(
      ({ responses }) => {
        for (const [index, { resolve }] of batch.entries()) {
          resolve(responses[index]?.range?.kvs[0]);
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
  }

  close(): void {
    this.leases.close();
    this.client.close();
  }
}

/** The entries of a lock were changed again and again while a request tried to change them. */
export class LockChangedError extends Error {
  constructor() {
    super('the lock has changed meanwhile');
  }
}

/** How often a transaction is sent again because the queue has changed. */
export const MAX_ATTEMPTS = 10;
/** How long a request waits after an error before it reads again. */
export const RETRY_MS = 500;

interface PendingRead {
  readonly key: string;
  readonly resolve: (kv: KeyValue | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** etcd executes at most 128 operations in a transaction. */
const MAX_READS = 100;
const IGNORE = (): void => {};
