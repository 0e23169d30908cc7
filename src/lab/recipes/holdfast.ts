import { LOCK_SCRIPT, RESERVED_MS } from '../../stores/index.ts';
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
 * What the library does for one lock, without all that is not about the lock: it asks and stands in line,
 * hears that it was called, confirms, renews, releases. The script is the one that the library sends, and
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
  const isReleased = (yield* send('release', fence)) === 1;
  return isTaken && isReleased ? 'done' : 'lost';
}

type Send = (verb: string, number: number) => Doing<Answer>;

/** The fence of the grant; undefined if it was lost before it could be confirmed. */
function* acquire(tools: Tools, { take = 1 }: Wish, send: Send): Doing<number | undefined> {
  const { enter, extend } = tools;
  for (let asked = 1; ; asked++) {
    const answer = Number(yield* send('line', LEASE_MS));
    if (answer > 0) {
      yield* enter({ leaseMs: LEASE_MS }, take);
      return answer;
    }
    const call = yield* hearCall(tools, MARGIN_MS - answer);
    // It was handed over after we asked, but when is not known: it is ours for what is left since then.
    const leaseMs = Math.min(LEASE_MS, RESERVED_MS) - call.waitedMs;
    // Who asked more than once may have been passed over since.
    if (call.fence === 0 || asked > 1 || leaseMs <= 0) continue;
    yield* enter({ leaseMs }, take);
    if ((yield* send('extend', LEASE_MS)) !== 1) return undefined;
    yield* extend({ leaseMs: LEASE_MS });
    return call.fence;
  }
}

/** Listens for so long; a fence of 0: it is time to ask again. */
function* hearCall({ listen, token }: Tools, listenMs: number): Doing<Call> {
  let waitedMs = 0;
  for (let patienceMs = listenMs; ; ) {
    const heard = yield* listen(patienceMs);
    if (heard === null) return { fence: 0, waitedMs };
    const [text, afterMs] = heard;
    const [fence, owner] = text.split(' ', 2);
    waitedMs += afterMs;
    if (owner === token && fence !== '0') return { fence: Number(fence), waitedMs };
    // The one before us was called: if it has died, we find the lock free after its reservation.
    patienceMs = owner === token ? RESERVED_MS : Math.max(1, patienceMs - afterMs);
  }
}

interface Call {
  readonly fence: number;
  readonly waitedMs: number;
}

/** Requests are safe to repeat: one whose reply was lost is sent again. */
function sender({ command, sleep, token, name }: Tools, { key, slots, take = 1 }: Wish): Send {
  const numbers = slots === undefined ? '' : ` ${slots} ${take}`;
  return function* send(verb, number) {
    for (;;) {
      try {
        return yield* command`EVAL ${SCRIPT} 1 ${key} ${name} ${verb + numbers} ${`${token} ${NOTHING_KNOWN}`} ${number}`;
      } catch {
        yield* sleep(1000);
      }
    }
  };
}
