import {
  type AcquireResult,
  type LockRequest,
  type LockTarget,
  otherSlots,
  StolenError,
} from '../../lock/index.ts';
import { admitted, type Entry, isUnchanged, type LockKeys } from './entry.ts';
import type { Operation } from './etcd-messages.ts';
import { type EtcdRequests, LockChangedError, MAX_ATTEMPTS } from './etcd-requests.ts';
import type { OwnEntries } from './own-entries.ts';
import { granted } from './own-entry.ts';
import type { Renewals } from './renewals.ts';

/** Ends admitted entries of other owners: an adoption and a steal take their place, a forced release does not. */
export class Takeovers {
  readonly #requests: EtcdRequests;
  readonly #entries: OwnEntries;
  readonly #renewals: Renewals;

  constructor(requests: EtcdRequests, entries: OwnEntries, renewals: Renewals) {
    this.#requests = requests;
    this.#entries = entries;
    this.#renewals = renewals;
  }

  /** Replaces the entry of the giver by one with the same place, so that the waiters stay behind it. */
  async adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    const sentMs = this.#requests.clock.monotonicMs();
    const keys = this.#entries.keysOf(request);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { entries, revision } = await this.#requests.read(keys);
      const held = admitted(entries);
      const mine = held.find(({ owner }) => owner === request.owner);
      if (mine !== undefined) return this.#takenOver(request, mine, sentMs);
      const giver = held.find(({ owner }) => owner === from.owner);
      if (giver === undefined) break;
      const own = this.#entries.add({ ...request, permits: giver.permits }, giver.place);
      const { reply, lease } = await this.#requests.write(request.leaseMs, sentMs, (lease) => ({
        compare: [isUnchanged(giver.key, giver.modRevision), keys.frontUnchangedSince(revision)],
        success: [{ delete: { key: giver.key } }, this.#entries.put(own, lease)],
        failure: [],
      }));
      if (reply.succeeded) {
        own.lease = lease;
        this.#entries.dropped(giver, keys);
        return this.#entries.hold(own, reply.header.revision, sentMs);
      }
      this.#entries.forget(own);
    }
    return { type: 'busy', retryInMs: 0 };
  }

  /** Deletes the admitted entries and takes the place of the first one. */
  async steal(request: LockRequest, sentMs: number): Promise<AcquireResult> {
    const keys = this.#entries.keysOf(request);
    const reason = new StolenError(request.info, request.stealReason!);
    const mark = await this.#forcedMark(keys);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { entries, revision } = await this.#requests.read(keys);
      const held = admitted(entries);
      const mine = held.find(({ owner }) => owner === request.owner);
      if (mine !== undefined) return this.#takenOver(request, mine, sentMs);
      const [waiter] = entries.slice(held.length);
      if (waiter !== undefined && waiter.slots !== request.slots) {
        throw otherSlots(request.name, waiter.slots, request.slots);
      }
      if (held.length > MAX_DELETES) {
        await this.#delete(held.slice(0, MAX_DELETES), keys);
        continue;
      }
      const own = this.#entries.add(request, held[0]?.place ?? revision);
      const { reply, lease } = await this.#requests.write(request.leaseMs, sentMs, (lease) => ({
        // Not only those entries: another one that was admitted and confirmed since must not be passed over.
        compare: [keys.unchangedSince(revision)],
        success: [...deletesOf(held), this.#entries.put(own, lease), mark],
        failure: [],
      }));
      if (reply.succeeded) {
        own.lease = lease;
        for (const entry of held) this.#entries.dropped(entry, keys, reason);
        return this.#entries.hold(own, reply.header.revision, sentMs);
      }
      this.#entries.forget(own);
    }
    throw new LockChangedError();
  }

  /** The request is repeated: its entry has taken the place of another already. */
  async #takenOver(request: LockRequest, mine: Entry, sentMs: number): Promise<AcquireResult> {
    const own = this.#entries.at(request, mine);
    const isHeld = own.state === 'held';
    if (!isHeld) this.#entries.hold(own, mine.modRevision, sentMs, mine.fence);
    const isThere = await (isHeld
      ? this.#renewals.extend(request)
      : this.#entries.move(own, sentMs));
    return isThere ? granted(own.fence) : { type: 'busy', retryInMs: 0 };
  }

  /** Returns the number of leases that were ended. */
  async forceRelease(target: LockTarget): Promise<number> {
    const keys = this.#entries.keysOf(target);
    const mark = await this.#forcedMark(keys);
    let count = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const held = admitted((await this.#requests.read(keys)).entries);
      const isDeleted = await this.#delete(held.slice(0, MAX_DELETES), keys, mark);
      if (isDeleted) count += Math.min(held.length, MAX_DELETES);
      if (isDeleted && held.length <= MAX_DELETES) return count;
    }
    throw new LockChangedError();
  }

  /** By this key, a holder that repeats its release learns that the lock was released by force. */
  async #forcedMark(keys: LockKeys): Promise<Operation> {
    const { id: lease } = await this.#requests.leases.of(MARK_MS);
    return { put: { key: keys.forced, value: '', lease } };
  }

  /** Deletes these entries, unless one of them has changed. */
  async #delete(
    entries: readonly Entry[],
    keys: LockKeys,
    ...others: readonly Operation[]
  ): Promise<boolean> {
    if (entries.length === 0) return true;
    const { succeeded } = await this.#requests.txn({
      compare: entries.map(({ key, modRevision }) => isUnchanged(key, modRevision)),
      success: [...deletesOf(entries), ...others],
      failure: [],
    });
    const reason = new Error('the lock was released by force');
    if (succeeded) for (const entry of entries) this.#entries.dropped(entry, keys, reason);
    return succeeded;
  }
}

const MAX_DELETES = 100;
/** How long the mark of a forced release stays: longer than holders repeat a release whose reply was lost. */
const MARK_MS = 60_000;

function deletesOf(entries: readonly Entry[]): Operation[] {
  return entries.map(({ key }) => ({ delete: { key } }));
}
