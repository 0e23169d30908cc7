import type { HolderInfo, LockRequest, LockTarget } from '../../lock/index.ts';
import {
  ASCENDING,
  BY_CREATION,
  type Compare,
  CREATE_REVISION,
  EQUAL,
  GREATER,
  type KeyValue,
  LESS,
  MOD_REVISION,
  type Operation,
  type TxnReply,
} from './etcd-messages.ts';

/**
 * A key of etcd: one request in the queue of a lock. Its owner holds the lock if the entry is admitted.
 *
 * An entry is admitted if all entries before it are, and the sum of their permits and its own is at most the slots. The
 * order is that of the places. Entries are added at the end and removed anywhere, so that the sum before an entry only
 * falls: a grant stays a grant until its key is deleted. Two requests add an entry that is not at the end. An adoption
 * replaces one by another with the same place and permits. A steal removes all admitted entries and takes the place of
 * the first one. Both write to the front of the lock: a confirmation compares that no key there has changed since the
 * queue was read, see LockQueue.
 */
export interface Entry {
  readonly key: string;
  readonly owner: string;
  readonly permits: number;
  readonly slots: number;
  readonly place: number;
  readonly fence: number;
  readonly createRevision: number;
  readonly modRevision: number;
  /** The id of its lease in etcd. */
  readonly lease: number;
  readonly leaseMs: number;
  readonly info: HolderInfo;
  /** When it was granted, by the wall clock of its holder: only for people. */
  readonly grantedWallMs: number;
  readonly stealReason: string | undefined;
}

/** What the value of a key holds, in JSON. */
interface StoredValue {
  readonly owner: string;
  readonly permits: number;
  readonly slots: number;
  readonly leaseMs: number;
  readonly host: string;
  readonly pid: number;
  readonly label: string;
  readonly at: number;
  /** Left out: the create revision of the key. */
  readonly place?: number | undefined;
  /** Left out: the mod revision of the key. */
  readonly fence?: number | undefined;
  readonly stealReason?: string | undefined;
}

/** What a request writes beside its own fields. */
export interface ValueOptions {
  readonly at: number;
  readonly place?: number | undefined;
  readonly fence?: number | undefined;
}

export function storedValue(
  { owner, permits, slots, leaseMs, info, stealReason }: LockRequest,
  { at, place, fence }: ValueOptions,
): string {
  const { host, pid, label } = info;
  const holder = { host, pid, label, at, place, fence, stealReason };
  const value = { owner, permits, slots, leaseMs, ...holder };
  return JSON.stringify(value satisfies StoredValue);
}

/**
 * A key whose value is not that of an entry, which another program has put, counts as one permit of one slot. So does
 * each field with a wrong value: an entry of no permits would let another client pass, and one of a text would let
 * none.
 */
export function entryOf({ key, value, createRevision, modRevision, lease }: KeyValue): Entry {
  const stored = parsed(value);
  const { stealReason } = stored;
  const slot = key.slice(key.lastIndexOf('/') + 1);
  return {
    key,
    owner: textOr(slot, stored.owner),
    permits: countOr(1, stored.permits),
    slots: countOr(1, stored.slots),
    place: countOr(createRevision, stored.place),
    fence: countOr(modRevision, stored.fence),
    createRevision,
    modRevision,
    lease,
    leaseMs: countOr(0, stored.leaseMs),
    info: {
      host: textOr('?', stored.host),
      pid: countOr(0, stored.pid),
      label: textOr('', stored.label),
    },
    grantedWallMs: countOr(0, stored.at),
    stealReason: typeof stealReason === 'string' ? stealReason : undefined,
  };
}

function countOr(other: number, given: unknown): number {
  return typeof given === 'number' && given >= 1 ? given : other;
}

function textOr(other: string, given: unknown): string {
  return typeof given === 'string' ? given : other;
}

