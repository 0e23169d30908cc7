import { type ListedKey, scanKeys } from '../../stores/index.ts';
import { textOf } from '../bytes.ts';
import { messageText, printable } from '../printable.ts';
import { MAX_LISTED } from './lock-list.ts';
import type { Servers } from './servers.ts';
import { counted } from './words.ts';

/** Keys that may be locks, in the order of their names. */
export interface KeyList {
  readonly keys: readonly ListedKey[];
  /** There are more than the limit. */
  readonly isCut: boolean;
  /** Keys that match and are missing, because the server refused to tell of them. */
  readonly unreadableCount: number;
  /** The first error that it gave; empty if there is none. */
  readonly failureBytes: string;
}

/** The names of locks in most recipes: `lock.foo`, `lock:foo`, `lock_foo`, `lockkey`. */
export const FOREIGN_PATTERN = 'lock*';

export const NO_KEYS: KeyList = {
  keys: [],
  isCut: false,
  unreadableCount: 0,
  failureBytes: '',
};

/** The keys of a store that match a pattern and are no locks of Holdfast, each once. */
export function listForeign(servers: Servers, pattern: string): Promise<KeyList> {
  return listKeys(servers, pattern, 'all', ({ guess }) => guess.kind !== 'holdfast');
}

/** The locks of a store that match a pattern and have no TTL, also those of Holdfast. */
export function listEndless(servers: Servers, pattern: string): Promise<KeyList> {
  return listKeys(servers, pattern, 'endless', ({ guess }) => guess.kind !== 'other');
}

async function listKeys(
  servers: Servers,
  pattern: string,
  which: 'all' | 'endless',
  admits: (key: ListedKey) => boolean,
): Promise<KeyList> {
  const found = new Map<string, ListedKey>();
  let unreadableCount = 0;
  let firstFailure = '';
  for (const { run } of await servers.masters()) {
    for await (const page of scanKeys(run, pattern, which)) {
      for (const key of page.keys)
        if (admits(key)) found.set(`${key.keySize} ${key.keyBytes}`, key);
      unreadableCount += page.unreadableCount;
      firstFailure ||= page.failureBytes;
      if (found.size > MAX_LISTED) break;
    }
  }
  return {
    keys: sorted(found).slice(0, MAX_LISTED),
    isCut: found.size > MAX_LISTED,
    unreadableCount,
    failureBytes: firstFailure,
  };
}

/** What a list lacks, in a sentence; empty: nothing. */
export function unreadableText(
  { unreadableCount, failureBytes }: KeyList,
  pattern: string,
): string {
  if (unreadableCount === 0) return '';
  return (
    `${counted(unreadableCount, 'key')} that ${unreadableCount === 1 ? 'matches' : 'match'} ` +
    `${printable(pattern)} cannot be read: ${messageText(textOf(failureBytes)).replace(/\.?$/, '.')}`
  );
}

function sorted(found: ReadonlyMap<string, ListedKey>): ListedKey[] {
  return [...found.values()].sort((one, other) => (one.keyBytes < other.keyBytes ? -1 : 1));
}
