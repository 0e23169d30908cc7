import type { LockStore } from '../lock/index.ts';
import {
  HistoryReader,
  type LockHistoryEvent,
  type LockSource,
  type NewEvents,
  readHistory,
  redisLocks,
  type ScriptServers,
  type SendCommand,
  storeLocks,
} from '../stores/index.ts';
import type { PageEvent, PageLock, ServerFigures } from './protocol.ts';
import { readFigures } from './server-figures.ts';
import { ServerMetrics } from './server-metrics.ts';

/** What the page reads, and changes by a forced release. */
export interface PageSource {
  readonly locks: LockSource;
  /** Undefined: there are no events. */
  readonly history: PageHistory | undefined;
  /** Undefined: the store has no figures. */
  readonly figures: (() => Promise<ServerFigures>) | undefined;
  /** Undefined: there are none. */
  readonly metrics: PageMetrics | undefined;
  close(): void;
}

/** Makes the text of /metrics. */
export interface PageMetrics {
  /** Receives every event of the history once, and the number of those that were dropped before. */
  add(events: readonly PageEvent[], missed: number): void;
  /** `readLocks` lists the locks, or rejects. Rejects if the store does not answer. */
  text(readLocks: () => Promise<readonly PageLock[]>): Promise<string>;
}

export interface PageHistory {
  /** Which events it has: of all clients of a server, or of this process. */
  readonly kind: 'server' | 'process';
  /** The events since the last call. */
  next(): Promise<NewEvents>;
  /** The newest events of the locks with one name, oldest first. */
  ofName(nameBytes: string, count: number): Promise<readonly LockHistoryEvent[]>;
}

/** A Redis, or `holdfast serve`, which has a history. */
export async function serverSource(
  servers: ScriptServers & { readonly send: SendCommand },
  prefix = '',
): Promise<PageSource> {
  const { send } = servers;
  const locks = redisLocks(servers, prefix);
  return {
    locks,
    history: (await hasHistory(send)) ? serverHistory(send, prefix) : undefined,
    figures: () => readFigures(send),
    metrics: serverMetrics(send),
    close: () => locks.close(),
  };
}

/** Another store, through the contract of stores. */
export function storeSource(
  store: LockStore,
  label: string,
  history: PageHistory | undefined,
): PageSource {
  const locks = storeLocks(store, label);
  return { locks, history, figures: undefined, metrics: undefined, close: () => locks.close() };
}

/** A Redis does not know the command. A failure of the connection is the caller's. */
async function hasHistory(send: SendCommand): Promise<boolean> {
  const [facts] = (await send(['COMMAND', 'INFO', 'HOLDFAST.HISTORY'])) as unknown[];
  return Array.isArray(facts) && facts.length > 0;
}

function serverMetrics(send: SendCommand): PageMetrics {
  const metrics = new ServerMetrics();
  return {
    add: (events, missed) => metrics.add(events, missed),
    async text(readLocks) {
      // A server that refuses scripts, as one that has restarted without its data, still has its figures.
      const locks = await readLocks().catch(() => undefined);
      return metrics.text(String(await send(['INFO', 'everything'])), locks);
    },
  };
}

function serverHistory(send: SendCommand, prefix: string): PageHistory {
  const reader = new HistoryReader(send, prefix);
  return {
    kind: 'server',
    next: () => reader.next(),
    ofName: (nameBytes, count) => readHistory(send, { nameBytes, prefix, count }),
  };
}
