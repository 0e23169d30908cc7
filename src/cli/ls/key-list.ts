import {
  addUnreadable,
  type ListedKey,
  MAX_LISTED,
  NONE_UNREADABLE,
  scanKeys,
  type Unreadable,
} from '../../stores/index.ts';
import type { Servers } from './servers.ts';

/** Keys that may be locks, in the order of their names. */
export interface KeyList extends Unreadable {
  readonly keys: readonly ListedKey[];
  /** There are more than the limit. */
  readonly isCut: boolean;
}

/** The names of locks in most recipes: `lock.foo`, `lock:foo`, `lock_foo`, `lockkey`. */
export const FOREIGN_PATTERN = 'lock*';

export const NO_KEYS: KeyList = { keys: [], isCut: false, ...NONE_UNREADABLE };

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
  let unreadable = NONE_UNREADABLE;
  for (const { run } of await servers.masters()) {
    for await (const page of scanKeys(run, pattern, which)) {
      for (const key of page.keys)
        if (admits(key)) found.set(`${key.keySize} ${key.keyBytes}`, key);
      unreadable = addUnreadable(unreadable, page);
      if (found.size > MAX_LISTED) break;
    }
  }
  return {
    keys: sorted(found).slice(0, MAX_LISTED),
    isCut: found.size > MAX_LISTED,
    ...unreadable,
  };
}

function sorted(found: ReadonlyMap<string, ListedKey>): ListedKey[] {
  return [...found.values()].sort((one, other) => (one.keyBytes < other.keyBytes ? -1 : 1));
}
