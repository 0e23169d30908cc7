import { admitted, type LockKeys } from './entry.ts';
import { NO_DELETE } from './etcd-messages.ts';
import { type EtcdRequests, RETRY_MS } from './etcd-requests.ts';
import type { WatchStream } from './watch-stream.ts';

/** Calls back once, when an entry waits behind the admitted ones. Returns a function that ends the watch. */
export function watchContention(
  keys: LockKeys,
  requests: EtcdRequests,
  watches: WatchStream,
  onContended: () => void,
): () => void {
  let isOver = false;
  let stop = (): void => {};
  const end = (): void => {
    isOver = true;
    stop();
  };
  const check = async (): Promise<void> => {
    const { entries, revision } = await requests.read(keys);
    if (isOver) return;
    if (entries.length > admitted(entries).length) {
      end();
      onContended();
      return;
    }
    const { first: key, end: rangeEnd } = keys;
    const range = { key, rangeEnd, startRevision: revision + 1, filter: NO_DELETE };
    const again = (): void => {
      stop();
      retry();
    };
    stop = watches.watch(range, { changed: again, gap: again });
  };
  const retry = (): void => {
    check().catch(() => {
      if (!isOver && !requests.client.isClosed) requests.clock.setTimer(RETRY_MS, retry);
    });
  };
  retry();
  return end;
}
