import { LOCK_SCRIPT, REFRESH_MS, RESERVED_MS } from '../../stores/index.ts';
import type { Answer, Doing, Outcome, Tools } from '../recipe.ts';

/** What a client acquires: a mutex, or some permits of a lock with slots. */
export interface Acquisition {
  readonly key: string;
  readonly slots?: number;
  readonly permits?: number;
  /** True if the client writes with its fence. */
  readonly isFenced: boolean;
  /** True if the client writes to the resource. */
  readonly writes: boolean;
}

const SCRIPT = `-- the lock script${LOCK_SCRIPT}`;
const LEASE_MS = 2000;
const RENEW_MS = 1000;
/** The public info of a client: empty. */
const NO_INFO = '["",0,""]';
/** Added to the time until the lock is free: Redis deletes a key in the millisecond after its deadline. */
const MARGIN_MS = 2;

/**
 * The library's algorithm for one acquisition, reduced to its commands: enqueue, refresh the place in the
 * queue, receive the hand-over message, confirm, renew, release. It sends the library's own script, which
 * does all the work in the store.
 */
export function* holdOnce(tools: Tools, acquisition: Acquisition): Doing<Outcome> {
  const { extend, leave, sleep, write } = tools;
  const { isFenced, writes } = acquisition;
  const send = sender(tools, acquisition);
  const fence = yield* acquire(tools, acquisition, send);
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

/** Returns the fence of the grant; undefined if the lock was lost before the client confirmed it. */
function* acquire(
  tools: Tools,
  { permits = 1 }: Acquisition,
  send: Send,
): Doing<number | undefined> {
  const { enter, extend } = tools;
  for (let requests = 1; ; requests++) {
    const answer = Number(yield* send('queue', LEASE_MS));
    if (answer > 0) {
      yield* enter({ leaseMs: LEASE_MS }, permits);
      return answer;
    }
    const message = yield* awaitMessage(tools, send, MARGIN_MS - answer);
    if (message?.isReply) {
      yield* enter({ leaseMs: LEASE_MS }, permits);
      return message.fence;
    }
    // The hand-over happened at an unknown time after the last reply that showed the client in the queue.
    // So the lease counts from that reply.
    const leaseMs = Math.min(LEASE_MS, RESERVED_MS) - (message?.waitedMs ?? 0);
    // After several requests the message may belong to an earlier hand-over.
    if (message === undefined || requests > 1 || leaseMs <= 0) continue;
    yield* enter({ leaseMs }, permits);
    if ((yield* send('extend', LEASE_MS)) !== 1) return undefined;
    yield* extend({ leaseMs: LEASE_MS });
    return message.fence;
  }
}

interface Message {
  readonly fence: number;
  /** The time since the last reply that showed the client in the queue. */
  readonly waitedMs: number;
  /** True for the reply to a refresh: then the whole lease starts now. */
  readonly isReply: boolean;
}

/** Refreshes the place in the queue until a message arrives. Undefined: the place is lost. */
function* awaitMessage(tools: Tools, send: Send, freeInMs: number): Doing<Message | undefined> {
  for (let listenMs = freeInMs; ; ) {
    const received = yield* tools.listen(Math.min(listenMs, REFRESH_MS));
    if (received !== null) {
      const [text, waitedMs] = received;
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

/** Repeats a request whose reply was lost. Requests are idempotent. */
function sender(
  { command, sleep, token, name }: Tools,
  { key, slots, permits = 1 }: Acquisition,
): Send {
  const numbers = slots === undefined ? '' : ` ${slots} ${permits}`;
  return function* send(operation, number) {
    for (;;) {
      try {
        return yield* command`EVAL ${SCRIPT} 1 ${key} ${operation + numbers} ${`${name}.${token} ${NO_INFO}`} ${number}`;
      } catch {
        yield* sleep(1000);
      }
    }
  };
}
