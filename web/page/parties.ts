import type { PageClient, PageLock } from '../../src/page/protocol.ts';

/** `host:pid`, with the label behind it. Empty for a program that does not use Holdfast. */
export function clientText(client: PageClient | null): string {
  if (client === null) return '';
  return client.label === '' ? processText(client) : `${processText(client)} ${client.label}`;
}

/** What identifies a process: `host:pid`. */
export function processText({ host, pid }: PageClient): string {
  return `${host}:${pid}`;
}

/** What one process holds and waits for. */
export interface ClientRow {
  /** Null: all programs that do not use Holdfast. */
  readonly client: PageClient | null;
  readonly holds: PageLock[];
  readonly waits: PageLock[];
}

/** The processes of all locks: those that wait for most first. */
export function clientRows(locks: Iterable<PageLock>): ClientRow[] {
  const rows = new Map<string, ClientRow>();
  const rowOf = (client: PageClient | null): ClientRow => {
    const key = client === null ? '' : processText(client);
    let row = rows.get(key);
    if (row === undefined) {
      row = { client, holds: [], waits: [] };
      rows.set(key, row);
    }
    return row;
  };
  for (const lock of locks) {
    for (const { client } of lock.holders) addOnce(rowOf(client).holds, lock);
    for (const { client } of lock.waiters) addOnce(rowOf(client).waits, lock);
  }
  return [...rows.entries()]
    .sort(
      ([a, first], [b, second]) =>
        second.waits.length - first.waits.length ||
        second.holds.length - first.holds.length ||
        (a < b ? -1 : 1),
    )
    .map(([, row]) => row);
}

/** The parties of one lock are added together, so a second one of the same process finds the lock at the end. */
function addOnce(list: PageLock[], lock: PageLock): void {
  if (list.at(-1) !== lock) list.push(lock);
}
