import type { Clock, Timer } from '../../clock/index.ts';
import type { EtcdClient } from './etcd-client.ts';
import { WATCH, type WatchEvent, type WatchReply } from './etcd-messages.ts';
import type { GrpcStream } from './grpc-connection.ts';

/**
 * One watch stream for all watches of a store. When the stream ends, or requests move to another member, it is opened
 * again, and every watch continues from the first revision that it has not seen: no event is lost or repeated.
 */
export class WatchStream {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #watches = new Map<number, Watch>();
  #lastId = 0;
  #stream: GrpcStream | undefined;
  #isOpening = false;
  /** Counts the connections that were retired: a stream that was opened on one of them is of no use. */
  #retiredCount = 0;
  #retryTimer: Timer | undefined;
  #pauseMs = MIN_PAUSE_MS;

  constructor(client: EtcdClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    client.onRetired(() => this.#restart());
  }

  /** Watches a range of keys. Returns a function that ends the watch. */
  watch(range: WatchRange, listener: WatchListener): () => void {
    const id = ++this.#lastId;
    const watch = { range, listener, nextRevision: range.startRevision };
    this.#watches.set(id, watch);
    if (this.#stream !== undefined) this.#create(this.#stream, id, watch);
    else this.#open();
    return () => {
      if (!this.#watches.delete(id)) return;
      this.#stream?.send(WATCH.request.encode({ cancel: { watchId: id } }));
    };
  }

  close(): void {
    this.#retryTimer?.cancel();
    this.#watches.clear();
    this.#stream?.close();
    this.#stream = undefined;
  }

  #open(): void {
    if (this.#isOpening || this.#client.isClosed || this.#watches.size === 0) return;
    this.#isOpening = true;
    this.#retryTimer?.cancel();
    const retiredCount = this.#retiredCount;
    let stream: GrpcStream | undefined;
    let isOver = false;
    const ended = (): void => {
      isOver = true;
      // A stream that was replaced ends later than the new one begins.
      if (stream === this.#stream) this.#reopen();
    };
    const received = (bytes: Buffer): void => {
      if (stream !== undefined && stream === this.#stream)
        this.#received(WATCH.reply.decode(bytes));
    };
    this.#client.stream(WATCH.path, { received, ended }).then(
      (opened) => {
        this.#isOpening = false;
        if (isOver || opened === undefined || retiredCount !== this.#retiredCount) {
          opened?.close();
          this.#reopen();
          return;
        }
        stream = opened;
        this.#stream = opened;
        for (const [id, watch] of this.#watches) this.#create(opened, id, watch);
      },
      () => {
        this.#isOpening = false;
        this.#reopen();
      },
    );
  }

  #reopen(): void {
    this.#stream = undefined;
    if (this.#client.isClosed) return;
    this.#retryTimer?.cancel();
    this.#retryTimer = this.#clock.setTimer(this.#pauseMs, () => this.#open());
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
  }

  #restart(): void {
    this.#retiredCount++;
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.close();
    this.#open();
  }

  #create(stream: GrpcStream, watchId: number, { range, nextRevision }: Watch): void {
    const { key, rangeEnd, filter } = range;
    const create = { key, rangeEnd, startRevision: nextRevision, filters: [filter], watchId };
    stream.send(WATCH.request.encode({ create }));
  }

  #received({ watchId, events, canceled, compactRevision }: WatchReply): void {
    this.#pauseMs = MIN_PAUSE_MS;
    const watch = this.#watches.get(watchId);
    if (canceled) {
      this.#canceled(watchId, watch, compactRevision);
      return;
    }
    if (watch === undefined || events.length === 0) return;
    // Not the revision of the header: a watch that catches up gets older events in several replies.
    watch.nextRevision = events.at(-1)!.kv.modRevision + 1;
    watch.listener.changed(events);
  }

  /**
   * Compaction has removed events that this watch has not seen: its owner must read the keys. For any other reason, such
   * as the end of a token, open the stream again.
   */
  #canceled(id: number, watch: Watch | undefined, compactRevision: number): void {
    if (compactRevision > 0 && watch !== undefined) {
      this.#watches.delete(id);
      watch.listener.gap();
    } else if (watch !== undefined || id > this.#lastId) {
      this.#stream?.close();
    }
  }
}

interface WatchRange {
  readonly key: string;
  readonly rangeEnd: string;
  readonly startRevision: number;
  /** NO_PUT or NO_DELETE. */
  readonly filter: number;
}

export interface WatchListener {
  /** Keys were put or deleted, in this order. `modRevision` is the revision of the event. */
  changed(events: readonly WatchEvent[]): void;
  /** Events may have been lost, and the watch has ended. */
  gap(): void;
}

interface Watch {
  readonly range: WatchRange;
  readonly listener: WatchListener;
  nextRevision: number;
}

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2000;