function parsed(value: string): { readonly [Name in keyof StoredValue]?: unknown } {
  try {
    const stored: unknown = JSON.parse(value);
    return typeof stored === 'object' && stored !== null ? stored : {};
  } catch {
    return {};
  }
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The entries in replies to operations, in the order of their places. */
export function entriesOf(replies: TxnReply['responses']): Entry[] {
  return replies
    .flatMap(({ range }) => range?.kvs ?? [])
    .map(entryOf)
    .sort(byPlace);
}

export function byPlace(one: Entry, other: Entry): number {
  return one.place - other.place;
}

/** The admitted entries, of entries in the order of their places. */
export function admitted(entries: Iterable<Entry>): Entry[] {
  const held: Entry[] = [];
  let sum = 0;
  for (const entry of entries) {
    sum += entry.permits;
    if (sum > entry.slots) break;
    held.push(entry);
  }
  return held;
}

export function isAdmitted(entries: Iterable<Entry>, key: string): boolean {
  return admitted(entries).some((entry) => entry.key === key);
}

/**
 * The keys of one lock: `<prefix><kind>/<name>/1/<slot>` for entries at the end of the queue, and `…/0/<slot>` for those
 * that took the place of another. `…/f` marks the last forced release. A slot names the client, and is used again by its
 * next entry: until a compaction, etcd visits all keys of a range that ever existed.
 */
export class LockKeys {
  readonly lock: string;

  constructor(prefix: string, { kind, name }: LockTarget) {
    this.lock = `${prefix}${kind}/${encodeURIComponent(name)}/`;
  }

  /** Identifies the request of an owner for this lock, wherever its entry is. */
  idOf(owner: string): string {
    return `${this.lock}${owner}`;
  }

  inQueue(slot: string): string {
    return `${this.lock}1/${slot}`;
  }

  inFront(slot: string): string {
    return `${this.lock}0/${slot}`;
  }

  get forced(): string {
    return `${this.lock}f`;
  }

  /** A key that no entry has. */
  get none(): string {
    return `${this.lock}n`;
  }

  get first(): string {
    return `${this.lock}0/`;
  }

  get end(): string {
    return `${this.lock}10`;
  }

  /** All entries; or all in front, and those of the queue that were created from this revision on. */
  read(minCreateRevision = 0): Operation[] {
    if (minCreateRevision <= 1) return [{ range: { key: this.first, rangeEnd: this.end } }];
    const queue = { key: `${this.lock}1/`, rangeEnd: this.end, minCreateRevision };
    return [this.#readFront(), { range: queue }];
  }

  /** Two ranges: all entries in front, and the first ones of the queue. */
  readFirst(limit: number): Operation[] {
    const order = { sortOrder: ASCENDING, sortTarget: BY_CREATION, limit };
    const queue = { key: `${this.lock}1/`, rangeEnd: this.end, ...order };
    return [this.#readFront(), { range: queue }];
  }

  #readFront(): Operation {
    return { range: { key: this.first, rangeEnd: `${this.lock}00` } };
  }

  /** No entry was added or changed after this revision. With 0: there is none. */
  unchangedSince(revision: number): Compare {
    return { ...this.#changedBefore(revision), key: this.first, rangeEnd: this.end };
  }

  /** No entry in front was added or changed after this revision. */
  frontUnchangedSince(revision: number): Compare {
    return { ...this.#changedBefore(revision), key: this.first, rangeEnd: `${this.lock}00` };
  }

  #changedBefore(revision: number): Omit<Compare, 'key'> {
    return { target: MOD_REVISION, result: LESS, modRevision: revision + 1 };
  }
}

export function isAbsent(key: string): Compare {
  return { key, target: CREATE_REVISION, result: EQUAL, createRevision: 0 };
}

export function isPresent(key: string): Compare {
  return { key, target: CREATE_REVISION, result: GREATER, createRevision: 0 };
}

export function isUnchanged(key: string, modRevision: number): Compare {
  return { key, target: MOD_REVISION, result: EQUAL, modRevision };
}
