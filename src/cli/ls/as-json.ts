import type {
  ForcedRelease,
  ListedHolder,
  ListedKey,
  ListedLock,
  ListedWaiter,
  LockList,
} from '../../stores/index.ts';
import type { KeyList } from './key-list.ts';

/** The list as JSON data: times in milliseconds, numbers as numbers. */
export function listData(store: string, atMs: number, list: LockList): object {
  const { locks, isCut: truncated, unreadableCount: unreadable } = list;
  return {
    store,
    at: new Date(atMs).toISOString(),
    truncated,
    unreadable,
    locks: locks.map(lockData),
  };
}

/** The same for foreign keys. */
export function keysData(store: string, atMs: number, list: KeyList): object {
  return { store, at: new Date(atMs).toISOString(), ...keyListData(list) };
}

export function keyListData({ keys, isCut, unreadableCount }: KeyList): object {
  return { truncated: isCut, unreadable: unreadableCount, keys: keys.map(keyData) };
}

function keyData(key: ListedKey): object {
  const { keyBytes, keySize, type, guess, valueBytes, size, leftMs = null, idleMs = null } = key;
  const isTimestamp = guess.kind === 'timestamp';
  return {
    ...textData('name', keyBytes),
    nameSize: keySize,
    kind: guess.kind,
    type,
    ...textData('value', valueBytes),
    size,
    leftMs,
    idleMs,
    endsAt: isTimestamp ? new Date(guess.endMs).toISOString() : null,
    hasEnded: isTimestamp ? guess.hasEnded : null,
  };
}

export function lockData(lock: ListedLock): object {
  const { kind, nameBytes, holderCount, holders, waiterCount, waiters } = lock;
  return {
    ...textData('name', nameBytes),
    kind,
    holderCount,
    holders: holders.map(holderData),
    waiterCount,
    waiters: waiters.map(waiterData),
  };
}

export function forcedData({ atMs, ...forced }: ForcedRelease): object {
  return { at: new Date(atMs).toISOString(), ...forced };
}

function holderData(holder: ListedHolder): object {
  const { foreignType: type = null, fence = null, ageMs = null, leftMs = null } = holder;
  return { ...partyData(holder), type, fence, ageMs, leftMs };
}

function waiterData(waiter: ListedWaiter): object {
  return { ...partyData(waiter), leaseMs: waiter.leaseMs ?? null, holds: waiter.holds ?? [] };
}

function partyData({ info, owner, permits }: ListedHolder | ListedWaiter): object {
  const { host = null, pid = null, label = null } = info ?? {};
  return { foreign: info === undefined, host, pid, label, ...textData('owner', owner), permits };
}

/** Bytes that are not UTF-8 are added in base64, since JSON text cannot represent them. */
export function textData(field: 'name' | 'owner' | 'pattern' | 'value', bytes: string): object {
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  const isUtf8 = Buffer.from(text, 'utf8').equals(buffer);
  return {
    [field]: text,
    ...(isUtf8 ? {} : { [`${field}Base64`]: buffer.toString('base64') }),
  };
}
