import { clientName } from '../choice.ts';
import { isAlive, type State, stateKey } from '../state.ts';
import type { World } from '../world.ts';
import type { Check } from './check.ts';

/** Time limit for one acquisition without faults. Recipes that serve every client need less. */
const ACQUIRE_TIMEOUT_MS = 20_000;

/**
 * Continues from the state with `fairChoice`: no faults, paused clients resume, each client gets its turn and
 * the clock runs. Every live client must finish. The continuation of a state is unique, and many states
 * share most of theirs, so results are memoized.
 */
export const waiterNotServed: Check = {
  name: 'waiter-not-served',
  about: {
    en: 'A live client never gets the lock, although faults have stopped.',
    zh: '故障停止之后，仍有存活的客户端永远拿不到锁。',
  },
  isCostly: true,
  ofState(state, world) {
    const waiter = unservedIn(state, world);
    if (waiter < 0) return undefined;
    const name = clientName(waiter);
    const seconds = timeoutMs(world) / 1000;
    return {
      en: `no more faults from here on, yet ${name} still waits ${seconds} s later`,
      zh: `此后不再有故障，但 ${seconds} 秒后 ${name} 仍在等待`,
    };
  },
};

function timeoutMs({ options }: World): number {
  return ACQUIRE_TIMEOUT_MS * options.clients * options.rounds;
}

const KNOWN = new WeakMap<World, Map<string, number>>();

/** The first client that does not finish in the fair continuation; -1 if all finish. */
function unservedIn(state: State, world: World): number {
  if (!world.store.remembers) return followFairly(state, world, () => undefined);
  const known = KNOWN.get(world) ?? new Map<string, number>();
  KNOWN.set(world, known);
  const path: string[] = [];
  const unserved = followFairly(state, world, (at) => {
    const key = stateKey(at);
    path.push(key);
    return known.get(key);
  });
  for (const key of path) known.set(key, unserved);
  return unserved;
}

function followFairly(
  state: State,
  world: World,
  lookUp: (at: State) => number | undefined,
): number {
  const deadlineMs = state.nowMs + timeoutMs(world);
  for (let at = state; ; ) {
    const known = lookUp(at);
    if (known !== undefined) return known;
    const next = world.fairChoice(at);
    if (next === undefined) return -1;
    if (at.nowMs > deadlineMs) return at.clients.findIndex(isAlive);
    at = world.step(at, next).after;
  }
}
