import { LOCK_SCRIPT, REFRESH_MS, RESERVED_MS } from '../../stores/index.ts';
import type { Answer, Doing, Outcome, Tools } from '../recipe.ts';

/** What a client takes of which lock: a mutex, or so much of so many slots. */
export interface Wish {
  readonly key: string;
  readonly slots?: number;
  readonly take?: number;
  /** Whether the resource is given the fence. */
  readonly isFenced: boolean;
  /** Whether it changes the resource at all. */
  readonly writes: boolean;
}

const SCRIPT = `-- the lock script${LOCK_SCRIPT}`;
const LEASE_MS = 2000;
const RENEW_MS = 1000;
/** What others may know of a client. */
const NOTHING_KNOWN = '["",0,""]';
/** Redis ends a key in the millisecond after its last. */
const MARGIN_MS = 2;

/**
 * What the library does for one lock, without all that is not about the lock: it enters the queue, refreshes its place,
 * receives a message, confirms, renews, releases. The script is the one that the library sends, and
 * it does all that happens in the store.
 */
export function* holdOnce(tools: Tools, wish: Wish): Doing<Outcome> {
  const { extend, leave, sleep, write } = tools;
  const { isFenced, writes } = wish;
  const send = sender(tools, wish);
  const fence = yield* acquire(tools, wish, send);
  if (fence === undefined) return 'lost';
  yield* sleep(RENEW_MS);
  if ((yield* send('extend', LEASE_MS)) !== 1) return 'lost';
  yield* extend({ leaseMs: LEASE_MS });
  const isTaken = !writes || (yield* write(isFenced ? fence : undefined));
  yield* leave();
  const isReleased = (yield* send('release', LEASE_MS)) === 1;
  return isTaken && isReleased ? 'done' : 'lost';
}

type Send = (operation: string, number: number) => Doing<Answer>;

/** The fence of the grant; undefined if it was lost before it could be confirmed. */
function* acquire(tools: Tools, { take = 1 }: Wish, send: Send): Doing<number | undefined> {
  const { enter, extend } = tools;
  for (let asked = 1; ; asked++) {
    const answer = Number(yield* send('queue', LEASE_MS));
    if (answer > 0) {
      yield* enter({ leaseMs: LEASE_MS }, take);
      return answer;
    }
    const message = yield* awaitMessage(tools, send, MARGIN_MS - answer);
    if (message?.isReply) {
      yield* enter({ leaseMs: LEASE_MS }, take);
      return message.fence;
    }
    // It was handed over after it was seen in the queue, but when is not known: it is ours for what is left since then.
    const leaseMs = Math.min(LEASE_MS, RESERVED_MS) - (message?.waitedMs ?? 0);
    // A client that asked more than once may have been handed the lock before.
    if (message === undefined || asked > 1 || leaseMs <= 0) continue;
    yield* enter({ leaseMs }, take);
    if ((yield* send('extend', LEASE_MS)) !== 1) return undefined;
    yield* extend({ leaseMs: LEASE_MS });
    return message.fence;
  }
}

interface Message {
  readonly fence: number;
  /** The time since the client was seen in the queue. */
  readonly waitedMs: number;
  /** The reply to a refresh: the whole lease begins now. */
  readonly isReply: boolean;
}

/** Refreshes the place in the queue until a message comes. Undefined: the place is lost. */
function* awaitMessage(tools: Tools, send: Send, freeInMs: number): Doing<Message | undefined> {
  for (let listenMs = freeInMs; ; ) {
    const heard = yield* tools.listen(Math.min(listenMs, REFRESH_MS));
    if (heard !== null) {
      const [text, waitedMs] = heard;
      return { fence: Number(text.split(' ', 1)[0]), waitedMs, isReply: false };
    }
    const reply = yield* send('refresh', LEASE_MS);
    if (Array.isArray(reply)) {
      const [, [, fence]] = reply as [number, [string, string]];
      return { fence: Number(fence), waitedMs: 0, isReply: true };
    }
    const answer = Number(reply);
    if (answer === 0) return undefined;
    listenMs = MARGIN_MS + answer;
  }
}

/** Requests are safe to repeat: one whose reply was lost is sent again. */
function sender({ command, sleep, token, name }: Tools, { key, slots, take = 1 }: Wish): Send {
  const numbers = slots === undefined ? '' : ` ${slots} ${take}`;
  return function* send(operation, number) {
    for (;;) {
      try {
        return yield* command`EVAL ${SCRIPT} 1 ${key} ${operation + numbers} ${`${name}.${token} ${NOTHING_KNOWN}`} ${number}`;
      } catch {
        yield* sleep(1000);
      }
    }
  };
}
