import { clientName } from '../choice.ts';
import { isAlive, type State, stateKey } from '../state.ts';
import type { World } from '../world.ts';
import type { Check } from './check.ts';

/** No recipe that serves everybody takes so long for one acquisition once faults have stopped. */
const PATIENCE_MS = 20_000;

/**
 * From this state on no fault happens, the paused go on, everybody gets his turn and the clock runs.
 * Whoever still lives must then come to his end. This has one continuation for each state, and many
 * states share most of theirs, so the answers are kept.
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
    const seconds = patienceMs(world) / 1000;
    return {
      en: `no more faults from here on, yet ${name} still waits ${seconds} s later`,
      zh: `此后不再有故障，但 ${seconds} 秒后 ${name} 仍在等待`,
    };
  },
};

function patienceMs({ options }: World): number {
  return PATIENCE_MS * options.clients * options.rounds;
}

const KNOWN = new WeakMap<World, Map<string, number>>();

/** Who is left over in the fair continuation; -1: nobody. */
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
  const deadlineMs = state.nowMs + patienceMs(world);
  for (let at = state; ; ) {
    const known = lookUp(at);
    if (known !== undefined) return known;
    const next = world.fairChoice(at);
    if (next === undefined) return -1;
    if (at.nowMs > deadlineMs) return at.clients.findIndex(isAlive);
    at = world.step(at, next).after;
  }
}
